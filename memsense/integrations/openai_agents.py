"""OpenAI Agents SDK: a session that keeps its items, and stores what was said as memories."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

try:
    from agents import SessionABC, SessionSettings, TResponseInputItem
    from agents.memory.session_settings import resolve_session_limit
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError(
        "the session for the OpenAI Agents SDK needs openai-agents:"
        " pip install 'memsense[openai-agents]'"
    ) from error

from memsense.client.histories import Said, SessionPlace
from memsense.errors import CallTimeoutError, DatabaseError, EmbeddingError
from memsense.integrations.memories import AdaptedMemory, AnyMemory

COLLECTION: Final = "openai-agents"
LATEST: Final = 200
"""Exchanges of the session itself that the context omits: the model has them as its history."""

logger = logging.getLogger("memsense.openai_agents")


class MemSenseSession(SessionABC):
    """Session of one user, in memsense's database.

        session = MemSenseSession(memory, user_id="ada", session_id="monday")
        config = RunConfig(call_model_input_filter=session.add_context)
        result = await Runner.run(
            agent, "I moved to Lisbon.", session=session, run_config=config
        )

    With `add_context`, the model also gets what the user's earlier sessions say of the question.
    `memory.search(..., user_id="ada")` finds what user and agent say in any later session. Tool
    calls and their results come back to the agent, but no search finds them. Clearing the session
    also erases it from memory.

    Args:
        memory: An open memory, or a user's view of it; the caller closes it.
        user_id: Whose session it is; a user's view knows.
        session_id: The session. It is created with its first item.
        session_settings: The SDK's settings, such as a default limit of items.
        max_tokens: Maximum length of the context.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        user_id: str | None = None,
        session_id: str,
        session_settings: SessionSettings | None = None,
        max_tokens: int = 1_000,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self._memory = AdaptedMemory(memory)
        self._max_tokens = max_tokens
        self._context: tuple[Sequence[str], str] = ((), "")
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

    async def add_context(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the model's input with what earlier sessions say of the user's last message.

        It is a `call_model_input_filter` of the SDK's `RunConfig`. The context is put behind the
        instructions, so that no session stores it; the rounds of a turn's tool calls have the same.
        A database or an embedder that is away leaves it out, with a warning in the log.

        Args:
            data: The input, as the SDK passes it.
        """
        messages = [Said.of(cast("Mapping[str, Any]", item)) for item in data.model_data.input]
        questions = [it.text for it in messages if it.role == "user"]
        if questions and questions != self._context[0]:
            memory, user_id = self._memory.awaited, self._place["user_id"]
            try:
                own = await memory.list(
                    user_id=user_id, session_ids=[self.session_id], limit=LATEST
                )
                context = await memory.context(
                    questions[-1],
                    user_id=user_id,
                    exclude=[chunk.chunk_id for chunk in own],
                    max_tokens=self._max_tokens,
                )
                self._context = questions, str(context)
            except (DatabaseError, EmbeddingError, CallTimeoutError) as error:
                logger.warning("the model gets no context: %s", error)
                return data.model_data
        parts = [data.model_data.instructions, self._context[1] if questions else ""]
        instructions = "\n\n".join(filter(None, parts)) or None
        return ModelInputData(input=data.model_data.input, instructions=instructions)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item, from memory too; return it, or None if there is none."""
        item = await self._memory.awaited.histories.pop(COLLECTION, **self._place)
        return cast("TResponseInputItem | None", item)

    async def clear_session(self) -> None:
        """Erase the session and what memory holds of it."""
        await self._memory.awaited.histories.clear(COLLECTION, **self._place)
