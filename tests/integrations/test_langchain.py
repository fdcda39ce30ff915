"""LangChain: its own tests of retrievers, and the arithmetic in each document."""

import json
from typing import Any

import pytest

from memsense import MemSense
from memsense.errors import InvalidInputError

pytest.importorskip("langchain_core", reason="needs memsense[langchain]")
pytest.importorskip("langchain_tests", reason="needs langchain-tests")

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from memsense.integrations.langchain import MemSenseChatHistory, MemSenseRetriever

SAID = [
    "I moved to Lisbon in May.",
    "My sister lives in Porto.",
    "The tram in Lisbon is yellow.",
    "We eat rice on Sundays.",
]


@pytest.fixture
def told(memory: MemSense) -> MemSense:
    for number, text in enumerate(SAID):
        messages = [HumanMessage(text), AIMessage("Noted.")]
        memory.add(messages, user_id="ada", session_id=f"s{number}")
    memory.add([HumanMessage("I live in Lisbon, too.")], user_id="eve", session_id="other")
    return memory


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's own suite, over a memory of four exchanges."""

    opened: MemSense

    @pytest.fixture(autouse=True)
    def keep_memory(self, told: MemSense) -> None:
        type(self).opened = told

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemSenseRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.opened, "user_id": "ada"}

    @property
    def retriever_query_example(self) -> str:
        return "Who lives in Lisbon?"


def test_a_document_tells_how_its_score_came(told: MemSense) -> None:
    retriever = MemSenseRetriever(memory=told, user_id="ada", k=2, options={"trace": True})
    [best, _] = retriever.invoke("Who moved to Lisbon?")
    assert "moved to Lisbon" in best.page_content
    explain = best.metadata["explain"]
    assert sum(explain["parts"].values()) == pytest.approx(best.metadata["score"])
    assert best.metadata["table"].strip()
    told.traces.flush()
    assert str(told.traces.get(best.metadata["trace_id"]).trace_id) == best.metadata["trace_id"]
    assert json.loads(json.dumps(best.metadata))["explain"]["routes"]


async def test_awaited_it_finds_the_same(told: MemSense) -> None:
    retriever = MemSenseRetriever(memory=told, user_id="ada")
    found = retriever.invoke("Who lives in Lisbon?", k=3)
    awaited = await retriever.ainvoke("Who lives in Lisbon?", k=3)
    assert [document.id for document in awaited] == [document.id for document in found]


def test_a_call_reaches_nobody_else(told: MemSense) -> None:
    retriever = MemSenseRetriever(memory=told, user_id="ada")
    documents = retriever.invoke("Who lives in Lisbon?", k=50, user_id="eve")
    assert {document.metadata["user_id"] for document in documents} == {"ada"}
    with pytest.raises(InvalidInputError, match="all_users"):
        retriever.invoke("Who lives in Lisbon?", all_users=True)


MESSAGES = [
    HumanMessage("How is the weather in Lisbon?", id="h1"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c1"}], id="a1"),
    ToolMessage("zanzibarword rain", tool_call_id="c1", id="t1"),
    AIMessage("It rains.", id="a2"),
]


@pytest.fixture
def history(memory: MemSense) -> BaseChatMessageHistory:
    return MemSenseChatHistory(memory, user_id="ada", session_id="monday")


def test_messages_come_back_as_they_were_and_only_words_are_remembered(
    history: BaseChatMessageHistory, memory: MemSense
) -> None:
    history.add_messages(MESSAGES[:1])
    history.add_messages(MESSAGES[1:])
    assert history.messages == MESSAGES
    [chunk] = memory.recent(user_id="ada")
    assert chunk.content == "user: How is the weather in Lisbon?\nassistant: It rains."
    retriever = MemSenseRetriever(memory=memory, user_id="ada")
    assert [it.page_content for it in retriever.invoke("Lisbon")] == [chunk.content]


async def test_a_history_is_awaited_and_cleared(
    history: BaseChatMessageHistory, memory: MemSense
) -> None:
    await history.aadd_messages(MESSAGES)
    assert await history.aget_messages() == MESSAGES
    await history.aclear()
    assert history.messages == []
    assert memory.recent(user_id="ada") == []


def first_text(found: list[Document]) -> str:
    return found[0].page_content


def test_a_chain_of_retriever_and_model_answers_from_memory(
    told: MemSense, history: BaseChatMessageHistory
) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("In Porto.")]))
    retriever = MemSenseRetriever(memory=told, user_id="ada", k=1)
    chain = retriever | first_text | model
    question = "Where does my sister live?"
    answer = chain.invoke(question)
    history.add_messages([HumanMessage(question), answer])
    assert [message.text for message in history.messages] == [question, "In Porto."]


def test_a_filter_of_langchain_is_one_of_metadata(memory: MemSense) -> None:
    for priority in (1, 5):
        said = {"role": "user", "content": f"A note of priority {priority}."}
        memory.add([said], user_id="ada", session_id="s", metadata={"priority": priority})
    retriever = MemSenseRetriever(memory=memory, user_id="ada")
    [document] = retriever.invoke("Which note?", filter={"$and": [{"priority": {"$gte": 3}}]})
    assert "priority 5" in document.page_content
