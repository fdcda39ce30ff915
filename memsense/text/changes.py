"""Words of an English statement that say that a fact has changed, or that one was added.

The rules read single words, so that a text of any length takes one pass. They miss changes that are
told without such a word; what they find is evidence, which other evidence must support.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_GAP = 4
"""Words that may stand where a phrase has an ellipsis."""

CHANGES = (
    "no longer|not any longer|any more|anymore|hardly|instead|switch|switched|switching|"
    "moved|changed|change of mind|change of plan|change of plans|changed my mind|replaced|"
    "replacing|swap|swapped|rebooked|rescheduled|postponed|pushed ... to|pushed ... back|"
    "brought ... forward|raised|lowered|dropped|upgraded|downgraded|migrated|promoted|quit|"
    "resigned|handed in|gave up|gave it up|gave in|gave ... back|given up|stopped|cancelled|"
    "canceled|closed|shut|retired|sold|traded|broke up|divorced|left the|from now on|as of|"
    "these days|renamed|is over|is off|used to|turns out|turned out|correction|back to|"
    "became|history|killed|abolished|scrapped|ended|gone|took over|takes over|handed over|"
    "took ... out|put me on|took me on|was made|were made|talked me out|in its place|"
    "in his place|in her place|in their place"
)
"""Words of a change, separated by bars; an ellipsis stands for up to four words."""

ADJUSTMENTS = (
    "increased|decreased|reduced|grown|cut|bumped|adjusted|extended|improved|boosted|went up|"
    "reached|update|updated|updating|rather than|finished"
)
"""Words of a change that are as often told of a plan or a success: evidence, but no proof."""

HINTS = (
    "now|new|newly|since|finally|recently|just|started|start|starts|got|today|lately|"
    "currently|already|has|have been"
)
"""Words that often stand in a change, and as often elsewhere."""

ADDITIONS = (
    "also|too|as well|another|second|third|both|besides|in addition|additional|one more|first time"
)
"""Words of a fact that adds to an earlier one."""

ENDS = (
    "sold|gone|off|over|out|closed|broke|broken|broke down|failed|died|dead|cracked|retired|quit|"
    "left|ended|signed|replaced|used to|no more|anymore|any more|no longer|instead|traded|"
    "swapped|cancelled|canceled|finished|given|gave|goodbye|former|old one|went to|drawer"
)
"""Words that often end something; evidence between two statements about one thing."""

STARTS = (
    "new|now|first|since|from now|today|yesterday|this week|last week|finally|started|starts|"
    "moved|got|have been|became|becomes"
)
"""Words that often begin something; evidence as ENDS are."""

STORIES = (
    "when i lived|when i was|when i worked|when we lived|when we were|back when|years ago|"
    "as a child|as a kid|in my twenties|as a student|at university|back then|in those days|"
    "remember when|reminded me|old photos|grew up"
)
"""Words of a story from before, which is no news."""

SUBJECTS = {
    "home": (
        "live|lives|living|lived|moved|moving|rent|rents|renting|apartment|flat|house|home|address|"
        "neighbourhood|neighborhood|unpacked|settled|city|town"
    ),
    "work": (
        "work|works|working|worked|job|employer|company|hired|quit|resigned|notice|signed with|"
        "joined|joining|started at|promoted|position|boss|office"
    ),
    "partner": (
        "single|married|divorced|engaged|wife|husband|girlfriend|boyfriend|partner|dating|"
        "relationship"
    ),
    "vehicle": "car|drive|drives|driving",
}
"""Words by which a statement or a question speaks of one of the facts that people have one of."""

SUBJECT_CHANGES = {
    "home": (
        "moved to|moved into|moved in|moved from|moved out|moving to|moving into|new address|"
        "new place|new flat|new apartment|new house|new home"
    ),
    "work": (
        "quit|resigned|handed in|started at|start at|joined|joining|signed with|hired|promoted|"
        "new job|laid off|left my job|new employer"
    ),
    "partner": "broke up|divorced|got married|engaged|separated",
    "vehicle": "sold|traded|bought a",
}
"""Words of a change of each of them."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_INNER_WORD = re.compile(r"\s([^\W\d_][^\W_]+)")
_SENTENCE_ENDS = re.compile(r"(?<![.!?:])[.!?:]+\s+|\n+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SHORTEST_STEM = 3
_ENDINGS = ("ing", "ied", "ies", "ed", "es", "s")
_STOP_WORDS = frozenset(
    "a about after again all also am an and any are as at be been before being but by can "
    "can't could day days did didn't do does doesn't don't done down each euro euros evening "
    "few for from get go goes going got had half has have having he her here him his hour "
    "hours how i i'd i'll i'm i've if in into is isn't it it's its just let like made make "
    "makes may me might mine minute minutes month months more morning most must my new no nor "
    "not now of off on once one only onto or our out over own per please quite really said "
    "same say says shall she should since so some still such than that the their them then "
    "there these they thing things this those time times to today tomorrow too until up us "
    "very want wants was we we're week weeks went were what when where which who whom whose "
    "why will with without won't would year years yes yesterday you your".split()
)

Phrase = tuple[str, ...]


_KINDS = {
    "change": CHANGES,
    "adjustment": ADJUSTMENTS,
    "hint": HINTS,
    "addition": ADDITIONS,
    "end": ENDS,
    "start": STARTS,
    "story": STORIES,
    **{f"speaks of {subject}": phrases for subject, phrases in SUBJECTS.items()},
    **{f"changes {subject}": phrases for subject, phrases in SUBJECT_CHANGES.items()},
}


def _index_phrases() -> dict[str, list[tuple[str, Phrase]]]:
    """Return the kind and the other words of each phrase, by its first word."""
    index: dict[str, list[tuple[str, Phrase]]] = {}
    for kind, phrases in _KINDS.items():
        for phrase in phrases.split("|"):
            first, *others = phrase.split()
            index.setdefault(first, []).append((kind, tuple(others)))
    return index


_PHRASES = _index_phrases()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement as the rules read it.

    Attributes:
        words: Stems of its words without function words.
        numbers: Its numbers, as written.
        owned: Pairs of an owner and a word behind it: ("mother", "birthday").
        change: First words of a change, such as "no longer"; empty if there are none.
        is_adjusted: Whether it has words of an adjustment, such as "extended".
        is_hinted: Whether it has a word that is frequent in changes.
        end: First words that often end something, such as "sold"; empty if there are none.
        start: First words that often begin something, such as "now"; empty if there are none.
        names: Capitalised words within its sentences, in lower case.
        subjects: Keys of SUBJECTS that it speaks of.
        changed: Keys of SUBJECT_CHANGES that it tells a change of.
        is_addition: Whether it adds a fact to earlier ones.
        is_story: Whether it tells of earlier times.
        is_question: Whether it ends as a question does.
        plain: All its words.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    owned: frozenset[tuple[str, str]]
    change: str
    is_adjusted: bool
    is_hinted: bool
    end: str
    start: str
    names: frozenset[str]
    subjects: frozenset[str]
    changed: frozenset[str]
    is_addition: bool
    is_story: bool
    is_question: bool
    plain: frozenset[str]


# The same memories are candidates of many questions.
@lru_cache(maxsize=8192)
def read_statement(text: str) -> Statement:
    """Return the statement that a text makes; case does not matter."""
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    owned: set[tuple[str, str]] = set()
    for place, word in enumerate(words):
        if word.endswith("'s"):
            owned |= {(word[:-2], _stem(item)) for item in words[place + 1 : place + 3]}
    phrases = _find_phrases(words)
    return Statement(
        words=frozenset(
            [_stem(word) for word in words if len(word) > 1 and word not in _STOP_WORDS]
        ),
        numbers=frozenset(_NUMBER.findall(text)),
        owned=frozenset(owned),
        change=phrases.get("change", ""),
        is_adjusted="adjustment" in phrases,
        is_hinted="hint" in phrases,
        end=phrases.get("end", ""),
        start=phrases.get("start", ""),
        names=frozenset(
            [
                word.lower()
                for sentence in _SENTENCE_ENDS.split(text)
                for word in _INNER_WORD.findall(sentence)
                if word[0].isupper()
            ]
        ),
        subjects=frozenset([subject for subject in SUBJECTS if f"speaks of {subject}" in phrases]),
        changed=frozenset(
            [subject for subject in SUBJECT_CHANGES if f"changes {subject}" in phrases]
        ),
        is_addition="addition" in phrases,
        is_story="story" in phrases,
        is_question=text.rstrip().endswith("?"),
        plain=frozenset([word.removesuffix("'s") for word in words]),
    )


def _stem(word: str) -> str:
    if word.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                return word.removesuffix(ending)
    return word


def _find_phrases(words: Sequence[str]) -> dict[str, str]:
    """Return the first phrase of each kind that is in the text, as spelled there."""
    phrases: dict[str, str] = {}
    for place, word in enumerate(words):
        for kind, others in _PHRASES.get(word, ()):
            if kind not in phrases:
                end = _end_of(words, place + 1, others)
                if end is not None:
                    phrases[kind] = " ".join(words[place:end])
    return phrases


def _end_of(words: Sequence[str], place: int, others: Phrase) -> int | None:
    """Return where the rest of a phrase ends, None if it does not stand there."""
    for index, expected in enumerate(others):
        if expected == "...":
            # Phrases have one word behind the ellipsis.
            last = others[index + 1]
            near = words[place : place + _GAP + 1]
            return place + near.index(last) + 1 if last in near else None
        if words[place : place + 1] != [expected]:
            return None
        place += 1
    return place
