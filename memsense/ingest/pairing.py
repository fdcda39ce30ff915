"""Groups a conversation's messages into exchanges: what one side said, and the answer."""

from collections.abc import Callable, Sequence

from memsense.types import Conversation, Exchange, Message

# Where the other side talks on alone, an exchange of a people-to-people log is cut.
MAX_RUN_MESSAGES = 8
MAX_RUN_CHARACTERS = 4_000


def pair_exchanges(
    conversation: Conversation, *, user_speaker: str | None = None
) -> list[Exchange]:
    """The conversation's exchanges in order; every user, assistant and other message is in one.

    An exchange opens at the first user message after an answer. A greeting has no user side,
    a question without a reply no assistant side. In a log of people (no user or assistant at
    all) the user's side is `user_speaker`, else the first participant; everybody else is on
    the assistant's side, and a run of one side is cut after 8 messages or about 4,000
    characters.
    """
    if any(message.role in ("user", "assistant") for message in conversation.messages):
        pairing = _Pairing(is_cut_at=_never)
        speaker = user_speaker
    else:
        pairing = _Pairing(is_cut_at=_is_full)
        speaker = user_speaker or next(iter(conversation.participants), None)
    for message in conversation.messages:
        if message.role in ("system", "tool"):
            continue
        is_user = message.role == "user" or (
            message.role == "other" and speaker is not None and message.speaker == speaker
        )
        pairing.add(message, is_user=is_user)
    return pairing.close()


def joined_text(messages: Sequence[Message]) -> str:
    """One side of an exchange as one text, a blank line between messages."""
    return "\n\n".join(message.text for message in messages)


class _Pairing:
    def __init__(self, is_cut_at: Callable[[Sequence[Message], Message], bool]) -> None:
        self._is_cut_at = is_cut_at
        self._exchanges: list[Exchange] = []
        self._user: list[Message] = []
        self._assistant: list[Message] = []

    def add(self, message: Message, *, is_user: bool) -> None:
        side = self._user if is_user else self._assistant
        if (is_user and self._assistant) or self._is_cut_at(side, message):
            self._finish()
        (self._user if is_user else self._assistant).append(message)

    def close(self) -> list[Exchange]:
        self._finish()
        return self._exchanges

    def _finish(self) -> None:
        if self._user or self._assistant:
            exchange = Exchange(
                ordinal=len(self._exchanges),
                user=tuple(self._user),
                assistant=tuple(self._assistant),
            )
            self._exchanges.append(exchange)
        self._user, self._assistant = [], []


def _never(side: Sequence[Message], message: Message) -> bool:  # noqa: ARG001
    return False


def _is_full(side: Sequence[Message], message: Message) -> bool:
    length = sum(len(other.text) for other in side) + len(message.text)
    return bool(side) and (len(side) >= MAX_RUN_MESSAGES or length > MAX_RUN_CHARACTERS)
