"""Exchanges of a conversation, and the lasting names by which its messages are recognised again."""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from memsense.types import Conversation, Exchange, Message

# A run of one side in a log of people is cut at these limits: a chat can go on for weeks without a
# word of the user's, and an exchange is the unit that a search finds.
MAX_RUN_MESSAGES = 8
MAX_RUN_CHARACTERS = 4_000

EXCHANGE_GAP = timedelta(hours=6)
"""Silence within one side that ends an exchange, as it ends a session of a chat."""


def pair_exchanges(
    conversation: Conversation,
    *,
    user_speaker: str | None = None,
    exchange_gap: timedelta = EXCHANGE_GAP,
) -> list[Exchange]:
    """Return the conversation's exchanges in order.

    An exchange opens at the first user message after an answer. A greeting has no user side, a
    question without a reply no assistant side. In a log of people, without user or assistant
    messages, everybody but the user is on the assistant's side, and a run of one side is cut after
    8 messages or about 4,000 characters. A side ends where its next message comes later than
    `exchange_gap` after the one before it: the exchange is found by the day of its first message.

    Args:
        conversation: The conversation to pair.
        user_speaker: The speaker who is the user in a log of people; by default the first
            participant.
        exchange_gap: Silence between two messages of one side that ends the exchange; 0 for none.
            Counts if both have a time.

    Returns:
        Exchanges numbered from 0. Every user, assistant and other message is in exactly one;
        system and tool messages are in none.
    """
    is_of_people = not any(m.role in ("user", "assistant") for m in conversation.messages)
    if is_of_people:
        user_speaker = user_speaker or next(iter(conversation.participants), None)
    exchanges: list[Exchange] = []
    user: list[Message] = []
    assistant: list[Message] = []
    follows_gap = False

    def close_exchange() -> None:
        if user or assistant:
            exchange = Exchange(
                ordinal=len(exchanges),
                user=tuple(user),
                assistant=tuple(assistant),
                follows_gap=follows_gap,
            )
            exchanges.append(exchange)
        user.clear()
        assistant.clear()

    for message in conversation.messages:
        if message.role in ("system", "tool"):
            continue
        is_user = message.role == "user" or (
            message.role == "other" and user_speaker is not None and message.speaker == user_speaker
        )
        side = user if is_user else assistant
        # Answers of an assistant are never cut, however long: they are split into chunks later.
        is_full = False
        if is_of_people and side:
            length = sum(len(other.text) for other in (*side, message))
            is_full = len(side) >= MAX_RUN_MESSAGES or length > MAX_RUN_CHARACTERS
        before = side[-1].at if side else None
        is_late = before and message.at and message.at - before > exchange_gap > timedelta(0)
        is_answered = is_user and bool(assistant)
        if is_answered or is_full or is_late:
            close_exchange()
            follows_gap = not (is_answered or is_full)
        side.append(message)
    close_exchange()
    return exchanges


def joined_text(messages: Sequence[Message]) -> str:
    """Return one side of an exchange as one text, with a blank line between messages."""
    return "\n\n".join(message.text for message in messages)


_MOST_DIGITS = 9
_PART = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?:#\d{1,9})?")


def name_part(log: str, at: datetime | None) -> str:
    """Return the id of a session that is a part of a log: it ends in the time of the first message.

    Not in its number: it stays the same when a chat is exported again and has grown.
    """
    return f"{log}/{at:%Y-%m-%dT%H:%M}" if at else log


def place_in_log(session_id: str) -> tuple[str, list[tuple[int | str, int]]]:
    """Return the name of the log that a session is a part of, and its place there, to sort by.

    A session `S~3` holds what came to be known later: it precedes the exchange 3 of session S.
    """
    steps: list[tuple[int | str, int]] = []
    head, mark, step = session_id.rpartition("~")
    while mark and step.isdecimal() and step.isascii() and len(step) <= _MOST_DIGITS:
        steps.insert(0, (int(step), 0))
        session_id = head
        head, mark, step = session_id.rpartition("~")
    log, mark, time = session_id.rpartition("/")
    if mark and _PART.fullmatch(time):
        return log, [(time, 0), *steps]
    return session_id, [("", 0), *steps]


LONGEST_KEY = 500
"""Bytes of an id that an index holds in addition to a session's id."""


def message_key(conversation: Conversation, index: int, message: Message) -> str:
    """Return the message's lasting name within its format and session.

    Args:
        conversation: The conversation that the message is in.
        index: The message's position there, from 0.
        message: The message.

    Returns:
        Its own id where the log has one (the SHA-256 of a long one), else the SHA-256 (hex) of
        session id, position, role and text.
    """
    if message.external_id is not None:
        is_short = len(message.external_id.encode()) <= LONGEST_KEY
        return message.external_id if is_short else _digest(message.external_id)
    return _digest(conversation.session_id, index, message.role, message.text)


def message_hash(message: Message) -> str:
    """Return the SHA-256 (hex) of a message's role, speaker and text; an edit changes it."""
    return _digest(message.role, message.speaker, message.text)


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
