"""OpenAI Agents SDK: a session that keeps its items, and stores what was said as memories."""

from collections.abc import Mapping
from typing import Any, Final, cast

try:
    from agents import SessionABC, SessionSettings, TResponseInputItem
    from agents.memory.session_settings import resolve_session_limit
except ImportError as error:
    raise ImportError(
        "the session for the OpenAI Agents SDK needs openai-agents:"
        " pip install 'memsense[openai-agents]'"
    ) from error

from memsense.client.histories import Said, SessionPlace
from memsense.integrations.memories import AdaptedMemory, AnyMemory

COLLECTION: Final = "openai-agents"


class MemSenseSession(SessionABC):
    """Session of one user, in memsense's database.

        session = MemSenseSession(memory, user_id="ada", session_id="monday")
        result = await Runner.run(agent, "I moved to Lisbon.", session=session)

    `memory.search(..., user_id="ada")` finds what user and agent say in any later session. Tool
    calls and their results come back to the agent, but no search finds them. Clearing the session
    also erases it from memory.

    Args:
        memory: An open memory, or a user's view of it; the caller closes it.
        user_id: Whose session it is; a user's view knows.
        session_id: The session. It is created with its first item.
        session_settings: The SDK's settings, such as a default limit of items.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        user_id: str | None = None,
        session_id: str,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self._memory = AdaptedMemory(memory)
        self._place = SessionPlace(user_id=self._memory.choose_user(user_id), session_id=session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the session's items in order.

        Args:
            limit: Return only so many of the latest items; by default as `session_settings` says.
        """
        count = resolve_session_limit(limit, self.session_settings)
        if count is not None and count <= 0:
            return []
        items = await self._memory.awaited.histories.read(COLLECTION, limit=count, **self._place)
        return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, and store what they say in memory.

        Args:
            items: New items, in order.
        """
        turns = [Said.of(cast("Mapping[str, Any]", item)) for item in items]
        await self._memory.awaited.histories.append(COLLECTION, turns, **self._place)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item, from memory too; return it, or None if there is none."""
        item = await self._memory.awaited.histories.pop(COLLECTION, **self._place)
        return cast("TResponseInputItem | None", item)

    async def clear_session(self) -> None:
        """Erase the session and what memory holds of it."""
        await self._memory.awaited.histories.clear(COLLECTION, **self._place)
