"""Lets statements that block join the transaction of an asynchronous connection."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.pq import PipelineStatus

from memsense.errors import InvalidInputError


class JoiningConnection(psycopg.Connection[Any]):
    """A connection that blocks, over the wire of one that doesn't and still owns it."""

    # ruff: noqa: SLF001 (psycopg has no public way to say how a transaction begins, once it has)

    def __init__(self, owner: psycopg.AsyncConnection[Any]) -> None:
        """Use `joining`: while this lives, the owner must be left alone."""
        heard = owner.pgconn.notice_handler, owner.pgconn.notify_handler
        super().__init__(owner.pgconn)
        owner.pgconn.notice_handler, owner.pgconn.notify_handler = heard
        self._autocommit = owner._autocommit
        self._isolation_level = owner._isolation_level
        self._read_only = owner._read_only
        self._deferrable = owner._deferrable
        self.prepare_threshold = None  # the owner's statements have the names that ours would take

    def __del__(self, _warn: Any = None, /) -> None:
        """Closing is the owner's."""


@asynccontextmanager
async def joining(owner: psycopg.AsyncConnection[Any]) -> AsyncGenerator[psycopg.Connection[Any]]:
    """Meanwhile a thread may run statements over the connection, and other tasks wait for it.

    Raises InvalidInputError for one that is in a pipeline, whose answers would be mixed up.
    """
    async with owner.lock:
        if owner.pgconn.pipeline_status != PipelineStatus.OFF:
            raise InvalidInputError("connection is in a pipeline: leave it before memory joins in")
        yield JoiningConnection(owner)
