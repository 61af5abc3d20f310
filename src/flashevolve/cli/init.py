"""`flashevolve init`: an example that runs at once, offline, with the edits that make it real."""

import json
import shlex
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import click

from flashevolve.errors import ConfigError

PROMPT = "Answer the request.\n"

RUN_TOML = """\
{about}
# As it stands, a built-in simulated model answers: offline, free, in seconds.
{solves}# Two edits make it real: look for EDIT. All keys: flashevolve config
#
#   flashevolve run {path}

policy = "reflective"       # what happens to stale steps: reflective, guarded or full
seed = 0                    # of everything that is drawn at random

[artifact]                  # what evolves: component = "text", or a file
{artifact}

# EDIT 1: the model. For example
#   name = "openai/gpt-4o-mini"                # its key: export OPENAI_API_KEY=...
# or whatever speaks the OpenAI protocol: vLLM, SGLang, Ollama, ...
#   name = "Qwen/Qwen3-8B"
#   base_url = "http://127.0.0.1:8000/v1"
[model]
name = "sim/h100-qwen3-8b"

{data}
[task]
{task:<27} # brings its own scoring and the names of its fields
{corpus}
[data]
{train:<27} # to learn from
{val:<27} # to rank candidates
{test:<27} # scored once, at the end

[budget]                    # at least one limit: metric_calls, proposals, tokens, usd, seconds
metric_calls = 2000

[limits]
concurrency = 32            # requests in flight
"""


OWN_DATA = """\
# EDIT 2: your data, and how an answer is scored. Files are JSONL or CSV. For example
#   [task]
#   metric = "exact"        # or contains, numeric, regex, json, my_metric:score
#   input = "question"      # field that is the user message
#   answer = "answer"       # field that holds the expected answer
#   [data]
#   path = "my.csv"         # one file to be split; or train, val and test as below"""

FILE_DATA = """\
# EDIT 2: your data, a file in the layout of {name}'s public ones. For example
{corpus}#   [data]
#   path = "{path}" # one file to be split; or train, val and test as below"""
CORPUS = """\
#   [task]
#   corpus = "wiki.jsonl"   # the passages that are searched
"""

ABOUT = {
    "prompt": "# A prompt to evolve.",
    "aime": "# A prompt for competition problems to evolve: docs/aime.md.",
    "ifbench": "# A program of two prompts to evolve: one that answers, one that revises.",
    "hotpotqa": "# A program that searches and answers to evolve: docs/retrieval.md.",
    "hover": "# A program that searches for all pages of a claim to evolve: docs/retrieval.md.",
}
UNSOLVED = ("aime", "hotpotqa", "hover")
"""Kinds that the simulated model cannot solve: it neither computes nor reads."""
UNSOLVED_NOTE = """\
# It cannot solve this task: scores stay at or near 0 until there is a real model.
"""
FILES = {
    "aime": ("AIME", "aime.jsonl"),
    "ifbench": ("IFBench", "mine.jsonl"),
    "hotpotqa": ("HotpotQA", "hotpot_dev_distractor_v1.json"),
    "hover": ("HoVer", "hover_dev_release_v1.1.json"),
}
"""Kind -> what its files are known as, and one of them."""

KINDS = ("prompt", "aime", "ifbench", "hotpotqa", "hover")
"""What can be written: a prompt for the task `instructions`, or a program of a built-in task."""


@click.command("init")
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
def command(kind: str, directory: Path) -> None:
    """Write an example to DIR: run.toml, what evolves, and data.

    KIND is prompt (one prompt), or a built-in task with its program: aime, ifbench, hotpotqa,
    hover. `flashevolve run DIR/run.toml` then runs it at once, offline, on a simulated model.
    """
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ConfigError(
                f"{directory}: expected a new or empty directory, found something in it; "
                f"choose another one"
            )
        text = _write(kind, directory)
        config = directory / "run.toml"
        config.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"{directory}: cannot write there: {error.strerror}") from None
    click.echo(f"wrote {directory}; next: flashevolve run {shlex.quote(str(config))}")


def _write(kind: str, directory: Path) -> str:
    """Writes all but the configuration, and returns that."""
    task = "instructions" if kind == "prompt" else kind
    package = import_module(f"flashevolve.workloads.{task}")
    paths: Mapping[str, Path] = package.write(directory, n_train=60, n_val=60, n_test=100)
    if kind == "prompt":
        (directory / "prompt.md").write_text(PROMPT, encoding="utf-8", newline="\n")
        artifact = 'system = { file = "prompt.md" }'
    else:
        artifact = "\n".join(f"{name} = {json.dumps(text)}" for name, text in package.SEED.items())
    files = {split: f'{split} = "{path.name}"' for split, path in paths.items()}
    corpus = f"{files['corpus']}\n" if "corpus" in files else ""
    return RUN_TOML.format(
        path=shlex.quote(str(directory / "run.toml")),
        artifact=artifact,
        about=ABOUT[kind],
        solves=UNSOLVED_NOTE if kind in UNSOLVED else "",
        data=_data(kind),
        task=f'workload = "{task}"',
        **{**files, "corpus": corpus},
    )


def _data(kind: str) -> str:
    """Returns what the configuration says about data of the user's own."""
    if kind == "prompt":
        return OWN_DATA
    name, path = FILES[kind]
    return FILE_DATA.format(name=name, path=path, corpus=CORPUS if kind == "hover" else "")
