"""Templates: prompts kept as Markdown files beside an algorithm, with `{{name}}` placeholders.

Filled in one pass, so that braces in a prompt or an output stay as they are.
"""

import re
from collections.abc import Mapping
from importlib.resources import files


def template(package: str, name: str) -> str:
    """Returns the text of `prompts/<name>.md` in an algorithm's package."""
    return (files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Returns `text` with each `{{name}}` of `values` replaced; other braces stay."""
    return re.sub(r"\{\{(\w+)\}\}", lambda m: values.get(m.group(1), m.group(0)), text)
