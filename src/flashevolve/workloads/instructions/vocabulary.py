"""Vocabulary: what requests are about and what they ask for; no entry is in two splits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """The words of one split."""

    subjects: Sequence[str]
    keywords: Sequence[str]
    common: Sequence[str]
    """Words that an answer is likely to hold unless told otherwise."""
    openings: Sequence[str]
    closings: Sequence[str]


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


def _words(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))


SPLITS: Mapping[str, Words] = {
    "train": Words(
        _words(
            "an old lighthouse, the night market, a mountain hut, the village bakery, a tram ride, "
            "the botanical garden, a chess club, the harbor museum, a rainy festival, a bee farm, "
            "the public library, a wooden bridge, a kite workshop, the first snow, a rooftop cafe"
        ),
        _words(
            "lantern, copper, meadow, signal, blanket, thunder, ribbon, cellar, feather, compass"
        ),
        _words("quiet, people, small, place, often"),
        _words("To begin, In short, Dear reader, Good morning, As promised, Picture this"),
        _words("Safe travels, See you soon, That is all, Thank you kindly, Stay curious"),
    ),
    "val": Words(
        _words(
            "a desert railway, the city aquarium, a pottery class, the autumn fair, a river ferry, "
            "the observatory, a street orchestra, the tea house, a coastal path, a clock tower, "
            "the school theater, a vineyard tour, a robot race, the winter regatta, a fossil walk"
        ),
        _words("marble, orchard, whistle, anchor, velvet, pepper, canyon, mirror, saddle, beacon"),
        _words("simple, morning, work, bright, always"),
        _words("At last, Good evening, Dear friend, Here we go, For the record, Imagine this"),
        _words("Until next time, All the best, Enjoy the day, Take good care, Keep in touch"),
    ),
    "test": Words(
        _words(
            "a glass factory, the moon feast, a salt mine, the bicycle kitchen, a wood school, "
            "the island post office, a puppet show, the spice bazaar, a hot spring, a paper mill, "
            "the night train, a sculpture park, a jazz cellar, the tide pools, an apple harvest, "
            "the map archive, a dog shelter, the cable car, a reading room, a repair shop"
        ),
        _words(
            "harvest, silver, pocket, candle, gravel, window, basket, timber, ladder, magnet, "
            "curtain, pebble"
        ),
        _words("warm, story, find, around, little"),
        _words("First of all, Good afternoon, Dear neighbor, Long ago, Believe it, In brief"),
        _words("Come back soon, Yours truly, Mind the step, Many thanks, Good night all"),
    ),
}
"""Split -> its words."""
