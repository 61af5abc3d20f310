"""The reader of the shipped world, and readers that differ from it in what a test names."""

from dataclasses import replace
from typing import Any

from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.world import load_world

USUAL = load_world().reader


def reader_with(**knobs: Any) -> ReaderParameters:
    """Returns the shipped world's parameters but for these."""
    return replace(USUAL, **knobs)
