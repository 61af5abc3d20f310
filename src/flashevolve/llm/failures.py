"""Failures: what an endpoint's HTTP status, headers and error body mean for us.

Pure. Every status becomes one typed error whose text is one line: endpoint, status, the endpoint's
own words (shortened), and the next step. An answer with an error status was not billed.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient
from flashevolve.llm.wire import MAX_QUOTED_CHARS

_TRANSIENT_4XX = frozenset({408, 409, 425})
_ABOUT_THIS_REQUEST = frozenset({400, 403, 413, 422})
"""Statuses by which hosts also say that one request, not the configuration, is the problem."""
_OUT_OF_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})

_FILTERED = re.compile(
    r"content[_ -]?(filter|policy)|content management policy|ResponsibleAIPolicy"
    r"|flagged|moderation",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ -]?(length|window|size)|maximum (model|input|prompt)? ?length"
    r"|(prompt|input) is too long|too many (input )?tokens|string_above_max_length",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Where:
    """Which endpoint answered, as its errors name it. Holds no secret."""

    endpoint: str
    model: str
    key_env: str | None


def from_status(
    where: Where, status: int, headers: Mapping[str, str], body: Any, now_s: float
) -> LLMError:
    """Returns the error for an answer that is none.

    `body` is the decoded JSON, or the text if it was none; `headers` is case-insensitive; `now_s`
    is the wall clock, against which HTTP dates are read.
    """
    codes, words = _own_words(body)
    line = f"{where.endpoint} answered {status}: {words}"
    if status == 429:
        if _OUT_OF_CREDIT & set(codes.split()):
            return Fatal(f"{line} Next: add credit to the account{_of_key(where)}.")
        return RateLimited(line, retry_after_s=retry_after_s(headers, now_s))
    if status >= 500 or status in _TRANSIENT_4XX:
        return Transient(line, retry_after_s=retry_after_s(headers, now_s))
    about_request = status in _ABOUT_THIS_REQUEST
    described = f"{codes} {words}"
    if status == 413 or (about_request and _TOO_LONG.search(described)):
        return Refused(f"{line} Next: shorten the prompt or lower max_output_tokens.")
    if about_request and _FILTERED.search(described):
        return Refused(f"{line} Next: nothing; a content filter refused this one request.")
    return Fatal(f"{line} Next: {_next_step(where, status)}")


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Returns the seconds that the endpoint asks us to wait; None if it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    hint = headers.get("retry-after")
    seconds = _number(hint)
    if seconds is not None or hint is None:
        return seconds
    until_s = _http_date_s(hint)
    if until_s is None:
        return None
    # The endpoint's own clock, where it shows it: ours may be minutes off.
    their_now_s = _http_date_s(headers.get("date", ""))
    return max(0.0, until_s - (now_s if their_now_s is None else their_now_s))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _http_date_s(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, IndexError, OverflowError):
        return None


def _own_words(body: Any) -> tuple[str, str]:
    """Returns (codes and type, message) of an error body; hosts nest them differently."""
    codes, message = "", body
    if isinstance(body, dict):
        error = body.get("error", body)
        if isinstance(error, list) and error:
            error = error[0]
        if isinstance(error, dict):
            codes = " ".join(str(error[key]) for key in ("code", "type") if error.get(key))
            inner = error.get("innererror")
            if isinstance(inner, dict):
                codes += f" {inner.get('code', '')}"
            message = error.get("message") or error.get("detail") or (error and json.dumps(error))
        else:
            message = error
    words = " ".join(str(message or "no explanation").split())
    if len(words) > MAX_QUOTED_CHARS:
        words = words[:MAX_QUOTED_CHARS].rstrip() + " …"
    elif not words.endswith((".", "!", "?")):
        words += "."
    return codes, words


def _of_key(where: Where) -> str:
    return f" of the key in {where.key_env}" if where.key_env else ""


def _next_step(where: Where, status: int) -> str:
    if status == 401:
        if where.key_env:
            return f"check the key in {where.key_env}."
        return "the endpoint wants a key; put it in an environment variable and name it in key_env."
    if status == 402:
        return f"add credit to the account{_of_key(where)}."
    if status == 403:
        return f"check that the key{_in_env(where)} may use the model {where.model!r}."
    if status == 404:
        return f"is the model name right ({where.model!r}), and is base_url (often ends in /v1)?"
    if status in (301, 302, 303, 307, 308):
        return "set base_url to the address that the endpoint redirects to."
    return f"check what the model {where.model!r} accepts: its options and extra_body."


def _in_env(where: Where) -> str:
    return f" in {where.key_env}" if where.key_env else ""
