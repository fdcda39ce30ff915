"""Blocking statements in the transaction of an asynchronous connection."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.pq import PipelineStatus

from memsense.errors import InvalidInputError


class JoiningConnection(psycopg.Connection[Any]):
    """A blocking connection over the wire of an asynchronous one, which still owns it."""

    # ruff: noqa: SLF001 (psycopg has no public way to say how a transaction begins, once it has)

    def __init__(self, owner: psycopg.AsyncConnection[Any]) -> None:
        """Take the wire; call `joining` instead, which keeps the owner from using it meanwhile."""
        # psycopg sets handlers of its own on the wire that it gets.
        handlers = owner.pgconn.notice_handler, owner.pgconn.notify_handler
        super().__init__(owner.pgconn)
        owner.pgconn.notice_handler, owner.pgconn.notify_handler = handlers
        self._autocommit = owner._autocommit
        self._isolation_level = owner._isolation_level
        self._read_only = owner._read_only
        self._deferrable = owner._deferrable
        self.prepare_threshold = None  # the owner's statements have the names that ours would take

    def __del__(self, _warn: Any = None, /) -> None:
        """Leave the wire open, which its owner closes."""


@asynccontextmanager
async def joining(owner: psycopg.AsyncConnection[Any]) -> AsyncGenerator[psycopg.Connection[Any]]:
    """Lend a blocking connection over the owner's wire; other tasks wait for it meanwhile.

    Raises InvalidInputError for a connection in a pipeline, whose answers would be mixed up.
    """
    async with owner.lock:
        if owner.pgconn.pipeline_status != PipelineStatus.OFF:
            raise InvalidInputError("the connection is in a pipeline: leave the pipeline first")
        yield JoiningConnection(owner)
