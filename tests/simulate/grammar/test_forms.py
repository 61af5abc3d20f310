import pytest

from tests.simulate.grammar.asked import slots


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("No capital letters.", {"case": "lower"}),
        ("Write in upper case.", {"case": "upper"}),
        ("Every letter must be a small letter.", {"case": "lower"}),
        ("Write everything in title case.", {"case": "title"}),
        ("Start every word with a capital.", {"case": "title", "title case": "all"}),
        ("Open every sentence in capitals.", {"case": "opening"}),
        ("Put the first word of each sentence in capitals.",
         {"case": "opening", "opening case": "word"}),
        ("Write every second word in capitals.", {"case": "alternate"}),
        ("Write every other word in capitals and no other word.", {"case": "alternate"}),
        ("The number of words in capitals must be the requested number.", {}),
    ],
)  # fmt: skip
def test_cases(text: str, wanted: dict[str, object]) -> None:
    assert slots(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Put quotes around the answer.", {"wrap": "yes"}),
        ("Wrap it all in double quotation marks.", {"wrap": "yes", "quote marks": ('"', '"')}),
        ("Use a code block for the answer.", {"format": "code"}),
        ('A code block stands between two lines "```".', {"format": "code", "fence": "```"}),
        ('Put the answer in the tag "note".', {"tag": "note"}),
        ('Put it between "<note>" and "</note>".', {"tag": "note", "tag marks": ("<", ">")}),
        ('A tag opens with "<name>".', {"tag marks": ("<", ">")}),
        ("Answer in JSON.", {"format": "json"}),
        ("Return only a JSON object.", {"format": "json", "json style": "bare"}),
        ('The JSON key is "note".', {"json key": "note"}),
        ("Tables are written in Markdown.", {"table": "yes", "table style": "markdown"}),
        ("Write numbers in digits.", {"number style": "digits"}),
        ("Answer in German.", {"language": "german"}),
        ("Write in French and in no other language.", {"language": "french"}),
        ("Talk about German cooking.", {}),
    ],
)
def test_wraps_formats_and_languages(text: str, wanted: dict[str, object]) -> None:
    assert slots(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("First repeat the task, then carry it out.", {"repeat": "request"}),
        ("Repeat the request word for word.", {"repeat": "request", "repeat style": "exact"}),
        ("When asked to repeat the task, copy it exactly.",
         {"repeat": "request", "repeat style": "exact"}),
        ("Give the whole answer twice.", {"repeat": "answer"}),
        ("Answer with yes, no or maybe.", {"choice": "asked"}),
        ('Answer with one of "Ay." and "Nay.".', {"choice": "asked", "option": "Nay."}),
        ("Add a title.", {"title": "yes"}),
        ("Give it a heading.", {"title": "yes"}),
        ("Use 3 headings.", {"exactly heading": 3}),
        ("The title and the postscript do not count.", {"uncounted": "postscript"}),
    ],
)  # fmt: skip
def test_repetitions_choices_and_titles(text: str, wanted: dict[str, object]) -> None:
    assert slots(text) == wanted
