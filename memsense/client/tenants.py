"""Memories of a database's tenants over one pool, each opened by a key of its tenant."""

from collections.abc import Mapping
from threading import Lock
from typing import Self

from memsense.client.context import Context
from memsense.client.memory import MemSense, make_worker
from memsense.client.place import open_place
from memsense.config import Settings
from memsense.db import Pool, run_read
from memsense.embed import Embedder
from memsense.forking import renew_in_child
from memsense.store.access import AccessKey, ShownKey, verify_key
from memsense.store.scopes import find_tenant, list_namespaces

MOST_MEMORIES = 1_000
"""Maximum number of open memories; each has a query cache of its own."""


class Tenants:
    """Memories of many tenants that share connections and models.

    with Tenants.open(settings) as tenants:
        key = tenants.verify("ms_1_...")
        hits = tenants.memory(key.tenant).search("Where does Ada live?", all_users=True)
    """

    def __init__(self, context: Context) -> None:
        """Take over an open context. Use `Tenants.open`."""
        self._context = context
        self._own = MemSense(context)
        self._opened: dict[tuple[str, str], tuple[Context, MemSense]] = {}
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        self._lock = Lock()

    @classmethod
    def open(
        cls, settings: Settings, *, embedder: Embedder | None = None, wait: float | None = None
    ) -> Self:
        """Connect as `MemSense.open` does, and raise its errors.

        `wait` is how many seconds to wait for the database's server, by default the pool's timeout.
        """
        return cls(
            Context(
                open_place(settings, wait=wait),
                settings=settings,
                embedder=embedder,
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
        """Return the settings passed to `open`; their tenant is the one that needs no key."""
        return self._context.settings

    @property
    def own(self) -> MemSense:
        """Return the memory of the tenant that the settings name."""
        return self._own

    def memory(self, tenant: str, namespace: str | None = None) -> MemSense:
        """Return a tenant's memory, and open it if it is not open yet.

        Without `namespace`, it is the memory of the namespace that the settings name.
        """
        if (memory := self.find_open(tenant, namespace)) is not None:
            return memory
        name = tenant, namespace or self.settings.namespace
        with self._lock:
            if name not in self._opened:
                context = self._context.beside(*name)
                self._opened[name] = context, MemSense(context)
            memory = self._opened[name][1]
            # A dict is ordered, so its first entry is the one that was not used for longest.
            if len(self._opened) > MOST_MEMORIES:
                context, _ = self._opened.pop(next(iter(self._opened)))
                context.close()
        return memory

    def find_open(self, tenant: str, namespace: str | None = None) -> MemSense | None:
        """Return the same memory if it is open."""
        name = tenant, namespace or self.settings.namespace
        if name == (self.settings.tenant, self.settings.namespace):
            return self._own
        with self._lock:
            opened = self._opened.get(name)
            if opened is not None:
                self._opened[name] = self._opened.pop(name)
        return opened[1] if opened is not None else None

    def namespaces(self, tenant: str) -> list[str]:
        """Return the names of a tenant's namespaces."""
        return run_read(self.pool(tenant), lambda it: list_namespaces(it, tenant))

    def pool(self, tenant: str) -> Pool:
        """Return the shared pool, limited to a tenant's rows."""
        return self._context.pool.for_tenant(tenant)

    def verify(self, text: str) -> AccessKey | None:
        """Return the access key of this text; None for any text that opens nothing."""
        key = ShownKey.read(text)
        if key is None:
            return None
        pool = self._context.pool.for_tenant(tenant_id=key.tenant_id)
        access_key = run_read(pool, lambda it: verify_key(it, key))
        if access_key is not None:
            self._context.known_keys.put(access_key)
        return access_key

    def find_known(self, text: str) -> AccessKey | None:
        """Return the same without the database, if the key was verified a moment ago."""
        key = ShownKey.read(text)
        return None if key is None else self._context.known_keys.find(key)

    def ping(self) -> None:
        """Send the database a query; raise DatabaseError if it does not answer."""
        run_read(self._context.pool, lambda it: find_tenant(it, self.settings.tenant))

    @property
    def foreign_sessions(self) -> int:
        """The number of sessions that were closed for what a tenant's own SQL had left in them."""
        return self._context.pool.foreign_sessions

    def pool_sizes(self) -> Mapping[str, int]:
        """Return how many connections are open, idle and waited for, and their maximum."""
        size, idle, waiting = self._context.pool.sizes
        most = self.settings.pool_max_size
        return {"open": size, "idle": idle, "waiting": waiting, "most": most}
