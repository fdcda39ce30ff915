"""Scripts that PostgreSQL's text-search parser leaves whole, cut into pairs of characters."""

import re
import unicodedata
from itertools import pairwise

HAN_AND_KANA = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
)
THAI = "\u0e01-\u0e3a\u0e40-\u0e4e"
LAO = "\u0e81-\u0eba\u0ebb-\u0ece\u0edc-\u0edf"
KHMER = "\u1780-\u17d3\u17dd"
MYANMAR = "\u1000-\u103f\u1050-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"

MOST_MARKS = 30
"""Limit of marks in a row that are put in order together, as in Unicode's stream-safe text
(UAX #15)."""

_RUN = re.compile("|".join(f"[{script}]+" for script in (HAN_AND_KANA, THAI, LAO, KHMER, MYANMAR)))


def segment_scripts(text: str) -> str:
    """Return the text with Chinese, Japanese, Thai, Lao, Khmer and Burmese cut into pairs.

        segment_scripts("我在東京 with Ann")  # "我在 在東 東京 with Ann"

    These scripts put no blanks between words, so PostgreSQL's parser takes a sentence for one
    word. Overlapping pairs make its parts findable; documents and questions must both be cut. A
    character is a letter with its marks; one without neighbours stays alone. Widths are unified
    (NFKC) within what is cut. Everything else, Korean included, is returned as it is.
    """
    return _RUN.sub(_spaced_pairs, text)


def unify_forms(text: str) -> str:
    """Return the text in Unicode's form NFKC: one spelling of a character for all its widths."""
    # Marks in a row are sorted, which takes quadratic time: of more than 30, each 30 on their own.
    pieces: list[str] = []
    start = marks = 0
    for place, point in enumerate(text if len(text) > MOST_MARKS else ""):
        marks = marks + 1 if unicodedata.combining(point) else 0
        if marks > MOST_MARKS:
            pieces.append(text[start:place])
            start, marks = place, 1
    return "".join(unicodedata.normalize("NFKC", piece) for piece in (*pieces, text[start:]))


def is_unspaced(text: str) -> bool:
    """Return whether the text has a character of a script that is written without blanks."""
    return _RUN.search(text) is not None


def _spaced_pairs(run: re.Match[str]) -> str:
    # A character is a letter with the marks that follow it.
    text = unify_forms(run[0])
    starts = [i for i, p in enumerate(text) if not i or unicodedata.category(p)[0] != "M"]
    characters = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    pairs = [first + second for first, second in pairwise(characters)] or characters
    # Blanks around the run, where it touches other words, but none next to blanks of the text.
    before = run.string[max(run.start() - 1, 0) : run.start()]
    after = run.string[run.end() : run.end() + 1]
    return _gap(before) + " ".join(pairs) + _gap(after)


def _gap(neighbour: str) -> str:
    return " " if neighbour and not neighbour.isspace() else ""
