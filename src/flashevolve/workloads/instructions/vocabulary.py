"""Vocabulary: what requests are about and what they ask for.

No entry is in two splits, and no word of one either but `a`, `it` and the like.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """The words of one split."""

    subjects: Sequence[str]
    keywords: Sequence[str]
    common: Sequence[str]
    """Words that an answer is likely to hold unless told otherwise; in no topic and no phrase."""
    phrases: Sequence[str]
    """Phrases that may open a text as well as close it."""
    closings: Sequence[str]
    names: Sequence[str]
    tags: Sequence[str]
    letters: Sequence[str]
    signs: Sequence[str]
    languages: Sequence[str]
    acrostics: Sequence[str] = ()
    """Short words to be spelt by lines; test only."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))


SPLITS: Mapping[str, Words] = {
    "train": Words(
        subjects=_words(
            "an old lighthouse, the fish market, a mountain hut, the village bakery, a tram ride, "
            "the botanical garden, a chess club, the harbor museum, a rainy festival, a bee farm, "
            "the public library, a wooden bridge, a kite workshop, the first snow, a rooftop cafe"
        ),
        keywords=_words(
            "lantern, copper, meadow, signal, blanket, thunder, ribbon, cellar, feather, compass"
        ),
        common=_words("quiet, people, small, place, often"),
        phrases=_words("In short, Good morning, As promised, Picture that, One more time"),
        closings=_words("Safe travels, See you soon, That is all, Thank you kindly, Stay curious"),
        names=_words("Nora, Samuel, the editors, Old Ben, Ida Stone"),
        tags=_words("reply, note, draft"),
        letters=_words("k, g, p, w"),
        signs=_words(";, -"),
        languages=_words("de, es"),
    ),
    "val": Words(
        subjects=_words(
            "a desert railway, the city aquarium, a pottery class, the autumn fair, a river ferry, "
            "the observatory, a street orchestra, the tea house, a coastal path, a clock tower, "
            "the school theater, a vineyard tour, a robot race, the winter regatta, a fossil walk"
        ),
        keywords=_words(
            "marble, orchard, whistle, anchor, velvet, pepper, canyon, mirror, saddle, beacon"
        ),
        common=_words("simple, long, work, bright, always"),
        phrases=_words("At last, Dear guests, Here we go, For the record, So it goes"),
        closings=_words("Until next week, All the best, Enjoy the day, Take care, Keep in touch"),
        names=_words("Clara, Hugo, the committee, Uncle Tom, Eva Lind"),
        tags=_words("answer, text, report"),
        letters=_words("d, f, h, y"),
        signs=_words(":, '"),
        languages=_words("fr"),
    ),
    "test": Words(
        subjects=_words(
            "a glass factory, the moon feast, a salt mine, the bicycle kitchen, a carving studio, "
            "the island post office, a puppet show, the spice bazaar, a hot spring, a paper mill, "
            "the night train, a sculpture park, a jazz band, the tide pools, an apple harvest, "
            "the map archive, a dog shelter, the cable car, a reading room, a repair shop"
        ),
        keywords=_words(
            "acorn, silver, pocket, candle, gravel, window, basket, timber, ladder, magnet, "
            "curtain, pebble"
        ),
        common=_words("warm, new, find, around, little"),
        phrases=_words("Above all, Hello there, Years ago, Believe it, Well done"),
        closings=_words("Come back later, Yours truly, Mind the step, Many thanks, Sleep well"),
        names=_words("Marta, Felix, the night shift, Aunt Rose, Jon Field"),
        tags=_words("message, result, letter"),
        letters=_words("c, m, b, s, u"),
        signs=_words("?, ("),
        languages=_words("it, pt"),
        acrostics=_words("lamp, bird, cloud, rain, coast, plum"),
    ),
}
"""Split -> its words."""
