"""LangChain: a retriever over a user's memory, and a chat history."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field, PrivateAttr, SkipValidation

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

from memsense.client.histories import Said, SessionPlace
from memsense.integrations.memories import AdaptedMemory, AnyMemory, hit_metadata
from memsense.search.hits import SearchResult
from memsense.search.request import DEFAULT_TOP_K

COLLECTION: Final = "langchain"


class MemSenseRetriever(BaseRetriever):
    """Retriever over one user's memory.

        retriever = MemSenseRetriever(memory=memory, user_id="ada", k=4)
        documents = retriever.invoke("Where does Ada live?")
        print(documents[0].metadata["table"])  # the terms of its score

    `invoke(question, k=8, tags=["home"])` overrides `k` and `options` for one call. `ainvoke` runs
    in the memory's own threads; cancelling it cancels its statement.

    Args:
        memory: An open memory, or a user's view of it; the caller closes it.
        user_id: Whose memory to search; a user's view knows. No call can change it.
        k: Maximum number of documents.
        options: More arguments of `MemSense.search`, such as `since` or `profile`; `filter` is
            another name of `metadata`, whose operators are those of LangChain's stores.
    """

    memory: SkipValidation[AnyMemory]
    user_id: str | None = None
    k: int = DEFAULT_TOP_K
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    _adapted: AdaptedMemory = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Find whose memory it is."""
        super().model_post_init(context)
        self._adapted = AdaptedMemory(self.memory)
        self.user_id = self._adapted.choose_user(self.user_id)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        return _documents(self._adapted.blocking.search(query, **self._merge_options(k, options)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        arguments = self._merge_options(k, options)
        return _documents(await self._adapted.awaited.search(query, **arguments))

    def _merge_options(self, k: int | None, options: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of one search; `user_id` comes last, so no call can change it."""
        merged = {**self.options, **options}
        if "filter" in merged:  # the name that LangChain's vector stores give it
            merged["metadata"] = merged.pop("filter")
        merged["top_k"] = self.k if k is None else k
        return {**merged, "user_id": self.user_id}


def _documents(result: SearchResult) -> list[Document]:
    return [
        Document(id=str(hit.chunk_id), page_content=hit.content, metadata=hit_metadata(hit, result))
        for hit in result
    ]


class MemSenseChatHistory(BaseChatMessageHistory):
    """Chat history of one session, in memsense's database.

        history = MemSenseChatHistory(memory, user_id="ada", session_id="monday")
        history.add_messages([HumanMessage("I moved to Lisbon."), AIMessage("Noted.")])

    Messages come back exactly as they were added, tool calls included. `MemSenseRetriever` finds
    what both sides said in any later session. Clearing the history also erases the session from
    memory.

    Args:
        memory: An open memory, or a user's view of it; the caller closes it.
        user_id: Whose session it is; a user's view knows.
        session_id: The session. It is created with its first message.
    """

    def __init__(self, memory: AnyMemory, *, user_id: str | None = None, session_id: str) -> None:
        self._memory = AdaptedMemory(memory)
        self._place = SessionPlace(user_id=self._memory.choose_user(user_id), session_id=session_id)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The session's messages in order."""
        return messages_from_dict(self._memory.blocking.histories.read(COLLECTION, **self._place))

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the session's messages in order."""
        return messages_from_dict(
            await self._memory.awaited.histories.read(COLLECTION, **self._place)
        )

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, and store what they say in memory.

        Args:
            messages: New messages, in order.
        """
        self._memory.blocking.histories.append(COLLECTION, _turns(messages), **self._place)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, and store what they say in memory.

        Args:
            messages: New messages, in order.
        """
        await self._memory.awaited.histories.append(COLLECTION, _turns(messages), **self._place)

    def clear(self) -> None:
        """Erase the session from the history and from memory."""
        self._memory.blocking.histories.clear(COLLECTION, **self._place)

    async def aclear(self) -> None:
        """Erase the session from the history and from memory."""
        await self._memory.awaited.histories.clear(COLLECTION, **self._place)


def _turns(messages: Sequence[BaseMessage]) -> list[Said]:
    return [Said.of(message_to_dict(message), message) for message in messages]
