"""`memory.items`: values by path and key, which frameworks store in addition to conversations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, InstanceOf

from memsense.client.context import Resource
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.inputs import AsList, Limit, Name, about
from memsense.parameters import CollectionName
from memsense.store import items
from memsense.store.items import (
    Collection,
    GetItem,
    Item,
    ListPaths,
    PutItem,
    SearchItems,
    VectorModel,
)

_Reading = InstanceOf[GetItem] | InstanceOf[SearchItems] | InstanceOf[ListPaths]
_Operations = Annotated[Sequence[InstanceOf[PutItem] | _Reading], AsList]
ItemPath = Annotated[
    Sequence[Name], AsList, Field(min_length=1), about("Labels from the outermost inwards.")
]


class ItemsResource(Resource):
    """Store of values under a path (a list of labels) and a key, for adapters of frameworks.

    Each value belongs to a `collection`, such as langgraph.
    """

    @takes
    def run(
        self,
        collection: CollectionName,
        operations: _Operations,
        *,
        model: InstanceOf[VectorModel] | None = None,
        omit_expired: bool = False,
    ) -> list[Any]:
        """Run operations in one transaction.

            memory.items.run("app", [PutItem(path=["users"], key="ada", value={"age": 36})])

        Reads see what was there before the writes; of several writes of one key the last counts.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            operations: Reads and writes, such as `PutItem`.
            model: Model of the vectors; vectors of another model are not compared.
            omit_expired: Leave out items that have expired.

        Returns:
            The result of each operation, in order.
        """
        operations = [
            self._clean(item) if isinstance(item, PutItem) else item for item in operations
        ]
        writes = [item for item in operations if isinstance(item, PutItem)]

        def work(connection: Connection) -> tuple[list[Any], list[Item], Collection | None]:
            # Only a write creates the namespace: reading an empty store leaves no row behind.
            context = self._context
            namespace = (
                context.claim_namespace(connection)
                if writes
                else context.find_namespace(connection)
            )
            if namespace is None:
                lists = SearchItems | ListPaths
                return [[] if isinstance(item, lists) else None for item in operations], [], None
            place = Collection(
                namespace=namespace, name=collection, model=model, omit_expired=omit_expired
            )
            results, refreshed = items.run_reads(connection, place, operations)
            if writes:
                self._refresh(connection, place, refreshed)
                items.put_items(connection, place, writes)
            return results, refreshed, place

        pool = self._context.pool
        if writes:
            return run_transaction(pool, work, is_idempotent=True)[0]
        results, refreshed, place = run_read(pool, work)
        # Most reads renew no item's time to live: only those that do pay for a transaction.
        if place is not None and refreshed:
            run_transaction(
                pool, lambda it: self._refresh(it, place, refreshed), is_idempotent=True
            )
        return results

    @takes
    def tail(
        self, collection: CollectionName, path: ItemPath, *, limit: Limit | None = None
    ) -> list[Item]:
        """Return the items at a path, oldest first.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            path: Labels from the outermost inwards.
            limit: Only the latest so many items; default: all.
        """

        def work(connection: Connection) -> list[Item]:
            place = self._place(connection, collection)
            return items.fetch_last_items(connection, place, path, limit) if place else []

        return run_read(self._context.pool, work)

    @takes
    def clear(self, collection: CollectionName, path: ItemPath) -> int:
        """Delete all items at a path, and return how many there were.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            path: Labels from the outermost inwards.
        """

        def work(connection: Connection) -> int:
            place = self._place(connection, collection)
            return items.clear_items(connection, place, path) if place else 0

        return run_transaction(self._context.pool, work, is_idempotent=True)

    @takes
    def sweep(self, collection: CollectionName) -> int:
        """Delete the collection's expired items, and return how many there were.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
        """

        def work(connection: Connection) -> int:
            place = self._place(connection, collection)
            return items.sweep_items(connection, place) if place else 0

        return run_transaction(self._context.pool, work, is_idempotent=True)

    def _clean(self, item: PutItem) -> PutItem:
        clean = self._context.clean
        return replace(item, value=clean(item.value), words=clean(item.words))

    def _place(self, connection: Connection, name: str) -> Collection | None:
        namespace = self._context.find_namespace(connection)
        return Collection(namespace=namespace, name=name) if namespace else None

    def _refresh(
        self, connection: Connection, place: Collection, refreshed: Sequence[Item]
    ) -> None:
        if refreshed:
            items.refresh_items(connection, place, refreshed)


class AsyncItemsResource(Facade):
    """ItemsResource for asyncio, each method awaited."""

    run = awaited(ItemsResource.run)
    tail = awaited(ItemsResource.tail)
    clear = awaited(ItemsResource.clear)
    sweep = awaited(ItemsResource.sweep)
