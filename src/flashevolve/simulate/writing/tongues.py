"""Tongues: a few simple sentences' worth of some languages other than English.

Nouns are feminine or neuter where the case would show, so that a phrase fits as subject and as
object alike.
"""

import random
from dataclasses import dataclass

from flashevolve.simulate.terms import words_of


@dataclass(frozen=True)
class Tongue:
    """Phrases of a language."""

    things: tuple[str, ...]
    """Nouns with their articles."""
    verbs: tuple[str, ...]
    links: tuple[str, ...]
    """What joins one more thing: "with", "and"."""
    adverbs: tuple[str, ...]


def _split(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))


_TONGUES = {
    "german": Tongue(
        _split("die Stadt, das Haus, die Straße, das Wasser, die Musik, die Familie, das Licht, "
               "die Geschichte, das Dorf, die Freundin, die Schule, das Fenster"),
        words_of("zeigt bringt findet liebt öffnet sucht begleitet erzählt"),
        _split("und auch, und nicht nur, sowie, aber nicht"),
        words_of("immer heute wirklich gerne jetzt wieder"),
    ),
    "french": Tongue(
        _split("la ville, la maison, le jardin, la rue, la musique, le village, la lumière, "
               "l'histoire, le marché, la fenêtre, le chemin, la famille"),
        words_of("montre apporte trouve cherche ouvre accompagne garde raconte"),
        _split("avec, dans, et aussi, près de chez nous et"),
        words_of("toujours souvent vraiment encore aujourd'hui doucement"),
    ),
    "spanish": Tongue(
        _split("la ciudad, la casa, el jardín, la calle, la música, el pueblo, la luz, "
               "la historia, el mercado, la ventana, el camino, la familia"),
        words_of("muestra lleva encuentra busca abre acompaña guarda cuenta"),
        _split("con, en, y también, junto con"),
        words_of("siempre ahora también todavía hoy mucho"),
    ),
    "italian": Tongue(
        _split("la città, la casa, il giardino, la strada, la musica, il paese, la luce, "
               "la storia, il mercato, la finestra, il cammino, la famiglia"),
        words_of("mostra porta trova cerca apre accompagna conserva racconta"),
        _split("con, e anche, insieme con, per"),
        words_of("sempre oggi ancora davvero spesso adesso"),
    ),
    "portuguese": Tongue(
        _split("a cidade, a casa, o jardim, a rua, a música, a aldeia, a luz, a história, "
               "o mercado, a janela, o caminho, a família"),
        words_of("mostra leva encontra procura abre acompanha guarda conta"),
        _split("com, e também, junto com, não só"),
        words_of("sempre hoje também ainda muito agora"),
    ),
    "dutch": Tongue(
        _split("de stad, het huis, de tuin, de straat, de muziek, het dorp, het licht, "
               "het verhaal, de markt, het raam, de weg, de familie"),
        words_of("toont brengt vindt zoekt opent begeleidt bewaart vertelt"),
        _split("met, en ook, samen met, naast"),
        words_of("altijd vandaag nog steeds graag weer"),
    ),
}  # fmt: skip


def foreign_words(language: str, n_words: int, rng: random.Random) -> list[str] | None:
    """Returns the words of a sentence of `n_words` words; None if the language is not known."""
    tongue = _TONGUES.get(language)
    if tongue is None:
        return None
    words = [*rng.choice(tongue.things).split(), rng.choice(tongue.verbs)]
    words += rng.choice(tongue.things).split()
    while len(words) < n_words:
        words += [*rng.choice(tongue.links).split(), *rng.choice(tongue.things).split()]
    if len(words) > n_words > 2:
        words = words[:n_words]
        words[-1] = rng.choice(tongue.adverbs)
    return words
