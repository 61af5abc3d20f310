from dataclasses import replace
from math import log
from statistics import NormalDist, fmean, stdev

import pytest

from flashevolve.llm.messages import Message, system, user
from flashevolve.simulate.lengths import LengthSettings, digest, draw_tokens
from flashevolve.simulate.world import load_world

SETTINGS = LengthSettings(mean_tokens=699.0, sigma_example=0.8, sigma_sample=0.6, max_tokens=32_768)


def ask(example: int, prompt: str = "Answer.") -> tuple[Message, ...]:
    return (system(prompt), user(f"Question {example}?"))


def below(tokens: float) -> float:
    """Returns the share of draws that are shorter, by the distribution that is stated."""
    return NormalDist(SETTINGS.mu, SETTINGS.sigma).cdf(log(tokens))


def test_the_mean_is_as_stated_and_the_tail_passes_five_thousand() -> None:
    drawn = [draw_tokens(SETTINGS, ask(k), 0) for k in range(20_000)]
    assert fmean(drawn) == pytest.approx(699, rel=0.03)
    assert fmean(n <= 5000 for n in drawn) == pytest.approx(below(5000), abs=0.002)
    assert below(5000) == pytest.approx(0.9932, abs=1e-4)
    assert 1 - below(8192) == pytest.approx(0.0015, abs=1e-4)


def test_a_length_is_a_function_of_messages_and_sample() -> None:
    # Literal numbers: a change of the draws is a change of the world.
    assert [draw_tokens(SETTINGS, ask(1), s) for s in ("a", "a", "b")] == [951, 951, 281]
    assert draw_tokens(SETTINGS, ask(1, "Think."), "a") != draw_tokens(SETTINGS, ask(1), "a")


def test_the_shipped_lengths_depend_on_example_prompt_and_sample() -> None:
    shipped = load_world().lengths
    drawn = [draw_tokens(shipped, ask(k), 0) for k in range(20_000)]
    assert fmean(drawn) == pytest.approx(699, rel=0.03)
    assert max(drawn) > 5000
    assert 0.004 < fmean(n > 5000 for n in drawn) < 0.01
    of_examples = [
        fmean(log(draw_tokens(shipped, ask(e), s)) for s in range(30)) for e in range(300)
    ]
    of_prompts = [
        fmean(log(draw_tokens(shipped, ask(e, f"Prompt {p}"), s)) for e in range(3))
        for p in range(10)
        for s in range(10)
    ]
    assert stdev(of_examples) == pytest.approx(0.8, rel=0.15)
    assert stdev(of_prompts) == pytest.approx(0.6 / 3**0.5, rel=0.3)


def test_a_long_example_stays_long_under_every_prompt_and_sample() -> None:
    only_examples = replace(SETTINGS, sigma_sample=0.0)
    lengths = {draw_tokens(only_examples, ask(1, f"Prompt {k}"), k) for k in range(20)}
    assert len(lengths) == 1
    assert len({draw_tokens(only_examples, ask(k), 0) for k in range(20)}) == 20


def test_samples_of_one_example_vary_as_stated() -> None:
    drawn = [log(draw_tokens(SETTINGS, ask(1), k)) for k in range(4000)]
    assert stdev(drawn) == pytest.approx(0.6, rel=0.05)


def test_lengths_stay_within_their_bounds() -> None:
    wild = LengthSettings(mean_tokens=50.0, sigma_example=3.0, sigma_sample=3.0, max_tokens=60)
    drawn = {draw_tokens(wild, ask(k), k) for k in range(500)}
    assert (min(drawn), max(drawn)) == (1, 60)


def test_without_spread_every_reply_has_the_mean_length() -> None:
    flat = replace(SETTINGS, sigma_example=0.0, sigma_sample=0.0)
    assert {draw_tokens(flat, ask(k), k) for k in range(10)} == {699}


def test_a_digest_knows_where_its_parts_end() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc") != digest(b"abc")


def test_settings_that_describe_no_distribution_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at least 1, got 0.0 and 32768"):
        replace(SETTINGS, mean_tokens=0.0)
    with pytest.raises(ValueError, match=r"must not be negative, got 0.8 and -1.0"):
        replace(SETTINGS, sigma_sample=-1.0)
    with pytest.raises(ValueError, match=r"sigma_example must be at most 5, got 1e\+200"):
        replace(SETTINGS, sigma_example=1e200)
