"""State that all requests share: memories by tenant, threads, rate limits and counters."""

import logging
from collections.abc import Mapping

from memsense.client.aio import AsyncMemSense
from memsense.client.facade import Threads
from memsense.client.tenants import Tenants
from memsense.errors import DatabaseError
from memsense.server.guards import Buckets
from memsense.server.metrics import Metrics
from memsense.server.options import ServerOptions
from memsense.store.access import AccessKey

logger = logging.getLogger("memsense.server")

WRONG_KEYS_RATE = 1.0
WRONG_KEYS_BURST = 20
"""Wrong keys that one address may send per second, and at once."""


class ServerState:
    """Open memories of all tenants, with as many threads as the pool has connections.

    More threads would only wait for a connection.
    """

    def __init__(self, tenants: Tenants, options: ServerOptions) -> None:
        self.tenants = tenants
        self.options = options
        self.threads = Threads(tenants.settings.pool_max_size)
        self.requests = Buckets(options.rate, options.burst)
        self.wrong_keys = Buckets(WRONG_KEYS_RATE, WRONG_KEYS_BURST)
        self.metrics = Metrics(self.pool_sizes)

    async def verify(self, text: str) -> AccessKey | None:
        """Return the access key, or None if the text isn't a valid one."""
        return await self.threads.run(self.tenants.verify, text)

    async def memory(self, tenant: str) -> AsyncMemSense:
        """Return a tenant's memory."""
        sync = await self.threads.run(self.tenants.memory, tenant)
        return AsyncMemSense.over(sync, self.threads)

    async def find_fault(self) -> str | None:
        """Return why the database can't be reached, or None if it can."""
        try:
            await self.threads.run(self.tenants.ping)
        except DatabaseError as error:
            logger.warning("not ready: %s", error)
            return str(error)
        return None

    def pool_sizes(self) -> Mapping[str, int]:
        """Return the connections that are open, idle, waited for, and the largest number."""
        return self.tenants.pool_sizes()
