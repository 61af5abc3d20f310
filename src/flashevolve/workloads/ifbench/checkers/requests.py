"""IFBench's instructions that are a whole request with one kind of right answer: `custom:*`."""

import csv
import io
import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Mapping
from itertools import pairwise

from flashevolve.workloads.ifbench.checkers.data import CAPITALS
from flashevolve.workloads.ifbench.checkers.parts import EDGES, plain_words, sentences, told
from flashevolve.workloads.instructions.text import counted
from flashevolve.workloads.instructions.verdict import Checker, Verdict

_SEVENS = [str(n) for n in range(14, 51, 7)]
_QUESTION = re.compile(r"Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_SPECIAL = re.compile(r'"[^\n]*[^\d\w\s][^\n]*"')
_PLACES = ["ID", "Country", "City", "Year", "Count"]
_PRODUCTS = ["ProductID", "Category", "Brand", "Price", "Stock"]
_STUDENTS = ["StudentID", "Subject", "Grade", "Semester", "Score"]
_LIFE_OF_NAPOLEON = range(1769, 1822)


def multiples(answer: str) -> Verdict:
    """The numbers in the answer are the multiples of 7 from 14 to 49, in order."""
    found = re.findall(r"\d+", answer)
    return told(
        found == _SEVENS,
        "The answer must hold the multiples of 7 between 10 and 50 in order and no other number",
        f"it holds {', '.join(found[:10]) or 'no number'}",
    )


def mcq_count_length(answer: str) -> Verdict:
    """Four parts "Question <number>", each with five options A to E and a longer question.

    Options are lines of their own that start with the letter and "." or ")".
    """
    parts = [part.strip() for part in _QUESTION.split(answer) if part.strip()]
    counts, lengths = [], []
    for part in parts:
        lines = [line.strip() for line in part.split("\n")]
        chosen = [at for at, line in enumerate(lines) if _OPTION.match(line)]
        counts.append(len(chosen))
        lengths.append(len(" ".join(lines[: chosen[0] if chosen else None]).strip()))
    longer = all(one < other for one, other in pairwise(lengths))
    problem = f"{counted(len(parts), 'question')} with {', '.join(map(str, counts[:8]))} options"
    if counts == [5] * 4:
        problem = "a question is not longer than the one before" if not longer else "it starts so"
    return told(
        answer.startswith("Question") and counts == [5] * 4 and longer,
        'There must be 4 questions that start with "Question 1" and so on, nothing before the '
        "first, each longer than the one before and with 5 options on lines that start with A) to "
        "E)",
        problem.replace("it starts so", "the answer starts with another text"),
    )


def reverse_newline(answer: str) -> Verdict:
    """From the line with Zimbabwe on, 52 lines or more in reverse alphabetical order."""
    lines = [bare for line in answer.split("\n") if (bare := line.strip(EDGES))]
    start = next((at for at, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    found = [_plain(line) for line in lines[start:]]
    ordered = all(one >= other for one, other in pairwise(found))
    return told(
        len(found) >= 52 and ordered,
        "All countries of Africa, at least 52, must be given one a line in reverse alphabetical "
        "order, from Zimbabwe on",
        f"{counted(len(found), 'line')} from Zimbabwe on, {'in' if ordered else 'out of'} order",
    )


def word_reverse(answer: str) -> Verdict:
    """Read from the last word to the first, the answer names the bald eagle."""
    return told(
        "bald eagle" in " ".join(reversed(plain_words(answer))),
        "The right animal must be named in a sentence whose words are in reverse order",
        "it is not",
    )


def character_reverse(answer: str) -> Verdict:
    """The bald eagle's name occurs from its last letter to its first."""
    return told(
        "bald eagle"[::-1] in answer.lower(),
        "The right animal must be named in a sentence whose letters are in reverse order",
        "it is not",
    )


def sentence_alphabet(answer: str) -> Verdict:
    """Twenty-six sentences that start with a, b, c and so on."""
    starts = "".join(one[0].lower() for one in sentences(answer))
    return told(
        starts == "abcdefghijklmnopqrstuvwxyz",
        "There must be exactly 26 sentences, of which the first starts with A, the next with B and "
        "so on to Z",
        f"{counted(len(starts), 'sentence')} start with {' '.join(starts[:26])}",
    )


def european_capitals_sort(answer: str) -> Verdict:
    """The benchmark's 27 capitals in its order, with commas between; accents may be missing."""
    found = [one.strip() for one in _plain(answer).split(",") if one.strip()]
    right = sum(one == other for one, other in zip(found, CAPITALS, strict=False))
    return told(
        tuple(found) == CAPITALS,
        f"The answer must be nothing but the {len(CAPITALS)} capitals of European countries north "
        "of 45 degrees, from north to south, with commas between them",
        f"{len(found)} names were found, {right} of them in their place",
    )


def csv_city(answer: str) -> Verdict:
    """A header and 7 rows of five fields with commas between them."""
    try:
        rows = list(csv.reader(io.StringIO(answer)))
    except csv.Error:
        rows = []
    return _table(rows, _PLACES, 7, "commas", right=True, also="")


def csv_special_character(answer: str) -> Verdict:
    """A header and 14 rows of five fields; one field in double quotes holds a special character.

    That is one which is neither a letter, a digit, an underscore nor white space.
    """
    rows = list(_rows(answer, ","))
    rows[:1] = [[_unquoted(field) for field in row] for row in rows[:1]]
    right = any(_SPECIAL.match(field) for row in rows[1:] for field in row)
    also = ", and a field with a special character must stand in double quotes"
    return _table(rows, _PRODUCTS, 14, "commas", right=right, also=also)


def csv_quotes(answer: str) -> Verdict:
    """A header and 3 rows of five fields, each in double quotes, with tabs between them."""
    rows = list(_rows(answer, "\t"))
    fields = [field.strip() for row in rows for field in row]
    right = all(field[:1] == field[-1:] == '"' for field in fields)
    rows[:1] = [[_unquoted(field) for field in row] for row in rows[:1]]
    also = ", and every field, also of the header, must stand in double quotes"
    return _table(rows, _STUDENTS, 3, "tabs", right=right, also=also)


def date_format_list(answer: str) -> Verdict:
    """Dates as YYYY-MM-DD from 1769 to 1821 with commas between them, and nothing else."""
    dates = [one.strip() for one in answer.strip().split(",")]
    wrong = sum(not _is_date(one) for one in dates)
    return told(
        not wrong,
        "The answer must be nothing but dates as YYYY-MM-DD with commas between them, from "
        "Napoleon's lifetime",
        f"{wrong} of {len(dates)} parts are something else",
    )


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _rows(text: str, divider: str) -> Iterator[list[str]]:
    """Yields rows of fields with their quotation marks, in which nothing divides."""
    row, start, quoted = [], 0, False
    for at, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif not quoted and sign in (divider, "\n"):
            row.append(text[start:at])
            start = at + 1
            if sign == "\n":
                yield row
                row = []
    if start < len(text):
        yield [*row, text[start:]]


def _unquoted(field: str) -> str:
    bare = field.strip(" ")
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == '"' else bare


def _table(
    rows: list[list[str]], header: list[str], n: int, divider: str, *, right: bool, also: str
) -> Verdict:
    shown = ", ".join(header)
    problem = f"{counted(max(len(rows) - 1, 0), 'row')} after the first line"
    if rows[:1] != [header]:
        problem = "the first line is another one"
    elif len(rows) == n + 1:
        problem = "a field is not as asked" if not right else "a row has not five fields"
    return told(
        rows[:1] == [header] and len(rows) == n + 1 and right and all(len(r) == 5 for r in rows),
        f"The answer must be nothing but a table with {divider} between its fields: the header "
        f"{shown} and exactly {n} rows of five fields{also}",
        problem,
    )


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if not match:
        return False
    year, month, day = map(int, match.groups())
    # In every year, as in the reference, February may have 29 days.
    leap = 1804
    return year in _LIFE_OF_NAPOLEON and 0 < month < 13 and 0 < day <= monthrange(leap, month)[1]


CHECKERS: Mapping[str, Checker] = {
    "custom:multiples": multiples,
    "custom:mcq_count_length": mcq_count_length,
    "custom:reverse_newline": reverse_newline,
    "custom:word_reverse": word_reverse,
    "custom:character_reverse": character_reverse,
    "custom:sentence_alphabet": sentence_alphabet,
    "custom:european_capitals_sort": european_capitals_sort,
    "custom:csv_city": csv_city,
    "custom:csv_special_character": csv_special_character,
    "custom:csv_quotes": csv_quotes,
    "custom:date_format_list": date_format_list,
}
"""Id of an instruction -> its checker."""
