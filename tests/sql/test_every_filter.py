"""Every filter of a search, and `as_of`, holds in every verb that searches, and in MCP's tools."""

from collections.abc import Generator
from typing import Any

import anyio
import pytest
from embedders import HashingEmbedder
from every_filter import (
    CONTEXT,
    EARLY,
    INSIDE,
    LATE,
    NAMES,
    QUERY,
    RULES,
    SAID,
    Known,
    assert_inside,
    fill,
)
from mcp import Client
from mcp_answers import ask, call, text_of

from memsense import AsyncMemSense, MemSense, load_settings
from memsense.explain.why_not import FILTER_REASONS
from memsense.mcp.scope import OneScope, Scope
from memsense.mcp.server import build_server
from memsense.search.card import RULE_REASON
from memsense.search.prompt import Prompt


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.fixture(scope="module")
def known(memory: MemSense) -> Known:
    return fill(memory)


def card_of(prompt: Prompt) -> str:
    return " ".join([line.text for line in prompt.lines if line.chance is None])


FACES = ("search", "search of sessions", "search_many", "context", "card", "rules")


def show(face: str, memory: MemSense, **filters: Any) -> object:
    """Return what a verb shows of a user's memories."""
    given: dict[str, Any] = {"user_id": "ada", **filters}
    if face == "search_many":
        return memory.search_many([QUERY, QUERY], **given)[1].as_dict()
    if face.startswith("search"):
        granularity = "session" if face == "search of sessions" else "turn"
        return memory.search(QUERY, granularity=granularity, **given).as_dict()
    if face == "rules":
        # They are those of one project, so that both are asked for.
        projects = [given.pop("project")] if "project" in given else ["looms", "mills"]
        shown = [memory.context(QUERY, project=it, **RULES, **given) for it in projects]
        lines = [line for prompt in shown for line in prompt.lines]
        assert all(line.because.startswith(RULE_REASON) for line in lines)
        return " ".join(line.text for line in lines)
    prompt = memory.context(QUERY, **CONTEXT, **given)
    return card_of(prompt) if face == "card" else prompt


@pytest.mark.parametrize("face", FACES)
def test_without_a_filter_everything_is_shown(memory: MemSense, known: Known, face: str) -> None:
    assert known.chunks
    assert_inside(show(face, memory), set())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("face", FACES)
def test_nothing_outside_of_a_filter_is_shown(
    memory: MemSense, known: Known, face: str, name: str
) -> None:
    value, outside = known.value(name)
    assert_inside(show(face, memory, **{name: value}), outside)


@pytest.mark.parametrize("face", FACES)
def test_all_filters_together_show_what_each_of_them_lets_through(
    memory: MemSense, known: Known, face: str
) -> None:
    every = {name: known.value(name)[0] for name in NAMES}
    assert_inside(show(face, memory, **every), SAID.keys() - {INSIDE})


@pytest.mark.parametrize("name", NAMES)
def test_why_not_names_the_filter(memory: MemSense, known: Known, name: str) -> None:
    value, outside = known.value(name)
    for word, chunk_id in known.chunks.items():
        verdict = memory.why_not(QUERY, chunk_id, user_id="ada", **{name: value})
        assert (verdict.step == "hit") == (word not in outside)
        if word in outside and name in FILTER_REASONS:
            assert FILTER_REASONS[name] in verdict.text


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_of_mcp_shows_nothing_outside_of_a_filter(
    module_database_url: str, known: Known, name: str
) -> None:
    value, outside = known.value(name)

    async def work(client: Client) -> None:
        for explain in (False, True):
            arguments = {"question": QUERY, "min_score": 0, "explain": explain}
            assert_inside(text_of(await call(client, "recall", **arguments)), set())
            told = await call(client, "recall", **arguments, **{name: value})
            assert_inside(f"{text_of(told)} {told.structured_content}", outside)
        for word, chunk_id in known.chunks.items():
            asked = {"question": QUERY, "chunk_id": chunk_id, name: value}
            verdict = await ask(client, "why_not", **asked)
            assert ("step hit: " in verdict) == (word not in outside)

    async def main() -> None:
        settings = load_settings(database_url=module_database_url)
        opened = AsyncMemSense.open(settings=settings, embedder=HashingEmbedder())
        async with OneScope(settings, Scope(user_id="ada"), opened) as find:
            async with Client(build_server(find, read_only=True)) as client:
                await work(client)

    anyio.run(main)


def test_a_card_takes_only_kinds_that_both_it_and_the_caller_want(
    memory: MemSense, known: Known
) -> None:
    assert known.chunks
    given: Any = {"user_id": "ada", **CONTEXT}
    assert_inside(card_of(memory.context(QUERY, kinds=["stable", "episodic"], **given)), {INSIDE})
    # The card's memories are asked for by kind; an episodic one is a passage all the same.
    [chunk] = memory.add("I don't drink cocoa.", user_id="bob", memory_kind="episodic")
    prompt = memory.context(QUERY, kinds=["episodic"], user_id="bob", **CONTEXT)
    assert (prompt.chunk_ids, card_of(prompt)) == ((chunk.chunk_id,), "")


def test_a_card_of_a_moment_quotes_what_was_said_by_then(memory: MemSense) -> None:
    def add(text: str, session_id: str) -> Any:
        return memory.add(text, user_id="eve", session_id=session_id)[0]

    memory.settings.set(history="on")
    first = add("My name is Eva Porto.", "one")
    forgotten = add("I don't drink black coffee.", "two")
    moment = forgotten.recorded_at
    memory.update(first.chunk_id, content="My name is Eva Madrid.")
    memory.forget(forgotten.chunk_id)
    now = card_of(memory.context(QUERY, user_id="eve", **CONTEXT))
    assert now == "My name is Eva Madrid."
    then = card_of(memory.context(QUERY, user_id="eve", as_of=moment, **CONTEXT))
    assert then == "My name is Eva Porto. I don't drink black coffee."


def test_a_card_quotes_no_other_project_that_the_prompt_does_not_name(
    memory: MemSense, known: Known
) -> None:
    assert known.chunks
    given: Any = {"user_id": "ada", "project": "looms", **CONTEXT}
    assert_inside(card_of(memory.context("What should one know?", **given)), {EARLY, LATE})
    assert_inside(card_of(memory.context("What should one know at mills?", **given)), set())
