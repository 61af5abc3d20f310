"""What FlashEvolve's paper (arXiv 2605.08520) reports of its baselines, as data.

Only `GEPA_TABLE` and `IFBENCH` calibrate a shape; `COMBEE_TABLE` is predicted and never fitted. The
paper's own system appears nowhere here: we are not measured by its figures, nor tuned to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

SHAPES = ("ifbench", "hotpotqa", "hover", "aime")
"""In the order of the paper's Table 1."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """One cell of Table 1: Qwen3-8B, vLLM, one H100."""

    tokens_per_s: float
    proposals_per_min: float

    @property
    def tokens_per_proposal(self) -> float:
        """Output tokens of the whole system for each proposal."""
        return 60 * self.tokens_per_s / self.proposals_per_min


def _rates(tokens_per_s: tuple[float, ...], proposals: tuple[float, ...]) -> Mapping[str, Rates]:
    return {
        shape: Rates(tokens_per_s=t, proposals_per_min=p)
        for shape, t, p in zip(SHAPES, tokens_per_s, proposals, strict=True)
    }


GEPA_TABLE = _rates((963, 30, 461, 200), (1.9, 4.6, 2.5, 2.2))
"""Table 1, GEPA on vLLM. HotpotQA's 30 tokens/s cannot be: 391 tokens a proposal, for six
evaluations of four calls each and a reflection. `TOKENS_UNUSABLE` names it."""
COMBEE_TABLE: Mapping[int, Mapping[str, Rates]] = {
    10: _rates((696, 38, 810, 994), (1.2, 2.7, 2.0, 6.2)),
    40: _rates((900, 44, 891, 977), (0.7, 4.5, 2.0, 1.6)),
}
"""Table 1, Combee on vLLM, by its batch."""
TOKENS_UNUSABLE = frozenset({"hotpotqa"})
"""Shapes whose published token rate contradicts their published proposals."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What a synchronous step is reported to take."""

    tokens_per_evaluation: float
    rollout_and_propose_s: float
    rollout_share: float
    """Of these seconds, what the rollout takes."""
    sweep_s: float
    gate_rate: float
    sweeps_per_min: float


IFBENCH = Steps(
    tokens_per_evaluation=699,
    rollout_and_propose_s=20,
    rollout_share=8 / 18,
    sweep_s=96,
    gate_rate=0.12,
    sweeps_per_min=0.26,
)
"""Figures 2 and 6: 8 %, 10 % and 82 % of a step of about two minutes that reaches a sweep; the gate
rate makes them agree with 1.9 proposals a minute: 60 / 1.9 = 31.6 s = 20 s + 0.12 x 96 s."""
AIME_STILL_MIN = 30.0
"""Table 2: after so many minutes GEPA's score on AIME is still the seed's."""
