"""The OpenAI Agents SDK's runner with a scripted model, over a session of memsense's."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memsense import AsyncMemSense, MemSense

pytest.importorskip("agents", reason="needs memsense[openai-agents]")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.memory import Session
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from memsense.errors import DatabaseError
from memsense.integrations.openai_agents import MemSenseSession

QUIET = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    """Answers what the script says, and keeps what it was asked."""

    def __init__(self, *script: Any) -> None:
        self._script = list(script)
        self.asked: list[Any] = []
        self.instructed: list[str | None] = []

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        """The script's next answer."""
        self.instructed.append(given[0] if given else named["system_instructions"])
        self.asked.append(given[1] if len(given) > 1 else named["input"])
        return ModelResponse(output=[self._script.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Nobody streams here."""
        raise NotImplementedError


def say(text: str) -> ResponseOutputMessage:
    return ResponseOutputMessage(
        id="msg",
        role="assistant",
        status="completed",
        type="message",
        content=[ResponseOutputText(text=text, type="output_text", annotations=[])],
    )


def call(name: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id="call_1", name=name, arguments="{}", type="function_call"
    )


@function_tool
def weather() -> str:
    """The weather."""
    return "zanzibarword rain"


def session_of(memory: Any, session_id: str = "monday", user_id: str = "ada") -> MemSenseSession:
    return MemSenseSession(memory, user_id=user_id, session_id=session_id)


async def test_a_runner_goes_on_where_its_session_ended(memory: MemSense) -> None:
    session = session_of(memory)
    assert isinstance(session, Session)
    model = ScriptedModel(call("weather"), say("It rains."), say("You asked of the weather."))
    agent = Agent(name="a", model=model, tools=[weather])
    first = await Runner.run(agent, "How is the weather?", session=session, run_config=QUIET)
    assert first.final_output == "It rains."
    kept = await session.get_items()
    assert [item.get("type") or item.get("role") for item in kept] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
    ]
    await Runner.run(agent, "What did I ask?", session=session_of(memory), run_config=QUIET)
    assert model.asked[2][:4] == kept
    assert model.asked[2][4] == {"role": "user", "content": "What did I ask?"}


async def test_what_was_said_is_remembered_and_no_tool_s_result(memory: MemSense) -> None:
    model = ScriptedModel(call("weather"), say("It rains in Lisbon."))
    agent = Agent(name="a", model=model, tools=[weather])
    await Runner.run(agent, "How is it in Lisbon?", session=session_of(memory), run_config=QUIET)
    [hit] = memory.search("Does it rain in Lisbon?", user_id="ada")
    assert hit.content == "user: How is it in Lisbon?\nassistant: It rains in Lisbon."
    assert hit.session_id == "monday"
    [chunk] = memory.recent(user_id="ada")
    assert "zanzibarword" not in chunk.content


def with_context(session: MemSenseSession) -> RunConfig:
    return RunConfig(tracing_disabled=True, call_model_input_filter=session.add_context)


async def test_a_model_gets_what_earlier_sessions_say_and_no_session_stores_it(
    memory: MemSense,
) -> None:
    model = ScriptedModel(say("Noted."), call("weather"), say("It rains in Lisbon."))
    agent = Agent(name="a", model=model, tools=[weather], instructions="Be brief.")
    first = session_of(memory)
    said = "I moved to Lisbon with my cat Zorro."
    await Runner.run(agent, said, session=first, run_config=with_context(first))
    assert model.instructed == ["Be brief."]  # nothing is known, and the session is no memory
    second = session_of(memory, "tuesday")
    question = "Where did I move with my cat Zorro?"
    await Runner.run(agent, question, session=second, run_config=with_context(second))
    before, after = model.instructed[1:]
    assert before is not None
    assert before == after  # a round of tool calls has the same
    assert before.startswith("Be brief.\n\n<memsense-context")
    assert said in before
    assert "memsense-context" not in str(await second.get_items())
    third = session_of(memory, "tuesday", user_id="eve")
    model = ScriptedModel(say("I don't know."))
    await Runner.run(
        Agent(name="a", model=model), question, session=third, run_config=with_context(third)
    )
    assert model.instructed == [None]


async def test_a_memory_that_is_away_leaves_the_context_out_and_loses_no_item_silently(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with MemSense.open(database_url) as memory:
        pass
    session = session_of(memory)
    agent = Agent(name="a", model=ScriptedModel(say("Hello."), say("Hello.")))
    with caplog.at_level(logging.WARNING, "memsense"):
        result = await Runner.run(agent, "Hi.", run_config=with_context(session))
    assert result.final_output == "Hello."
    assert any("the model gets no context" in it.getMessage() for it in caplog.records)
    with pytest.raises(DatabaseError):
        await Runner.run(agent, "Hi.", session=session, run_config=QUIET)


async def test_items_come_back_in_order_and_a_limit_takes_the_latest(memory: MemSense) -> None:
    async def fill(session: MemSenseSession) -> None:
        for number in range(3):
            await session.add_items([{"role": "user", "content": f"number {number}"}])

    session = session_of(AsyncMemSense.over(memory))
    await fill(session)
    assert [item.get("content") for item in await session.get_items()] == [
        "number 0",
        "number 1",
        "number 2",
    ]
    assert [item.get("content") for item in await session.get_items(2)] == ["number 1", "number 2"]
    assert await session.get_items(0) == []
    assert await session_of(memory, user_id="eve").get_items() == []
    assert await session_of(memory, "tuesday").get_items() == []


async def test_what_is_popped_is_gone_from_memory_too(memory: MemSense) -> None:
    session = session_of(memory)
    await session.add_items(
        [
            {"role": "user", "content": "Where is the key?"},
            {"role": "assistant", "content": "Under the xylophone."},
        ]
    )
    popped = await session.pop_item()
    assert popped == {"role": "assistant", "content": "Under the xylophone."}
    [chunk] = memory.recent(user_id="ada")
    assert chunk.content == "user: Where is the key?"
    await session.add_items([{"role": "assistant", "content": "On the shelf."}])
    [chunk] = memory.recent(user_id="ada")
    assert chunk.content == "user: Where is the key?\nassistant: On the shelf."
    assert await session.pop_item() == {"role": "assistant", "content": "On the shelf."}
    assert await session.pop_item() == {"role": "user", "content": "Where is the key?"}
    assert await session.pop_item() is None
    assert memory.recent(user_id="ada") == []


async def test_clearing_erases_one_session(memory: MemSense) -> None:
    for name in ("monday", "tuesday"):
        await session_of(memory, name).add_items([{"role": "user", "content": f"It is {name}."}])
    await session_of(memory).clear_session()
    await session_of(memory).clear_session()
    assert await session_of(memory).get_items() == []
    assert [chunk.session_id for chunk in memory.recent(user_id="ada")] == ["tuesday"]


async def test_erasing_takes_the_history_along(memory: MemSense) -> None:
    session, other = session_of(memory), session_of(memory, "tuesday")
    said = [
        {"role": "user", "content": "My key is under the mat."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Thanks."},
    ]
    await session.add_items([dict(item) for item in said])  # pyright: ignore[reportArgumentType]
    await other.add_items([{"role": "user", "content": "Good morning."}])
    [chunk] = [one for one in memory.recent(user_id="ada") if "mat" in one.content]
    assert memory.delete(chunk.chunk_id).counts["items"] == 2
    assert await session.get_items() == [said[2]]
    memory.erase(user_id="ada", session_id="tuesday")
    assert await other.get_items() == []
    memory.erase(user_id="ada")
    assert await session.get_items() == []
