"""Words of an English statement that distinguish a changed fact from a mention of it.

The rules read single words, so that a text of any length takes one pass. What they find is
evidence for or against a change, and no single one of them is proof.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_GAP = 4
"""Words that may stand where a phrase has an ellipsis."""

_PHRASES_OF = {
    # Words that end or replace what is next to them.
    "end": (
        "no longer|not any longer|no more|any more|anymore|hardly|instead|switch|switched|"
        "switching|moved|changed|replaced|replacing|swap|swapped|rebooked|rescheduled|postponed|"
        "pushed|brought ... forward|raised|lowered|dropped|upgraded|downgraded|migrated|promoted|"
        "quit|resigned|handed in|gave up|gave ... back|given up|given away|stopped|cancelled|"
        "canceled|closed|shut|retired|sold|traded|broke up|divorced|left|renamed|is over|is off|"
        "switched off|used to|gone|ended|took over|taken over|takes over|handed over|"
        "passed ... on|abolished|scrapped|broke|broken|died|dead|failed|former|old one|"
        "pulled the plug|threw in|threw out|forbidden|settled|bumped|extended|went up|went down|"
        "increased|decreased|reduced|cut|done with|finished|undid|undone|got rid|ditched|"
        "rather than|goodbye|lapsed|expired|rewrote|rewritten|from|back to|isn't|not"
    ),
    # Words of a state that begins.
    "start": (
        "now|nowadays|these days|new|newly|since|finally|lately|currently|from now on|as of|"
        "at last|meanwhile|by now|started|start|starts|joined|became|becomes|become|got|turned|"
        "turns out|turned out|correction|back to|has been|have been|is called|goes by|answers to|"
        "set to|went to"
    ),
    "addition": (
        "also|too|as well|another|both|besides|in addition|additional|additionally|one more|"
        "on top of|plus|on the side|first time|other one|apart from|next to that|our other|"
        "my other"
    ),
    "story": (
        "when i lived|when i was|when i worked|when we lived|when we were|back when|years ago|"
        "as a child|as a kid|in my twenties|as a student|at university|back then|in those days|"
        "remember when|reminded me|old photos|grew up|used to be|in the past|last year"
    ),
    # What is not so yet, or may never be.
    "plan": (
        "proposed|suggested|might|maybe|perhaps|would love|would like|plan|plans|planning|"
        "planned|thinking of|"
        "thinking about|think about|consider|considering|want to|wants to|hope|hoping|hopes|wish|"
        "dream|dreaming|some day|someday|one day|one of these days|sometime|eventually|next year|"
        "next summer|next quarter|next spring|next autumn|next winter|tempted|we could|you could|"
        "i could|haven't decided|not sure|undecided|looking at|looking into|applied|trial|trying|"
        "tried|testing|idea|ideas|fancy|if i|if we|if the|i'd love|i'd like|we'd love|will come|"
        "just for fun|for fun"
    ),
    # What is so for a day.
    "exception": (
        "just for|only for|only this|just this|this once|for once|that once|only once|"
        "this week only|this time|one off|tomorrow|today only|for the day|for a day|for a week|"
        "this friday|this monday|this tuesday|this wednesday|this thursday|this saturday|"
        "this sunday|next monday|next tuesday|next wednesday|next thursday|next friday|"
        "next saturday|next sunday|holiday|exceptionally|exception|temporarily|for now|strike|"
        "as usual|borrowed|lent me|stand in|covering for|filling in"
    ),
    "unchanged": (
        "still|stays|stayed|staying|remains|remained|reverted|not true|as before|as ever|"
        "as always|unchanged|haven't moved|hasn't changed|after all|nothing has changed|"
        "back home|not to|stick with|sticking with|the usual|no change"
    ),
    "hearsay": (
        "they say|people say|people think|it says|apparently|generally|most people|many people|"
        "some people|people should|many projects|many teams|many users|"
        "supposed|supposedly|recommend|recommends|recommended|article|forum|blog|advert|"
        "according to|you could|you should|you can|experts|guide|podcast|should be|is better|"
        "are better|heard a|heard that|read that|read about|says the|someone"
    ),
    # Another one's thing.
    "owner": (
        "mother|mother's|mum|mum's|mom|mom's|father|father's|dad|dad's|parents|sister|sister's|"
        "brother|brother's|aunt|uncle|cousin|cousin's|grandma|grandpa|son|daughter|husband|wife|"
        "girlfriend|boyfriend|neighbour|neighbours|neighbour's|neighbors|neighbor|friend|friends|"
        "friend's|colleague|colleagues|colleague's|flatmate|roommate|client|clients|other|"
        "in laws|kids|next door"
    ),
    "speaks of home": (
        "live|lives|living|lived|moved|moving|rent|rents|renting|apartment|flat|house|home|"
        "address|neighbourhood|neighborhood|unpacked|settled|city|town"
    ),
    "speaks of work": (
        "work|works|working|worked|job|employer|company|hired|quit|resigned|notice|signed with|"
        "joined|joining|started at|promoted|position|boss|office|for a living|manager|report to"
    ),
    "speaks of partner": (
        "single|married|divorced|engaged|wife|husband|girlfriend|boyfriend|partner|dating|"
        "relationship"
    ),
    "speaks of vehicle": "car|drive|drives|driving",
    # Changes of the facts that people have one of.
    "changes home": (
        "moved to|moved into|moved in|moved from|moved out|moving to|moving into|new address|"
        "new place|new flat|new apartment|new house|new home|unpacked"
    ),
    "changes work": (
        "quit|resigned|handed in|started at|start at|joined|joining|signed with|hired|promoted|"
        "new job|laid off|left my job|new employer|report to|for a living"
    ),
    "changes partner": "broke up|divorced|got married|engaged|separated",
    "changes vehicle": "sold|traded|bought a",
}
"""Phrases of each kind, separated by bars; an ellipsis stands for up to four words."""

SUBJECTS = ("home", "work", "partner", "vehicle")

_VALUES = {
    "number": (
        "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
        "sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
        "hundred|thousand|half|quarter|noon|midnight"
    ),
    "day": (
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays|tuesdays|wednesdays|"
        "thursdays|fridays|saturdays|sundays"
    ),
    "month": ("january|february|march|april|june|july|august|september|october|november|december"),
    "colour": (
        "red|blue|green|yellow|black|white|grey|gray|orange|purple|violet|brown|pink|beige|silver"
    ),
    "floor": "first|second|third|fourth|fifth|sixth|ground",
}
"""Words that are values of one type: of a fact with one of them, another one is news."""

_VALUE_TYPES = {word: kind for kind, words in _VALUES.items() for word in words.split("|")}
_WORD = re.compile(r"[^\W_]+(?:[.,:][0-9]+)*(?:['\u2019][^\W_]+)?")
_SHORTEST_STEM = 3
_ENDINGS = ("ing", "ied", "ies", "'s", "ed", "es", "s")
_STOP_WORDS = frozenset(
    "a about after again all also am an and any are as at be because been before being but by "
    "called can can't could day days did didn't do does doesn't don't done down each euro euros "
    "evening few for from get give go goes going good got had half has have having he her here "
    "him his hour hours how i i'd i'll i'm i've if in into is isn't it it's its just let like "
    "made make makes may me might mine minute minutes month months more morning most must my "
    "name new no nor not now of off on once one only onto or our out over own per please quite "
    "really said same say says shall she should since so some still such than that that's the "
    "their them then there there's these they they've thing things this those time times to "
    "today tomorrow too until up us use used uses using very want wants was we we'll we're we've "
    "week weeks went were what what's when where which who who's whom whose why will with "
    "without won't would year years yes yesterday you your".split()
)
_ASKING = frozenset(
    "what what's which who who's when where why how is are isn't aren't do does did don't "
    "doesn't can could should would will has have any anyone".split()
)

Phrase = tuple[str, ...]


def _index_phrases() -> dict[str, list[tuple[str, Phrase]]]:
    """Return the kind and the other words of each phrase, by its first word."""
    index: dict[str, list[tuple[str, Phrase]]] = {}
    for kind, phrases in _PHRASES_OF.items():
        for phrase in phrases.split("|"):
            first, *others = phrase.split()
            index.setdefault(first, []).append((kind, tuple(others)))
    return index


_PHRASES = _index_phrases()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement as the rules read it.

    Attributes:
        tokens: Its words in their order.
        stems: Stem of each of its words in their order, empty for a function word.
        words: The stems without function words.
        plain: All its words.
        values: Its words that are values of a type, and their types: ("friday", "day").
        kinds: First phrase of each kind in it, as spelled there.
        ends: Places of the words that end something.
        is_question: Whether it asks.
    """

    tokens: Sequence[str]
    stems: Sequence[str]
    words: frozenset[str]
    plain: frozenset[str]
    values: frozenset[tuple[str, str]]
    kinds: dict[str, str]
    ends: Sequence[tuple[int, str]]
    is_question: bool

    def speaks_of(self, kind: str) -> frozenset[str]:
        """Return the subjects with a phrase of a kind, "speaks of" or "changes"."""
        return frozenset([subject for subject in SUBJECTS if f"{kind} {subject}" in self.kinds])


