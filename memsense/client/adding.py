"""Arguments of `add` and `add_many`, read and cut into drafts."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from memsense.client.context import Context
from memsense.client.writes import SessionInput
from memsense.draft.drafting import Annotations, Drafter
from memsense.draft.messages import read_messages
from memsense.errors import InvalidInputError
from memsense.inputs import AsList, Checker, Id, shorten
from memsense.types import IngestMode


class _SessionItem(Annotations):
    """One session of `add_many`: the keywords of `add` that belong to a session."""

    messages: Any
    session_id: Id | None = None
    user_id: Id | None = None
    mode: IngestMode = "turn"


_read_items = Checker(Annotated[list[Mapping[str, Any]], AsList], "sessions")


def read_session(
    context: Context,
    messages: object,
    *,
    user_id: str,
    session_id: str | None,
    mode: IngestMode,
    annotations: Annotations,
    redact: bool | None = None,
) -> SessionInput:
    """Return one session's messages, ready to be stored; those without a time are said now.

    Without a `session_id`, the session is the day of the first message.

    Raises InvalidInputError for a message that can't be used.
    """
    conversation = read_messages(messages, session_id=session_id, now=datetime.now(UTC))
    drafter = Drafter(
        tagger=context.tagger,
        mode=mode,
        ledger=False,
        redacts=context.redacts(logs=False, choice=redact),
        annotations=annotations,
    )
    return SessionInput(conversation, drafter, user_id, is_named=session_id is not None)


def read_sessions(
    context: Context,
    sessions: Iterable[Mapping[str, object]],
    user_id: str | None,
    redact: bool | None = None,
) -> list[SessionInput]:
    """Return several sessions, ready to be stored; `user_id` owns those that name no user.

    Raises InvalidInputError, which names the number of the session that can't be used.
    """
    places: set[tuple[str, str]] = set()
    inputs: list[SessionInput] = []
    for number, fields in enumerate(_read_items(sessions)):
        try:
            item = _SessionItem(**fields)
            owner = item.user_id or user_id
            if owner is None:
                missing = "user_id is missing, here and in the call"
                raise InvalidInputError(missing)  # noqa: TRY301 (its number is added below)
            session = read_session(
                context,
                item.messages,
                user_id=owner,
                session_id=item.session_id,
                mode=item.mode,
                annotations=item,
                redact=redact,
            )
        except InvalidInputError as error:
            raise InvalidInputError(f"sessions.{number}: {error}") from None
        # Two items of one session could complete each other's exchanges in either order.
        place = session.user_id, session.conversation.session_id
        if place in places:
            raise InvalidInputError(
                f"sessions.{number}: session {shorten(place[1])} of {shorten(place[0])} came"
                " before: give all of its messages at once, or each session a session_id of its own"
            )
        places.add(place)
        inputs.append(session)
    return inputs
