from pathlib import Path

import pytest
from pydantic import TypeAdapter

from flashevolve.algorithms.gepa import GEPA
from flashevolve.errors import ConfigError


def test_the_reflection_template_is_read_from_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "reflect.md"
    path.write_text("Mend {{current}} by {{examples}}.", encoding="utf-8")
    assert GEPA(reflect=str(path)).reflect == "Mend {{current}} by {{examples}}."
    assert GEPA(reflect="{{examples}} {{current}}").reflect == "{{examples}} {{current}}"


@pytest.mark.parametrize("reflect", ["Mend it.", "no/such/file.md", "Mend {{current}}.", "a\0b"])
def test_a_template_without_its_placeholders_is_refused(reflect: str) -> None:
    with pytest.raises(ConfigError, match=r"^GEPA: reflect: .*(expected a template|null byte)"):
        GEPA(reflect=reflect)


def test_a_file_without_placeholders_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reflect.md"
    path.write_text("Mend it.", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"expected a template with \{\{current\}\}"):
        GEPA(reflect=str(path))


@pytest.mark.parametrize(
    ("field", "value"), [("minibatch", 0), ("epsilon", 1.5), ("merge_overlap_floor", 0)]
)
def test_settings_out_of_range_are_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"^GEPA: {field}: expected a number"):
        GEPA(**{field: value})  # type: ignore[arg-type]


def test_a_mistake_is_one_line_that_names_the_key_and_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"minibach: unknown key\. .*minibatch") as refused:
        GEPA(minibach=3)  # type: ignore[call-arg]
    assert "\n" not in str(refused.value)


def test_the_recorded_configuration_builds_the_same_algorithm() -> None:
    config = GEPA(merge=True, reflect="{{current}} {{examples}}")
    adapter = TypeAdapter(GEPA)
    assert adapter.validate_python(adapter.dump_python(config, mode="json")) == config
