"""FlashEvolve: evolve prompts, playbooks, harnesses and programs with LLMs."""

from flashevolve._version import __version__

__all__ = ["__version__"]
