"""Pydantic AI's agent with a scripted model, over the toolset."""

from dataclasses import dataclass
from typing import Any

import pytest

from memsense import AsyncMemSense, MemSense

pytest.importorskip("pydantic_ai", reason="needs memsense[pydantic-ai]")

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memsense.integrations.pydantic_ai import MemSenseToolset


@dataclass
class Deps:
    user_id: str


class Script:
    """A model that makes these calls, then answers; keeps what it was told of tools."""

    def __init__(self, *calls: ToolCallPart) -> None:
        self._answers: list[Any] = [*calls, TextPart("Done.")]
        self.tools: list[str] = []
        self.instructions = ""

    def __call__(self, _: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = [tool.name for tool in info.function_tools]
        self.instructions = info.instructions or ""
        return ModelResponse(parts=[self._answers.pop(0)])


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


async def test_what_one_run_remembers_the_next_one_recalls(memory: MemSense) -> None:
    script = Script(ToolCallPart("remember", {"text": "I moved to Lisbon.", "answer": "Noted."}))
    toolset = MemSenseToolset(memory, user_id="ada")
    await Agent(FunctionModel(script), toolsets=[toolset]).run("I moved to Lisbon.")
    assert script.tools == ["recall", "remember"]
    assert "memory of earlier conversations" in script.instructions
    script = Script(ToolCallPart("recall", {"question": "Who moved to Lisbon?", "top_k": 2}))
    result = await Agent(FunctionModel(script), toolsets=[toolset]).run("Where do I live?")
    assert result.output == "Done."
    [told] = returns(result.all_messages())
    assert "I moved to Lisbon." in str(told.content)
    assert "contribution" not in str(told.content)
    [document] = told.metadata["documents"]
    parts = document["explain"]["parts"]
    assert sum(parts.values()) == pytest.approx(document["score"])


async def test_whose_memory_it_is_comes_from_the_run(memory: MemSense) -> None:
    memory.add([{"role": "user", "content": "I live in Porto."}], user_id="eve", session_id="s")
    memory.add([{"role": "user", "content": "I live in Lisbon."}], user_id="ada", session_id="s")
    script = Script(ToolCallPart("recall", {"question": "Where do I live?"}))
    toolset = MemSenseToolset(AsyncMemSense.over(memory), user_id=lambda run: run.deps.user_id)
    agent = Agent(FunctionModel(script), deps_type=Deps, toolsets=[toolset])
    result = await agent.run("Where do I live?", deps=Deps("eve"))
    [told] = returns(result.all_messages())
    assert "Porto" in str(told.content)
    assert "Lisbon" not in str(told.content)


async def test_a_model_is_told_when_nothing_is_known(memory: MemSense) -> None:
    script = Script(ToolCallPart("recall", {"question": "Where do I live?"}))
    toolset = MemSenseToolset(memory, user_id="ada")
    result = await Agent(FunctionModel(script), toolsets=[toolset]).run("Where do I live?")
    [told] = returns(result.all_messages())
    assert told.content == "No memory answers this question."
    assert told.metadata["notes"]
