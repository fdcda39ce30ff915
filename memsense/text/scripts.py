"""Cuts the scripts that PostgreSQL's text-search parser leaves whole into pairs of characters."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

HAN_AND_KANA = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
)
THAI = "\u0e01-\u0e3a\u0e40-\u0e4e"
LAO = "\u0e81-\u0eba\u0ebb-\u0ece\u0edc-\u0edf"
KHMER = "\u1780-\u17d3\u17dd"
MYANMAR = "\u1000-\u103f\u1050-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
UNSPACED = HAN_AND_KANA + THAI + LAO + KHMER + MYANMAR

MOST_MARKS = 30
"""Marks in a row that are put in order; Unicode's stream-safe text has no more (UAX #15)."""

_RUN = re.compile("|".join(f"[{script}]+" for script in (HAN_AND_KANA, THAI, LAO, KHMER, MYANMAR)))


def segment_scripts(text: str) -> str:
    """The text with Chinese, Japanese, Thai, Lao, Khmer and Burmese cut into character pairs.

        segment_scripts("我在東京 with Ann")  # "我在 在東 東京 with Ann"

    These scripts put no blanks between words, so PostgreSQL's parser takes a sentence for one
    word. Overlapping pairs make its parts findable; documents and questions must both be cut. A
    character is a letter with its marks; one that stands alone stays alone. Widths are unified
    (NFKC) within what is cut. Everything else, Korean included, is returned as it is.
    """
    return _RUN.sub(_spaced_pairs, text)


def unify_forms(text: str) -> str:
    """The text in Unicode's form NFKC: one spelling of each character, whatever its width.

    Marks in a row are sorted, which takes quadratic time: of more than 30, each 30 by themselves.
    """
    pieces: list[str] = []
    start = marks = 0
    for place, point in enumerate(text if len(text) > MOST_MARKS else ""):
        marks = marks + 1 if unicodedata.combining(point) else 0
        if marks > MOST_MARKS:
            pieces.append(text[start:place])
            start, marks = place, 1
    return "".join(unicodedata.normalize("NFKC", piece) for piece in (*pieces, text[start:]))


def is_unspaced(text: str) -> bool:
    """Whether the text holds a character of a script that is written without blanks."""
    return _RUN.search(text) is not None


def _spaced_pairs(run: re.Match[str]) -> str:
    characters = list(_characters(unify_forms(run[0])))
    pairs = [first + second for first, second in pairwise(characters)] or characters
    before, after = (
        run.string[max(run.start() - 1, 0) : run.start()],
        run.string[run.end() : run.end() + 1],
    )
    return _gap(before) + " ".join(pairs) + _gap(after)


def _gap(neighbour: str) -> str:
    return " " if neighbour and not neighbour.isspace() else ""


def _characters(run: str) -> Iterator[str]:
    """The letters of a run, each with the marks that follow it."""
    character = ""
    for point in run:
        if character and not unicodedata.category(point).startswith("M"):
            yield character
            character = ""
        character += point
    if character:
        yield character
