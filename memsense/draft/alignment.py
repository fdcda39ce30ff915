"""Alignment of a log with what is stored of it under another name, by keys of contents."""

import hashlib
import json
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from memsense.ingest.pairing import place_in_log

LEAST_ROW = 3
"""Messages in a row that show that two logs are one."""

LEAST_TEXT = 40
"""Characters that show the same: "ok" and "yes" are in every chat."""

LEAST_RENAMED = 10
"""Messages in a row that show it although the speakers have other names."""

COVERAGE = 0.8
"""Share of the messages in which both logs overlap that must be equal."""

_TEXT, _SPEAKER = 8, 12  # where the parts of a content key end
_QUARTER, _DAY = 15, 24 * 60
# Marks of writing direction, and spaces without a width.
_MARKS = dict.fromkeys(
    (0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
)


def content_key(role: str, text: str, speaker: str | None, at: datetime | None) -> bytes:
    """Return 16 bytes by which a message is recognised in another export of its log.

    Args:
        role: The role of the message.
        text: Its text, with every secret replaced; its spelling in Unicode doesn't matter.
        speaker: Its speaker in a log of people.
        at: Its time, which counts to the minute.

    Returns:
        8 bytes of role and text, 4 of the speaker and 4 of the minute; 0 is no minute.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_MARKS)
    words = json.dumps((role, " ".join(text.split()))).encode()
    minute = int(at.timestamp()) // 60 if at else 0
    return hashlib.sha256(words).digest()[:_TEXT] + _hash_name(speaker) + minute.to_bytes(4)


@lru_cache(maxsize=256)
def _hash_name(speaker: str | None) -> bytes:
    return hashlib.sha256((speaker or "").encode()).digest()[: _SPEAKER - _TEXT]


def text_of(key: bytes) -> bytes:
    """Return the part of a content key that is made of role and text."""
    return key[:_TEXT]


def without_time(key: bytes) -> bytes:
    """Return the content key that a message without a time has."""
    return key[:_SPEAKER] + bytes(len(key) - _SPEAKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A stored message as the ledger knows it."""

    session_id: str
    message_key: str
    content_hash: str
    ordinal: int
    content_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Messages of a log that are stored already: the stored row of each new one, or None.

    `edited` has those that a new one replaces, `keys` the content keys as the stored log spells.
    """

    rows: Sequence[LedgerRow | None]
    edited: Mapping[int, LedgerRow]
    keys: Sequence[bytes]

    @property
    def matched(self) -> int:
        """The number of messages that are stored."""
        return sum(row is not None for row in self.rows)


def align(
    rows: Sequence[LedgerRow], keys: Sequence[bytes], sizes: Sequence[int], *, is_copy: bool
) -> Alignment | None:
    """Return which messages of a log are stored in the rows of one log; None if it is another one.

    The method is that of patience diff: texts that both have once are put in order by their longest
    ascending run, and what is between them is matched in order.

    Args:
        rows: The ledger's messages of the stored log.
        keys: The content keys of the new log's messages, in order.
        sizes: The lengths of their texts in characters.
        is_copy: Whether the messages have ids of their own. Then names and times must be equal, if
            both logs have times, and only rows of messages count, as a copied log may go on in
            another way.
    """
    rows = sorted(
        rows,
        key=lambda row: (
            *place_in_log(row.session_id)[1],
            (row.ordinal, 1),
            _minute(row.content_key),
        ),
    )
    # The ledger keeps no order within a minute of an exchange: such messages share a place.
    places: list[int] = []
    groups = [(row.session_id, row.ordinal, _minute(row.content_key)) for row in rows]
    for before, group in zip([None, *groups], groups, strict=False):
        places.append(places[-1] + (group != before) if places else 0)
    old = [row.content_key for row in rows]
    # If one of the logs has no times, as a session that was exported as text, they say nothing.
    is_stripped = any(map(_minute, old)) != any(map(_minute, keys))
    if is_stripped:
        old = list(map(without_time, old))
        spelled: Sequence[bytes] = list(map(without_time, keys))
    else:
        spelled = keys if is_copy else _translate(old, keys, places)
    matches = _match(old, spelled, places)
    counts, own_counts = Counter(map(text_of, old)), Counter(map(text_of, keys))
    is_proven = False
    for run in _find_runs(matches, places):
        # Without times, or by another clock, only texts that both have once say anything.
        is_timed = all(_minute(keys[i]) and _minute(spelled[i]) == _minute(keys[i]) for i in run)
        is_renamed = any(spelled[i][:_SPEAKER] != keys[i][:_SPEAKER] for i in run)
        rare = [i for i in run if counts[text_of(keys[i])] == own_counts[text_of(keys[i])] == 1]
        proof = run if is_timed and not is_renamed else rare
        length = sum({text_of(keys[i]): sizes[i] for i in proof}.values())
        if is_renamed:
            is_proven |= len(run) >= LEAST_RENAMED and len(proof) >= LEAST_ROW
        elif is_copy and not ((is_timed or is_stripped) and len(proof) >= LEAST_ROW):
            for position in run:
                matches[position] = None
        else:
            is_proven |= len(proof) >= LEAST_ROW or length >= LEAST_TEXT
    if not is_proven or not (is_copy or _share(matches, len(rows)) >= COVERAGE):
        return None
    return Alignment(
        rows=[None if match is None else rows[match] for match in matches],
        edited={} if is_copy else _find_edits(rows, spelled, matches, places),
        keys=keys if is_stripped else spelled,
    )


def _minute(key: bytes) -> int:
    return int.from_bytes(key[_SPEAKER:])


def _translate(
    old: Sequence[bytes], keys: Sequence[bytes], places: Sequence[int]
) -> Sequence[bytes]:
    """Return the keys with the names and the clock of the stored log, as equal texts show them."""
    pairs = _pair_unique([text_of(key) for key in old], [text_of(key) for key in keys])
    shifts = {i: _minute(old[match]) - _minute(keys[i]) for i, match in pairs}
    # Clocks differ by quarters of an hour; a whole day is no zone, but the next day.
    usual = {
        shift
        for shift, count in Counter(shifts.values()).most_common(2)
        if shift == 0 or (count >= LEAST_ROW and shift % _QUARTER == 0 and abs(shift) < _DAY)
    }
    anchors = dict(_ascending([pair for pair in pairs if shifts[pair[0]] in usual], places))
    votes: dict[bytes, Counter[bytes]] = defaultdict(Counter)
    for i, match in anchors.items():
        votes[keys[i][_TEXT:_SPEAKER]][old[match][_TEXT:_SPEAKER]] += 1
    names = {name: count.most_common(1)[0][0] for name, count in votes.items()}
    if len(set(names.values())) < len(names):
        names = {}
    # A zone may have its summer time, and the other none: the clock is that of the last anchor.
    shift = next((shifts[i] for i in anchors), 0)
    translated: list[bytes] = []
    for i, key in enumerate(keys):
        shift = shifts[i] if i in anchors else shift
        name, minute = key[_TEXT:_SPEAKER], _minute(key)
        minute = max(0, minute + shift) if minute else 0
        translated.append(text_of(key) + names.get(name, name) + minute.to_bytes(4))
    return translated


def _pair_unique(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the positions of what both have once, (new, old), in the order of the new ones."""
    old_counts, new_counts = Counter(old), Counter(new)
    where = {key: position for position, key in enumerate(old)}
    return [
        (position, where[key])
        for position, key in enumerate(new)
        if new_counts[key] == old_counts[key] == 1
    ]


def _ascending(pairs: Sequence[tuple[int, int]], places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the longest run of pairs whose places never fall."""
    ends: list[int] = []  # the lowest place that a run of each length can end in
    last: list[int] = []  # the pair that such a run ends with
    previous: list[int | None] = []
    for number, (_, match) in enumerate(pairs):
        length = bisect_right(ends, places[match])
        previous.append(last[length - 1] if length else None)
        ends[length : length + 1] = [places[match]]
        last[length : length + 1] = [number]
    run: list[tuple[int, int]] = []
    at = last[-1] if last else None
    while at is not None:
        run.append(pairs[at])
        at = previous[at]
    return run[::-1]


def _match(old: Sequence[bytes], keys: Sequence[bytes], places: Sequence[int]) -> list[int | None]:
    """Return the position of the stored message that each key is, in order, or None."""
    anchors = dict(_ascending(_pair_unique(old, keys), places))
    # No message is put behind the anchor that follows it.
    limits, limit = [0] * len(keys), len(places)
    for position in range(len(keys) - 1, -1, -1):
        limit = places[anchors[position]] if position in anchors else limit
        limits[position] = limit
    waiting: dict[bytes, deque[int]] = defaultdict(deque)
    for position, key in enumerate(old):
        waiting[key].append(position)
    matches: list[int | None] = []
    place = 0
    for key, limit in zip(keys, limits, strict=True):
        queue = waiting.get(key, deque[int]())
        while queue and places[queue[0]] < place:
            queue.popleft()
        matches.append(queue.popleft() if queue and places[queue[0]] <= limit else None)
        place = place if matches[-1] is None else places[matches[-1]]
    return matches


def _find_runs(matches: Sequence[int | None], places: Sequence[int]) -> list[list[int]]:
    """Return the positions of new messages in a row that are stored in a row."""
    runs: list[list[int]] = []
    for position, match in enumerate(matches):
        before = matches[position - 1] if position else None
        if match is None:
            continue
        if before is not None and places[match] <= places[before] + 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def _share(matches: Sequence[int | None], stored: int) -> float:
    """Return the share of equal messages where both logs overlap."""
    both = [(i, match) for i, match in enumerate(matches) if match is not None]
    first, last = both[0][0], both[-1][0]
    # Messages that share a place may be in any order.
    old = [match for _, match in both]
    old_first, old_last = min(old), max(old)
    before, after = min(first, old_first), min(len(matches) - last, stored - old_last) - 1
    span = min(last - first, old_last - old_first) + 1
    return len(both) / max(1, before + span + after)


def _find_edits(
    rows: Sequence[LedgerRow],
    keys: Sequence[bytes],
    matches: Sequence[int | None],
    places: Sequence[int],
) -> dict[int, LedgerRow]:
    """Return what one message between two equal ones replaces, if one of the same moment does."""
    used = set(matches)
    edits: dict[int, LedgerRow] = {}
    for i in range(1, len(matches) - 1):
        before, after = matches[i - 1], matches[i + 1]
        if matches[i] is not None or before is None or after is None:
            continue
        # Messages that share a place may be in any order.
        near = range(bisect_left(places, places[before]), bisect_right(places, places[after]))
        between = [j for j in near if j not in used]
        if len(between) == 1 and rows[between[0]].content_key[_TEXT:] == keys[i][_TEXT:]:
            edits[i] = rows[between[0]]
            used.add(between[0])
    return edits
