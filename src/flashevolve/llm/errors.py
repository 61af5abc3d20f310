"""What can go wrong between us and a model, typed by what has to be done about it.

`RateLimited` and `Transient` are worth another try; `Refused`, `Truncated` and `Empty` are answers
of a kind and become the failure score of a rollout; `Fatal` stops the run at once, and so does
`ModelBug`, which is no answer at all.
"""

from flashevolve.llm.messages import Reply


class LLMError(Exception):
    """A request that gave no usable answer.

    `reply` is what came back, if anything did (its usage is settled). `billed_unknown` is True if
    the endpoint may have charged for the request without telling us: such a call is settled at its
    whole reservation.
    """

    kind = "error"
    retryable = False

    def __init__(
        self, message: str, *, reply: Reply | None = None, billed_unknown: bool = False
    ) -> None:
        super().__init__(message)
        self.reply = reply
        self.billed_unknown = billed_unknown


class ModelBug(Exception):
    """A model's own code raised where it should have answered: never a score, it stops the run."""


class RateLimited(LLMError):
    """429, or the endpoint's own words for it."""

    kind = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds that the endpoint asked us to wait; None = it did not say."""


class Transient(LLMError):
    """5xx, a cut body, a time-out, a lost connection, unreadable JSON."""

    kind = "transient"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        reply: Reply | None = None,
        billed_unknown: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, reply=reply, billed_unknown=billed_unknown)
        self.retry_after_s = retry_after_s


class CutShort(Transient):
    """A stream that failed after a part of it was passed on: no second try can take its place."""

    retryable = False


class Refused(LLMError):
    """A content filter stopped the answer."""

    kind = "refused"


class Truncated(LLMError):
    """The answer hit `max_output_tokens`."""

    kind = "truncated"


class Empty(LLMError):
    """The answer holds no text and no tool call."""

    kind = "empty"


class Fatal(LLMError):
    """No further request can succeed: wrong key, unknown model, malformed request."""

    kind = "fatal"
