"""`memory.items`: values under a path and a key, which frameworks keep beside conversations."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, InstanceOf

from memsense.client.context import Context
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.inputs import AsList, Limit, Name, Switch, takes
from memsense.store import Namespace, items
from memsense.store.items import (
    Collection,
    GetItem,
    Item,
    ItemOperation,
    ListPaths,
    PutItem,
    SearchItems,
    VectorModel,
)

_Reading = InstanceOf[GetItem] | InstanceOf[SearchItems] | InstanceOf[ListPaths]
_Operations = Annotated[Sequence[InstanceOf[PutItem] | _Reading], AsList]
_Path = Annotated[Sequence[Name], AsList, Field(min_length=1)]


class ItemsResource:
    """Values under a path, a list of labels, and a key: what the adapters of frameworks stand on.

    Each belongs to a `collection`, such as langgraph, and no other one sees it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    @takes(
        collection=Name,
        operations=_Operations,
        model=InstanceOf[VectorModel] | None,
        omit_expired=Switch,
    )
    def run(
        self,
        collection: str,
        operations: Sequence[ItemOperation],
        *,
        model: VectorModel | None = None,
        omit_expired: bool = False,
    ) -> list[Any]:
        """Do all of it in one transaction; returns what each operation found, in order.

            memory.items.run("app", [PutItem(path=["users"], key="ada", value={"age": 36})])

        Reads see what was there before the writes, and of several writes of one key the last
        counts. `model` names what made the vectors; those of another one are not compared.
        """
        writes = [item for item in operations if isinstance(item, PutItem)]

        def work(connection: Connection) -> tuple[list[Any], list[Item], Collection | None]:
            namespace = self._namespace(connection, is_written=bool(writes))
            if namespace is None:
                return [_nothing(item) for item in operations], [], None
            place = Collection(
                namespace=namespace, name=collection, model=model, omit_expired=omit_expired
            )
            found, refreshed = items.run_reads(connection, place, operations)
            if writes:
                self._refresh(connection, place, refreshed)
                items.put_items(connection, place, writes)
            return found, refreshed, place

        pool = self._context.pool
        if writes:
            return run_transaction(pool, work, is_idempotent=True)[0]
        found, refreshed, place = run_read(pool, work)
        if place is not None and refreshed:
            run_transaction(
                pool, lambda it: self._refresh(it, place, refreshed), is_idempotent=True
            )
        return found

    @takes(collection=Name, path=_Path, limit=Limit | None)
    def tail(self, collection: str, path: Sequence[str], *, limit: int | None = None) -> list[Item]:
        """The latest so many items at a path, oldest first; without a limit all of them."""

        def work(connection: Connection) -> list[Item]:
            place = self._place(connection, collection)
            return items.fetch_last_items(connection, place, path, limit) if place else []

        return run_read(self._context.pool, work)

    @takes(collection=Name, path=_Path)
    def pop(self, collection: str, path: Sequence[str]) -> Item | None:
        """Take away the latest item at a path, and return it; None where there is none."""

        def work(connection: Connection) -> Item | None:
            place = self._place(connection, collection)
            return items.pop_item(connection, place, path) if place else None

        return run_transaction(self._context.pool, work)

    @takes(collection=Name, path=_Path)
    def clear(self, collection: str, path: Sequence[str]) -> int:
        """Delete all items at a path; returns how many."""

        def work(connection: Connection) -> int:
            place = self._place(connection, collection)
            return items.clear_items(connection, place, path) if place else 0

        return run_transaction(self._context.pool, work, is_idempotent=True)

    @takes(collection=Name)
    def sweep(self, collection: str) -> int:
        """Delete the collection's items that have expired; returns how many."""

        def work(connection: Connection) -> int:
            place = self._place(connection, collection)
            return items.sweep_items(connection, place) if place else 0

        return run_transaction(self._context.pool, work, is_idempotent=True)

    def _namespace(self, connection: Connection, *, is_written: bool) -> Namespace | None:
        if is_written:
            return self._context.claim_namespace(connection)
        return self._context.find_namespace(connection)

    def _place(self, connection: Connection, name: str) -> Collection | None:
        namespace = self._context.find_namespace(connection)
        return Collection(namespace=namespace, name=name) if namespace else None

    def _refresh(
        self, connection: Connection, place: Collection, refreshed: Sequence[Item]
    ) -> None:
        if refreshed:
            items.refresh_items(connection, place, refreshed)


def _nothing(operation: ItemOperation) -> Any:
    """What an operation finds where nothing is stored."""
    return [] if isinstance(operation, SearchItems | ListPaths) else None
