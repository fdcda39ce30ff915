"""`memory.histories`: frameworks' sessions, kept to the letter, whose words are remembered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import uuid4

from pydantic import InstanceOf

from memsense.client.context import Context
from memsense.client.erasing import Erasing
from memsense.client.writes import Writes
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import takes
from memsense.errors import NotFoundError
from memsense.inputs import AsList, Limit, about
from memsense.parameters import AgentLabel, CollectionName, OwnerId, SessionId
from memsense.store import Namespace, items
from memsense.store.items import Collection, Item, PutItem
from memsense.types import Conversation, Message
from memsense.write.messages import read_form

LATEST = 100
"""How many items back the exchange that is still open is looked for."""


class SessionPlace(TypedDict):
    """Whose session it is, and which."""

    user_id: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An item of a session as its framework wants it back, and what was said by it, if anything.

    Said.of({"role": "user", "content": "Hi"})

    With a `key`, which names it within its session, it is added once, however often it comes.
    """

    value: Mapping[str, Any]
    role: Literal["user", "assistant"] | None = None
    text: str = ""
    key: str | None = None
    at: datetime | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any], message: object = None) -> "Said":
        """The item, with what a `message` of any library says; else what the item itself does.

        A call of a tool, a result or thinking says nothing.
        """
        try:
            told = read_form(value if message is None else message)
        except ValueError:
            return cls(value=value)
        role, text = told.get("role"), told.get("content")
        if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
            return cls(value=value)
        return cls(value=value, role=role, text=text)


_Said = Annotated[Sequence[InstanceOf[Said]], AsList]


class HistoriesResource:
    """Keeps each session's items in order, and what is said in them as memories.

        memory.histories.append("app", [Said.of({"role": "user", "content": "I moved to Lisbon."})],
                                user_id="ada", session_id="monday")

    An exchange grows until the user speaks again. What is erased of a session is gone from both.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._writes = Writes(context)

    @takes
    def append(
        self,
        collection: CollectionName,
        said: Annotated[_Said, about("Items to append, made by `Said.of`.")],
        *,
        user_id: OwnerId,
        session_id: SessionId,
        agent_id: AgentLabel | None = None,
    ) -> None:
        """Append items to a session, in one transaction with the memories of what they say.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            said: Items to append, made by `Said.of`.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
            agent_id: The agent that the conversation was with.
        """
        session = _Session(collection, user_id, session_id, agent_id)
        has_keys = any(item.key for item in said)
        before = self._read(session, None if has_keys else LATEST)
        known = {item.key for item in before}
        given = [session.put(item) for item in said if item.key is None or item.key not in known]
        messages = [_message(item.key, item.value) for item in given if item.value["role"]]

        def put(connection: Connection, place: Collection) -> None:
            items.put_items(connection, place, given)

        if messages:
            opened = [_message(item.key, item.value) for item in _last_exchange(before)]
            self._remember(session, [*opened, *messages], put)
        elif given:
            self._change(session, put)

    @takes
    def read(
        self,
        collection: CollectionName,
        *,
        user_id: OwnerId,
        session_id: SessionId,
        limit: Annotated[Limit, about("Only the latest so many items; default: all.")]
        | None = None,
    ) -> list[dict[str, Any]]:
        """Return the session's items in order.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
            limit: Only the latest so many items; default: all.
        """
        found = self._read(_Session(collection, user_id, session_id), limit)
        return [item.value["value"] for item in found]

    @takes
    def pop(
        self, collection: CollectionName, *, user_id: OwnerId, session_id: SessionId
    ) -> dict[str, Any] | None:
        """Remove the session's latest item, from memory too, and return it; None if it is empty.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
        """
        session = _Session(collection, user_id, session_id)
        before = self._read(session, LATEST)
        if not before:
            return None
        last = before[-1]

        def take(connection: Connection, place: Collection) -> None:
            gone = PutItem(path=session.path, key=last.key, value=None)
            items.put_items(connection, place, [gone])

        rest = [_message(item.key, item.value) for item in _last_exchange(before)[:-1]]
        if last.value["role"] and rest:
            silent = _message(last.key, {**last.value, "text": ""})
            self._remember(session, [*rest, silent], take)
        else:
            self._change(session, take)
            with suppress(NotFoundError):
                Erasing(self._context).erase(user_id, session_id, last.key, None)
        return last.value["value"]

    @takes
    def clear(self, collection: CollectionName, *, user_id: OwnerId, session_id: SessionId) -> None:
        """Erase the session, in memory too; a receipt stays.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
        """
        session = _Session(collection, user_id, session_id)
        self._change(session, lambda it, place: items.clear_items(it, place, session.path))
        with suppress(NotFoundError):
            Erasing(self._context).erase(user_id, session_id, None, None)

    def _read(self, session: "_Session", limit: int | None) -> list[Item]:
        def work(connection: Connection) -> list[Item]:
            namespace = self._context.find_namespace(connection)
            if namespace is None:
                return []
            place = session.place(namespace)
            return items.fetch_last_items(connection, place, session.path, limit)

        return run_read(self._context.pool, work)

    def _change(self, session: "_Session", change: "_Change") -> None:
        def work(connection: Connection) -> None:
            change(connection, session.place(self._context.claim_namespace(connection)))

        run_transaction(self._context.pool, work, is_idempotent=True)

    def _remember(
        self, session: "_Session", messages: Sequence[Message], change: "_Change"
    ) -> None:
        """Store what is said, by the messages' ids, in one transaction with the change."""
        from memsense.write.drafting import Annotations, Drafter
        from memsense.write.vectors import list_texts

        conversation = Conversation(
            session_id=session.session_id,
            messages=messages,
            format=session.collection,
            source="history",
        )
        drafter = Drafter(
            tagger=self._context.tagger,
            ledger=True,
            annotations=Annotations(agent_id=session.agent_id),
        )
        draft = drafter.draft(conversation, session.user_id)
        vectors = self._context.batch_vectors()
        vectors.prepare(list_texts([self._writes.select_missing(draft)]))
        self._writes.write_beside(
            draft, vectors, lambda it, namespace: change(it, session.place(namespace))
        )


_Change = Callable[[Connection, Collection], object]


@dataclass(frozen=True, slots=True)
class _Session:
    """Where a session's items are, and whose they are."""

    collection: str
    user_id: str
    session_id: str
    agent_id: str | None = None

    @property
    def path(self) -> list[str]:
        return [self.user_id, self.session_id]

    def place(self, namespace: Namespace) -> Collection:
        return Collection(namespace=namespace, name=self.collection)

    def put(self, said: Said) -> PutItem:
        at = said.at or datetime.now(UTC)
        return PutItem(
            path=self.path,
            key=said.key or uuid4().hex,
            value={
                "value": said.value,
                "role": said.role,
                "text": said.text,
                "at": at.isoformat(),
            },
            user_id=self.user_id,
            session_id=self.session_id,
        )


def _message(key: str, told: Mapping[str, Any]) -> Message:
    return Message(
        role=told["role"],
        text=told["text"],
        external_id=key,
        at=datetime.fromisoformat(told["at"]),
    )


def _last_exchange(found: Iterable[Item]) -> list[Item]:
    """What was said last: the user's messages in a row, and the answer to them."""
    exchange: list[Item] = []
    for item in found:
        role = item.value["role"]
        if role == "user" and exchange and exchange[-1].value["role"] == "assistant":
            exchange = []
        if role is not None:
            exchange.append(item)
    return exchange
