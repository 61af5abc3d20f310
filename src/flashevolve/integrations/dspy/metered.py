"""Metered: a user's LM whose calls go through the run that asks it.

A metered LM is a copy of the user's with another class over its own: its name, capabilities,
`copy` and history stay what they were, and only what would send a request asks the run instead.
Which evaluation or stage a call belongs to is read from `dspy.settings`, which DSPy carries into
the threads that it starts itself. Outside a run the user's LM answers.

What names a connection (keys, addresses, headers) never leaves the user's LM: it is neither part of
the request nor recorded.
"""

import asyncio
import json
from collections.abc import Hashable, Mapping
from contextvars import copy_context
from functools import cache, partial
from typing import Any, Protocol, cast

import dspy
from dspy.clients.call_result import attributes
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import ContextWindowExceededError, LMInvalidRequestError

from flashevolve.errors import ConfigError
from flashevolve.integrations.dspy.client import CONNECTION, OPTIONS, OUTPUTS, TOO_LONG
from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.llm.messages import Reply
from flashevolve.llm.wire import tool_call_to_wire

ASKS = "flashevolve_context"
"""The key of `dspy.settings` under which the asking evaluation or stage is found."""


class Context(Protocol):
    """What a call is asked through."""

    def chat(self, role: str, messages: Any, **parameters: Any) -> Reply:
        """Asks a model of `role`; blocks the calling thread."""
        ...


def metered(lm: Any, role: str, *, own: bool) -> Any:
    """Returns an LM like `lm` whose calls are asked from the run's `role`.

    `own` says that the user's LM itself answers for the role; else a configured model does, which
    is asked in OpenAI's words.
    """
    copied = lm.copy()
    copied.history = lm.history
    copied.__class__ = _class_over(cast(Hashable, type(lm)))
    copied._asked = (lm, role, own)
    return copied


@cache
def _class_over(cls: Any) -> type:
    return type(f"Metered{cls.__name__}", (_Metered, cls), {"__module__": __name__})


