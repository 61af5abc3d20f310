"""Negation: whether a clause asks for what it mentions or forbids it.

Negations are counted. "Never with X" forbids X, "never without X" asks for it, and so does "never
with Y but with X". Each negation reaches from where it stands to the end of its part of the clause,
or back to what it judges ("X is wrong", "X must not stand there").
"""

import re

_NEGATION = re.compile(
    r"\bavoid\b(?! (?:matter|need|verbatim|only|just|mor|less)\b)"
    r"|\binstead of\b|\brather than\b|\bnothing (?=(?:other|els) than\b)"
)
"""`verbatim` and the rest make idioms that forbid nothing: no matter, not only, not unchanged."""
_UNDOING = re.compile(
    r"\b(?:forget|fail|neglect|hesitat|miss|unles)\b"
    r"|\b(?:other|els|different|differ)\b[^@,;]{0,40}?\b(?:than|from)\b"
    r"|\b(?:anyth|everyth|anyon) (?:but|except)\b"
    r"|\bevery (?:[a-z]+ ){0,2}(?:but|except) (?:(?:with|by|a|an|the) )*(?=@)"
    r"|\bopposit of\b"
)
"""What turns a sense round: not to forget X is to do it, anything but X is not X."""
_BOUNDARY = re.compile(
    r" ;|, (?=avoid\b)| (?:and|or) (?=avoid\b)"
    r"| (?=but\b)(?<!anyth )(?<!everyth )(?<!anyon )| and (?=(?:atleast|atmost|alway|instead)\b)"
)
"""Where a part of a clause ends whose sense the next one does not share."""
_ORDER = re.compile(
    r", (?=(?:then |rather |instead |alway |please )*(?:us|use|start|end|put|writ|giv|add|mark|mak"
    r"|set|separate|wrap|let|do|keep|answer|begin|highlight|tak)\b)"
)
"""A comma after which an order begins anew, unless what it closes is an aside."""
_ASIDE = re.compile(r"\bavoid ?,")
_JUDGED = re.compile(
    r"\b(?:is|ar|be|was|wer|seem|look)(?: [a-z]+)? avoid$"
    r"|\bavoid (?:be )?(?:allow|permit|right|correct|want|accept\w*|good|ok|okay|fin"
    r"|desir\w*|proper|valid|wanted|welcom|us|how|what|the (?:way|right|correct|sign|mark\w*))\b"
)
"""A judgement on what stands before it: X is wrong, X is not allowed."""
_SUBJECT = re.compile(
    r"(?:@\d+ (?:and |or |, )?)+((?:[a-z]+ )*?)(?:must |should |need )?avoid\b(?! @)"
)
"""A sign that is itself what must not stand somewhere."""
_VERB = re.compile(
    r"\b(?:us|use|using|start|end|putt?|writ|giv|add|mark|mak|set|separate|wrap|stand|hav|ha|is|ar|be|keep|answer"
    r"|surround|enclos|look|need|must|should|introduc|open|highlight|com|follow|include|sign"
    r"|signature|prefix|divid|carry|hold|let|say|tak|beg|format|return|respond|repl\w*|repeat)\b"
)


def forbids(text: str, at: int) -> bool:
    """Tells whether a normalised clause forbids what stands at a position."""
    start, end = _part_of(text, at)
    before, after = text[start:at], text[at:end].rstrip(" ,")
    if not _ASIDE.search(before):
        begun = [match.end() for match in _ORDER.finditer(before)]
        before = before[begun[-1] :] if begun else before
    n_turns = sum(1 for _ in _NEGATION.finditer(before)) + sum(1 for _ in _UNDOING.finditer(before))
    judged = _JUDGED.search(after)
    if not judged and not _VERB.search(before):
        subject = _SUBJECT.match(after)
        judged = subject if subject and not _VERB.search(subject[1]) else None
    return (n_turns + bool(judged)) % 2 == 1


def _part_of(text: str, at: int) -> tuple[int, int]:
    """Returns the bounds of the part of a clause that holds a position."""
    start, end = 0, len(text)
    for match in _BOUNDARY.finditer(text):
        if match.end() <= at:
            start = match.end()
        elif match.start() > at:
            end = match.start()
            break
    return start, end
