"""`flashevolve bench`: the same cell under several arms, measured, compared and printed."""
