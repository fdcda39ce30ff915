"""`memory.histories`: sessions of frameworks, stored unchanged, with their words as memories."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import uuid4

from pydantic import InstanceOf

from memsense.client.context import Resource
from memsense.client.erasing import Erasing
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.draft.messages import read_form
from memsense.errors import NotFoundError
from memsense.inputs import AsList, Limit
from memsense.parameters import AgentLabel, CollectionName, OwnerId, SessionId
from memsense.store import items
from memsense.store.items import Collection, Item, PutItem
from memsense.store.scopes import Namespace
from memsense.types import Conversation, Message

LATEST = 100
"""Number of latest items in which the last exchange is looked for."""


class SessionPlace(TypedDict):
    """User and id of a session."""

    user_id: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Item of a session as its framework stores it, and the words that it holds, if any.

    Said.of({"role": "user", "content": "Hi"})

    An item with a `key`, which is unique within its session, is added once, even if it is passed
    several times.
    """

    value: Mapping[str, Any]
    role: Literal["user", "assistant"] | None = None
    text: str = ""
    key: str | None = None
    at: datetime | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any], message: object = None) -> "Said":
        """Return the item with the words of a `message` of any library, by default of itself.

        A tool call, a tool's result and thinking have no words.
        """
        try:
            fields = read_form(value if message is None else message)
        except ValueError:
            return cls(value=value)
        role, text = fields.get("role"), fields.get("content")
        if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
            return cls(value=value)
        return cls(value=value, role=role, text=text)


_Items = Annotated[Sequence[InstanceOf[Said]], AsList]


class HistoriesResource(Resource):
    """Store of each session's items in order, and of their words as memories.

        memory.histories.append("app", [Said.of({"role": "user", "content": "I moved to Lisbon."})],
                                user_id="ada", session_id="monday")

    An exchange grows until the user speaks again.
    """

    @takes
    def append(
        self,
        collection: CollectionName,
        said: _Items,
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
        clean = self._context.clean
        said = [replace(item, value=clean(item.value), text=clean(item.text)) for item in said]
        # An item with a key may repeat any earlier one, so all keys of the session are read then.
        has_keys = any(item.key for item in said)
        before = self._read(session, None if has_keys else LATEST)
        stored_keys = {item.key for item in before}
        new_items = [
            session.put(item) for item in said if item.key is None or item.key not in stored_keys
        ]
        messages = [_message(item.key, item.value) for item in new_items if item.value["role"]]

        def put(connection: Connection, place: Collection) -> None:
            items.put_items(connection, place, new_items)

        if messages:
            # An exchange grows until the user speaks again: the last one is drafted anew with the
            # messages that it has already.
            opened = [_message(item.key, item.value) for item in _last_exchange(before)]
            self._remember(session, [*opened, *messages], put)
        elif new_items:
            self._change(session, put)

    @takes
    def read(
        self,
        collection: CollectionName,
        *,
        user_id: OwnerId,
        session_id: SessionId,
        limit: Limit | None = None,
    ) -> list[dict[str, Any]]:
        """Return the session's items in order.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
            limit: Only the latest so many items; default: all.
        """
        rows = self._read(_Session(collection, user_id, session_id), limit)
        return [item.value["value"] for item in rows]

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
            removal = PutItem(path=session.path, key=last.key, value=None)
            items.put_items(connection, place, [removal])

        rest = [_message(item.key, item.value) for item in _last_exchange(before)[:-1]]
        if last.value["role"] and rest:
            # The other messages of the exchange stay; without text, this one leaves their chunk.
            silent = _message(last.key, {**last.value, "text": ""})
            self._remember(session, [*rest, silent], take)
        else:
            self._change(session, take)
            with suppress(NotFoundError):
                Erasing(self._context).erase(user_id, session_id, last.key)
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
            Erasing(self._context).erase(user_id, session_id, None)

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
        """Store messages as memories, by their ids, in one transaction with the change."""
        from memsense.client.writing import Writes
        from memsense.draft.drafting import Annotations, Drafter
        from memsense.draft.vectors import list_chunks

        conversation = Conversation(
            session_id=session.session_id,
            messages=messages,
            format=session.collection,
            source="history",
        )
        drafter = Drafter(
            tagger=self._context.tagger,
            ledger=True,
            redacts=self._context.redacts(logs=False),
            annotations=Annotations(agent_id=session.agent_id),
        )
        draft = drafter.draft(conversation, session.user_id)
        vectors = self._context.batch_vectors()
        writes = Writes(self._context)
        vectors.prepare(list_chunks([writes.select_missing(draft)]))
        writes.write_beside(
            draft, vectors, lambda it, namespace: change(it, session.place(namespace))
        )


class AsyncHistoriesResource(Facade):
    """HistoriesResource for asyncio, each method awaited."""

    append = awaited(HistoriesResource.append)
    read = awaited(HistoriesResource.read)
    pop = awaited(HistoriesResource.pop)
    clear = awaited(HistoriesResource.clear)


_Change = Callable[[Connection, Collection], object]


@dataclass(frozen=True, slots=True)
class _Session:
    """Place of a session's items, and their user."""

    collection: str
    user_id: str
    session_id: str
    agent_id: str | None = None

    @property
    def path(self) -> list[str]:
        return [self.user_id, self.session_id]

    def place(self, namespace: Namespace) -> Collection:
        return Collection(namespace=namespace, name=self.collection)

    def put(self, item: Said) -> PutItem:
        at = item.at or datetime.now(UTC)
        return PutItem(
            path=self.path,
            key=item.key or uuid4().hex,
            value={"value": item.value, "role": item.role, "text": item.text, "at": at.isoformat()},
            user_id=self.user_id,
            session_id=self.session_id,
        )


def _message(key: str, fields: Mapping[str, Any]) -> Message:
    return Message(
        role=fields["role"],
        text=fields["text"],
        external_id=key,
        at=datetime.fromisoformat(fields["at"]),
    )


def _last_exchange(rows: Iterable[Item]) -> list[Item]:
    """Return the last exchange: the user's messages in a row, and the answer to them."""
    exchange: list[Item] = []
    for item in rows:
        role = item.value["role"]
        if role == "user" and exchange and exchange[-1].value["role"] == "assistant":
            exchange = []
        if role is not None:
            exchange.append(item)
    return exchange
