"""LlamaIndex's query engine with a scripted model, over the retriever."""

from typing import Any

import pytest

from memsense import MemSense

pytest.importorskip("llama_index.core", reason="needs memsense[llamaindex]")

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

from memsense.integrations.llamaindex import MemSenseRetriever


class ScriptedLLM(CustomLLM):
    """Answers with what it was asked."""

    @property
    def metadata(self) -> LLMMetadata:
        """Defaults."""
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:  # noqa: ARG002
        """The prompt."""
        return CompletionResponse(text=f"ASKED {prompt}")

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """Nobody streams here."""
        raise NotImplementedError


@pytest.fixture
def retriever(memory: MemSense) -> MemSenseRetriever:
    for user_id, text in (("ada", "I moved to Lisbon."), ("ada", "Tea."), ("eve", "Lisbon!")):
        memory.add([{"role": "user", "content": text}], user_id=user_id, session_id=text)
    return MemSenseRetriever(memory, user_id="ada", top_k=5)


async def test_a_node_tells_how_its_score_came(retriever: MemSenseRetriever) -> None:
    nodes = retriever.retrieve("Who moved to Lisbon?")
    assert nodes[0].text == "user: I moved to Lisbon."
    assert {node.metadata["user_id"] for node in nodes} == {"ada"}
    for node in nodes:
        parts = node.metadata["explain"]["parts"]
        assert sum(parts.values()) == pytest.approx(node.score)
    awaited = await retriever.aretrieve("Who moved to Lisbon?")
    assert [node.node_id for node in awaited] == [node.node_id for node in nodes]


def test_a_model_is_shown_the_text_and_its_date_but_no_arithmetic(
    retriever: MemSenseRetriever,
) -> None:
    [node, *_] = retriever.retrieve("Who moved to Lisbon?")
    shown = node.node.get_content(metadata_mode=MetadataMode.LLM)
    assert "I moved to Lisbon." in shown
    assert node.metadata["occurred_at"] in shown
    assert "contribution" not in shown
    assert "score" not in shown


def test_a_query_engine_answers_from_memory(retriever: MemSenseRetriever) -> None:
    engine = RetrieverQueryEngine.from_args(retriever, llm=ScriptedLLM())
    response = engine.query("Who moved to Lisbon?")
    assert "I moved to Lisbon." in str(response)
    assert response.source_nodes[0].metadata["table"]
