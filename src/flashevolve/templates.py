"""Templates: prompts kept as Markdown files beside what uses them, with `{{name}}` placeholders.

Filled in one pass, so that braces in a prompt or an output stay as they are.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def template(package: str, name: str) -> str:
    """Returns the text of `prompts/<name>.md` in a package."""
    from importlib.resources import files

    return (files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Returns `text` with each `{{name}}` of `values` replaced; other braces stay."""
    return re.sub(r"\{\{(\w+)\}\}", lambda m: values.get(m.group(1), m.group(0)), text)


def own_template(given: str, mandatory: Sequence[str]) -> str:
    """Returns a user's template: `given` itself or, without a placeholder, the file of that path.

    It is read at once, so that a recorded configuration holds the text. Raises `ValueError` if one
    of the `mandatory` placeholders is missing.
    """
    text = given
    if "{{" not in given:
        with suppress(OSError):
            text = Path(given).read_text(encoding="utf-8")
    if any(name not in text for name in mandatory):
        names = f"{', '.join(mandatory[:-1])} and {mandatory[-1]}"
        raise ValueError(
            f"expected a template with {names}, or the path of one; is the path right, and are "
            "all of them in the text?"
        )
    return text
