"""Vocabulary: what the made worlds of the splits are named with; no two splits share any of it.

Names are joined from syllables of three letters. As the splits share no syllable, no name, and no
word of one, occurs in two of them; years come from periods that do not overlap.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Making:
    """A kind of work, and who makes it how."""

    kind: str
    verb: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Words:
    """What one split is made of."""

    syllables: str
    """With spaces between."""
    makings: tuple[Making, ...]
    occupations: tuple[str, ...]
    instruments: tuple[str, ...]
    products: tuple[str, ...]
    honours: tuple[str, ...]
    """What may carry the name of another page, such as a prize."""
    years: range
    """Of birth; works are younger, towns older."""


SPLITS: Mapping[str, Words] = {
    "train": Words(
        syllables="bel dur gam gis hil hul ked nar ped pem pir rem "
        "sil sor sur tel tom vun vur wal wun zid zim zon",
        makings=(
            Making(kind="film", verb="directed", role="director"),
            Making(kind="novel", verb="written", role="author"),
        ),
        occupations=("baker", "surgeon", "lawyer", "printer", "miner"),
        instruments=("violin", "trumpet", "harp", "oboe", "cello"),
        products=("lace", "cheese", "clocks", "ropes", "honey"),
        honours=("Prize", "Museum", "Society", "Street"),
        years=range(1800, 1850),
    ),
    "val": Words(
        syllables="bon bud del dul dum fer fid gor hed hes hod hos "
        "hur kol kul mor nam nim pil rid tir tol vad ven",
        makings=(
            Making(kind="opera", verb="composed", role="composer"),
            Making(kind="mural", verb="painted", role="painter"),
        ),
        occupations=("sailor", "teacher", "jeweller", "farmer", "brewer"),
        instruments=("flute", "piano", "drum", "lute", "viola"),
        products=("salt", "pottery", "silk", "apples", "bells"),
        honours=("Library", "Medal", "Garden", "Lecture"),
        years=range(1850, 1900),
    ),
    "test": Words(
        syllables="dem der fal fos ful ger gid kal lun mun nal nil "
        "nud nur pam san tor vam vas vos wam wur zar zod",
        makings=(
            Making(kind="bridge", verb="designed", role="engineer"),
            Making(kind="ballet", verb="arranged", role="choreographer"),
        ),
        occupations=("chemist", "weaver", "judge", "glazier", "butcher"),
        instruments=("guitar", "organ", "clarinet", "banjo", "tuba"),
        products=("paper", "marble", "tea", "candles", "saddles"),
        honours=("Foundation", "Award", "Theatre", "Square"),
        years=range(1900, 1950),
    ),
}
"""By the names of the splits."""
