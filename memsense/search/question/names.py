"""Names of speakers in a question, which are removed from it."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from memsense.search.question.quotations import Span
from memsense.text.scripts import is_unspaced
from memsense.text.words import ALSO_WORDS, GENERIC, OPENERS, TITLES

Words = tuple[str, ...]

BEFORE = 40
"""Characters before a word that are read to understand it."""


_WORD = re.compile(r"[^\W_]+(?:[-'\u2019][^\W_]+)*")
_POSSESSIVE = re.compile(r"['\u2019](?:s|S)?(?!\w)")
_SENTENCE_START = re.compile(rf"(?:^|[.!?:;\n])[\s\"'“\u2018(]{{0,{BEFORE}}}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesFound:
    """Labels of the speakers that a text names, and the spans of their names."""

    speakers: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Index:
    """Labels of speakers by the words, or by the unspaced string, that name them."""

    by_words: Mapping[Words, tuple[str, ...]]
    by_string: Mapping[str, tuple[str, ...]]
    longest: int


def find_names(text: str, speakers: Sequence[str], protected: Sequence[Span] = ()) -> NamesFound:
    """Return the speakers that the text names outside the protected spans.

    A speaker is named by the full label or by its first name, in whole words and any case;
    names that are also English words ("Will", "May") need their capital and, at the beginning of a
    sentence, a possessive. Labels for roles ("user", "assistant") and single letters are no names.
    """
    index = _index_speakers(tuple(speakers))
    matches = _find_by_words(text, index) if index.longest else []
    for name, labels in index.by_string.items():
        matches += [(match.span(), labels) for match in re.finditer(re.escape(name), text)]
    matches.sort()
    # A question may have hundreds of quotations and hundreds of names. The furthest end of all
    # protected spans that begin before a name says whether one of them overlaps it, so that the
    # time stays linear.
    ordered = sorted(protected)
    starts = [start for start, _ in ordered]
    furthest = [0, *accumulate((end for _, end in ordered), max)]
    free = [
        (span, labels)
        for span, labels in matches
        if span[0] >= furthest[bisect_left(starts, span[1])]
    ]
    return NamesFound(
        speakers=tuple(dict.fromkeys([label for _, labels in free for label in labels])),
        spans=tuple([span for span, _ in free]),
    )


def list_named(speakers: Sequence[str]) -> tuple[str, ...]:
    """Return the speakers that have a name, and not only a role."""
    index = _index_speakers(tuple(speakers))
    labels = [
        label
        for labels_by_name in (index.by_words, index.by_string)
        for names in labels_by_name.values()
        for label in names
    ]
    return tuple(dict.fromkeys(labels))


def without_spans(text: str, spans: Sequence[Span]) -> str:
    """Return the text without the spans, as it is if only function words would be left."""
    rest = cut_spans(text, spans) if spans else text
    # "Where did Ann?" would leave nothing to search for.
    is_useful = any(
        is_unspaced(word) or (len(word) > 1 and word.casefold() not in OPENERS)
        for word in _WORD.findall(rest)
    )
    return rest if is_useful else text


def cut_spans(text: str, spans: Sequence[Span]) -> str:
    """Return the text without the spans, in order, and without the blanks that they leave."""
    pieces: list[str] = []
    position = 0
    for start, end in [*spans, (len(text), len(text))]:
        right = text[position:start]
        # Where two pieces meet, one blank is enough, and punctuation needs none before it.
        if not pieces or pieces[-1][-1].isspace():
            right = right.lstrip()
        if right and right[0] in ",.;:!?)":
            while pieces and pieces[-1][-1].isspace():
                left = pieces.pop().rstrip()
                pieces += [left] if left else []
        pieces += [right] if right else []
        position = max(position, end)
    return "".join(pieces).lstrip(" ,;:").rstrip()


# The same speakers are looked for in every search of a memory.
@lru_cache(maxsize=256)
def _index_speakers(speakers: tuple[str, ...]) -> _Index:
    by_words: dict[Words, tuple[str, ...]] = {}
    by_string: dict[str, tuple[str, ...]] = {}
    for label in dict.fromkeys(speakers):
        if is_unspaced(label):
            if len(label.strip()) > 1:
                by_string[label.strip()] = (label,)
            continue
        words = tuple(_fold(word) for word in _WORD.findall(label))
        if not _can_name(words):
            continue
        first_name = (words[1:] if words[0] in TITLES else words)[:1]
        names = [words, first_name] if len(words) > 1 and _can_name(first_name) else [words]
        for name in names:
            by_words[name] = (*by_words.get(name, ()), label)
    return _Index(by_words, by_string, max(map(len, by_words), default=0))


def _can_name(words: Words) -> bool:
    """Return whether the words name a person, not only a role, a number or an initial."""
    return any(len(word) > 1 and not word.isdigit() and word not in GENERIC for word in words)


def _fold(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _find_by_words(text: str, index: _Index) -> list[tuple[Span, tuple[str, ...]]]:
    """Return the span and the labels of each name that is in the text in whole words."""
    words: list[str] = []
    spans: list[Span] = []
    for match in _WORD.finditer(text):
        word = _fold(match[0])
        bare = word.removesuffix("'s")
        words.append(bare)
        spans.append((match.start(), match.end() - len(word) + len(bare)))
    matches: list[tuple[Span, tuple[str, ...]]] = []
    position = 0
    while position < len(words):
        # The longest name wins: "Ann Lee" before "Ann".
        for size in range(min(index.longest, len(words) - position), 0, -1):
            labels = index.by_words.get(tuple(words[position : position + size]))
            if not labels:
                continue
            start, end = spans[position][0], spans[position + size - 1][1]
            possessive = _POSSESSIVE.match(text, end)
            # "will" is no name, nor is "Will" at the beginning of a sentence, where it may be the
            # verb. "Will's" is one anywhere.
            if size == 1 and words[position] in ALSO_WORDS:
                if not text[start].isupper():
                    continue
                is_opening = _SENTENCE_START.search(text, max(0, start - BEFORE), start)
                if is_opening and possessive is None:
                    continue
            matches.append(((start, possessive.end() if possessive else end), labels))
            position += size - 1
            break
        position += 1
    return matches
