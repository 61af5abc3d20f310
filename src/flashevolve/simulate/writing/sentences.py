"""Sentences: filler of exactly as many words as wanted, with places where words can be swapped."""

from dataclasses import dataclass, field

from flashevolve.simulate.writing.lexicon import Picker


@dataclass
class Sentence:
    """A sentence while it is being written."""

    words: list[str]
    nouns: list[int] = field(default_factory=list)
    """Positions that take another noun or name."""
    pauses: list[int] = field(default_factory=list)
    """Positions after which a sign may stand."""
    signs: dict[int, str] = field(default_factory=dict)
    """Position -> the sign that stands after it."""
    end: str = "."

    def text(self) -> str:
        """Returns the sentence as it is written."""
        if not self.signs:
            return " ".join(self.words) + self.end
        signs = self.signs
        return " ".join(w + signs.get(i, "") for i, w in enumerate(self.words)) + self.end

    def extend(self, words: list[str]) -> None:
        """Adds words at the end."""
        self.words += words


def compose(n_words: int, picker: Picker, subject: str = "", opener: str = "") -> Sentence:
    """Returns a sentence of `n_words` words, the opener included."""
    words, nouns, pauses = _core(max(1, n_words - bool(opener)), picker, subject)
    if opener:
        words.insert(0, opener)
        nouns = [i + 1 for i in nouns]
        pauses = [i + 1 for i in pauses]
    words[0] = words[0][0].upper() + words[0][1:]
    return Sentence(words[: max(1, n_words)], [i for i in nouns if i < n_words], pauses)


def _core(n: int, picker: Picker, subject: str) -> tuple[list[str], list[int], list[int]]:
    pools, pick = picker.words, picker.pick
    the = pools.determiners[0]
    if n < 6:
        noun, verb = subject or pick(pools.nouns), pick(pools.verbs)
        if n == 1:
            return [noun], [0], []
        if n == 2:
            return [noun, verb], [0], []
        words = [the, noun, verb]
        if n == 4:
            words.append(pick(pools.adverbs))
        elif n == 5:
            return [*words, the, pick(pools.nouns)], [4, 1], []
        return words, [1], []
    n_tails, n_adverbs = divmod(n - 6, 3)
    words = [the, pick(pools.adjectives), subject or pick(pools.nouns)]
    words += [pick(pools.adverbs) for _ in range(n_adverbs)]
    words += [pick(pools.verbs), the, pick(pools.nouns)]
    nouns, pauses = [len(words) - 1, 2], []
    for _ in range(n_tails):
        pauses.append(len(words) - 1)
        words += [pick(pools.prepositions), the, pick(pools.nouns)]
        nouns.append(len(words) - 1)
    return words, nouns, pauses
