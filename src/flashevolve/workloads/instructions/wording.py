"""Wording: the sentences by which a request asks for a constraint, and the topic's own.

A *terse* wording asks as a user would and leaves a detail out (a marker, a separator, brackets):
what exactly the checker accepts has to be learnt from feedback. A *full* wording says all of it.
Every id has a full one, and a terse one wherever there is a detail to leave out. A terse wording is
only used if the detail that it leaves out is the usual one (`USUAL`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flashevolve.workloads.instructions.further.signs import name


class Wording(NamedTuple):
    """Ways to ask for one kind of constraint; at least two in all."""

    terse: tuple[str, ...]
    full: tuple[str, ...]


FORMS: tuple[str, ...] = (
    "Write a short note about {subject}.",
    "Describe {subject} to a friend.",
    "Explain what makes {subject} interesting.",
    "Tell a visitor about {subject}.",
    "Write a message that recommends {subject}.",
    "Compose a brief report on {subject}.",
    "Draft an announcement about {subject}.",
    "Tell a child about {subject}.",
)
"""Sentences that say what a text is to be about."""
QUESTIONS: tuple[str, ...] = (
    "Is {subject} worth a visit?",
    "Would you recommend {subject} to a family?",
)
"""Topics that can be answered by yes, no or maybe."""

USUAL: Mapping[str, Mapping[str, Any]] = {
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:multiple_sections": {"section_spliter": "Section"},
}
"""Id -> the values that a terse wording leaves out."""

LANGUAGES = {
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "pt": "Portuguese",
}
ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")

_IFEVAL: Mapping[str, Wording] = {
    "keywords:existence": Wording(
        (),
        (
            "Include the keywords {keywords}.",
            "Mention the words {keywords}.",
        ),
    ),
    "keywords:frequency": Wording(
        (),
        (
            'Use the word "{keyword}" {relation} {frequency} times.',
            'The word "{keyword}" should appear {relation} {frequency} times.',
        ),
    ),
    "keywords:forbidden_words": Wording(
        (),
        (
            "Do not use the words {forbidden_words}.",
            "Avoid the words {forbidden_words}.",
        ),
    ),
    "keywords:letter_frequency": Wording(
        (),
        (
            'Use the letter "{letter}" {let_relation} {let_frequency} times.',
            'The letter "{letter}" should appear {let_relation} {let_frequency} times.',
        ),
    ),
    "language:response_language": Wording(
        ("Answer in {language}.", "Reply in {language}."),
        ("Write the whole answer in {language} and in no other language.",),
    ),
    "length_constraints:number_sentences": Wording(
        (),
        (
            "Use {relation} {num_sentences} sentences.",
            "Write {relation} {num_sentences} sentences.",
        ),
    ),
    "length_constraints:number_paragraphs": Wording(
        (
            "Write {num_paragraphs} paragraphs.",
            "Divide the text into {num_paragraphs} paragraphs.",
        ),
        ('Write exactly {num_paragraphs} paragraphs with a line "***" between two of them.',),
    ),
    "length_constraints:number_words": Wording(
        (),
        (
            "Use {relation} {num_words} words.",
            "Write {relation} {num_words} words.",
        ),
    ),
    "length_constraints:nth_paragraph_first_word": Wording(
        (
            "Write {num_paragraphs} paragraphs and start the {nth_paragraph} paragraph with the "
            'word "{first_word}".',
            "In a text of {num_paragraphs} paragraphs, begin the {nth_paragraph} paragraph with "
            'the word "{first_word}".',
        ),
        (
            "Write exactly {num_paragraphs} paragraphs with an empty line between two of them, "
            'and start the {nth_paragraph} paragraph with the word "{first_word}".',
        ),
    ),
    "detectable_content:number_placeholders": Wording(
        (
            "Include at least {num_placeholders} placeholders.",
            "Leave at least {num_placeholders} placeholders to be filled in.",
        ),
        ('Include at least {num_placeholders} placeholders in square brackets, such as "[name]".',),
    ),
    "detectable_content:postscript": Wording(
        ("Add a postscript.", "Include a postscript."),
        ('Add a postscript at the end that begins with "{postscript_marker}".',),
    ),
    "detectable_format:number_bullet_lists": Wording(
        ("Use {num_bullets} bullet points.", "Answer as a list of {num_bullets} bullets."),
        ('Give exactly {num_bullets} bullet points and begin the line of each with "* ".',),
    ),
    "detectable_format:constrained_response": Wording(
        ("Answer with yes, no or maybe.", "Just say yes, no or maybe."),
        (
            'Answer with exactly one of the sentences "My answer is yes.", "My answer is no." and '
            '"My answer is maybe.".',
        ),
    ),
    "detectable_format:number_highlighted_sections": Wording(
        (
            "Highlight at least {num_highlights} phrases.",
            "Make at least {num_highlights} phrases stand out by highlighting them.",
        ),
        (
            "Highlight at least {num_highlights} phrases with one asterisk on each side, such as "
            '"*a phrase*".',
        ),
    ),
    "detectable_format:multiple_sections": Wording(
        ("Write {num_sections} sections.", "Divide the text into {num_sections} sections."),
        (
            "Write {num_sections} sections and begin each with a line of its own: "
            '"{section_spliter} 1", "{section_spliter} 2" and so on.',
        ),
    ),
    "detectable_format:json_format": Wording(
        ("Answer in JSON.", "Return a JSON object."),
        ("The whole answer must be one valid JSON object with nothing outside it.",),
    ),
    "detectable_format:title": Wording(
        ("Give it a title.", "Add a title."),
        ('Add a title in double angular brackets, such as "<<a title>>".',),
    ),
    "combination:two_responses": Wording(
        ("Give two different answers.", "Write two different versions of the answer."),
        ('Give two different answers with a line "******" between them.',),
    ),
    "combination:repeat_prompt": Wording(
        (
            "First repeat the task, then carry it out.",
            "Repeat the task before you carry it out.",
        ),
        (
            'Begin with the sentence "{prompt_to_repeat}", repeated word for word without '
            "change, and then answer it.",
        ),
    ),
    "startend:end_checker": Wording(
        ('End with the phrase "{end_phrase}".', 'Close with the phrase "{end_phrase}".'),
        ('End with exactly the phrase "{end_phrase}" and write nothing after it.',),
    ),
    "startend:quotation": Wording(
        ("Put the answer in quotation marks.", "Put quotes around the answer."),
        ("Wrap the whole answer in double quotation marks.",),
    ),
    "change_case:capital_word_frequency": Wording(
        ("Stress {capital_relation} {capital_frequency} words by capitals.",),
        ("Write {capital_relation} {capital_frequency} words with all their letters as capitals.",),
    ),
    "change_case:english_capital": Wording(
        ("Use capitals only.",),
        ("Write everything in English and in capital letters.",),
    ),
    "change_case:english_lowercase": Wording(
        ("Use no capitals.",),
        ("Write everything in English and in lowercase letters.",),
    ),
    "punctuation:no_comma": Wording(
        (),
        ("Do not use commas.", "Avoid commas."),
    ),
}

_WORDS_AND_SIGNS: Mapping[str, Wording] = {
    "words:between": Wording(
        (),
        (
            "Write between {low} and {high} words.",
            "Use at least {low} words and at most {high} words.",
        ),
    ),
    "words:unique": Wording(
        ("Vary your language: use at least {n} different words.",),
        ("Use at least {n} different words, counting a repeated word once.",),
    ),
    "words:longest_sentence": Wording(
        (),
        (
            "Use at most {n} words in every sentence.",
            "Keep every sentence to at most {n} words.",
        ),
    ),
    "words:order": Wording(
        ('Mention "{first}" before "{second}".',),
        ('Include the word "{first}" and after it the word "{second}".',),
    ),
    "words:last": Wording(
        ('Make "{word}" the last word.',),
        ('The very last word of the answer must be "{word}".',),
    ),
    "words:in_every_sentence": Wording(
        (),
        (
            'Include the word "{word}" in every sentence.',
            'Every sentence should hold the word "{word}".',
        ),
    ),
    "words:multiple": Wording(
        ("Write a multiple of {k} words.",),
        ("The number of words must be a multiple of {k}.",),
    ),
    "words:growing": Wording(
        ("Let the sentences grow longer and longer.",),
        ("Write at least 3 sentences, every one with more words than the sentence before it.",),
    ),
    "signs:questions": Wording(
        ("Ask exactly {n} questions.",),
        ("Exactly {n} sentences must end with a question mark.",),
    ),
    "signs:exclamations": Wording(
        ("Exclaim exactly {n} times.",),
        ("Exactly {n} sentences must end with an exclamation mark.",),
    ),
    "signs:forbidden": Wording(
        ("Do not use any {sign_name}.",),
        ('The {sign_name} ("{sign}") must not appear anywhere in the answer.',),
    ),
    "signs:semicolons": Wording(
        (),
        ("Use at least {n} semicolons.", "Include at least {n} semicolons."),
    ),
    "signs:parentheses": Wording(
        ("Add at least {n} asides.",),
        ("Include at least {n} phrases in parentheses.",),
    ),
    "signs:hashtags": Wording(
        ("Add {n} hashtags.", "Close with {n} hashtags."),
        ("Write exactly {n} hashtags, and nothing else, on the last line.",),
    ),
    "signs:end_mark": Wording(
        (),
        (
            "End every sentence with {a_mark}.",
            "Every sentence should end with {a_mark}.",
        ),
    ),
    "numbers:count": Wording(
        ("Include exactly {n} numbers.",),
        ("Include exactly {n} numbers, written in digits.",),
    ),
}

_LAYOUT_AND_LETTERS: Mapping[str, Wording] = {
    "layout:numbered": Wording(
        ("Give a numbered list of {n} items.", "Number {n} points."),
        ('Write exactly {n} lines that begin with "1. ", "2. " and so on, in order.',),
    ),
    "layout:headings": Wording(
        ("Use {n} headings.", "Structure it by {n} headings."),
        ('Use exactly {n} headings and begin each heading line with "## ".',),
    ),
    "layout:bold": Wording(
        ("Make at least {n} phrases bold.", "Set at least {n} phrases in bold."),
        ('Make at least {n} phrases bold by "**" before and after each.',),
    ),
    "layout:lines": Wording(
        ("Write {n} lines.",),
        ("Write exactly {n} lines, not counting empty ones.",),
    ),
    "layout:code_block": Wording(
        ("Put the answer in a code block.", "Use a code block for the answer."),
        ('Put the whole answer in one code block between two lines "```".',),
    ),
    "layout:tag": Wording(
        ('Put the answer in the tag "{tag}".', 'Use the tag "{tag}" for the answer.'),
        ('Put the whole answer between "<{tag}>" and "</{tag}>".',),
    ),
    "layout:quote_lines": Wording(
        ("Format the answer as a quote.",),
        ('Begin every line with "> ".',),
    ),
    "layout:table": Wording(
        ("Include a table with {columns} columns.",),
        (
            'Include a Markdown table with {columns} columns, with "|" around its cells, a line '
            "of dashes below the header and at least 2 rows.",
        ),
    ),
    "layout:sentence_lines": Wording(
        ("Start a new line after each sentence.",),
        ("Write every sentence on its own line, at least 2 in all.",),
    ),
    "layout:indent": Wording(
        ("Indent the lines like a staircase.",),
        ("Write at least 3 lines and begin every line with one more space than the line above.",),
    ),
    "repeats:answer": Wording(
        ("Give the whole answer twice.",),
        ('Give the whole answer twice without change, with a line "---" between.',),
    ),
    "letters:forbidden": Wording(
        (),
        (
            'Do not use the letter "{letter}".',
            'The letter "{letter}" must not appear anywhere in the answer.',
        ),
    ),
    "letters:sentence_start": Wording(
        (),
        (
            'Start every sentence with the letter "{letter}".',
            'Every sentence should begin with the letter "{letter}".',
        ),
    ),
    "letters:acrostic": Wording(
        ('Write an acrostic of the word "{word}".',),
        ('The first letters of the lines must spell the word "{word}", one line for each letter.',),
    ),
    "letters:longest_word": Wording(
        (),
        (
            "Use only words of at most {n} letters.",
            "Every word should have at most {n} letters.",
        ),
    ),
    "case:title": Wording(
        ("Write everything in title case.",),
        ("Start every word with a capital letter.",),
    ),
    "case:sentence_opening": Wording(
        ("Open every sentence in capitals.",),
        ("Write the first word of every sentence in capital letters.",),
    ),
    "case:alternate_words": Wording(
        ("Write every second word in capitals.",),
        (
            "Write the second, the fourth and every further second word in capital letters, and "
            "no other word.",
        ),
    ),
    "edges:signature": Wording(
        ('Sign as "{name}".', 'Sign with the name "{name}".'),
        ('Sign on the last line, which must be "-- {name}".',),
    ),
    "edges:first_and_last": Wording(
        ('Open and close with the phrase "{phrase}".',),
        ('Start with the phrase "{phrase}" and end with the same phrase.',),
    ),
}

WORDINGS: Mapping[str, Wording] = {**_IFEVAL, **_WORDS_AND_SIGNS, **_LAYOUT_AND_LETTERS}
"""Id -> ways to ask for it."""


def ways(kind: str, kwargs: Mapping[str, Any], *, full: bool) -> tuple[str, ...]:
    """Returns the sentences that ask for a constraint, full or (where there are any) terse."""
    wording = WORDINGS[kind]
    usual = USUAL.get(kind, {})
    left_out = all(kwargs[key] == value for key, value in usual.items())
    chosen = wording.full if full or not wording.terse or not left_out else wording.terse
    return tuple(way.format(**_shown(kwargs)) for way in chosen)


def _shown(kwargs: Mapping[str, Any]) -> dict[str, str]:
    """Returns each parameter as a request shows it."""
    shown: dict[str, str] = {}
    for key, value in kwargs.items():
        if isinstance(value, list):
            shown[key] = enumeration(value)
        elif key.endswith("relation"):
            shown[key] = "fewer than" if value == "less than" else value
        elif key == "language":
            shown[key] = LANGUAGES[value]
        elif key == "nth_paragraph":
            shown[key] = ORDINALS[value]
        else:
            shown[key] = str(value)
    if "sign" in kwargs:
        shown["sign_name"] = name(kwargs["sign"])
    if "mark" in kwargs:
        called = name(kwargs["mark"])
        shown["a_mark"] = f"an {called}" if called[0] in "aeiou" else f"a {called}"
    return shown


def enumeration(words: Sequence[str]) -> str:
    """Returns the quoted words, joined by commas and a final "and"."""
    quoted = [f'"{word}"' for word in words]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
