"""Peers: public checkers of IFEval and IFBench, loaded without what else their packages need.

Only their checkers are imported, not their packages, which would load datasets or torch. They find
sentences with nltk and data that it downloads; here the same algorithm comes from the package that
we use.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from types import ModuleType
from typing import Any

PEERS = {
    "if_verifiable": ("if-verifiable", "if_verifiable.ifeval"),
    "lm_eval": ("lm-eval", "lm_eval.tasks.ifeval"),
}
"""Name -> its distribution and the package of its checkers of IFEval."""
IFBENCH = "ifbench"
"""The peer whose checkers are those of IFBench."""
_ALL = {**PEERS, IFBENCH: ("if-verifiable", "if_verifiable.ifbench")}


class Peer:
    """One public implementation."""

    def __init__(self, classes: Mapping[str, Any], loose: Callable[[str], list[str]] | None):
        self._classes = classes
        self.ids = frozenset(classes)
        self.variants = loose

    def passes(self, name: str, answer: str, values: Mapping[str, Any]) -> bool:
        """Returns whether the peer takes a constraint for met, as its scoring does."""
        checker = self._classes[name](name)
        checker.build_description(**values)
        return bool(answer.strip() and checker.check_following(answer))


@cache
def peer(name: str) -> Peer:
    """Loads a peer. Raises `PackageNotFoundError` if it is not installed."""
    distribution, package = _ALL[name]
    if not files(distribution):
        raise PackageNotFoundError(distribution)
    _stand_in_for_nltk_s_data()
    for parent in _parents(package):
        _bare_package(parent)
    registry = importlib.import_module(f"{package}.instructions_registry")
    loose = None
    if name == "if_verifiable":
        loose = importlib.import_module("if_verifiable.common").get_loose_transformations
    util: Any = importlib.import_module(f"{package}.instructions_util")
    util._get_sentence_tokenizer = _punkt
    return Peer(registry.INSTRUCTION_DICT, loose)


def _parents(package: str) -> list[str]:
    parts = package.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def _bare_package(name: str) -> None:
    """Makes a package importable without running its `__init__`."""
    module = ModuleType(name)
    folder = name.replace(".", "/")
    places = (Path(place, folder) for place in sys.path)
    module.__path__ = [str(place) for place in places if place.is_dir()]
    sys.modules[name] = module


def _punkt() -> Any:
    import punkt

    return punkt.PunktSentenceTokenizer(punkt.load_model("english"))


def _stand_in_for_nltk_s_data() -> None:
    import langdetect
    import nltk
    from nltk.tokenize.destructive import NLTKWordTokenizer

    words = NLTKWordTokenizer()

    def word_tokenize(text: str) -> list[str]:
        return [token for sentence in _punkt().tokenize(text) for token in words.tokenize(sentence)]

    nltk.word_tokenize = word_tokenize
    nltk.download = lambda *args, **kwargs: True  # one of them downloads when it is imported
    langdetect.DetectorFactory.seed = 0
