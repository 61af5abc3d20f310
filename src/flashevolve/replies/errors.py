"""What is raised when a reply does not hold what was asked for."""


class ReplyError(Exception):
    """A reply without the part that was asked for; its text is one line that a model can act on."""
