"""LangChain: a retriever over a user's memory, and the history of a chat."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field, InstanceOf, PrivateAttr

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise ImportError(
        "LangChain's adapters need langchain-core: pip install 'memsense[langchain]'"
    ) from error

from memsense.client.aio import AsyncMemSense
from memsense.client.histories import Said, SessionPlace
from memsense.client.memory import MemSense
from memsense.integrations.documents import hit_metadata
from memsense.search.hits import SearchResult
from memsense.search.request import DEFAULT_TOP_K

COLLECTION: Final = "langchain"


class MemSenseRetriever(BaseRetriever):
    """Finds in one user's memory what answers a question.

        retriever = MemSenseRetriever(memory=memory, user_id="ada", k=4)
        documents = retriever.invoke("Where does Ada live?")
        print(documents[0].metadata["table"])  # how its score came about

    `options` are those of `MemSense.search`, such as `since` or `profile`. `ainvoke` runs in
    threads of the memory's own, and cancelling it cancels its statement.
    """

    memory: InstanceOf[MemSense]
    user_id: str
    k: int = DEFAULT_TOP_K
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    _awaited: AsyncMemSense = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the face for asyncio, whose threads all calls of this retriever share."""
        super().model_post_init(context)
        self._awaited = AsyncMemSense.over(self.memory)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        return _documents(self.memory.search(query, **self._chosen(k, options)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        return _documents(await self._awaited.search(query, **self._chosen(k, options)))

    def _chosen(self, k: int | None, options: dict[str, Any]) -> dict[str, Any]:
        """The options of one search. Whose memory it is, no call may change."""
        top_k = self.k if k is None else k
        return {**self.options, **options, "top_k": top_k, "user_id": self.user_id}


def _documents(result: SearchResult) -> list[Document]:
    return [
        Document(id=str(hit.chunk_id), page_content=hit.content, metadata=hit_metadata(hit, result))
        for hit in result
    ]


class MemSenseChatHistory(BaseChatMessageHistory):
    """The messages of one session of one user's, in memsense's database.

        history = MemSenseChatHistory(memory, user_id="ada", session_id="monday")
        history.add_messages([HumanMessage("I moved to Lisbon."), AIMessage("Noted.")])

    They come back as they were, calls of tools too; what both sides say is found by
    `MemSenseRetriever` in any later session. Clearing erases the session from memory, too.
    """

    def __init__(self, memory: MemSense, *, user_id: str, session_id: str) -> None:
        """One history; making it stores nothing."""
        self._memory = memory
        self._awaited = AsyncMemSense.over(memory)
        self._place = SessionPlace(user_id=user_id, session_id=session_id)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The session's messages in order."""
        return messages_from_dict(self._memory.histories.read(COLLECTION, **self._place))

    async def aget_messages(self) -> list[BaseMessage]:
        """As `messages`."""
        return messages_from_dict(await self._awaited.histories.read(COLLECTION, **self._place))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end, and remember what they say."""
        self._memory.histories.append(COLLECTION, _said(messages), **self._place)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """As `add_messages`."""
        await self._awaited.histories.append(COLLECTION, _said(messages), **self._place)

    def clear(self) -> None:
        """Erase the session, in memory too."""
        self._memory.histories.clear(COLLECTION, **self._place)

    async def aclear(self) -> None:
        """As `clear`."""
        await self._awaited.histories.clear(COLLECTION, **self._place)


def _said(messages: Sequence[BaseMessage]) -> list[Said]:
    return [Said.of(message_to_dict(message), message) for message in messages]
