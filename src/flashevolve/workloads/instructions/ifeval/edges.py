"""IFEval's instructions about how an answer starts and ends, and about two answers in one."""

from collections.abc import Mapping

from flashevolve.workloads.instructions.verdict import Checker, Text, Verdict

DIVIDER = "******"


def two_responses(answer: str) -> Verdict:
    """Two different answers with a line of six asterisks between them."""
    parts = [part.strip() for part in answer.split(DIVIDER)]
    given = [part for part in parts if part]
    hollow = not all(parts[1:-1])
    if not hollow and len(given) == 2 and given[0] != given[1]:
        return Verdict(True, "Its alternatives are fine.")
    problem = f"{len(given)} were found"
    if hollow:
        problem = "there is nothing between two dividers"
    elif len(given) == 2:
        problem = "both are the same"
    return Verdict(
        False,
        "There must be exactly two different answers with six asterisks, "
        f'"{DIVIDER}", between them; {problem}.',
    )


def repeat_prompt(answer: str, *, prompt_to_repeat: Text) -> Verdict:
    """The answer starts with the request, word for word, in any case."""
    if answer.strip().lower().startswith(prompt_to_repeat.strip().lower()):
        return Verdict(True, "Its start is fine.")
    return Verdict(
        False,
        "The answer must first repeat the request word for word, without any word before it, and "
        "only then answer it; it starts differently.",
    )


def end_checker(answer: str, *, end_phrase: Text) -> Verdict:
    """The answer ends with the phrase, in any case; quotation marks may follow."""
    if answer.strip().strip('"').lower().endswith(end_phrase.strip().lower()):
        return Verdict(True, "Its close is fine.")
    return Verdict(
        False,
        f'The answer must end with exactly "{end_phrase.strip()}" and nothing after it; '
        "it ends differently.",
    )


def quotation(answer: str) -> Verdict:
    """The whole answer stands in double quotation marks."""
    text = answer.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return Verdict(True, "Its outer marks are fine.")
    return Verdict(
        False,
        'The whole answer must be wrapped in straight double quotation marks ("), one as its first '
        "and one as its last character; they are missing.",
    )


CHECKERS: Mapping[str, Checker] = {
    "combination:two_responses": two_responses,
    "combination:repeat_prompt": repeat_prompt,
    "startend:end_checker": end_checker,
    "startend:quotation": quotation,
}
"""Id of an instruction -> its checker."""
