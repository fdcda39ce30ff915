"""Conversations that go on in stored sessions: their drafts hold what is new alone."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from memsense.draft.alignment import Alignment, LedgerRow
from memsense.draft.drafting import Paired
from memsense.ingest.pairing import message_hash, place_in_log
from memsense.types import Exchange, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Report that a log goes on in a stored session, or repeats `matched` of its `messages`."""

    source: str
    session_id: str
    matched: int
    messages: int

    def __str__(self) -> str:
        """Return the report as a sentence."""
        return (
            f"{self.source} continues the session {self.session_id!r}"
            f" ({self.matched} of its {self.messages} messages are in it)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The parts of one log, which are recognised together, with all messages in order.

    `is_copy`: messages have ids, so that what they repeat is a copy, and the log stays apart.
    """

    parts: Sequence[Paired]
    messages: Sequence[Message]
    keys: Sequence[bytes]
    sizes: Sequence[int]
    is_copy: bool

    @classmethod
    def of(cls, parts: Sequence[Paired]) -> "Log":
        """Return the log of some parts."""
        messages = [message for part in parts for message in part.messages]
        keys = {key: value for part in parts for key, value in part.content_keys.items()}
        return cls(
            parts=parts,
            messages=messages,
            keys=[keys[id(message)] for message in messages],
            sizes=[len(message.text) for message in messages],
            is_copy=any(message.external_id for message in messages),
        )

    @property
    def name(self) -> str:
        """The name that all parts begin with."""
        return place_in_log(self.parts[0].conversation.session_id)[0]

    def find_known(self, rows: Sequence[LedgerRow]) -> list[LedgerRow | None]:
        """Return the row of each message that has its own key, or None."""
        stored_rows = {(row.session_id, row.message_key): row for row in rows}
        return [
            stored_rows.get((part.conversation.session_id, part.keys[id(message)]))
            for part in self.parts
            for message in part.messages
        ]


def continue_log(
    log: Log, alignment: Alignment, rows: Sequence[LedgerRow], name: str, wholes: Collection[str]
) -> list[Paired]:
    """Return what is new of a log, in the sessions where it belongs.

    What follows the last message of a session is appended to it. What precedes the first, or is
    new between two, becomes a session of its own next to it, since places of exchanges never
    change. An exchange that has grown, or that has an edited message, is drafted as a whole if the
    log still has all of it.

    Args:
        log: The log.
        alignment: Which of its messages are stored.
        rows: The ledger of the stored log.
        name: The name of the stored log.
        wholes: Sessions whose exchanges are not stored one by one, and so can't be replaced.
    """
    stored, edited, keys = dict[int, LedgerRow](), set[int](), dict[int, bytes]()
    redacted = {key for part in log.parts for key in part.redacted}
    changed = set[int]()
    for i, message in enumerate(log.messages):
        keys[id(message)] = alignment.keys[i]
        if row := alignment.rows[i] or alignment.edited.get(i):
            stored[id(message)] = row
            # What was stored with its secrets is stored anew without them.
            is_bare = id(message) in redacted and message_hash(message) != row.content_hash
            if i in alignment.edited or (is_bare and alignment.keys[i] == log.keys[i]):
                changed.add(id(message))
        if i in alignment.edited:
            edited.add(id(message))
    lengths: Counter[tuple[str, int]] = Counter((row.session_id, row.ordinal) for row in rows)
    last: dict[str, int] = {}
    for row in rows:
        last[row.session_id] = max(row.ordinal, last.get(row.session_id, 0))
    counts = Counter(row.content_key for row in rows)
    continued: list[Paired] = []
    for part in log.parts:
        stored_rows = [stored[id(message)] for message in part.messages if id(message) in stored]
        own = part.conversation.session_id
        home = own if log.is_copy else f"{name}{own.removeprefix(log.name)}"
        home = stored_rows[0].session_id if stored_rows and not log.is_copy else home
        sessions: dict[str, list[Exchange]] = {home: []}
        before: LedgerRow | None = None
        recognised = 0
        for exchange in part.exchanges:
            messages = (*exchange.user, *exchange.assistant)
            old = [stored[id(message)] for message in messages if id(message) in stored]
            if len(old) == len(messages) and changed.isdisjoint(map(id, messages)):
                recognised += 1
                before = old[-1]
                continue
            places = Counter((row.session_id, row.ordinal) for row in old)
            session_ids = {row.session_id for row in old}
            is_whole = (
                len(session_ids) == 1
                and (session_ids.isdisjoint(wholes))
                and (not log.is_copy or session_ids == {own})
                and all(lengths[place] == count for place, count in places.items())
            )
            if is_whole:
                before = old[-1]
                sessions.setdefault(before.session_id, []).append(exchange)
                continue
            # What is stored of it stays as it is, and the rest is an exchange of its own.
            for message in messages:
                if id(message) in edited:
                    del stored[id(message)]
            old = [stored[id(message)] for message in messages if id(message) in stored]
            before = old[-1] if old else before
            rest = replace(
                exchange,
                user=[message for message in exchange.user if id(message) not in stored],
                assistant=[message for message in exchange.assistant if id(message) not in stored],
            )
            if log.is_copy or not stored_rows:
                target = home
            elif before is None:
                target = f"{stored_rows[0].session_id}~{stored_rows[0].ordinal}"
            elif before.ordinal < last[before.session_id]:
                target = f"{before.session_id}~{before.ordinal + 1}"
            else:
                target = before.session_id
            sessions.setdefault(target, []).append(rest)
        new_keys: dict[int, str] = dict(part.keys)
        for message in part.messages:
            if row := stored.get(id(message)):
                new_keys[id(message)] = row.message_key
            elif not log.is_copy:
                # A position says nothing here: it may be that of another message in the session.
                key = keys[id(message)]
                counts[key] += 1
                new_keys[id(message)] = f"{key.hex()}#{counts[key]}"
        hashes = {
            id(message): stored[id(message)].content_hash
            for message in part.messages
            if id(message) in stored and id(message) not in changed
        }
        for session_id, exchanges in sessions.items():
            is_home = session_id == home
            continued.append(
                replace(
                    part,
                    conversation=replace(part.conversation, session_id=session_id),
                    exchanges=exchanges,
                    keys=new_keys,
                    content_keys=keys,
                    hashes=hashes,
                    recognised=recognised if is_home else 0,
                    alias=own if is_home and own != home else "",
                )
            )
    return continued
