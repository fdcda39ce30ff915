"""Every adapter over every kind of memory: each stores through it and recalls from it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memsense import AsyncMemSense, MemSense
from memsense.errors import InvalidInputError
from memsense.integrations.memories import AdaptedMemory, AnyMemory

QUESTION = "Who moved to Lisbon?"
SAID = "I moved to Lisbon."

Adapter = Callable[[AnyMemory, str | None], Awaitable[list[str]]]
"""Stores what was said, asks in every way that the adapter has, and returns what each way found.

The second argument is the user's id, or None for a memory that is a user's view."""


async def use_langchain(memory: AnyMemory, user_id: str | None) -> list[str]:
    pytest.importorskip("langchain_core")
    from langchain_core.messages import AIMessage, HumanMessage

    from memsense.integrations.langchain import MemSenseChatHistory, MemSenseRetriever

    history = MemSenseChatHistory(memory, user_id=user_id, session_id="monday")
    await history.aadd_messages([HumanMessage(SAID)])
    await asyncio.to_thread(history.add_messages, [AIMessage("Noted.")])
    retriever = MemSenseRetriever(memory=memory, user_id=user_id)
    awaited = await retriever.ainvoke(QUESTION)
    blocking = await asyncio.to_thread(retriever.invoke, QUESTION)
    messages = await asyncio.to_thread(lambda: history.messages)
    assert messages == await history.aget_messages()
    return [*(found[0].page_content for found in (awaited, blocking)), str(messages[0].content)]


async def use_llamaindex(memory: AnyMemory, user_id: str | None) -> list[str]:
    pytest.importorskip("llama_index.core")
    from memsense.integrations.llamaindex import MemSenseRetriever

    # LlamaIndex's retrievers don't store.
    adapted = AdaptedMemory(memory)
    owner = adapted.choose_user(user_id)
    message = {"role": "user", "content": SAID}
    await adapted.awaited.add([message], user_id=owner, session_id="monday")
    retriever = MemSenseRetriever(memory, user_id=user_id)
    awaited = await retriever.aretrieve(QUESTION)
    blocking = await asyncio.to_thread(retriever.retrieve, QUESTION)
    return [found[0].text for found in (awaited, blocking)]


async def use_langgraph(memory: AnyMemory, user_id: str | None) -> list[str]:
    pytest.importorskip("langgraph.store.base")
    from memsense.integrations.langgraph import AsyncMemSenseStore, MemSenseStore

    label, path = (0, (user_id, "home")) if user_id else (None, ("home",))
    store = MemSenseStore(memory, user_label=label)
    await store.aput(path, "awaited", {"text": SAID})
    await asyncio.to_thread(store.put, path, "blocking", {"text": SAID})
    other = AsyncMemSenseStore(memory, user_label=label)
    assert await other.alist_namespaces() == [path]
    found = [
        *(await other.asearch(path, query=QUESTION)),
        *(await asyncio.to_thread(store.search, path, query=QUESTION)),
        await other.aget(path, "awaited"),
    ]
    assert {item.namespace for item in found if item} == {path}
    return [item.value["text"] for item in found if item]


async def use_openai_agents(memory: AnyMemory, user_id: str | None) -> list[str]:
    pytest.importorskip("agents")
    from memsense.integrations.openai_agents import MemSenseSession

    session = MemSenseSession(memory, user_id=user_id, session_id="monday")
    await session.add_items([{"role": "user", "content": SAID}])
    return [str(item.get("content")) for item in await session.get_items()]


async def use_pydantic_ai(memory: AnyMemory, user_id: str | None) -> list[str]:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from memsense.integrations.pydantic_ai import MemSenseToolset

    script: list[Any] = [
        ToolCallPart("remember", {"text": SAID}),
        ToolCallPart("recall", {"question": QUESTION}),
        TextPart("Done."),
    ]

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[script.pop(0)])

    toolset = MemSenseToolset(memory, user_id=user_id)
    result = await Agent(FunctionModel(answer), toolsets=[toolset]).run("Hello")
    returns = [part for message in result.all_messages() for part in message.parts]
    return [str(part.content) for part in returns if part.part_kind == "tool-return"][1:]


async def use_google_adk(memory: AnyMemory, _: str | None) -> list[str]:
    pytest.importorskip("google.adk")
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

    from memsense.integrations.google_adk import MemSenseMemoryService

    service = MemSenseMemoryService(memory)
    entry = MemoryEntry(content=Content(role="user", parts=[Part(text=SAID)]))
    place: dict[str, Any] = {"app_name": "app", "user_id": "ada"}
    await service.add_memory(**place, memories=[entry])
    [found] = (await service.search_memory(**place, query=QUESTION)).memories
    await service.delete_memory(**place, memory_id=found.id)
    assert (await service.search_memory(**place, query=QUESTION)).memories == []
    return [str(part.text) for part in found.content.parts or []]


ADAPTERS: dict[str, Adapter] = {
    "LangChain": use_langchain,
    "LangGraph": use_langgraph,
    "LlamaIndex": use_llamaindex,
    "OpenAI Agents": use_openai_agents,
    "Pydantic AI": use_pydantic_ai,
    "Google ADK": use_google_adk,
}

KINDS: dict[str, Callable[[MemSense], AnyMemory]] = {
    "MemSense": lambda memory: memory,
    "AsyncMemSense": AsyncMemSense.over,
    "UserMemory": lambda memory: memory.for_user("ada"),
    "AsyncUserMemory": lambda memory: AsyncMemSense.over(memory).for_user("ada"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_an_adapter_stores_and_recalls(memory: MemSense, adapter: str, kind: str) -> None:
    eve = {"role": "user", "content": "Eve moved to Lisbon."}
    memory.add([eve], user_id="eve", session_id="monday")
    user_id = None if "User" in kind else "ada"
    texts = await ADAPTERS[adapter](KINDS[kind](memory), user_id)
    assert texts
    assert all(SAID in text for text in texts)
    assert not any("Eve" in text for text in texts)


Ask = Callable[[Any], Awaitable[object] | object]


def list_requests_for_eve() -> dict[str, Ask]:
    """What asks an adapter for Eve's memory."""
    from memsense.integrations.google_adk import MemSenseMemoryService
    from memsense.integrations.langchain import MemSenseChatHistory
    from memsense.integrations.langchain import MemSenseRetriever as LangChainRetriever
    from memsense.integrations.langgraph import MemSenseStore
    from memsense.integrations.llamaindex import MemSenseRetriever
    from memsense.integrations.openai_agents import MemSenseSession
    from memsense.integrations.pydantic_ai import MemSenseToolset

    eve: Any = {"user_id": "eve"}
    at_app: Any = {"app_name": "app", **eve}
    run: Any = None
    return {
        "LangChain's retriever": lambda ada: LangChainRetriever(memory=ada, **eve),
        "LangChain's history": lambda ada: MemSenseChatHistory(ada, session_id="s", **eve),
        "LangGraph": lambda ada: MemSenseStore(ada, user_label=0),
        "LlamaIndex": lambda ada: MemSenseRetriever(ada, **eve),
        "OpenAI Agents": lambda ada: MemSenseSession(ada, session_id="s", **eve),
        "Pydantic AI": lambda ada: MemSenseToolset(ada, **eve),
        "Pydantic AI, in a run": lambda ada: MemSenseToolset(ada, user_id=lambda _: "eve").recall(
            run, QUESTION
        ),
        "Google ADK": lambda ada: MemSenseMemoryService(ada).search_memory(query="?", **at_app),
        "Google ADK, writing": lambda ada: MemSenseMemoryService(ada).add_memory(
            memories=[], **at_app
        ),
        "Google ADK, deleting": lambda ada: MemSenseMemoryService(ada).delete_memory(
            memory_id="1", **at_app
        ),
    }