class _Metered:
    """What stands before the class of the user's LM."""

    _asked: tuple[Any, str, bool]
    """The user's LM, the role, and whether that LM answers for it."""
    kwargs: dict[str, Any]
    model: str
    model_type: str

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Metered":
        # Copies of a program share its LMs: a copied connection would be another one.
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Answers as the user's LM would, through the run."""
        context = dspy.settings.get(ASKS)
        if context is None:
            return self._asked[0](prompt, messages=messages, **kwargs)
        return self._outputs(context, prompt, messages, kwargs)

    @with_callbacks  # type: ignore[untyped-decorator]
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Answers as `__call__`, without blocking the caller's loop."""
        context = dspy.settings.get(ASKS)
        if context is None:
            return await self._asked[0].acall(prompt, messages=messages, **kwargs)
        ask = partial(copy_context().run, self._outputs, context, prompt, messages, kwargs)
        return await asyncio.get_running_loop().run_in_executor(None, ask)

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        """Returns the answer in the shape of OpenAI's API."""
        context = dspy.settings.get(ASKS)
        if context is None:
            return self._asked[0].forward(prompt, messages, **kwargs)
        return self._response(self._ask(context, prompt, messages, kwargs)[0])

    async def aforward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        """Returns what `forward` does, without blocking the caller's loop."""
        ask = partial(copy_context().run, self.forward, prompt, messages, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(None, ask)

    def _outputs(self, context: Context, prompt: Any, messages: Any, kwargs: dict[str, Any]) -> Any:
        replies = self._ask(context, prompt, messages, kwargs)
        outputs = [output for reply in replies for output in outputs_of(reply)]
        if any(isinstance(output, dict) for output in outputs):
            outputs = [o if isinstance(o, dict) else {"text": o} for o in outputs]
        self._note(prompt, messages, kwargs, replies, outputs)
        return outputs

    def _ask(
        self, context: Context, prompt: Any, messages: Any, kwargs: dict[str, Any]
    ) -> list[Reply]:
        if isinstance(prompt, dspy.lm15.Request) or "request" in kwargs:
            raise ConfigError(
                f"LM {self.model!r}: expected a prompt or messages, found a Request, which cannot "
                "be recorded. Pass messages=..., as DSPy's own adapters do"
            )
        _, role, own = self._asked
        turns = messages or [{"role": "user", "content": prompt}]
        options = {**self.kwargs, **{k: v for k, v in kwargs.items() if k != "cache"}}
        if strange := sorted(CONNECTION & kwargs.keys()):
            raise ConfigError(
                f"LM {self.model!r}: expected {strange[0]} to be given to dspy.LM(...), found it "
                "with a call, where it would be recorded. Give it to the LM"
            )
        options = {k: v for k, v in options.items() if k not in CONNECTION and v is not None}
        n = options.get("n") or 1
        if own:
            return [_asked(context, role, turns, **_for_own(options, n))]
        return [_asked(context, role, turns, **_for_endpoint(options)) for _ in range(n)]

    def _response(self, reply: Reply) -> Any:
        message = {"content": None, "tool_calls": None, "reasoning_content": None}
        choices = []
        for index, output in enumerate(outputs_of(reply)):
            said = output if isinstance(output, dict) else {"text": output}
            told = {key: said.get(key) for key in message} | {"content": said.get("text")}
            choices.append({
                "index": index, "finish_reason": reply.finish, "message": told,
                "logprobs": said.get("logprobs"),
            })  # fmt: skip
        usage = _usage(reply)
        return attributes({"model": self.model, "choices": choices, "usage": usage})

    def _note(
        self, prompt: Any, messages: Any, kwargs: dict[str, Any], replies: list[Reply], outputs: Any
    ) -> None:
        """Tells DSPy's usage tracker and history, as its own calls do."""
        usage = _sum([_usage(reply) for reply in replies])
        if dspy.settings.usage_tracker:
            dspy.settings.usage_tracker.add_usage(self.model, usage)
        if dspy.settings.disable_history:
            return
        entry = {
            "prompt": prompt, "messages": messages, "kwargs": dict(kwargs), "outputs": outputs,
            "response": None, "usage": usage, "cost": None, "model": self.model,
            "response_model": replies[0].model, "model_type": self.model_type,
            "timestamp": "", "uuid": "",
        }  # fmt: skip
        self.update_history(entry)  # type: ignore[attr-defined]


def outputs_of(reply: Reply) -> list[Any]:
    """Returns a reply as DSPy's LMs return it: texts, or dicts where there is more than text."""
    recorded = reply.extra.get(OUTPUTS)
    if recorded is not None:
        return [attributes(output) for output in recorded]
    output: dict[str, Any] = {"text": reply.text or None}
    if reply.reasoning:
        output["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        output["tool_calls"] = [tool_call_to_wire(call) for call in reply.tool_calls]
    if logprobs := reply.extra.get("choice", {}).get("logprobs"):
        output["logprobs"] = logprobs
    return [attributes(output) if len(output) > 1 else output["text"]]


def _asked(context: Context, role: str, turns: Any, **parameters: Any) -> Reply:
    """Asks; an answer that cannot be used comes as DSPy would have it."""
    try:
        return context.chat(role, turns, **parameters)
    except (Truncated, Empty) as error:
        return error.reply or Reply(text="")
    except Refused as error:
        if str(error).startswith(TOO_LONG):
            # Agents catch it and shorten what they say.
            raise ContextWindowExceededError(message=str(error)) from error
        raise LMInvalidRequestError(str(error)) from error


class Described(str):
    """A text that is recorded, standing for a value that JSON cannot hold."""

    value: Any


def _for_own(options: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Returns the request's fields where the user's LM reads `options` itself."""
    told = {name: _described(value) for name, value in options.items()}
    fields: dict[str, Any] = {"extra_body": {OPTIONS: told}}
    if most := _most_tokens(options):
        fields["max_output_tokens"] = most * n
    return fields


def _described(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        schema = getattr(value, "model_json_schema", None)
        text = Described(json.dumps(schema()) if callable(schema) else repr(value))
        text.value = value
        return text
    return value


def _for_endpoint(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the request's fields for a model that speaks OpenAI's language."""
    rest = {k: v for k, v in options.items() if k not in ("n", "rollout_id", "num_generations")}
    fields: dict[str, Any] = {}
    if most := _most_tokens(rest):
        fields["max_output_tokens"] = most
    for name in ("max_tokens", "max_completion_tokens"):
        rest.pop(name, None)
    for name in ("temperature", "reasoning_effort"):
        if name in rest:
            fields[name] = rest.pop(name)
    if "tools" in rest:
        fields["tools"] = tuple(rest.pop("tools"))
    form = rest.pop("response_format", None)
    if isinstance(form, type):
        fields["response_schema"] = form.model_json_schema()  # type: ignore[attr-defined]
    elif form is not None:
        rest["response_format"] = form
    return {**fields, "extra_body": rest} if rest else fields


def _most_tokens(options: Mapping[str, Any]) -> int:
    return int(options.get("max_completion_tokens") or options.get("max_tokens") or 0)


def _usage(reply: Reply) -> dict[str, Any]:
    if "usage" in reply.extra:
        return dict(reply.extra["usage"])
    inputs, outputs = reply.tokens_in or 0, reply.tokens_out or 0
    return {"prompt_tokens": inputs, "completion_tokens": outputs, "total_tokens": inputs + outputs}


def _sum(usages: list[dict[str, Any]]) -> dict[str, Any]:
    if len(usages) == 1:
        return usages[0]
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: sum(usage.get(name) or 0 for usage in usages) for name in names}
