"""Terms: the general English for texts and their parts that every reader shares.

Ways to say an amount, synonyms of parts and properties of texts, numbers. Nothing
here belongs to a task: each entry says that two words mean one thing, and none says what to do.
"""

import re


def words_of(text: str) -> tuple[str, ...]:
    """Returns the words of a list that is written as one text."""
    return tuple(text.split())


def _patterns(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


PHRASES = _patterns(
    (
        r"\b(?:(?:no|not|never) (?:fewer|less) than|at (?:the )?least|(?:a )?minimum of)\b",
        "atleast",
    ),
    (r"\b(?:(?:no|not|never) (?:more|longer) than|at (?:the )?most)\b", "atmost"),
    (r"\b(?:(?:must|may|should|can|do|does)(?: not|n't) exceed)\b", "atmost"),
    (r"\b(?:(?:a )?maximum of|up to|within)\b", "atmost"),
    (r"\bor (?:more|above|longer)\b|\band (?:more|above)\b", "atleast"),
    (r"\bor (?:fewer|less|below|shorter)\b", "atmost"),
    (r"\b(?:more|longer|greater|higher|larger) than\b|\b(?:exceeds?|over)\b(?= [\w@])", "morethan"),
    (r"\b(?:fewer|less|shorter|lower|smaller) than\b|\b(?:under|below)\b(?= [\d@])", "lessthan"),
    (r"\b(?:multiple of|divisible by|divides evenly by)\b", "multiple"),
    (r"\b(?:exactly|precisely)\b", "exactly"),
    (r"\b(?:do|does|did|is|are|must|may|should|can|could)(?: not|n't)\b|\bcannot\b", "not"),
    (r"\bwithout (?:any )?(?:exception|fail)\b|\bnever fail to\b", "always"),
    (r"\byes ?(?:,|or|/|and)? ?(?:or )?no\b", "yesorno"),
    (r"(?<=\S)\s+nor\b", " or"),
    (r"\b(?:stop|quit|cease)(?= (?:\w+ing|to)\b)", "avoid"),
    (
        r"\b(is|are|be|was|would be) (?:a |an )?(?:wrong|incorrect|improper|bad(?: idea)?|mistaken?"
        r"|errors?|false|no good)\b(?: to\b)?",
        r"\1 avoid",
    ),
    (r"^\W*(?:wrong|incorrect)\b(?= to| ?:)|\b(?:wrong|incorrect) (?=to\b)", "avoid "),
    (r"\bin (?:place|lieu) of\b", "instead of"),
    (r"\b(?:leave|leaves|leaving) out\b|\bfree of\b|\bdo without\b|\bstay away from\b", "avoid"),
    (
        r"\bnumber (?!of )(?=(?:\w+ ){0,2}(?:points?|items?|steps?|lines?|entr\w+|paragraphs?)\b)",
        "numbered ",
    ),
    (r"\bnon[- ]?(?:empty|blank) lines?\b", "lines"),
    (r"\bsign(?:ed)?(?: it| off| the \w+| your \w+)? (?:as|with|by|on|at)\b", "signature as"),
    (r"\b(you|to|please|must|should|when) sign(?:ing|s|ed)?\b", r"\1 signature as"),
    (r"\b(that|who|whoever) sign(?:s|ed)\b", r"\1 signature as"),
    (r"\b(?:numbered|ordered) (?:list|point|item|line|step|entr)(?:s|y|ies)?\b", "numbered"),
    (r"\bnumbered\b", "numbered"),
    (r"\blist (?:items?|entries|entry|points?)\b", "bullet"),
    (r"\bbullet(?:ed)? (?:points?|lists?|items?)\b", "bullet"),
    (r"\bkey ?(?:words?|terms?)\b", "keyword"),
    (r"\bp\.\s?(?:p\.\s?)?s\.?(?!\w)", "postscript"),
    (r"\blower[- ]?case\b|\bsmall letters?\b", "lowercase"),
    (
        r"\bupper[- ]?case(?: letters?)?\b|\b(?:all[- ]|block )?capital letters?\b|\ball[- ]?caps\b"
        r"|\bcapitali[sz]ed\b|\bcapitals\b",
        "uppercase",
    ),
    (r"\ban? capital\b", "uppercase"),
    (r"\btitle[- ]case\b", "titlecase"),
    (r"\bquot(?:ation|e) (?:marks?|signs?)\b|\binverted commas\b", "quotes"),
    (
        r"\bquot(?:ation|ed|e) (?:block|text|line)s?\b|\bblock ?quot(?:e|ation)s?\b"
        r"|(?<=\bas )an? quot(?:e|ation)\b",
        "quoteblock",
    ),
    (r"\bquestion marks?\b", "questionmark"),
    (r"\bexclamation (?:marks?|points?|signs?)\b", "exclamationmark"),
    (r"\bsemi-colons?\b", "semicolon"),
    (r"\b(?:fenced )?code (?:block|fence|box|section)s?\b|\bfenced block\b|\bfence\b", "codeblock"),
    (r"\b(?:round brackets?|brackets|parenthes[ie]s|parenthetical)\b", "parenthesis"),
    (r"\bin bold(?: type| print| face| letters)?\b", "in bold"),
    (r"\b(?:word[- ]for[- ]word|verbatim|unchanged|without change)\b", "verbatim"),
    (r"\b(?:blank|empty) lines?\b|\b(?:two|double) (?:new ?lines|line ?breaks)\b", "blankline"),
    (r"\b(?:longest|max(?:imum)? length of an?) (sentence|word|line)\b", r"every \1 atmost"),
    (r"\bevery other\b|\balternat(?:e|ing|ely)\b", "every second"),
    (r"\bhash ?tags?\b", "hashtag"),
    (r"\bplace ?holders?\b", "placeholder"),
    (r"\bsub-?(?:headings?|titles?)\b", "headings"),
    (
        r"\b(?:two|2) (?:\w+ ){0,2}?(?:responses|answers|replies|versions|variants|alternatives)\b",
        "2 variants",
    ),
    (r"\b(?:two|both) copies\b", "2 copies"),
    (r"\bset off by\b|\bdivided by\b|\bset apart\b", "separate"),
    (r"\b(?:set|keep|hold|tell)s? ((?:[\w@]+ ){0,4}?)apart\b", r"separate \1"),
    (r"\bsets? ((?:[\w@]+ ){0,4}?)off((?: [\w@]+){0,4}?) from\b", r"separate \1\2 from"),
    (r"(?<!times )\btwice\b", "2 times twice"),
    (r"\bthrice\b", "3 times"),
)
"""Phrases of one meaning -> the word that stands for it."""

THESAURUS = {
    "title": "title headline caption",
    "heading": "heading",
    "bullet": "bullet list",
    "keyword": "keyword keyphrase",
    "postscript": "postscript ps afterthought",
    "paragraph": "paragraph",
    "start": "start begin open lead opening introduce precede",
    "first": "first",
    "end": "end finish close conclude",
    "last": "last final",
    "avoid": """avoid without omit skip free refrain forbid forbidden ban banned neither nor never
    not no dont refuse abstain prohibit prohibited reject disallow rarely seldom""",
    "include": "include mention contain feature appear occur hold",
    "separate": "separate separator divide divider split between",
    "wrap": "wrap enclose surround whole entire inside everything complete",
    "alone": "alone own itself",
    "quote": "quote quotes",
    "comma": "comma",
    "count": "count tally",
    "line": "line",
    "row": "row",
    "word": "word",
    "letter": "letter character",
    "sentence": "sentence",
    "phrase": "phrase",
    "lowercase": "lowercase",
    "uppercase": "uppercase capital",
    "key": "key field",
    "times": "times",
    "exclude": "exclude excluding",
    "nothing": "nothing",
    "every": "every each all any",
    "highlight": "highlight emphasise emphasize emphasised italic italics stress",
    "section": "section chapter",
    "question": "question",
    "exclamation": "exclamation exclaim",
    "parenthesis": "parenthesis",
    "aside": "aside",
    "different": "different distinct unique various",
    "variant": "variant version alternative",
    "copy": "copy duplicate",
    "repeat": "repeat restate",
    "verbatim": "verbatim",
    "signature": "signature signoff signer signatory",
    "number": "number numeral",
    "digit": "digit figure",
    "name": "name",
    "tag": "tag element",
    "before": "before ahead earlier precedes previous",
    "after": "after later behind follow",
    "indent": "indent indented indentation",
    "grow": "grow growing increase",
    "option": "option choice",
    "language": "language",
}
"""The word that stands for others -> those, itself included."""

LANGUAGES = frozenset(words_of("english german french spanish italian portuguese dutch"))

KEPT = LANGUAGES | frozenset(
    words_of(
        """atleast atmost exactly morethan lessthan multiple numbered lowercase uppercase titlecase
        quotes quoteblock questionmark exclamationmark codeblock parenthesis verbatim blankline
        variants copies headings table signature twice note notes"""
    )
)
"""Words that stand for phrases and have no endings to strip."""

TOPICS = {
    "first": "start",
    "last": "end",
    "heading": "title",
    "headings": "title",
    "variants": "variant",
    "copies": "copy",
    "aside": "parenthesis",
    "digit": "number",
    "quotes": "quote",
    "quoteblock": "quote",
    "titlecase": "uppercase",
    "questionmark": "question",
    "exclamationmark": "exclamation",
}
"""Concepts that differ in a demand and are one as a subject."""

FAINT = frozenset(words_of("avoid include wrap alone count times exclude nothing every after name"))
"""Concepts that say what to do and not with what."""

STOP = words_of(
    """a an the and or of to in on for with by it its is are be as at that this these those their
    them they you your must should may need needs require requires required requested have has do
    does when if whenever answer response reply request ask asks asked mention
    mentions say says use using used write put make give given get text output user task there one
    so then than which what who will can very only just both atleast atmost exactly place stand
    keep set want wants please always while from about into such own kind speak
    speaks pay attention morethan lessthan was were found none written stands such like sign else
    even either also too"""
)
"""Words that say little about what a statement is about."""

NUMBERS = {
    name: value
    for value, name in enumerate(
        words_of(
            """zero one two three four five six seven eight nine ten eleven twelve thirteen
            fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
        )
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}

ORDINALS = {
    name: value
    for value, name in enumerate(
        words_of("second third fourth fifth sixth seventh eighth ninth tenth"), start=2
    )
}
