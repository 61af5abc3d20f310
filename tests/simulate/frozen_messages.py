"""The messages whose replies are pinned, as text: no workload or algorithm changes them."""

from collections.abc import Iterator

from flashevolve.llm.messages import Message, system, user

REQUESTS = (
    "Describe a tram. Avoid commas.",
    "Write about salt. Use 3 bullet points. Add a title.",
    'List the parts of a bicycle. End with "That is all." Write at least 60 words.',
    "Explain tides in 2 paragraphs. Add a postscript. Use only lower case letters.",
    "Answer as a JSON object: what is a lighthouse?",
)
ADVICE = (
    "Answer the request.",
    'Answer the request.\nBegin every bullet line with "* ".\nA postscript begins with "P.S.".',
)
TEXTS = ("Be kind.\nCount the words.", "Be kind.\nTitles are short.")
LONG = "\n".join(
    [
        "Answer the request.",
        'Put any title on the first line between "<<" and ">>".',
        'Between paragraphs put a separator line "***".',
        "Write every placeholder in square brackets.",
        'Begin every heading line with "## ".',
        'A signature is the last line and begins with "-- ".',
        "Whenever a list is wanted, give exactly 4 bullets.",
        'Begin every bullet line with "* ".',
        'Begin every bullet line with "+ ".',
        "The archive of the year 1900 holds maps.",
        "The word lantern must appear at least 3 times.",
        "Never use an exclamation mark.",
    ]
)
"""More statements than a reader attends to."""
OPEN = "Write about a harbour. Use bullets, a title, 2 headings, one placeholder and a signature."
"""Leaves to habit how each of them looks."""
SHOWN = (
    (
        "Write about salt. Use 3 bullet points. Add a title.",
        'Every bullet line must begin with "* "; 3 do not. The title must stand between "<<" and '
        '">>" on the first line.',
    ),
    (
        "Explain tides in 2 paragraphs. Add a postscript.",
        'Between paragraphs there must be a line "***", which is missing. The postscript must '
        'begin with "P.S."; it does not.',
    ),
    (
        "Describe a tram. Avoid commas. Mention the old harbour of the town at least twice.",
        "The answer must contain no commas; it has 2. A harbour must not be missing.",
    ),
)
"""Requests with what was said of their answers, the last of it hardly near to its request."""
KNOWN = "The answer must contain no commas.\nEvery bullet line must begin with a mark."
MORE = "\n".join(
    f"A note on {place} names {thing}."
    for place, thing in (
        ("rivers", "bridges"),
        ("markets", "prices"),
        ("castles", "towers"),
        ("gardens", "trees"),
        ("kitchens", "bread"),
        ("winters", "snow"),
        ("violins", "strings"),
        ("comets", "tails"),
        ("camels", "deserts"),
        ("mines", "copper"),
    )
)
"""With `LONG` and `KNOWN` more than who merges two texts goes through."""
VARIANTS = ("", "Be kind.", "Mind the salt.", "Think of a tram.", "It is late.", "Take care.")
"""Each makes another message, and so another draw, of the same request."""