async def test_a_user_s_view_refuses_another_user(memory: MemSense) -> None:
    async def ask(request: Ask) -> None:
        answer = request(memory.for_user("ada"))
        if isinstance(answer, Awaitable):
            await answer

    for request in list_requests_for_eve().values():
        with pytest.raises(InvalidInputError, match="this is the memory of 'ada' alone"):
            await ask(request)


def test_the_memory_of_all_users_needs_to_know_whose(memory: MemSense) -> None:
    with pytest.raises(InvalidInputError, match='pass user_id="ada"'):
        AdaptedMemory(memory).choose_user(None)


def test_something_else_is_no_memory() -> None:
    wrong: Any = "postgresql://localhost/memory"
    with pytest.raises(InvalidInputError, match="memory must be a MemSense, an AsyncMemSense"):
        AdaptedMemory(wrong)


async def test_a_blocking_call_over_an_asynchronous_memory_does_not_block_its_loop(
    memory: MemSense,
) -> None:
    adapted = AdaptedMemory(AsyncMemSense.over(memory))
    with pytest.raises(InvalidInputError, match=r"await the adapter's asynchronous method"):
        _ = adapted.blocking
    assert await asyncio.to_thread(lambda: adapted.blocking) is memory
    # Whoever passes a blocking memory has chosen to block.
    assert AdaptedMemory(memory).blocking is memory


async def test_an_adapter_over_an_asynchronous_memory_uses_its_threads(memory: MemSense) -> None:
    view = AsyncMemSense.over(memory).for_user("ada")
    awaited = AdaptedMemory(view).awaited
    assert awaited._threads is view._threads  # pyright: ignore[reportPrivateUsage]


async def test_an_adapter_may_be_made_before_its_memory_is_open(database_url: str) -> None:
    pytest.importorskip("agents")
    from memsense.integrations.openai_agents import MemSenseSession

    memory = AsyncMemSense.open(database_url)
    session = MemSenseSession(memory, user_id="ada", session_id="monday")
    with pytest.raises(InvalidInputError, match="this memory is not open"):
        await session.get_items()
    async with memory:
        assert await session.get_items() == []


async def test_a_store_over_a_user_s_view_holds_that_user_s_items_alone(memory: MemSense) -> None:
    pytest.importorskip("langgraph.store.base")
    from memsense.integrations.langgraph import MemSenseStore

    ada, eve = (MemSenseStore(memory.for_user(name)) for name in ("ada", "eve"))
    ada.put(("home",), "city", {"text": "Lisbon"})
    ada.put(("work", "ada"), "city", {"text": "Porto"})
    eve.put(("home",), "city", {"text": "Madrid"})
    assert {item.value["text"] for item in ada.search(())} == {"Lisbon", "Porto"}
    assert ada.list_namespaces() == [("home",), ("work", "ada")]
    assert ada.list_namespaces(max_depth=1) == [("home",), ("work",)]
    assert ada.list_namespaces(prefix=("*",)) == [("home",), ("work", "ada")]
    assert ada.list_namespaces(suffix=("ada",)) == [("work", "ada")]
    # Only the label before it, which the store hides, would make it so long.
    assert ada.list_namespaces(suffix=("ada", "home")) == []
    whole = MemSenseStore(memory, user_label=0)
    assert [item.value["text"] for item in whole.search(("ada", "home"))] == ["Lisbon"]
    memory.erase(user_id="ada")
    assert ada.search(()) == []
    assert [item.value["text"] for item in eve.search(())] == ["Madrid"]
    with pytest.raises(InvalidInputError, match="a store can't serve it"):
        MemSenseStore(memory.for_user("*"))
