"""Configuration: a TOML file, overrides from the command line, or Python; one tree, one check.

`load` reads a file, `merge` puts overrides into its tree, `resolve` checks the tree and returns
frozen `Settings`. `dump` records them with a run; `compare` tells what a resume may not change.
"""

from flashevolve.config.compare import compare
from flashevolve.config.describe import Key, describe
from flashevolve.config.resolve import dump, resolve
from flashevolve.config.settings import (
    Budget,
    DataSettings,
    Limits,
    Model,
    Price,
    RunSettings,
    Settings,
    SimulationSettings,
    Staleness,
    TaskSettings,
)
from flashevolve.config.tree import load, merge

__all__ = [  # noqa: RUF022  # reading order
    "Settings",
    "Model",
    "Price",
    "Budget",
    "TaskSettings",
    "DataSettings",
    "Limits",
    "Staleness",
    "SimulationSettings",
    "RunSettings",
    "load",
    "merge",
    "resolve",
    "dump",
    "describe",
    "Key",
    "compare",
]
