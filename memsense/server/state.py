"""What all requests share: memories by tenant, threads, limits and counters."""

import logging
from collections.abc import Mapping

from memsense.client.aio import AsyncMemSense
from memsense.client.facade import Threads
from memsense.client.tenants import Tenants
from memsense.errors import DatabaseError
from memsense.server.limits import Buckets
from memsense.server.metrics import Metrics
from memsense.server.options import ServerOptions
from memsense.store.access import AccessKey

logger = logging.getLogger("memsense.server")

WRONG_KEYS_RATE = 1.0
WRONG_KEYS_BURST = 20
"""How many wrong keys one address may show a second, and at once."""


class ServerState:
    """The open memories, and as many threads for all of them as the pool has connections."""

    def __init__(self, tenants: Tenants, options: ServerOptions) -> None:
        self.tenants = tenants
        self.options = options
        self.threads = Threads(tenants.settings.pool_max_size)
        self.requests = Buckets(options.rate, options.burst)
        self.wrong_keys = Buckets(WRONG_KEYS_RATE, WRONG_KEYS_BURST)
        self.metrics = Metrics(self.pool_sizes)

    async def verify(self, text: str) -> AccessKey | None:
        """The key that was shown; None for any that opens nothing."""
        return await self.threads.run(self.tenants.verify, text)

    async def memory(self, tenant: str) -> AsyncMemSense:
        """A tenant's memory, as users of the Python API have it."""
        sync = await self.threads.run(self.tenants.memory, tenant)
        return AsyncMemSense.over(sync, self.threads)

    async def find_fault(self) -> str | None:
        """Why no request can be answered now, None if they can."""
        try:
            await self.threads.run(self.tenants.ping)
        except DatabaseError as error:
            logger.warning("not ready: %s", error)
            return str(error)
        return None

    def pool_sizes(self) -> Mapping[str, int]:
        """Connections that are open, idle, waited for, and allowed."""
        return self.tenants.pool_sizes()
