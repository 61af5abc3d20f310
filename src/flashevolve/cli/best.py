"""`flashevolve best`: the best artifact of a run, to be read, piped or written to a file."""

import sys
from pathlib import Path

import click

from flashevolve.artifact import Artifact
from flashevolve.errors import ConfigError, nearest


@click.command("best")
@click.argument("run_dir", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--component", metavar="NAME", help="Only this component.")
@click.option("--diff", is_flag=True, help="Show what changed from the seed.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write it to a file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    run_dir: Path, component: str | None, diff: bool, out: Path | None, as_json: bool
) -> None:
    """Print the text of the best artifact of a run."""
    from flashevolve.cli.console import print_json, safe, say
    from flashevolve.rundir import open_run

    opened = open_run(run_dir)
    seed = Artifact(opened.started.artifact)
    best = opened.state.pool.best()
    artifact = best.artifact if best else seed
    if component is not None:
        artifact, seed = _only(artifact, component), _only(seed, component)
    if best is None or not best.parents:
        say("nothing better than the seed has been admitted: this is the seed")
    if as_json:
        found = best.mean if best and best.scores else None
        identity = {"candidate": best.id if best else None, "score": found}
        print_json({**identity, "artifact": artifact.to_json()})
        return
    text = seed.diff(artifact) if diff else as_text(artifact)
    if out is None:
        # A pipe gets the text as it is; only a terminal could be misled by it.
        click.echo(safe(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))
        return
    if len(artifact) > 1 and not diff:
        raise ConfigError(
            f"--out: expected one component, found {', '.join(artifact)}. Choose: --component NAME"
        )
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot write there: {error.strerror}") from None


def as_text(artifact: Artifact) -> str:
    """Returns the text of the only component, or all of them under their names."""
    if len(artifact) == 1:
        return next(iter(artifact.values()))
    return "\n".join(f"== {name} ==\n{text}" for name, text in artifact.items())


def _only(artifact: Artifact, component: str) -> Artifact:
    if component not in artifact:
        hint = nearest(component, artifact) or f" Expected one of {', '.join(artifact)}."
        raise ConfigError(f"--component: the artifact has no component {component!r}.{hint}")
    return type(artifact)({component: artifact[component]})
