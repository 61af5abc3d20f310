import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from flashevolve.errors import ConfigError
from flashevolve.llm.messages import Message
from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.batching import Batch, ServingSettings
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.lengths import LengthSettings, draw_tokens
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.serving import Server
from flashevolve.simulate.world import WORLD_FILE, check_same_world, load_world
from tests.simulate import frozen

REVISION = load_world().revision
SMALL = f"""
revision = {REVISION}
[hosted]
[latency.task]
mean_s = 0.5
sigma = 0.25
[serving.tiny]
strength = 1.0
max_sequences = 2
t_base_s = 0.5
t_per_sequence_s = 0.25
prefill_tokens_per_s = 100
prefix_cache_blocks = 8
[shapes]
[lengths]
mean_tokens = 50.0
sigma_example = 1.0
sigma_sample = 0.5
max_tokens = 100
[reader]
capacity_statements = 9
lapse_rate = 0.15
support = 0.75
misread_rate = 0.04
fickleness = 0.12
anchoring = 0.35
omission_rate = 0.04
over_specific_rate = 0.4
overreach_rate = 0.3
vague_rate = 0.5
wrong_rate = 0.25
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def h100() -> ServingSettings:
    preset = load_world().preset("h100-qwen3-8b")
    assert isinstance(preset, ServingSettings)
    return preset


def test_the_shipped_world_is_the_one_that_was_fixed() -> None:
    # Frozen before any comparison: another hash is another world, and makes old reports void.
    pinned = json.loads(frozen.PINNED.read_text(encoding="utf-8"))
    assert not (what_to_do := frozen.problem(pinned, frozen.current())), what_to_do


def test_a_world_that_behaves_otherwise_under_the_same_hash_asks_for_a_new_revision() -> None:
    pinned = {"revision": 1, "hash": "a", "digest": "1"}
    assert frozen.problem(pinned, pinned) is None
    assert frozen.problem(pinned, {**pinned, "digest": "2"}) == frozen.RAISE
    assert frozen.problem(pinned, {"revision": 2, "hash": "b", "digest": "2"}) == frozen.RENEW
    assert "raise `revision` in world.toml" in frozen.RAISE


def test_what_is_pinned_sees_answers_lengths_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = frozen.digest()
    assert frozen.digest() == pinned

    def loud(self: TextReader, messages: Sequence[Message], rng: Random) -> str:
        return "OTHERWISE"

    def longer(settings: LengthSettings, messages: Sequence[Message], sample: int | str) -> int:
        return draw_tokens(settings, messages, sample) + 1

    def late(self: Batch) -> float:
        return 0.01

    for name, other in (
        ("reader.TextReader.answer", loud),
        ("model.draw_tokens", longer),
        ("batching.Batch._step_s", late),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"flashevolve.simulate.{name}", other)
            assert frozen.digest() != pinned, name


def test_the_preset_reproduces_the_published_saturated_throughput() -> None:
    """13,305 tokens/s for 1,000 ShareGPT prompts at once; see world.toml for the source.

    That benchmark's server took 1,024 sequences. Its prompts are not at hand: lengths are lognormal
    with the means that the same site prints (232.6 in, 220.6 out), cut as its client cuts them.
    """
    rng = Random(0)

    def draw(mean: float, most: int, sigma: float = 1.0) -> int:
        return max(1, min(most, round(rng.lognormvariate(math.log(mean) - sigma**2 / 2, sigma))))

    load = [
        RecordedCall(input_tokens=draw(232.6, 1024), output_tokens=draw(220.6, 1900))
        for _ in range(1000)
    ]
    preset = replace(h100(), max_sequences=1024)
    seconds = ceiling_s(load, preset, max_in_flight=1000)
    tokens = sum(call.input_tokens + call.output_tokens for call in load)
    assert tokens / seconds == pytest.approx(13_305, rel=0.1)


@pytest.mark.parametrize(
    ("n", "measured_s"), [(1, 0.00728), (2, 0.00737), (4, 0.00738), (8, 0.00771)]
)
def test_the_preset_reproduces_the_published_time_per_token(n: int, measured_s: float) -> None:
    preset = h100()
    assert preset.t_base_s + n * preset.t_per_sequence_s == pytest.approx(measured_s, rel=0.02)


def test_the_hash_follows_the_content_and_not_its_form(tmp_path: Path) -> None:
    first, lengths = SMALL.split("[lengths]")
    lengths, reader = lengths.split("[reader]")
    same = f"# a comment{first}[reader]{reader}[lengths]{lengths}"
    other = SMALL.replace("0.25", "0.26", 1)
    hashes = [
        load_world(write(tmp_path / name, text)).hash
        for name, text in (("a", SMALL), ("b", same), ("c", other))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("old", "new"), [("strength = 1.0", "strength = 1"), ("t_base_s = 0.5", "t_base_s = 5e-1")]
)
def test_the_hash_is_over_values_however_they_are_written(
    tmp_path: Path, old: str, new: str
) -> None:
    one = load_world(write(tmp_path / "one", SMALL))
    other = load_world(write(tmp_path / "other", SMALL.replace(old, new)))
    assert one.hash == other.hash


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    marked = load_world(write(tmp_path / "marked", f"\ufeff{SMALL.lstrip()}"))
    assert marked.hash == load_world(write(tmp_path / "plain", SMALL)).hash


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("[hosted]", "first_token_sigma = 1e5"),
        ("[hosted]", "tokens_per_s_sigma = 6"),
    ],
)
def test_a_spread_that_no_draw_could_be_taken_from_is_refused(
    tmp_path: Path, table: str, line: str
) -> None:
    name = line.split(" ")[0]
    text = re.sub(rf"{name} = .*", line, SMALL.replace(table, HOSTED))
    with pytest.raises(ConfigError, match=rf"\[hosted.tiny-api\]: {name} must be at most 5, got"):
        load_world(write(tmp_path / "world.toml", text))


def test_the_readers_table_counts_in_the_hash(tmp_path: Path) -> None:
    small = load_world(write(tmp_path / "a", SMALL))
    other = SMALL.replace("capacity_statements = 9", "capacity_statements = 6")
    changed = load_world(write(tmp_path / "b", other))
    assert (small.reader.capacity_statements, changed.reader.capacity_statements) == (9, 6)
    assert small.hash != changed.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[lengths]", "[length]", r"found 'length'\. Did you mean 'lengths'\?"),
        ("t_base_s", "t_bases", r"\[serving.tiny\].* found 't_bases'\. Did you mean 't_base_s'\?"),
        ("max_tokens = 100", "", r"\[lengths\]: expected a value for max_tokens, found none"),
        (
            "sequence_s = 0.25",
            'sequence_s = "fast"',
            "a number for t_per_sequence_s, found 'fast'",
        ),
        ("max_sequences = 2", "max_sequences = 2.5", r"an integer for max_sequences, found 2.5"),
        ("max_sequences = 2", "max_sequences = true", r"an integer for max_sequences, found True"),
        (
            "sequence_s = 0.25",
            "sequence_s = -1",
            r"t_per_sequence_s must not be negative, got -1",
        ),
        ("sequence_s = 0.25", "sequence_s = nan", r"a number for t_per_sequence_s, found nan"),
        (
            "strength = 1.0",
            "strength = inf",
            r"a number from 0.001 to 1000 .*, found inf",
        ),
        ("[serving.tiny]", "[serving", r"expected a readable TOML file"),
        ("[serving.tiny]", "[lengths.serving]", r"expected a table \[serving\], found None"),
        ("[serving.tiny]", "[reader.tiny]", r"expected a table \[serving\], found None"),
        (
            "[hosted]",
            "[hosted.api]",
            r"\[hosted.api\]: expected strength, a number from",
        ),
        ("[hosted]", "[hosted.api]\nstrength = 1", r"expected a value for first_token_s, found no"),
        ("strength = 1.0", "strength = 0", r"\[serving.tiny\]: expected strength, .* found 0"),
        (
            "strength = 1.0",
            'strength = "1"',
            r"a number from 0.001 to 1000 .*, found '1'",
        ),
        ("strength = 1.0", "", r"a number from 0.001 to 1000 .*, found None"),
        ("revision =", "# revision =", rf"expected revision = {REVISION}, which .* found None"),
        (f"revision = {REVISION}", "revision = true", r"simulates, found True"),
        (
            f"revision = {REVISION}",
            "revision = 999",
            r"simulates, found 999; compare the file with",
        ),
        ("revision =", "revison =", r"found 'revison'\. Did you mean 'revision'\?"),
        ("strength = 1.0", "strength = 1e300", r"a number from 0.001 to 1000 .*, found 1e\+300"),
        (
            "strength = 1.0",
            f"strength = 1{'0' * 400}",
            r"a number from 0.001 to 1000 .*, found 100",
        ),
        (
            "sequence_s = 0.25",
            f"sequence_s = 1{'0' * 400}",
            r"a number of at most 1e\+12 for t_per_sequence_s, found 1000",
        ),
        (
            "max_sequences = 2",
            f"max_sequences = 1{'0' * 400}",
            r"an integer of at most 1e\+12 for max_sequences, found 1000",
        ),
        ("sigma_example = 1.0", "sigma_example = 1e12", r"sigma_example must be at most 5, got 1e"),
        ("sigma_sample = 0.5", "sigma_sample = 5.1", r"sigma_sample must be at most 5, got 5.1"),
        ("sigma = 0.25", "sigma = 700", r"\[latency.task\]: sigma must be at most 5, got 700"),
        ("mean_s = 0.5", "means = 0.5", r"\[latency.task\]: expected one of mean_s, sigma"),
        ("mean_s = 0.5", "mean_s = -1", r"\[latency.task\]: mean_s must not be negative, got -1"),
        ("[latency.task]", "[latency]", r"expected a table \[mean_s\], found 0.5"),
    ],
)
def test_a_world_with_a_mistake_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = write(tmp_path / "world.toml", SMALL.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        load_world(path)


HOSTED = """
[hosted.tiny-api]
strength = 0.5
first_token_s = 0.5
first_token_sigma = 0.1
tokens_per_s = 50
tokens_per_s_sigma = 0.1
requests_per_min = 10
tokens_per_min = 1000
"""


def test_presets_are_accelerators_or_accounts_at_a_hosted_api(tmp_path: Path) -> None:
    world = load_world(write(tmp_path / "world.toml", SMALL.replace("[hosted]", HOSTED)))
    assert isinstance(world.preset("tiny"), ServingSettings)
    assert isinstance(world.preset("tiny-api"), HostedSettings)
    assert world.strengths == {"tiny": 1.0, "tiny-api": 0.5}


def test_two_presets_of_one_name_and_a_world_without_any_are_refused(tmp_path: Path) -> None:
    twice = SMALL.replace("[hosted]", HOSTED.replace("tiny-api", "tiny"))
    with pytest.raises(ConfigError, match=r"\[hosted.tiny\]: expected a name of its own"):
        load_world(write(tmp_path / "twice.toml", twice))
    start, end = SMALL.index("[serving.tiny]"), SMALL.index("[lengths]")
    none = f"{SMALL[:start]}[serving]\n{SMALL[end:]}"
    with pytest.raises(ConfigError, match="expected at least one preset"):
        load_world(write(tmp_path / "none.toml", none))


def test_a_presets_strength_scales_its_reader(tmp_path: Path) -> None:
    text = SMALL.replace("strength = 1.0", "strength = 2.0")
    world = load_world(write(tmp_path / "world.toml", text))
    assert world.reader_of("tiny") == world.reader.at_strength(2.0) != world.reader
    shipped = load_world()
    assert {shipped.reader_of(name) for name in shipped.presets} == {shipped.reader}
    shared: dict[str, Server] = {}
    made: list[ReaderParameters] = []

    class Reader(TextReader):
        def __init__(self, parameters: ReaderParameters) -> None:
            made.append(parameters)
            super().__init__(parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flashevolve.simulate.reader.TextReader", Reader)
        SimulatedModel.from_preset("tiny", shared, world=world)
    assert made == [world.reader_of("tiny")]


def test_a_world_that_was_changed_on_disk_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    before = load_world(write(path, SMALL))
    assert load_world(path) is before
    assert load_world(write(path, SMALL.replace("0.5", "0.6", 1))).hash != before.hash


def test_a_latency_is_known_for_the_workloads_that_the_world_names(tmp_path: Path) -> None:
    world = load_world(write(tmp_path / "world.toml", SMALL))
    assert world.latency_s("task", "e1", 0) == world.latency["task"].draw_s("e1", 0) > 0
    assert world.latency_s("another", "e1", 0) == 0.0


def test_what_another_world_gave_is_refused_with_both_hashes_and_the_file() -> None:
    world = load_world()
    check_same_world("runs/a", world.hash, world)
    check_same_world("runs/a", "", world)
    with pytest.raises(ConfigError) as error:
        check_same_world("runs/a", "0123456789ab", world)
    assert str(error.value) == (
        f"runs/a: expected the simulated world 0123456789ab that it was made in, found "
        f"{world.hash} in {WORLD_FILE}. Results of different worlds are not compared: restore that "
        "file, or start anew"
    )


def test_an_unknown_preset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"found 'h100-qwen-8b'\. Did you mean 'h100-qwen3-8b'\?"):
        load_world().preset("h100-qwen-8b")


def test_the_world_ships_beside_its_loader() -> None:
    assert WORLD_FILE.is_file()
