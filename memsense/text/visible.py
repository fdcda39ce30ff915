"""Texts without characters that steer their reader: a model, a terminal, a page.

A stored text comes from anywhere. An escape sequence rewrites a terminal's screen, a bidirectional
control shows words in another order than they are in, and a tag character is read by a model and
shown to no person (Boucher and Anderson 2021, "Trojan Source"; Unicode TR36). Stored texts,
`content` of hits and exports keep them; all texts that are shown pass through `show`.
"""

import re
from functools import lru_cache
from typing import Final

REPLACEMENT: Final = "\ufffd"
LONGEST_OFTEN: Final = 5

# Letters and marks of scripts whose forms a joiner chooses: Arabic, Syriac, N'Ko and their
# neighbours, the scripts of India and South-East Asia, Mongolian, Adlam.
_JOINING = (
    "\u0620-\u06ff\u0700-\u086f\u0870-\u08ff\u0900-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f"
    "\ua840-\ua87f\ua880-\ua8df\ua980-\ua9df\uaa00-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00010aff\U00010d00-\U00010d3f\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
_SELECTORS = "\U000e0100-\U000e01ef"
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_FORMED = f"0-9#*\xa9\xae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299{_EMOJI}{_IDEOGRAPHS}"
_STEERING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    f"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f{_SELECTORS}"
)
_MARKS = "\xad\u200b-\u200d\ufe00-\ufe0f"
_REGIONS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region)
    for region in ("gbeng", "gbsct", "gbwls")
)
_SELECTOR = re.compile(f"[\ufe00-\ufe0f{_SELECTORS}]")
_SUSPECTS = re.compile(f"[{_STEERING}{_MARKS}]+")
_RULES = re.compile(
    # Kept: flags of England, Scotland and Wales; a joiner that shapes a letter or joins emoji; a
    # selector after a character that has several forms.
    f"(?P<kept>\U0001f3f4(?:{_REGIONS})\U000e007f"
    f"|(?<=[{_JOINING}])[\u200c\u200d]"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_FORMED}])[\ufe00-\ufe0f])"
    # Dropped: a mark at the beginning of a file, invisible places to break a line, the variant of
    # an ideograph, and all other joiners and selectors.
    f"|(?P<dropped>\\A\ufeff+|\r(?=\n)|[{_MARKS}]|(?<=[{_IDEOGRAPHS}])[{_SELECTORS}])"
    f"|[{_STEERING}]+"
)


def show(text: str) -> str:
    """Return the text as it may be shown: what steers is U+FFFD, one for a run.

    Joiners and marks of direction stay in scripts and emoji that need them.
    """
    # `isprintable` is false for everything that steers but selectors, which are marks, and takes a
    # fiftieth of the time of a pattern.
    is_plain = text.replace("\n", "").replace("\t", "").isprintable()
    if is_plain and (text.isascii() or _SELECTOR.search(text) is None):
        return text
    return _SUSPECTS.sub(_replace_run, text)


def _replace_run(match: re.Match[str]) -> str:
    """Return a run of suspect characters as its neighbours let it stay."""
    text, start, end = match.string, *match.span()
    place = text[max(start - 1, 0) : start], match[0], text[end : end + 1]
    # In a Persian text the same few places come again and again; long runs would fill the cache.
    return _show_often(*place) if end - start < LONGEST_OFTEN else _show_place(*place)


def _show_place(before: str, run: str, after: str) -> str:
    text = _RULES.sub(_replace, f"{before}{run}{after}")
    return text[len(before) : len(text) - len(after)]


_show_often = lru_cache(maxsize=4096)(_show_place)


def _replace(match: re.Match[str]) -> str:
    if match.lastgroup is None:
        return REPLACEMENT
    return match[0] if match.lastgroup == "kept" else ""
