"""The memories of a database's tenants over one pool, each opened for whoever shows a key of it."""

from collections.abc import Mapping
from threading import Lock
from typing import Self

from memsense.client.context import Context
from memsense.client.memory import MemSense, make_worker
from memsense.client.place import open_place
from memsense.config import Settings
from memsense.db import Pool, run_read
from memsense.embed import Embedder
from memsense.store import find_tenant
from memsense.store.access import AccessKey, ShownKey, verify_key

MOST_MEMORIES = 1_000
"""Tenants whose memories are kept open; each has a cache of its questions."""


class Tenants:
    """Memories of many tenants that share connections and models.

    with Tenants.open(settings) as tenants:
        key = tenants.verify("ms_1_...")
        hits = tenants.memory(key.tenant).search("Where does Ada live?", all_users=True)
    """

    def __init__(self, context: Context) -> None:
        """Use `Tenants.open`; this takes over what is open."""
        self._context = context
        self._own = MemSense(context)
        self._opened: dict[str, tuple[Context, MemSense]] = {}
        self._lock = Lock()

    @classmethod
    def open(cls, settings: Settings, *, embedder: Embedder | None = None) -> Self:
        """Connect as `MemSense.open` does, whose errors it raises."""
        pool, server = open_place(settings)
        return cls(
            Context(
                pool,
                settings=settings,
                embedder=embedder,
                server=server,
                make_worker=make_worker,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every memory, then what they share."""
        for context, _ in self._opened.values():
            context.close()
        self._context.close()

    @property
    def settings(self) -> Settings:
        """What was opened with; the tenant is the one that needs no key."""
        return self._context.settings

    @property
    def own(self) -> MemSense:
        """The memory of the tenant that the settings name."""
        return self._own

    def memory(self, tenant: str) -> MemSense:
        """A tenant's memory, opened once."""
        if tenant == self.settings.tenant:
            return self._own
        with self._lock:
            found = self._opened.pop(tenant, None)
            if found is None:
                context = self._context.for_tenant(tenant)
                found = context, MemSense(context)
            self._opened[tenant] = found  # the last one now: the first is the longest unused
            self._close_unused()
        return found[1]

    def _close_unused(self) -> None:
        if len(self._opened) > MOST_MEMORIES:
            context, _ = self._opened.pop(next(iter(self._opened)))
            context.close()

    def pool(self, tenant: str) -> Pool:
        """The shared connections, lent to see a tenant's rows."""
        return self._context.pool.for_tenant(tenant)

    def verify(self, text: str) -> AccessKey | None:
        """The key that was shown; None for any that opens nothing, whyever."""
        shown = ShownKey.read(text)
        if shown is None:
            return None
        pool = self._context.pool.for_tenant(tenant_id=shown.tenant_id)
        return run_read(pool, lambda it: verify_key(it, shown))

    def ping(self) -> None:
        """Ask the database something; raises DatabaseError where it does not answer."""
        run_read(self._context.pool, lambda it: find_tenant(it, self.settings.tenant))

    def pool_sizes(self) -> Mapping[str, int]:
        """How many connections are open, idle and wanted, and how many there may be."""
        size, idle, waiting = self._context.pool.sizes
        most = self.settings.pool_max_size
        return {"open": size, "idle": idle, "waiting": waiting, "most": most}
