"""Google ADK's runner with a scripted model, over the memory service."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from memsense import AsyncMemSense, MemSense
from memsense.errors import NotFoundError

pytest.importorskip("google.adk", reason="needs memsense[google-adk]")

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory
from google.genai.types import Content, Part

from memsense.integrations.google_adk import MemSenseMemoryService


class ScriptedLlm(BaseLlm):
    """Answers what the script says, and keeps what it was asked."""

    script: list[Part]
    asked: list[Any]

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        """The script's next answer."""
        assert not stream
        self.asked.append(llm_request)
        yield LlmResponse(content=Content(role="model", parts=[self.script.pop(0)]))


def say(text: str) -> Content:
    return Content(role="user", parts=[Part(text=text)])


async def run(service: MemSenseMemoryService, question: str, *script: Part) -> tuple[Session, Any]:
    """One question in a session of its own, which is then remembered."""
    sessions = InMemorySessionService()
    model = ScriptedLlm(model="scripted", script=list(script), asked=[])
    agent = LlmAgent(name="helper", model=model, tools=[load_memory])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name="app", user_id="ada")
    async for _ in runner.run_async(
        user_id="ada", session_id=session.id, new_message=say(question)
    ):
        pass
    done = await sessions.get_session(app_name="app", user_id="ada", session_id=session.id)
    assert done is not None
    await service.add_session_to_memory(done)
    return done, model


async def search(service: MemSenseMemoryService, query: str, **place: str) -> list[MemoryEntry]:
    given = {"app_name": "app", "user_id": "ada", **place}
    return (await service.search_memory(query=query, **given)).memories


async def test_a_fact_of_one_session_is_in_the_model_s_request_in_the_next(
    memory: MemSense,
) -> None:
    service = MemSenseMemoryService(memory)
    first, _ = await run(service, "I moved to Lisbon.", Part(text="Noted."))
    call = Part.from_function_call(name="load_memory", args={"query": "Who moved to Lisbon?"})
    _, model = await run(service, "Where do I live?", call, Part(text="In Lisbon."))
    told = model.asked[-1].contents[-1].parts[-1].function_response.response
    assert "I moved to Lisbon." in str(told)
    [entry, *_] = await search(service, "Who moved to Lisbon?")
    assert entry.custom_metadata["session_id"] == first.id
    parts = entry.custom_metadata["explain"]["parts"]
    assert sum(parts.values()) == pytest.approx(entry.custom_metadata["score"])


async def test_a_session_that_is_added_again_is_stored_once(memory: MemSense) -> None:
    service = MemSenseMemoryService(AsyncMemSense.over(memory))
    session, _ = await run(service, "I moved to Lisbon.", Part(text="Noted."))
    await service.add_session_to_memory(session)
    [chunk] = memory.recent(user_id="ada")
    assert chunk.content == "user: I moved to Lisbon.\nassistant: Noted."
    more = Event(author="user", content=say("And I have a dog."))
    await service.add_events_to_memory(
        app_name="app", user_id="ada", session_id=session.id, events=[*session.events, more]
    )
    assert len(memory.recent(user_id="ada")) == 2


async def test_what_is_deleted_stays_away(memory: MemSense) -> None:
    service = MemSenseMemoryService(memory)
    session, _ = await run(service, "I moved to Lisbon.", Part(text="Noted."))
    [entry] = await search(service, "Lisbon")
    assert entry.id is not None
    for place in ({"app_name": "app", "user_id": "eve"}, {"app_name": "other", "user_id": "ada"}):
        with pytest.raises(NotFoundError):
            await service.delete_memory(memory_id=entry.id, **place)
    await service.delete_memory(app_name="app", user_id="ada", memory_id=entry.id)
    await service.add_session_to_memory(session)
    assert await search(service, "Lisbon") == []


async def test_an_app_finds_its_own_unless_across_apps(memory: MemSense) -> None:
    service = MemSenseMemoryService(memory)
    entry = MemoryEntry(content=say("I moved to Lisbon."), author="user")
    await service.add_memory(
        app_name="app", user_id="ada", memories=[entry], custom_metadata={"source": "form"}
    )
    [found] = await search(service, "Lisbon")
    assert found.custom_metadata["agent_id"] == "app"
    assert await search(service, "Lisbon", app_name="other") == []
    assert await search(service, "Lisbon", user_id="eve") == []
    across = MemSenseMemoryService(memory, across_apps=True)
    assert len(await search(across, "Lisbon", app_name="other")) == 1
    [chunk] = memory.recent(user_id="ada")
    assert chunk.metadata == {"source": "form"}
