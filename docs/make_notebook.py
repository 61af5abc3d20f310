"""Runs examples/notebook.ipynb and keeps what it prints: `python docs/make_notebook.py`.

The outputs are committed, so that the notebook can be read where it cannot be run. Nothing in them
differs between two runs of the same code: a test compares them.
"""

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOK = Path(__file__).parent.parent / "examples" / "notebook.ipynb"

TIMEOUT_S = 60
"""For one cell; the whole takes a few seconds."""


nbformat: Any = import_module("nbformat")  # not typed


def committed() -> Any:
    """Returns the notebook as it is."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed() -> Any:
    """Returns the notebook after a fresh kernel has run all cells; raises if one fails."""
    notebook = committed()
    with tempfile.TemporaryDirectory() as sockets:
        # No port is opened, not even on the loopback interface.
        where = {"transport": "ipc", "ip": str(Path(sockets, "kernel"))}
        client = NotebookClient(
            notebook,
            config=Config({"KernelManager": where}),
            timeout=TIMEOUT_S,
            startup_timeout=TIMEOUT_S,
            resources={"metadata": {"path": str(NOTEBOOK.parent)}},
            record_timing=False,
            coalesce_streams=True,  # how a stream is cut into pieces depends on the machine
        )
        return client.execute()


def main() -> None:
    """Writes the notebook with its outputs."""
    nbformat.write(executed(), NOTEBOOK)


if __name__ == "__main__":
    main()