# The same memories are candidates of many questions.
@lru_cache(maxsize=8192)
def read_statement(text: str) -> Statement:
    """Return the statement that a text makes; case does not matter."""
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    stems = [
        "" if word in _STOP_WORDS or (len(word) == 1 and not word.isdigit()) else _stem(word)
        for word in words
    ]
    kinds: dict[str, str] = {}
    ends: list[tuple[int, str]] = []
    for place, word in enumerate(words):
        for kind, others in _PHRASES.get(word, ()):
            end = _end_of(words, place + 1, others)
            if end is not None:
                phrase = " ".join(words[place:end])
                kinds.setdefault(kind, phrase)
                if kind == "end":
                    ends.append((place, phrase))
    return Statement(
        tokens=words,
        stems=stems,
        words=frozenset(stems) - {""},
        plain=frozenset(words),
        values=frozenset(
            [
                (word, _VALUE_TYPES.get(word) or ("time" if ":" in word else "number"))
                for word in words
                if word[0].isdigit() or word in _VALUE_TYPES
            ]
        ),
        kinds=kinds,
        ends=ends,
        is_question=text.rstrip().endswith("?") and words[:1] != [] and words[0] in _ASKING,
    )


def _stem(word: str) -> str:
    if word.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                return word.removesuffix(ending)
    return word


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
