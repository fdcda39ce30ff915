"""Languages of texts: which one a text is in, its stemmer's name and its function words."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""Languages with a stemmer: ISO 639-1 code and name of the Snowball algorithm."""

SCRIPTS = {
    "ru": "\u0400-\u04ff",
    "ja": "\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af",
    "ko": "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e",
    "th": "\u0e01-\u0e4e",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff\ufb50-\ufdff\ufe70-\ufefc",
    "hi": "\u0900-\u097f",
}
"""Languages that their letters give away, as the characters of a regular expression's class.
Cyrillic counts as Russian, Arabic letters as Arabic, Devanagari as Hindi."""

LATIN = frozenset("ca cs da de en es et eu fi fr ga hu id it lt nl no pl pt ro sv tr".split())
"""Languages of Latin letters among which a text's words decide: those with a stemmer."""

LANGUAGES = LATIN | frozenset(SCRIPTS)
"""Languages that are recognised."""

READ = 400
"""Limit of characters of a text that are read."""

SHORTEST = 12
"""Characters below which Latin letters don't tell a language: names and single words."""

_ENGLISH = frozenset(
    "and does how that the these they this those what when where which why with your".split()
)
"""Function words of English alone, one of which tells it where no other language's is."""

_STOP_WORDS = Path(__file__).parents[1] / "data" / "stop_words" / "stop_words.txt"

_LETTERS = {language: re.compile(f"[{letters}]") for language, letters in SCRIPTS.items()}
_LATIN = re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]")
_WORD = re.compile(r"[^\W\d_]+")

# One of their characters stands for two letters or more.
_DENSE = frozenset(("ja", "ko", "zh"))


class _Classifier(Protocol):
    def classify(self, text: str, /) -> tuple[str, float]: ...


def detect(text: str, default: str) -> str:
    """Return the language of a text as an ISO 639-1 code.

    Letters of another script than Latin decide if there are more of them than Latin ones (one
    character of Chinese, Japanese or Korean counts twice; Chinese characters among kana are
    Japanese). Otherwise English is known by its function words, and py3langid's model chooses
    among the languages in `LATIN`.

    Args:
        text: Any text. Its first 400 characters are read.
        default: Answer for a text of less than 12 characters in Latin letters, and for one without
            letters: the language of the memory's last exchange, or the namespace's.

    Returns:
        One of `LANGUAGES`, or `default`.
    """
    text = text[:READ]
    if not text.isascii():
        counts = {
            language: len(letters.findall(text)) * (2 if language in _DENSE else 1)
            for language, letters in _LETTERS.items()
        }
        if counts["ja"]:
            # A Japanese text has kana between its Chinese characters.
            counts["ja"] += counts.pop("zh")
        most = max(counts, key=counts.__getitem__)
        if counts[most] > len(_LATIN.findall(text)):
            return most
    if len(text) < SHORTEST or not _LATIN.search(text):
        return default
    return "en" if is_plainly_english(text) else _classify(text)


def is_plainly_english(text: str) -> bool:
    """Return whether the function words of a text in Latin letters are English beyond doubt.

    A quick answer without the model: false says nothing. It is true of 86 to 98% of English turns
    and questions (LoCoMo, LifeBench, made-dates), and of 14 in 27,000 sentences of 22 other
    languages (messages of programs, where most of the 14 have English words).
    """
    english, others = _function_words()
    words = [word.casefold() for word in _WORD.findall(text)]
    foreign = sum(map(others.__contains__, words))
    if not foreign and not _ENGLISH.isdisjoint(words):
        return True
    return sum(map(english.__contains__, words)) >= max(2, 4 * foreign)


@lru_cache(maxsize=64)
def read_stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language as they are written; empty if there is no list."""
    for line in _STOP_WORDS.read_text("utf-8").splitlines():
        code, *words = line.split()
        if code == language:
            return frozenset(words)
    return frozenset()


@lru_cache(maxsize=1)
def _function_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of English's list alone, and those of the others' lists alone."""
    english = read_stop_words("en")
    others = frozenset[str]().union(*map(read_stop_words, LATIN - {"en"}))
    return english - others, others - english


@lru_cache(maxsize=256)
def _classify(text: str) -> str:
    return _load_classifier().classify(text)[0]


# No lock: one that another thread holds at a fork is never released in the child. Two threads that
# come first both load the model, and one of the two stays.
@lru_cache(maxsize=1)
def _load_classifier() -> _Classifier:
    """Return py3langid's model: it takes half a second and numpy, which few processes need."""
    from py3langid.langid import (  # pyright: ignore[reportMissingTypeStubs]
        MODEL_FILE,
        LanguageIdentifier,
    )

    model: Any = LanguageIdentifier
    classifier = model.from_model_file(MODEL_FILE)
    classifier.set_languages(LATIN)
    return classifier
