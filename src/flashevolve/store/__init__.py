"""One durable run: the event log and what is folded from it."""
