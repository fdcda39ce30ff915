"""Google ADK: a memory service that stores sessions, and answers the tool `load_memory`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part
except ImportError as error:
    raise ImportError(
        "the memory service for Google ADK needs google-adk: pip install 'memsense[google-adk]'"
    ) from error

from memsense.client.histories import Said
from memsense.errors import NotFoundError
from memsense.integrations.memories import AdaptedMemory, AnyMemory, hit_metadata
from memsense.search.hits import Hit, SearchResult
from memsense.search.request import DEFAULT_TOP_K

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

COLLECTION: Final = "google-adk"
MEMORIES: Final = "memories"
"""The session of events and entries that come without one."""


class MemSenseMemoryService(BaseMemoryService):
    """Memory service over what the users of an app said, and what they were answered.

        service = MemSenseMemoryService(memory)
        runner = Runner(app_name="app", agent=agent, session_service=sessions,
                        memory_service=service)

    The app's name is stored as the `agent_id` of its memories. An event is stored once, however
    often its session is added. Tool calls and their results are not stored.

    Args:
        memory: An open memory, or a user's view of it, which serves that user alone; the caller
            closes it.
        top_k: Maximum number of memories that a search returns.
        across_apps: Search the memories of all apps; by default an app finds its own only.
        options: More arguments of `MemSense.search`, such as `profile` or `min_score`.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        top_k: int = DEFAULT_TOP_K,
        across_apps: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._memory = AdaptedMemory(memory)
        self._across_apps = across_apps
        self._options: dict[str, Any] = {**(options or {}), "top_k": top_k}

    async def add_session_to_memory(self, session: "Session") -> None:
        """Store the events of a session that are not stored yet.

        Args:
            session: The session, whole or so far.
        """
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: "Sequence[Event]",
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 (ADK's signature)
    ) -> None:
        """Store events; those that are stored already stay as they are.

        Args:
            app_name: The app, stored as `agent_id`.
            user_id: Whose memory to write to.
            events: Events in order. Partial ones, and those without text, are skipped.
            session_id: The session that they belong to.
            custom_metadata: Ignored.
        """
        turns = [_turn(event) for event in events if not event.partial and _spoken(event.content)]
        await self._memory.awaited.histories.append(
            COLLECTION,
            turns,
            user_id=self._memory.choose_user(user_id),
            session_id=session_id or MEMORIES,
            agent_id=app_name,
        )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries as single turns.

        Args:
            app_name: The app, stored as `agent_id`.
            user_id: Whose memory to write to.
            memories: The entries. One by the author "user", or by none, is the user's.
            custom_metadata: Metadata that is added to each entry's own.
        """
        user_id = self._memory.choose_user(user_id)
        for entry in memories:
            role = "user" if entry.author in (None, "user") else "assistant"
            message = {"role": role, "content": _spoken(entry.content), "at": entry.timestamp}
            metadata = {**entry.custom_metadata, **(custom_metadata or {})}
            await self._memory.awaited.add(
                [message],
                user_id=user_id,
                session_id=MEMORIES,
                agent_id=app_name,
                metadata=cast("Any", metadata),
            )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the memories that best answer a query, best first.

        Args:
            app_name: The app that asks.
            user_id: Whose memory to search.
            query: The question in plain words.

        Returns:
            Entries whose `custom_metadata` explains their score.
        """
        agent_id = None if self._across_apps else app_name
        user_id = self._memory.choose_user(user_id)
        options: dict[str, Any] = {**self._options, "agent_id": agent_id, "user_id": user_id}
        result = await self._memory.awaited.search(query, **options)
        return SearchMemoryResponse(memories=[_entry(hit, result) for hit in result])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget a memory; adding its session again does not bring it back.

        `memory.delete` erases it for good.

        Args:
            app_name: The app that the memory belongs to.
            user_id: The user that it belongs to.
            memory_id: The id that `search_memory` returned.

        Raises:
            NotFoundError: If this user and app have no such memory.
        """
        if memory_id is None or not memory_id.isdecimal():
            raise NotFoundError(f"no memory {memory_id!r}: pass the id that search_memory returned")
        user_memory = self._memory.awaited.for_user(self._memory.choose_user(user_id))
        chunk = await user_memory.get(int(memory_id))
        if not self._across_apps and chunk.agent_id != app_name:
            raise NotFoundError(f"no memory {memory_id} of app {app_name!r}")
        await user_memory.forget(chunk.chunk_id, reason="deleted by the app")


def _spoken(content: Content | None) -> str:
    """Return the text of a content without tool calls, their results, and thoughts."""
    parts = content.parts or [] if content else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _turn(event: "Event") -> Said:
    return Said(
        value={"author": event.author},
        role="user" if event.author == "user" else "assistant",
        text=_spoken(event.content),
        # The event's own id is the key: it makes adding a session again harmless.
        key=event.id,
        at=datetime.fromtimestamp(event.timestamp, UTC),
    )


def _entry(hit: Hit, result: SearchResult) -> MemoryEntry:
    at = hit.chunk.occurred_at
    return MemoryEntry(
        id=str(hit.chunk_id),
        content=Content(role="user", parts=[Part(text=hit.content)]),
        timestamp=at.isoformat() if at else None,
        custom_metadata=hit_metadata(hit, result),
    )
