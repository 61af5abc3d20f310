"""A solver: builds an answer that meets all constraints of an example, if its plan can.

It knows what the checkers want, unlike any model. It makes sentences of filler words and required
words, lays them out in lines, puts a frame and edges around them, sets the case, and tries again
with one more filler word until the checkers agree.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count, cycle, islice
from typing import Any

from flashevolve.workloads.instructions.registry import CHECKERS

ENGLISH = (
    "the old cat and a big dog came by in the sun but some birds made their song up high there "
    "is much to see so stay calm under a blue sky until dusk when boats come back many more will "
    "come and use our salt with bread milk corn cups mugs bags seats steps side up us under both "
    "by bring can come cats most my much such sand stone rain lake air pond moon oak over and "
    "ever even every each apple near tree inn path moss open love late leaf yet you go ride big "
    "keep king keys walk well wide good green gate pink kind dark hot day joy far fish fun yes "
    "way quick jump fox home hand tune note lamp room river"
)
OTHERS = {
    "de": "der alte Mann und die kleine Frau gehen heute mit dem Hund durch den dunklen Wald "
    "weil sie dort nicht allein sind wenn die Nacht kommt und ihr Haus noch weit ist aber wir "
    "haben viel Zeit und trinken warmen Tee an einem runden Tisch vor jedem Fenster",
    "es": "el hombre viejo y la mujer camina con los perros por una calle muy larga porque "
    "quiere llegar antes que la noche cuando ya nadie puede ver donde queda su casa pero hoy "
    "tenemos mucho tiempo para beber agua fresca en esta mesa redonda bajo las ventanas",
    "fr": "le vieil homme et une femme marchent avec leur chien dans la rue parce que nous "
    "voulons arriver avant cette nuit quand elle sera trop sombre pour voir notre maison mais "
    "il reste encore beaucoup de temps pour boire du thé avec toi sur une table ronde",
    "it": "il vecchio uomo e la donna camminano con il cane nella strada perché vogliono "
    "arrivare prima della notte quando nessuno può più vedere dove sono gli alberi ma oggi "
    "abbiamo molto tempo per bere acqua fresca su questo tavolo rotondo davanti alle finestre",
    "pt": "o homem velho e uma mulher andam com os seus cães pela rua porque não querem "
    "chegar depois da noite quando ninguém pode ver onde fica a casa então eles são mas hoje "
    "temos muito tempo para beber água fresca nesta mesa redonda perto das janelas",
}
MAX_FILLERS = 200
NEWLINE = "\n"
INLINE = {"layout:lines", "layout:sentence_lines"}
"""Layouts that a frame must not add lines to."""


def solve(example: Mapping[str, Any]) -> str | None:
    """Returns an answer that meets all constraints, or None."""
    wanted = dict(zip(example["instruction_id_list"], example["kwargs"], strict=True))
    for n_fillers in range(MAX_FILLERS):
        answer = _Plan(wanted, n_fillers).answer()
        if all(CHECKERS[kind](answer, **kwargs).passed for kind, kwargs in wanted.items()):
            return answer
    return None


class _Plan:
    def __init__(self, wanted: Mapping[str, Any], n_fillers: int) -> None:
        self.wanted = wanted
        self.n_fillers = n_fillers
        self.lexicon = list(filter(self._allowed, self._all_words()))
        self.words = cycle(self.lexicon)

    def _all_words(self) -> list[str]:
        code = self._of("language:response_language", "language")
        if code:
            return OTHERS[code].split()
        letter = str(self._at_least("keywords:letter_frequency", "let_frequency", "letter") or "")
        words = ENGLISH.split()
        having = cycle(word for word in words if letter in word)
        return [either for word in words for either in (word, next(having))]

    def _allowed(self, word: str) -> bool:
        letter = self._of("letters:forbidden", "letter")
        rare = self._of("keywords:letter_frequency", "letter")
        if self._at_least("keywords:letter_frequency", "let_frequency", "letter"):
            rare = None
        longest = self._of("letters:longest_word", "n") or 99
        banned = self._of("keywords:forbidden_words", "forbidden_words") or []
        return (
            (letter or "#") not in word
            and (rare or "#") not in word
            and len(word) <= longest
            and word not in banned
        )

    def _of(self, kind: str, key: str) -> Any:
        return self.wanted.get(kind, {}).get(key)

    def _at_least(self, kind: str, number: str, value: str) -> Any:
        """Returns a constraint's value if it asks for at least so many, not for fewer."""
        kwargs = self.wanted.get(kind, {})
        return kwargs.get(value) if "at least" in kwargs.values() else None

    def answer(self) -> str:
        text = self._lined()
        if "repeats:answer" in self.wanted:
            text = f"{text}\n---\n{text}"
        if "combination:two_responses" in self.wanted:
            text = f"{text}\n******\n{self._lined()}"
        return self._cased(self._framed(self._edged(text)))

    def _required(self) -> list[str]:
        """Returns words that must occur somewhere, in order, with their marks."""
        found = [*(self._of("keywords:existence", "keywords") or [])]
        keyword = self._at_least("keywords:frequency", "frequency", "keyword")
        found += [keyword] * self._of("keywords:frequency", "frequency") if keyword else []
        order = self.wanted.get("words:order", {})
        found += [order["first"], order["second"]] if order else []
        marked = {
            ("detectable_content:number_placeholders", "num_placeholders"): "[{}]",
            ("detectable_format:number_highlighted_sections", "num_highlights"): "*{}*",
            ("layout:bold", "n"): "**{}**",
            ("signs:parentheses", "n"): "({})",
            ("signs:semicolons", "n"): "{};",
        }
        if "detectable_format:number_bullet_lists" in self.wanted:
            # A single asterisk would pair with the one that begins the line.
            marked["detectable_format:number_highlighted_sections", "num_highlights"] = "**{}**"
        for (kind, key), form in marked.items():
            found += [
                form.format(next(self.words), next(self.words))
                for _ in range(self._of(kind, key) or 0)
            ]
        found += list(map(str, range(11, 11 + (self._of("numbers:count", "n") or 0))))
        kind = "change_case:capital_word_frequency"
        n_capitals = self._at_least(kind, "", "capital_frequency") or 0
        capitals = (word for word in cycle(self.lexicon) if len(word) > 1)
        return found + [word.upper() for word in islice(capitals, n_capitals)]

    def _n_groups(self) -> int:
        """Returns the number of lines or parts that the layout asks for."""
        sizes = {
            "length_constraints:number_paragraphs": "num_paragraphs",
            "length_constraints:nth_paragraph_first_word": "num_paragraphs",
            "detectable_format:number_bullet_lists": "num_bullets",
            "detectable_format:multiple_sections": "num_sections",
            "layout:numbered": "n",
            "layout:headings": "n",
        }
        known: list[int] = [
            self._of(kind, key) for kind, key in sizes.items() if kind in self.wanted
        ]
        if "layout:lines" in self.wanted:
            own_line = {"detectable_format:title", "detectable_content:postscript"}
            own_line |= {"startend:end_checker", "edges:signature", "signs:hashtags"}
            n_frame = 2 * ("layout:code_block" in self.wanted)
            known = [self._of("layout:lines", "n") - n_frame - len(own_line & set(self.wanted))]
        many = {"layout:indent", "layout:sentence_lines", "layout:quote_lines"}
        known += [3] * bool(many & set(self.wanted))
        known += [len(self._of("letters:acrostic", "word") or "")]
        return max([1, *known])

    def _sentences(self) -> list[str]:
        ends = self._ends()
        required = self._required()
        n = max(self._n_groups(), len(ends))
        n = max(n, 3 if "words:growing" in self.wanted else 1)
        if self._of("length_constraints:number_sentences", "relation") == "at least":
            n = max(n, self._of("length_constraints:number_sentences", "num_sentences"))
        limit = self._of("words:longest_sentence", "n")
        if limit:
            n = max(n, -(-(len(required) + self.n_fillers) // (limit - 2)))
        lengths = [i + 1 for i in range(n)] if "words:growing" in self.wanted else [1] * n
        left = len(required) + self.n_fillers
        for i in islice(cycle(range(n)), left) if limit else [n - 1] * left:
            lengths[i] += 1
        parts: list[list[str]] = []
        for i, length in enumerate(lengths):
            at_end = required[: min(len(required), length - 1)]
            del required[: len(at_end)]
            fillers = [next(self.words) for _ in range(length - 1 - len(at_end))]
            parts.append([self._first(i), *fillers, *at_end])
        last = self._of("words:last", "word")
        parts[-1] += [last] * bool(last)
        everywhere = self._of("words:in_every_sentence", "word")
        joined = [" ".join(part[:1] + [everywhere] * bool(everywhere) + part[1:]) for part in parts]
        usual = self._of("signs:end_mark", "mark") or "."
        return [s + (ends[i] if i < len(ends) else usual) for i, s in enumerate(joined)]

    def _ends(self) -> list[str]:
        """Returns the marks that the first sentences end in; the others end in the usual one."""
        n_questions = self._of("signs:questions", "n") or 0
        return ["?"] * n_questions + ["!"] * (self._of("signs:exclamations", "n") or 0)

    def _first(self, i: int) -> str:
        """Returns a word that sentence number `i` may start with."""
        acrostic = self._of("letters:acrostic", "word")
        letter = self._of("letters:sentence_start", "letter")
        letter = letter or (acrostic[i] if acrostic and i < len(acrostic) else "")
        kind = "length_constraints:nth_paragraph_first_word"
        if kind in self.wanted and i == self._of(kind, "nth_paragraph") - 1:
            return str(self._of(kind, "first_word"))
        return next(
            w for w in islice(self.words, 999) if w.startswith(letter) and len(w) > 1
        ).title()

    def _lined(self) -> str:
        """Returns the sentences in the lines that are asked for."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        sentences = self._sentences()
        n = self._n_groups()
        groups = [*sentences[: n - 1], " ".join(sentences[n - 1 :])]
        kind = next((k for k in self.wanted if k in LAYOUTS), None)
        if kind is None:
            yield from [" ".join(sentences)] if n == 1 else groups
        elif kind == "layout:table":
            n_cells = self._of(kind, "columns")
            rows = [[next(self.words) for _ in range(n_cells)] for _ in range(3)]
            rows.insert(1, ["---"] * n_cells)
            yield from ("| " + " | ".join(row) + " |" for row in rows)
            yield "\n" + " ".join(sentences)
        else:
            if kind == "layout:sentence_lines":
                groups = sentences
            name = self._of("detectable_format:multiple_sections", "section_spliter")
            for i, group in enumerate(groups):
                yield LAYOUTS[kind](i, group, f"{name} {i + 1}", next(self.words))

    def _edged(self, text: str) -> str:
        wanted = self.wanted
        phrase = self._of("edges:first_and_last", "phrase")
        if phrase:
            text = f"{phrase}.\n{text}\n{phrase}."
            if "layout:lines" in wanted or "length_constraints:number_sentences" in wanted:
                text = re.sub(r"\.\n(.*)\n", r" \1 ", text, flags=re.DOTALL)
        if "detectable_format:title" in wanted:
            text = f"<<{next(self.words)}>>\n{text}"
        repeated = self._of("combination:repeat_prompt", "prompt_to_repeat")
        if repeated:
            text = f"{repeated}{' ' if INLINE & set(wanted) else NEWLINE}{text}"
        tails = {
            "startend:end_checker": self._of("startend:end_checker", "end_phrase"),
            "edges:signature": f"-- {self._of('edges:signature', 'name')}",
            "signs:hashtags": " ".join(
                f"#{next(self.words)}" for _ in range(self._of("signs:hashtags", "n") or 0)
            ),
            "detectable_content:postscript": (
                f"{self._of('detectable_content:postscript', 'postscript_marker')} "
                f"{next(self.words)}."
            ),
        }
        return "\n".join([text, *(tail for kind, tail in tails.items() if kind in wanted)])

    def _framed(self, text: str) -> str:
        gap = "" if INLINE & set(self.wanted) else "\n"
        if "startend:quotation" in self.wanted:
            return f'"{gap}{text}{gap}"'
        if "layout:tag" in self.wanted:
            tag = self._of("layout:tag", "tag")
            return f"<{tag}>{gap}{text}{gap}</{tag}>"
        if "layout:code_block" in self.wanted:
            return f"```\n{text}\n```"
        if "detectable_format:json_format" in self.wanted:
            return json.dumps({next(self.words): text})
        if "detectable_format:constrained_response" in self.wanted:
            return "My answer is yes."
        return text

    def _cased(self, text: str) -> str:
        if "change_case:english_capital" in self.wanted:
            return text.upper()
        if "change_case:english_lowercase" in self.wanted:
            return text.lower()
        word = re.compile(r"\w+(?:[-'’]\w+)*")
        if "case:title" in self.wanted:
            return word.sub(lambda m: m[0].capitalize(), text)
        if "case:alternate_words" in self.wanted:
            places = count()
            return word.sub(lambda m: m[0].upper() if next(places) % 2 else m[0].lower(), text)
        if "case:sentence_opening" in self.wanted:
            opening = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=\n))\W*\w+")
            return opening.sub(lambda m: m[0].upper(), text)
        return text


LAYOUTS: Mapping[str, Callable[[int, str, str, str], str]] = {
    "length_constraints:number_paragraphs": lambda i, s, name, word: "***\n" * (i > 0) + s,
    "length_constraints:nth_paragraph_first_word": lambda i, s, name, word: "\n" * (i > 0) + s,
    "detectable_format:number_bullet_lists": lambda i, s, name, word: f"* {s}",
    "detectable_format:multiple_sections": lambda i, s, name, word: f"{name}\n{s}",
    "layout:numbered": lambda i, s, name, word: f"{i + 1}. {s}",
    "layout:headings": lambda i, s, name, word: f"## {word}\n{s}",
    "layout:lines": lambda i, s, name, word: s,
    "layout:sentence_lines": lambda i, s, name, word: s,
    "layout:quote_lines": lambda i, s, name, word: f"> {s}",
    "layout:indent": lambda i, s, name, word: " " * i + s,
    "layout:table": lambda i, s, name, word: s,
    "letters:acrostic": lambda i, s, name, word: s,
}
"""Kind -> what a part looks like: its number, text, section's name and a spare word are given."""
