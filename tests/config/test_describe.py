from flashevolve.config import Settings, describe, resolve
from flashevolve.config.describe import NO_DEFAULT
from tests.config.test_resolve import BEAM

KEYS = {key.key: key for key in describe(BEAM)}


def test_every_key_has_a_help_text() -> None:
    assert [key.key for key in KEYS.values() if not key.help] == []
    assert all("\n" not in key.help for key in KEYS.values())


def test_every_table_of_the_settings_is_described() -> None:
    tables = {name.split(".")[0] for name in KEYS}
    assert tables == (set(Settings.model_fields) - {"options"}) | {"beam"}


def test_type_default_and_help_are_in_the_words_of_a_user() -> None:
    assert KEYS["policy"].type == "reflective | guarded | full | regenerate"
    assert (KEYS["budget.usd"].type, KEYS["budget.usd"].default) == ("float", "")
    assert (KEYS["task.fields"].type, KEYS["task.answer"].default) == ("list", '"answer"')
    assert KEYS["data.split"].default == "[0.5, 0.25, 0.25]"
    assert KEYS["model.name"].default == NO_DEFAULT
    assert KEYS["model.send_seed"] == (
        "model.send_seed", "true | false", "false",
        "Whether to send a seed with each request, for endpoints that honour it.",
    )  # fmt: skip


def test_the_algorithms_own_keys_follow_it() -> None:
    names = list(KEYS)
    assert names[:3] == ["algorithm", "beam.width", "beam.greedy"]
    assert KEYS["beam.greedy"].help == "Whether to keep only one."


def test_every_default_that_is_shown_is_the_default() -> None:
    settings = resolve({"algorithm": BEAM})
    for key in ("limits.concurrency", "staleness.history_tokens", "data.split_seed"):
        table, name = key.split(".")
        assert KEYS[key].default == str(getattr(getattr(settings, table), name))
