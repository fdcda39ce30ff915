"""Life of a user: sessions by week, and facts with the statements that replaced each other."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all
from memsense.store.scopes import Namespace
from memsense.store.supersession import list_changes
from memsense.types import ChangeState, PossibleChange

MOST_LANES = 40
MOST_LINKS = 1000
LONGEST_TEXT = 300
LONGEST_SUBJECT = 60

MARKED_STATES: Sequence[ChangeState] = ("confirmed", "set")
"""States of the pairs that answers mark, too."""

_UNKNOWN = datetime.min.replace(tzinfo=UTC)

_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """Sessions and exchanges of a week, which begins on this Monday (UTC)."""

    week: date
    sessions: int
    exchanges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A statement in a lane: said at `since`, replaced at `until` for `reason`; both None if not.

    `since` is None if its time is unknown.
    """

    chunk_id: int
    text: str
    since: datetime | None
    until: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A fact: statements that replaced each other, the earliest first.

    `subject` are words that all of them have in common, or the beginning of the last one.
    """

    subject: str
    spans: Sequence[Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A user's sessions by week, the earliest first, and at most 40 facts that have changed.

    Facts with the most statements come first. Only changes that answers show count: those that
    a user has confirmed or named.
    """

    user_id: str
    weeks: Sequence[Week]
    lanes: Sequence[Lane]


def fetch_life(connection: Connection, namespace: Namespace, user_id: str) -> Life:
    """Return the life of a user; empty if nothing is stored of them."""
    values = {**namespace.key, "user_id": user_id}
    links = [
        link
        for state in MARKED_STATES
        for link in list_changes(
            connection, namespace, user_id, state, behind=None, limit=MOST_LINKS
        )
    ]
    weeks = fetch_all(connection, "count_by_week", values, "listing.sql", of=Week)
    return Life(user_id=user_id, weeks=weeks, lanes=join_lanes(links)[:MOST_LANES])


def join_lanes(links: Sequence[PossibleChange]) -> list[Lane]:
    """Return a lane for each set of statements that the links join, the longest first."""
    lane_of: dict[int, list[int]] = {}
    texts: dict[int, tuple[str, datetime | None]] = {}
    ends: defaultdict[int, list[tuple[datetime | None, str]]] = defaultdict(list)
    for link in links:
        texts[link.older_id] = link.older_text, link.said_at
        texts[link.newer_id] = link.newer_text, link.superseded_at
        ends[link.older_id].append((link.superseded_at, link.reason))
        one, other = (lane_of.setdefault(it, [it]) for it in (link.older_id, link.newer_id))
        if one is not other:
            one += other
            lane_of |= dict.fromkeys(other, one)
    lanes: list[Lane] = []
    for chunk_ids in {id(lane): lane for lane in lane_of.values()}.values():
        spans: list[Span] = []
        for chunk_id in chunk_ids:
            text, said_at = texts[chunk_id]
            # Of several statements that replace one, the first ended it.
            until, reason = min(
                ends[chunk_id],
                key=lambda it: (it[0] is None, it[0] or _UNKNOWN),
                default=(None, None),
            )
            text = _cut(text, LONGEST_TEXT)
            span = Span(chunk_id=chunk_id, text=text, since=said_at, until=until, reason=reason)
            spans.append(span)
        # Those without a time come first, as in lists.
        spans.sort(key=lambda it: (it.since or _UNKNOWN, it.chunk_id))
        lanes.append(Lane(subject=_name_subject([it.text for it in spans]), spans=spans))
    return sorted(lanes, key=lambda it: (-len(it.spans), -it.spans[-1].chunk_id))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _name_subject(texts: Sequence[str]) -> str:
    words = [set(map(str.casefold, _WORD.findall(text))) for text in texts]
    common = set[str].intersection(*words)
    shared = [word for word in _WORD.findall(texts[-1]) if word.casefold() in common]
    return _cut(" ".join(dict.fromkeys(shared)) or texts[-1], LONGEST_SUBJECT)
