"""OpenAI Agents SDK: a session whose items come back to the letter, its words remembered."""

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

from memsense.client.aio import AsyncMemSense
from memsense.client.histories import Said, SessionPlace
from memsense.client.memory import MemSense

COLLECTION: Final = "openai-agents"


class MemSenseSession(SessionABC):
    """One session of one user's, in memsense's database.

        session = MemSenseSession(memory, user_id="ada", session_id="monday")
        result = await Runner.run(agent, "I moved to Lisbon.", session=session)

    What user and agent say is found by `memory.search(..., user_id="ada")` in any later session;
    calls of tools and their results are kept for the agent alone. Clearing erases the session from
    memory, too.
    """

    def __init__(
        self,
        memory: MemSense | AsyncMemSense,
        *,
        user_id: str,
        session_id: str,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self._memory = memory if isinstance(memory, AsyncMemSense) else AsyncMemSense.over(memory)
        self._place = SessionPlace(user_id=user_id, session_id=session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The session's items in order, or the latest so many."""
        wanted = resolve_session_limit(limit, self.session_settings)
        if wanted is not None and wanted <= 0:
            return []
        found = await self._memory.histories.read(COLLECTION, limit=wanted, **self._place)
        return cast("list[TResponseInputItem]", found)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, and remember what is said in them."""
        said = [Said.of(cast("Mapping[str, Any]", item)) for item in items]
        await self._memory.histories.append(COLLECTION, said, **self._place)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item away, out of memory too, and return it."""
        found = await self._memory.histories.pop(COLLECTION, **self._place)
        return cast("TResponseInputItem | None", found)

    async def clear_session(self) -> None:
        """Erase the session, in memory too."""
        await self._memory.histories.clear(COLLECTION, **self._place)
