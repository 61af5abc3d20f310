"""`flashevolve init`: an example that runs at once, offline, with the edits that make it real."""

import shlex
from pathlib import Path

import click

from flashevolve.errors import ConfigError

PROMPT = "Answer the request.\n"

RUN_TOML = """\
# A prompt to evolve. As it stands, a built-in simulated model answers: offline, free, in seconds.
# Two edits make it real: look for EDIT. All keys: flashevolve config
#
#   flashevolve run {path}

policy = "reflective"       # what happens to stale steps: reflective, guarded or full
seed = 0                    # of everything that is drawn at random

[artifact]                  # what evolves: component = "text", or a file
system = {{ file = "prompt.md" }}

# EDIT 1: the model. For example
#   name = "openai/gpt-4o-mini"                # its key: export OPENAI_API_KEY=...
# or whatever speaks the OpenAI protocol: vLLM, SGLang, Ollama, ...
#   name = "Qwen/Qwen3-8B"
#   base_url = "http://127.0.0.1:8000/v1"
[model]
name = "sim/h100-qwen3-8b"

# EDIT 2: your data, and how an answer is scored. Files are JSONL or CSV. For example
#   [task]
#   metric = "exact"        # or contains, numeric, regex, json, my_metric:score
#   input = "question"      # field that is the user message
#   answer = "answer"       # field that holds the expected answer
#   [data]
#   path = "my.csv"         # one file to be split; or train, val and test as below
[task]
workload = "instructions"   # brings its own scoring and the names of its fields

[data]
train = "train.jsonl"       # to learn from
val = "val.jsonl"           # to rank candidates
test = "test.jsonl"         # scored once, at the end

[budget]                    # at least one limit: metric_calls, proposals, tokens, usd, seconds
metric_calls = 2000

[limits]
concurrency = 32            # requests in flight
"""


@click.command("init")
@click.argument("kind", metavar="prompt", type=click.Choice(["prompt"]))
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
def command(kind: str, directory: Path) -> None:
    """Write an example to DIR: run.toml, prompt.md and data.

    `flashevolve run DIR/run.toml` then runs it at once, offline, on a simulated model.
    """
    from flashevolve.workloads.instructions import write

    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ConfigError(
                f"{directory}: expected a new or empty directory, found something in it; "
                f"choose another one"
            )
        write(directory, n_train=60, n_val=60, n_test=100)
        config = directory / "run.toml"
        (directory / "prompt.md").write_text(PROMPT, encoding="utf-8", newline="\n")
        config.write_text(
            RUN_TOML.format(path=shlex.quote(str(config))), encoding="utf-8", newline="\n"
        )
    except OSError as error:
        raise ConfigError(f"{directory}: cannot write there: {error.strerror}") from None
    click.echo(f"wrote {directory}; next: flashevolve run {shlex.quote(str(config))}")