OF_ALL_KINDS = (
    'Tell a visitor about a coastal path. Mention the words "anchor" and "pepper".',
    'Tell a visitor about a fossil walk. The word "velvet" should appear at least 4 times.',
    'Tell a visitor about a river ferry. Avoid the words "work" and "bright".',
    'Tell a child about the winter regatta. Use the letter "h" at least 6 times.',
    "Tell a visitor about a coastal path. Reply in French.",
    "Describe a vineyard tour to a friend. Write fewer than 3 sentences.",
    "Describe a coastal path to a friend. Divide the text into 2 paragraphs.",
    "Draft an announcement about a desert railway. Write at least 140 words.",
    "Write a short note about the autumn fair. In a text of 3 paragraphs, begin the second "
    'paragraph with the word "beacon".',
    "Tell a child about the observatory. Leave at least 3 placeholders to be filled in.",
    "Draft an announcement about a robot race. Include a postscript.",
    "Explain what makes a robot race interesting. Answer as a list of 3 bullets.",
    "Is a coastal path worth a visit? Just say yes, no or maybe.",
    "Write a short note about a street orchestra. Highlight at least 2 phrases.",
    "Describe a desert railway to a friend. Divide the text into 2 sections.",
    "Describe the city aquarium to a friend. Answer in JSON.",
    "Write a short note about a robot race. Add a title.",
    "Draft an announcement about the autumn fair. Give two different answers.",
    "Write a message that recommends the school theater. First repeat the task, then carry it out.",
    'Draft an announcement about a vineyard tour. End with the phrase "All the best".',
    "Compose a brief report on the school theater. Put quotes around the answer.",
    "Draft an announcement about a street orchestra. Stress at least 5 words by capitals.",
    "Tell a child about the autumn fair. Use capitals only.",
    "Describe the city aquarium to a friend. Use no capitals.",
    "Compose a brief report on a vineyard tour. Avoid commas.",
    "Write a message that recommends a coastal path. Write between 80 and 110 words.",
    "Explain what makes a street orchestra interesting. Vary your language: use at least 20 "
    "different words.",
    "Tell a visitor about a fossil walk. Use at most 7 words in every sentence.",
    'Write a message that recommends a robot race. Mention "orchard" before "mirror".',
    'Write a message that recommends the observatory. Make "mirror" the last word.',
    'Write a message that recommends a river ferry. Include the word "canyon" in every sentence.',
    "Explain what makes the moon feast interesting. Write a multiple of 7 words.",
    "Write a message that recommends the cable car. Let the sentences grow longer and longer.",
    "Compose a brief report on a river ferry. Ask exactly 3 questions.",
    "Explain what makes a desert railway interesting. Exclaim exactly 2 times.",
    "Compose a brief report on a pottery class. Do not use any colon.",
    "Tell a visitor about a pottery class. Use at least 4 semicolons.",
    "Describe an apple harvest to a friend. Add at least 3 asides.",
    "Tell a visitor about a jazz cellar. Close with 5 hashtags.",
    "Draft an announcement about the tide pools. Every sentence should end with a question mark.",
    "Write a short note about a sculpture park. Include exactly 3 numbers.",
    "Write a message that recommends a coastal path. Give a numbered list of 3 items.",
    "Tell a child about a river ferry. Structure it by 3 headings.",
    "Write a short note about the school theater. Make at least 4 phrases bold.",
    "Draft an announcement about a clock tower. Write 5 lines.",
    "Write a short note about a fossil walk. Use a code block for the answer.",
    'Write a short note about a pottery class. Use the tag "answer" for the answer.',
    "Draft an announcement about the tide pools. Format the answer as a quote.",
    "Tell a visitor about a paper mill. Include a table with 2 columns.",
    "Explain what makes a dog shelter interesting. Start a new line after each sentence.",
    "Draft an announcement about the island post office. Indent the lines like a staircase.",
    "Tell a visitor about the tide pools. Give the whole answer twice.",
    'Write a short note about a puppet show. Do not use the letter "b".',
    'Compose a brief report on a reading room. Every sentence should begin with the letter "u".',
    'Compose a brief report on a hot spring. Write an acrostic of the word "lamp".',
    "Compose a brief report on a paper mill. Use only words of at most 5 letters.",
    "Write a message that recommends a puppet show. Write everything in title case.",
    "Tell a visitor about the bicycle kitchen. Open every sentence in capitals.",
    "Tell a visitor about a glass factory. Write every second word in capitals.",
    'Write a short note about the school theater. Sign as "the committee".',
    'Tell a visitor about the observatory. Open and close with the phrase "Good evening".',
)


def messages() -> Iterator[tuple[tuple[Message, ...], int]]:
    """Yields messages of all roles, and of how many replies to each is pinned."""
    for advice in (*ADVICE, LONG):
        for request in REQUESTS:
            yield (system(advice), user(request)), 4
    for request in (OPEN, *OF_ALL_KINDS):
        for variant in VARIANTS:
            yield (system(ADVICE[0]), user(f"{request} {variant}".strip())), 1
    for text in (*reflections(), repair(), merge(*TEXTS), merge(LONG, f"{KNOWN}\n{MORE}")):
        yield (user(text),), 16


def reflections() -> Iterator[str]:
    """Yields a request to reflect that teaches, one whose lessons are known, one that is blind."""
    for text, tells in ((ADVICE[1], True), (f"{ADVICE[1]}\n{KNOWN}", True), (LONG, False)):
        examples = "\n".join(
            f"# Example {k}\n## Inputs\n{request}\n## Generated Outputs\nTrams, salt, tides.\n"
            f"## Feedback\n{said if tells else ''}"
            for k, (request, said) in enumerate(SHOWN, 1)
        )
        yield (
            f"Improve the instructions of an assistant. They read:\n\n```\n{text}\n```\n\n"
            f"{examples}\n\nWrite the new instructions within ``` blocks."
        )


def repair() -> str:
    """Returns a request for a verdict."""
    stale, current = (f"### system\n```\n{text}\n```" for text in TEXTS)
    return (
        f"## Stale text\n{stale}\n\n## Current text\n{current}\n\n## Updates since\n"
        "Version 2: a change\n\nGive a verdict as JSON: accept, patch or discard."
    )


def merge(one: str, other: str) -> str:
    """Returns a request to join two texts."""
    return (
        f"Combine these two prompts into one that keeps what each says:\n\n### system\n```\n{one}\n"
        f"```\n\n### system\n```\n{other}\n```\n\nWrite the combined prompt within ``` blocks."
    )
