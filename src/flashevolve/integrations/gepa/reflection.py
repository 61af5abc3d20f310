"""Reflection: a reflective dataset in a step's payload, and as a question to a model.

The question is worded by gepa's own renderer, with the user's template or gepa's default, so that a
run asks what gepa would ask. How a reply is read is ours: one without a fenced text is asked for
once more and never adopted whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from flashevolve.algorithms.gepa.prompts import again
from flashevolve.engine.workflow import StageContext
from flashevolve.errors import ConfigError
from flashevolve.llm.dicts import as_messages
from flashevolve.llm.messages import assistant, user
from flashevolve.replies.fences import ReplyError, fenced_text

IMAGE = "gepa.Image"
"""The only key of what stands for an image in a payload."""
Template = str | Mapping[str, str] | None
PLACEHOLDERS = ("<curr_param>", "<side_info>")


def to_json(dataset: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Returns a dataset as JSON values that are rendered alike: what has none becomes its text."""
    return {str(name): [_plain(record) for record in records] for name, records in dataset.items()}


def from_json(dataset: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Returns what `to_json` was given, images included."""
    return {name: [_restored(record) for record in records] for name, records in dataset.items()}


def question(template: Template, component: str, current: str, records: Sequence[Any]) -> Any:
    """Returns what gepa asks a model to rewrite a component: a text, or messages with images."""
    from gepa.strategies.instruction_proposal import InstructionProposalSignature

    own = template.get(component) if isinstance(template, Mapping) else template
    return InstructionProposalSignature.prompt_renderer(
        {
            "current_instruction_doc": current,
            "dataset_with_feedback": list(records),
            "prompt_template": own,
        }
    )


async def ask(ctx: StageContext, component: str, asked: Any) -> str:
    """Returns the text between fences of a reply; a reply without one is asked for once more.

    Raises `ReplyError` if that has none either.
    """
    messages = as_messages(asked)
    reply = await ctx.chat("reflect", messages)
    try:
        return fenced_text(reply.text)
    except ReplyError as error:
        messages += [assistant(reply.text), user(again(component, str(error)))]
    return fenced_text((await ctx.chat("reflect", messages, name="again")).text)


def check_template(template: Template, components: Sequence[str]) -> None:
    """Refuses a template that would show nothing. Raises `ConfigError`."""
    if template is None:
        return
    templates = template if isinstance(template, Mapping) else {"": template}
    for component, text in templates.items():
        where = "reflection_prompt_template" + (f"[{component!r}]" if component else "")
        if component and component not in components:
            raise ConfigError(
                f"{where}: expected a component of seed_candidate, one of {', '.join(components)}. "
                "Rename or remove it"
            )
        for placeholder in PLACEHOLDERS:
            if not isinstance(text, str) or placeholder not in text:
                raise ConfigError(
                    f"{where}: expected a text that holds {' and '.join(PLACEHOLDERS)}, found none "
                    f"of {placeholder}. Add it"
                )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)  # JSON has no infinity.
    if isinstance(value, Mapping):
        return {str(key): _plain(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(below) for below in value]
    if type(value).__name__ == "Image" and type(value).__module__ == "gepa.image":
        return {IMAGE: asdict(value)}
    return str(value)


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {IMAGE}:
            from gepa.image import Image

            return Image(**value[IMAGE])
        return {key: _restored(below) for key, below in value.items()}
    return [_restored(below) for below in value] if isinstance(value, list | tuple) else value
