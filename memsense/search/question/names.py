"""Finds the participants that a question names, and takes their names out of it."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from memsense.text.scripts import is_unspaced
from memsense.text.spans import BEFORE, Span
from memsense.text.words import ALSO_WORDS, GENERIC, OPENERS, TITLES

Words = tuple[str, ...]


_WORD = re.compile(r"[^\W_]+(?:[-'\u2019][^\W_]+)*")
_POSSESSIVE = re.compile(r"['\u2019](?:s|S)?(?!\w)")
_SENTENCE_START = re.compile(rf"(?:^|[.!?:;\n])[\s\"'“\u2018(]{{0,{BEFORE}}}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesFound:
    """Which speakers a text names, as their labels, and where."""

    speakers: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Index:
    """Speakers by the words and by the unspaced strings that name them."""

    by_words: Mapping[Words, tuple[str, ...]]
    by_string: Mapping[str, tuple[str, ...]]
    longest: int


class _Token(NamedTuple):
    word: str
    start: int
    end: int


def find_names(text: str, speakers: Sequence[str], protected: Sequence[Span] = ()) -> NamesFound:
    """The speakers that the text names outside the protected spans.

    A speaker is named by the full label or by its first name, in whole words and any case;
    names that are also English words ("Will", "May") need their capital and, at the beginning of a
    sentence, a possessive. Labels for roles ("user", "assistant") and single letters name nobody.
    """
    index = _index(tuple(speakers))
    found = sorted([*_named_by_words(text, index), *_named_by_strings(text, index)])
    overlaps = _overlap_test(protected)
    kept = [(span, labels) for span, labels in found if not overlaps(span)]
    return NamesFound(
        speakers=tuple(dict.fromkeys(label for _, labels in kept for label in labels)),
        spans=tuple(span for span, _ in kept),
    )


def _overlap_test(spans: Sequence[Span]) -> Callable[[Span], bool]:
    """Tells whether a span overlaps one of these."""
    ordered = sorted(spans)
    starts = [start for start, _ in ordered]
    furthest = [0, *accumulate((end for _, end in ordered), max)]
    return lambda span: span[0] < furthest[bisect_left(starts, span[1])]


def without_spans(text: str, spans: Sequence[Span]) -> str:
    """The text without the spans, and without the blanks that they leave behind.

    The text itself if there is no span, or if nothing but function words would be left.
    """
    if not spans:
        return text
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        _join(pieces, text[position:start])
        position = max(position, end)
    _join(pieces, text[position:])
    kept = "".join(pieces).lstrip(" ,;:").rstrip()
    return kept if _is_useful(kept) else text


def _join(pieces: list[str], right: str) -> None:
    """Add a text, with one blank at most where it meets the last, and none before punctuation."""
    right = right.lstrip() if not pieces or pieces[-1][-1].isspace() else right
    if right and right[0] in ",.;:!?)":
        while pieces and pieces[-1][-1].isspace():
            left = pieces.pop().rstrip()
            pieces += [left] if left else []
    pieces += [right] if right else []


def _is_useful(text: str) -> bool:
    return any(
        is_unspaced(word) or (len(word) > 1 and word.casefold() not in OPENERS)
        for word in _WORD.findall(text)
    )


@lru_cache(maxsize=256)
def _index(speakers: tuple[str, ...]) -> _Index:
    by_words: dict[Words, tuple[str, ...]] = {}
    by_string: dict[str, tuple[str, ...]] = {}
    for label in dict.fromkeys(speakers):
        if is_unspaced(label):
            if len(label.strip()) > 1:
                by_string[label.strip()] = (label,)
            continue
        for name in _names_of(label):
            by_words[name] = (*by_words.get(name, ()), label)
    return _Index(by_words, by_string, max(map(len, by_words), default=0))


def _names_of(label: str) -> Iterator[Words]:
    """The full name and the first name of a label, as words; none for a role's label."""
    words = tuple(_plain(word) for word in _WORD.findall(label))
    if _names_somebody(words):
        yield words
        without_title = words[1:] if words[0] in TITLES else words
        if len(words) > 1 and _names_somebody(without_title[:1]):
            yield without_title[:1]


def _names_somebody(words: Words) -> bool:
    return any(len(word) > 1 and not word.isdigit() and word not in GENERIC for word in words)


def _plain(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _named_by_words(text: str, index: _Index) -> Iterator[tuple[Span, tuple[str, ...]]]:
    tokens = list(_tokens(text)) if index.longest else []
    words = tuple([token.word for token in tokens])
    position = 0
    while position < len(tokens):
        for size in range(min(index.longest, len(tokens) - position), 0, -1):
            labels = index.by_words.get(words[position : position + size])
            if labels and _is_meant_as_name(text, part := tokens[position : position + size]):
                yield (part[0].start, _name_end(text, part[-1].end)), labels
                position += size - 1
                break
        position += 1


def _tokens(text: str) -> Iterator[_Token]:
    """The words of the text, without a possessive ending."""
    for match in _WORD.finditer(text):
        word = _plain(match[0])
        bare = word.removesuffix("'s")
        yield _Token(bare, match.start(), match.end() - len(word) + len(bare))


def _name_end(text: str, end: int) -> int:
    possessive = _POSSESSIVE.match(text, end)
    return possessive.end() if possessive else end


def _is_meant_as_name(text: str, part: Sequence[_Token]) -> bool:
    """False for "will", or "Will" at the beginning of a sentence, where it may be the verb."""
    first = part[0]
    if len(part) > 1 or first.word not in ALSO_WORDS:
        return True
    if not text[first.start].isupper():
        return False
    possessive = _name_end(text, first.end) > first.end
    return possessive or not _SENTENCE_START.search(text, max(0, first.start - BEFORE), first.start)


def _named_by_strings(text: str, index: _Index) -> Iterator[tuple[Span, tuple[str, ...]]]:
    for name, labels in index.by_string.items():
        for match in re.finditer(re.escape(name), text):
            yield match.span(), labels
