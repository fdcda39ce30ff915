"""What `add` and `add_many` are given, read and made ready to be stored."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from memsense.client.context import Context
from memsense.client.writes import Given
from memsense.errors import InvalidInputError
from memsense.inputs import AsList, Checker, Id, shorten
from memsense.types import IngestMode
from memsense.write.drafting import Annotations, Drafter
from memsense.write.messages import read_messages


class _Item(Annotations):
    """One session of `add_many`: the keywords of `add`."""

    messages: Any
    session_id: Id
    user_id: Id | None = None
    mode: IngestMode = "turn"


_read_items = Checker(Annotated[list[Mapping[str, Any]], AsList], "sessions")


def read_session(
    context: Context,
    messages: Iterable[object],
    *,
    user_id: str,
    session_id: str,
    mode: IngestMode,
    annotations: Annotations,
) -> Given:
    """One session's messages; those without a time are said now. Raises InvalidInputError."""
    conversation = read_messages(messages, session_id=session_id, now=datetime.now(UTC))
    drafter = Drafter(tagger=context.tagger, mode=mode, ledger=False, annotations=annotations)
    return Given(conversation, drafter, user_id)


def read_sessions(
    context: Context, sessions: Iterable[Mapping[str, object]], user_id: str | None
) -> list[Given]:
    """Several sessions; `user_id` is whose those are that don't say. Raises InvalidInputError."""
    seen: set[tuple[str, str]] = set()
    given: list[Given] = []
    for number, fields in enumerate(_read_items(sessions)):
        try:
            one = _give_item(context, _Item(**fields), user_id)
        except InvalidInputError as error:
            raise InvalidInputError(f"sessions.{number}: {error}") from None
        place = one.user_id, one.conversation.session_id
        if place in seen:
            raise InvalidInputError(
                f"sessions.{number}: session {shorten(place[1])} of {shorten(place[0])} came"
                " before: give all of its messages at once"
            )
        seen.add(place)
        given.append(one)
    return given


def _give_item(context: Context, item: _Item, user_id: str | None) -> Given:
    owner = item.user_id or user_id
    if owner is None:
        raise InvalidInputError("user_id is missing, here and in the call")
    return read_session(
        context,
        item.messages,
        user_id=owner,
        session_id=item.session_id,
        mode=item.mode,
        annotations=item,
    )
