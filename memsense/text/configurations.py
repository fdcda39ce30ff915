"""Languages by the names of PostgreSQL's text-search configurations, which earlier versions used.

Index entries of version 1 were made by these configurations. Until a job has made them anew, a
question is also asked in the words that they would have made of it.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import Stemmer

from memsense.errors import InvalidInputError
from memsense.text.language import LANGUAGES, STEMMERS, detect, read_stop_words
from memsense.text.scripts import HAN_AND_KANA, KHMER, LAO, MYANMAR, THAI, unify_forms

AUTO = "auto"
"""Name that stands for the language of each text."""

_CONFIGURATIONS = {name: code for code, name in STEMMERS.items()}
_UNSPACED = f"{HAN_AND_KANA}{THAI}{LAO}{KHMER}{MYANMAR}"
_RUN_OR_WORD = re.compile(rf"([{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")


def read_language(name: str) -> str:
    """Return the code of a language, or "auto" for that of each text.

        read_language("german")  # "de"

    Args:
        name: A code, "auto", or the name of a text-search configuration.

    Raises:
        InvalidInputError: If there is no such language.
    """
    code = _CONFIGURATIONS.get(name, name)
    # Of some languages that have a stemmer no text is recognised: they can be named all the same.
    languages = LANGUAGES | STEMMERS.keys()
    if code in languages or code == AUTO:
        return code
    if name == "simple":
        return AUTO
    raise InvalidInputError(
        f"unknown language {name!r}; there are auto, {', '.join(sorted(languages))}"
    )


def choose_language(text: str, default: str, *named: str | None) -> str:
    """Return the language of a text: the first of `named` that is no "auto", else the text's own.

    `default` is that of a text too short to show one.
    """
    return next((it for it in named if it and it != AUTO), None) or detect(text, default)


def list_former_lexemes(text: str, language: str) -> list[str]:
    """Return the words of a question as version 1 of the index has them, each once.

    PostgreSQL's parser cut words at most signs and its dictionaries stemmed what was not folded.
    Compounds, addresses and decimals that the parser left whole as well are not among them.

    Args:
        text: The question.
        language: Language of the namespace. Under "auto" its texts were indexed as English.
    """
    language = choose_language("", "en", language)
    stop_words = read_stop_words(language)
    module: Any = Stemmer  # it has no types
    stem: Callable[[str], str] = str
    if language in STEMMERS:
        stem = module.Stemmer(STEMMERS[language], 0).stemWord
    lexemes: list[str] = []
    for match in _RUN_OR_WORD.finditer(text):
        if match[1]:
            run = unify_forms(match[1])
            lexemes += [first + second for first, second in pairwise(run)] or [run]
        elif (word := match[0].lower()) not in stop_words:
            lexemes.append(stem(word))
    return list(dict.fromkeys(lexemes))
