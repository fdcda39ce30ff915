"""LlamaIndex: a retriever over a user's memory."""

from collections.abc import Mapping
from typing import Any, Final

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError(
        "the retriever for LlamaIndex needs llama-index-core: pip install 'memsense[llamaindex]'"
    ) from error

from memsense.integrations.memories import AdaptedMemory, AnyMemory, hit_metadata
from memsense.search.hits import SearchResult
from memsense.search.request import DEFAULT_TOP_K

PROMPT_METADATA: Final = frozenset({"occurred_at", "session_id"})
"""Metadata that LlamaIndex puts into the prompt; the arithmetic would only cost tokens."""


class MemSenseRetriever(BaseRetriever):
    """Retriever over one user's memory.

        retriever = MemSenseRetriever(memory, user_id="ada")
        nodes = retriever.retrieve("Where does Ada live?")
        nodes[0].score, nodes[0].metadata["table"]

    Args:
        memory: An open memory, or a user's view of it; the caller closes it.
        user_id: Whose memory to search; a user's view knows.
        top_k: Maximum number of nodes.
        options: More arguments of `MemSense.search`, such as `since` or `profile`.
        callback_manager: LlamaIndex's callbacks.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        user_id: str | None = None,
        top_k: int = DEFAULT_TOP_K,
        options: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._memory = AdaptedMemory(memory)
        user_id = self._memory.choose_user(user_id)
        self._options: dict[str, Any] = {**(options or {}), "top_k": top_k, "user_id": user_id}
        super().__init__(callback_manager)  # pyright: ignore[reportUnknownMemberType]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._memory.blocking.search(query_bundle.query_str, **self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._memory.awaited.search(query_bundle.query_str, **self._options))


def _nodes(result: SearchResult) -> list[NodeWithScore]:
    nodes: list[NodeWithScore] = []
    for hit in result:
        metadata = hit_metadata(hit, result)
        hidden = sorted(metadata.keys() - PROMPT_METADATA)
        node = TextNode(
            id_=str(hit.chunk_id),
            text=hit.content,
            metadata=metadata,
            excluded_llm_metadata_keys=hidden,
            excluded_embed_metadata_keys=hidden,
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return nodes
