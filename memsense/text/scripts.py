"""Scripts that are written without blanks, and one form of Unicode for all widths."""

import re
import unicodedata

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
