"""Language: which language an answer is written in, decided offline and always alike.

The choice is among `LANGUAGES`, those that IFEval asks for and others that models write, so that
a short text is not taken for a rare neighbour. The library is imported when first needed.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from flashevolve.workloads.instructions.text import missing

LANGUAGES: Mapping[str, str] = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "gu": "Gujarati",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "kn": "Kannada",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "ml": "Malayalam",
    "mr": "Marathi",
    "ne": "Nepali",
    "nl": "Dutch",
    "no": "Norwegian",
    "pa": "Punjabi",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""ISO 639-1 code -> English name."""

NO_EVIDENCE = -1e30
"""Scores are sums of logarithms; without a single known feature the library gives its floor."""


# Several constraints of an example, and variants of an answer, ask for the language of one text.
@lru_cache(maxsize=16)
def language(text: str) -> str | None:
    """Returns the code of the text's language; None if too little of it tells one.

    Raises `ConfigError` if the library is not installed.
    """
    code, score = _identifier().classify(text)
    return str(code) if score > NO_EVIDENCE and any(c.isalpha() for c in text) else None


@cache
def _identifier() -> Any:  # the library has no types
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise missing("py3langid", "tells languages apart") from None
    # An identifier of our own: the library's shared one may be restricted by other code.
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    return identifier
