"""How long a simulated model writes: long-tailed, and a function of (messages, sample) alone.

ln(tokens) = mu + sigma_example * z(last message) + sigma_sample * z(all messages, sample), with
z standard normal draws from hashes: an example that is long stays long under every prompt, and
every new prompt or sample is a new draw around that. Reasoning that is not shown counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist

from flashevolve.llm.messages import Message
from flashevolve.simulate.prefix import text_of

_NORMAL = NormalDist()
MOST_SIGMA = 5.0
"""Of the logarithm of any length or time: beyond, draws span more than numbers can hold."""


@dataclass(frozen=True, kw_only=True)
class LengthSettings:
    """The distribution of output lengths."""

    mean_tokens: float
    sigma_example: float
    sigma_sample: float
    max_tokens: int
    """Longer draws are cut here; the mean is stated before the cut."""

    def __post_init__(self) -> None:
        if self.mean_tokens < 1 or self.max_tokens < 1:
            raise ValueError(
                "mean_tokens and max_tokens must be at least 1, "
                f"got {self.mean_tokens} and {self.max_tokens}"
            )
        if self.sigma_example < 0 or self.sigma_sample < 0:
            raise ValueError(
                "sigma_example and sigma_sample must not be negative, "
                f"got {self.sigma_example} and {self.sigma_sample}"
            )
        check_sigma("sigma_example", self.sigma_example)
        check_sigma("sigma_sample", self.sigma_sample)

    @property
    def sigma(self) -> float:
        """Standard deviation of ln(tokens) over examples and samples."""
        return math.hypot(self.sigma_example, self.sigma_sample)

    @property
    def mu(self) -> float:
        """Mean of ln(tokens): a lognormal variable has the mean exp(mu + sigma^2 / 2)."""
        return math.log(self.mean_tokens) - self.sigma**2 / 2


def check_sigma(name: str, sigma: float) -> None:
    """Raises `ValueError` for a spread that no draw could be taken from."""
    if sigma > MOST_SIGMA:
        raise ValueError(f"{name} must be at most {MOST_SIGMA:g}, got {sigma:g}")


def digest(*parts: bytes) -> int:
    """Returns 64 bits that depend on all parts and on where each ends; stable across processes."""
    state = blake2b(digest_size=8)
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return int.from_bytes(state.digest(), "big")


def draw_tokens(settings: LengthSettings, messages: Sequence[Message], sample: int | str) -> int:
    """Returns the number of tokens that the model writes, from 1 to `settings.max_tokens`."""
    example = digest(b"example", text_of(messages[-1:]))
    drawn = digest(b"sample", text_of(messages), str(sample).encode())
    log_tokens = (
        settings.mu
        + settings.sigma_example * normal(example)
        + settings.sigma_sample * normal(drawn)
    )
    return max(1, min(settings.max_tokens, round(math.exp(log_tokens))))


def normal(bits: int) -> float:
    """Returns a standard normal draw from 64 bits of a digest."""
    # 52 bits and a half: strictly between 0 and 1, where the inverse is finite.
    return _NORMAL.inv_cdf(((bits >> 12) + 0.5) / 2**52)
