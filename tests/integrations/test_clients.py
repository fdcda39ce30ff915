"""OpenAI's and Anthropic's own clients, wrapped, against a server that answers from a script."""

import asyncio
import copy
import gc
import json
import logging
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, assert_type

import pytest
from scripted_models import BREAK, ScriptedModels, serve_models

from memsense import AsyncMemSense, MemSense, off_the_record, remember
from memsense.errors import DatabaseError, InvalidInputError

anthropic = pytest.importorskip("anthropic", reason="needs anthropic")
openai = pytest.importorskip("openai", reason="needs memsense[openai]")

OPENING = "<memsense-context>"
FACT = "I moved to Lisbon."
QUESTION = "Who moved to Lisbon?"
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Good morning."},
    {"role": "assistant", "content": "Good morning, Ada."},
]


@pytest.fixture
def models() -> Generator[ScriptedModels]:
    with serve_models() as models:
        yield models


@pytest.fixture
def told(memory: MemSense) -> MemSense:
    """A memory that knows of an earlier session, and of another user."""
    memory.add([{"role": "user", "content": FACT}], user_id="ada", session_id="monday")
    eve = {"role": "user", "content": "Eve moved to Lisbon."}
    memory.add([eve], user_id="eve", session_id="monday")
    return memory


def open_client(name: str, models: ScriptedModels) -> Any:
    """Return a plain client of the server, such as `OpenAI`."""
    library = openai if "OpenAI" in name else anthropic
    return getattr(library, name)(api_key="none", base_url=models.url, max_retries=0)


def list_new(memory: MemSense) -> list[str]:
    """Return what is stored besides the session of before, oldest first."""
    stored = memory.list(user_id="ada", order="oldest")
    return [chunk.content for chunk in stored if chunk.session_id != "monday"]


# Every way to ask -------------------------------------------------------------------------------

CHAT: Any = {"model": "scripted"}
MESSAGES: Any = {"model": "scripted", "max_tokens": 100}


def read_chat(chunks: Any) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def read_deltas(events: Any) -> str:
    deltas = (getattr(event, "delta", "") for event in events)
    texts = (it if isinstance(it, str) else getattr(it, "text", "") for it in deltas)
    return "".join(texts)


def chat_create(client: Any, messages: Any) -> str:
    done = client.chat.completions.create(messages=messages, **CHAT)
    return done.choices[0].message.content


def chat_parse(client: Any, messages: Any) -> str:
    return client.chat.completions.parse(messages=messages, **CHAT).choices[0].message.content


def chat_raw(client: Any, messages: Any) -> str:
    raw = client.chat.completions.with_raw_response.create(messages=messages, **CHAT)
    return raw.parse().choices[0].message.content


def chat_stream(client: Any, messages: Any) -> str:
    return read_chat(client.chat.completions.create(messages=messages, stream=True, **CHAT))


def chat_raw_stream(client: Any, messages: Any) -> str:
    raw = client.chat.completions.with_raw_response
    return read_chat(raw.create(messages=messages, stream=True, **CHAT).parse())


def chat_helper(client: Any, messages: Any) -> str:
    with client.chat.completions.stream(messages=messages, **CHAT) as stream:
        return stream.get_final_completion().choices[0].message.content


def responses_create(client: Any, messages: Any) -> str:
    return client.responses.create(input=messages, **CHAT).output_text


def responses_stream(client: Any, messages: Any) -> str:
    events = client.responses.create(input=messages, stream=True, **CHAT)
    return "".join(it.delta for it in events if it.type == "response.output_text.delta")


def responses_helper(client: Any, messages: Any) -> str:
    with client.responses.stream(input=messages, **CHAT) as stream:
        return stream.get_final_response().output_text


def messages_create(client: Any, messages: Any) -> str:
    return client.messages.create(messages=messages, **MESSAGES).content[-1].text


def messages_beta(client: Any, messages: Any) -> str:
    return client.beta.messages.create(messages=messages, **MESSAGES).content[-1].text


def messages_stream(client: Any, messages: Any) -> str:
    events = client.messages.create(messages=messages, stream=True, **MESSAGES)
    return read_deltas(it for it in events if it.type == "content_block_delta")


def messages_helper(client: Any, messages: Any) -> str:
    with client.messages.stream(messages=messages, **MESSAGES) as stream:
        return "".join(stream.text_stream)


WAYS: dict[str, list[Callable[[Any, Any], str]]] = {
    "OpenAI": [
        chat_create,
        chat_parse,
        chat_raw,
        chat_stream,
        chat_raw_stream,
        chat_helper,
        responses_create,
        responses_stream,
        responses_helper,
    ],
    "Anthropic": [messages_create, messages_beta, messages_stream, messages_helper],
}


@pytest.mark.parametrize(
    ("name", "ask"), [(name, way) for name, ways in WAYS.items() for way in ways]
)
def test_a_client_gets_the_context_and_stores_the_exchange(
    models: ScriptedModels, told: MemSense, name: str, ask: Callable[[Any, Any], str]
) -> None:
    models.script = ["Noted: you live in Lisbon."]
    messages = [*HISTORY, {"role": "user", "content": QUESTION}]
    before = copy.deepcopy(messages)
    with open_client(name, models) as plain:
        place: Any = {"session_id": "tuesday", "agent_id": "helper", "project": "moving"}
        client = remember(plain, told, user_id="ada", **place)
        assert type(client) is type(plain)
        assert ask(client, messages) == "Noted: you live in Lisbon."
    assert messages == before
    [body] = models.bodies
    sent = body.get("messages") or body["input"]
    assert sent[:-1] == HISTORY
    last = json.dumps(sent[-1])
    assert last.index(QUESTION) < last.index(OPENING) < last.index(FACT)
    assert "Eve moved" not in last
    [chunk] = [it for it in told.list(user_id="ada") if it.session_id == "tuesday"]
    assert chunk.user_text == QUESTION
    assert chunk.assistant_text == "Noted: you live in Lisbon."
    assert (chunk.agent_id, chunk.project) == ("helper", "moving")


async def chat_create_async(client: Any, messages: Any) -> str:
    done = await client.chat.completions.create(messages=messages, **CHAT)
    return done.choices[0].message.content


async def chat_raw_async(client: Any, messages: Any) -> str:
    raw = await client.chat.completions.with_raw_response.create(messages=messages, **CHAT)
    return raw.parse().choices[0].message.content


async def chat_stream_async(client: Any, messages: Any) -> str:
    stream = await client.chat.completions.create(messages=messages, stream=True, **CHAT)
    return read_chat([chunk async for chunk in stream])


async def chat_helper_async(client: Any, messages: Any) -> str:
    async with client.chat.completions.stream(messages=messages, **CHAT) as stream:
        return (await stream.get_final_completion()).choices[0].message.content


async def responses_create_async(client: Any, messages: Any) -> str:
    return (await client.responses.create(input=messages, **CHAT)).output_text


async def responses_stream_async(client: Any, messages: Any) -> str:
    stream = await client.responses.create(input=messages, stream=True, **CHAT)
    return "".join([it.delta async for it in stream if it.type == "response.output_text.delta"])


async def messages_create_async(client: Any, messages: Any) -> str:
    return (await client.messages.create(messages=messages, **MESSAGES)).content[-1].text


async def messages_raw_async(client: Any, messages: Any) -> str:
    raw = await client.messages.with_raw_response.create(messages=messages, **MESSAGES)
    parsed = raw.parse()
    return (await parsed if asyncio.iscoroutine(parsed) else parsed).content[-1].text


async def messages_stream_async(client: Any, messages: Any) -> str:
    stream = await client.messages.create(messages=messages, stream=True, **MESSAGES)
    return read_deltas([it async for it in stream if it.type == "content_block_delta"])


async def messages_helper_async(client: Any, messages: Any) -> str:
    async with client.messages.stream(messages=messages, **MESSAGES) as stream:
        return "".join([text async for text in stream.text_stream])


ASYNC_WAYS: dict[str, list[Callable[[Any, Any], Any]]] = {
    "AsyncOpenAI": [
        chat_create_async,
        chat_raw_async,
        chat_stream_async,
        chat_helper_async,
        responses_create_async,
        responses_stream_async,
    ],
    "AsyncAnthropic": [
        messages_create_async,
        messages_raw_async,
        messages_stream_async,
        messages_helper_async,
    ],
}


@pytest.mark.parametrize(
    ("name", "ask"), [(name, way) for name, ways in ASYNC_WAYS.items() for way in ways]
)
async def test_an_asynchronous_client_does_so_too(
    models: ScriptedModels, told: MemSense, name: str, ask: Callable[[Any, Any], Any]
) -> None:
    models.script = ["Noted: you live in Lisbon."]
    async with open_client(name, models) as plain:
        client = remember(plain, AsyncMemSense.over(told).for_user("ada"))
        answer = await ask(client, [*HISTORY, {"role": "user", "content": QUESTION}])
    assert answer == "Noted: you live in Lisbon."
    assert FACT in json.dumps(models.bodies)
    assert list_new(told) == [f"user: {QUESTION}\nassistant: Noted: you live in Lisbon."]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("kind", ["MemSense", "AsyncMemSense", "UserMemory", "AsyncUserMemory"])
async def test_a_client_takes_any_kind_of_memory(
    models: ScriptedModels, told: MemSense, kind: str, is_async: bool
) -> None:
    models.script = ["In Lisbon."]
    whole = AsyncMemSense.over(told) if "Async" in kind else told
    place: Any = {} if "User" in kind else {"user_id": "ada"}
    memory = whole.for_user("ada") if "User" in kind else whole
    messages = [{"role": "user", "content": QUESTION}]
    if is_async:
        async with open_client("AsyncOpenAI", models) as plain:
            await chat_create_async(remember(plain, memory, **place), messages)
    else:
        with open_client("OpenAI", models) as plain:
            chat_create(remember(plain, memory, **place), messages)
    assert FACT in json.dumps(models.bodies)
    assert list_new(told) == [f"user: {QUESTION}\nassistant: In Lisbon."]


# What the model is sent -------------------------------------------------------------------------


def test_the_context_stands_where_caches_and_roles_stay_valid(
    models: ScriptedModels, told: MemSense
) -> None:
    models.script = ["Yes."] * 5
    parts = [{"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}}]
    with open_client("OpenAI", models) as one, open_client("Anthropic", models) as other:
        chat, messages = (remember(plain, told, user_id="ada") for plain in (one, other))
        chat_create(
            chat,
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}],
        )
        chat.responses.create(input=QUESTION, instructions="Be brief.", **CHAT)
        part = {"type": "input_text", "text": QUESTION}
        chat.responses.create(input=[{"role": "user", "content": [part]}], **CHAT)
        messages_create(messages, [{"role": "user", "content": QUESTION}])
        messages.messages.create(
            system="Be brief.", messages=iter([{"role": "user", "content": parts}]), **MESSAGES
        )
    first, second, third, fourth, fifth = models.bodies
    assert first["messages"][0] == {"role": "system", "content": "Be brief."}
    context = first["messages"][1]["content"].removeprefix(f"{QUESTION}\n\n")
    assert context.startswith(OPENING)
    assert second["input"].startswith(f"{QUESTION}\n\n{OPENING}")
    assert [it["type"] for it in third["input"][0]["content"]] == ["input_text", "input_text"]
    question, added = fourth["messages"][0]["content"]
    assert question == {"type": "text", "text": QUESTION}
    assert added["text"].startswith(OPENING)
    assert fifth["system"] == "Be brief."
    question, added = fifth["messages"][0]["content"]
    assert question == parts[0]
    assert added["text"].startswith(OPENING)


def test_a_request_is_sent_as_it_is_when_nothing_is_known(
    models: ScriptedModels, memory: MemSense
) -> None:
    models.script = ["Hello.", "Hello."]
    messages = [{"role": "user", "content": "Hi!"}]
    with open_client("Anthropic", models) as plain:
        messages_create(plain, messages)
        messages_create(remember(plain, memory, user_id="ada"), messages)
    assert models.bodies[0] == models.bodies[1]
    assert list_new(memory) == ["user: Hi!\nassistant: Hello."]


def test_other_requests_pass_as_they_are(models: ScriptedModels, told: MemSense) -> None:
    models.script = ["Yes."]
    messages = [{"role": "user", "content": QUESTION}]
    with open_client("Anthropic", models) as plain, suppress(anthropic.AnthropicError):
        client = remember(plain, told, user_id="ada")
        client.messages.count_tokens(messages=messages, model="scripted")
    assert models.paths == ["/v1/messages/count_tokens"]
    assert models.bodies[0]["messages"] == messages
    assert list_new(told) == []


def test_what_stands_in_the_request_is_not_in_its_context(
    models: ScriptedModels, told: MemSense
) -> None:
    models.script = ["Noted.", "In Porto.", "In Porto."]
    said = "My sister moved to Porto."
    with open_client("OpenAI", models) as plain:
        client = remember(plain, told, user_id="ada", session_id="tuesday")
        chat_create(client, [{"role": "user", "content": said}])
        # Another process goes on with the session.
        client = remember(plain, told, user_id="ada", session_id="tuesday")
        question = {"role": "user", "content": "Who moved to Lisbon and Porto?"}
        shown = [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}]
        chat_create(client, [*shown, question])
        chat_create(client, [question])
    with_history, without = (body["messages"][-1]["content"] for body in models.bodies[1:])
    assert FACT in with_history
    assert said not in with_history
    assert said in without


# Rounds of tool calls ---------------------------------------------------------------------------


def chat_round(client: Any, messages: list[Any]) -> None:
    message = client.chat.completions.create(messages=messages, **CHAT).choices[0].message
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": "Rain."}
        for call in message.tool_calls or ()
    ]


def responses_round(client: Any, messages: list[Any]) -> None:
    output = client.responses.create(input=messages, **CHAT).output
    messages += output
    messages += [
        {"type": "function_call_output", "call_id": item.call_id, "output": "Rain."}
        for item in output
        if item.type == "function_call"
    ]


def messages_round(client: Any, messages: list[Any]) -> None:
    content = client.messages.create(messages=messages, **MESSAGES).content
    messages.append({"role": "assistant", "content": content})
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "Rain."}
        for block in content
        if block.type == "tool_use"
    ]
    if results:
        messages.append({"role": "user", "content": results})


@pytest.mark.parametrize(
    ("name", "ask"),
    [("OpenAI", chat_round), ("OpenAI", responses_round), ("Anthropic", messages_round)],
)
def test_rounds_of_tool_calls_share_one_context_and_are_stored_once(
    models: ScriptedModels, told: MemSense, name: str, ask: Callable[[Any, list[Any]], None]
) -> None:
    models.script = [("weather", "call-1"), ("weather", "call-2"), "It rains in Lisbon."]
    messages: list[Any] = [*HISTORY, {"role": "user", "content": QUESTION}]
    with open_client(name, models) as plain:
        client = remember(plain, told, user_id="ada")
        for _ in range(3):
            assert list_new(told) == []
            ask(client, messages)
            # A search would find it now.
            late = {"role": "user", "content": "Zoe moved to Lisbon."}
            told.add([late], user_id="ada", session_id="monday")
    sent = [body.get("messages") or body["input"] for body in models.bodies]
    assert FACT in json.dumps(sent[0][2])
    assert sent[0][:3] == sent[1][:3] == sent[2][:3]
    assert OPENING not in json.dumps([it[3:] for it in sent])
    assert list_new(told) == [f"user: {QUESTION}\nassistant: It rains in Lisbon."]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_rounds_whose_messages_openai_keeps_are_stored_once(
    models: ScriptedModels, told: MemSense, key: str
) -> None:
    models.script = [("weather", "call-1"), "It rains in Lisbon."]
    with open_client("OpenAI", models) as plain:
        client = remember(plain, told, user_id="ada")
        place: Any = {} if key == "previous_response_id" else {key: "conv-1"}
        first = client.responses.create(input=QUESTION, **CHAT, **place)
        place = {key: first.id} if key == "previous_response_id" else place
        result = {"type": "function_call_output", "call_id": "call-1", "output": "Rain."}
        client.responses.create(input=[result], **CHAT, **place)
    assert models.bodies[1]["input"] == [result]
    assert list_new(told) == [f"user: {QUESTION}\nassistant: It rains in Lisbon."]


def test_a_call_that_the_model_was_made_to_make_is_an_answer(
    models: ScriptedModels, memory: MemSense
) -> None:
    models.script = [("save_city", "call-1"), "Saved."]
    messages: list[Any] = [{"role": "user", "content": FACT}]
    choice: Any = {"type": "tool", "name": "save_city"}
    with open_client("Anthropic", models) as plain:
        client = remember(plain, memory, user_id="ada")
        done = client.messages.create(messages=messages, tool_choice=choice, **MESSAGES)
        assert list_new(memory) == [f"user: {FACT}"]
        result = {"type": "tool_result", "tool_use_id": "call-1", "content": "Done."}
        messages += [
            {"role": "assistant", "content": done.content},
            {"role": "user", "content": [result]},
        ]
        messages_create(client, messages)
    assert list_new(memory) == [f"user: {FACT}\nassistant: Saved."]


# Streams that end early -------------------------------------------------------------------------

LONG = "Lisbon is on the Tagus."


def stop_chat(client: Any) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    with client.chat.completions.create(messages=messages, stream=True, **CHAT) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content == "is ":
                break


def stop_chat_helper(client: Any) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    with client.chat.completions.stream(messages=messages, **CHAT) as stream:
        for event in stream:
            if event.type == "content.delta" and event.delta == "is ":
                break


def close_responses(client: Any) -> None:
    stream = client.responses.create(input=QUESTION, stream=True, **CHAT)
    for event in stream:
        if event.type == "response.output_text.delta" and event.delta == "is ":
            stream.close()
            break


def stop_messages(client: Any) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    with client.messages.stream(messages=messages, **MESSAGES) as stream:
        for text in stream.text_stream:
            if text == "is ":
                break


def drop_messages(client: Any) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    for event in client.messages.create(messages=messages, stream=True, **MESSAGES):
        if getattr(getattr(event, "delta", None), "text", "") == "is ":
            break
    gc.collect()


@pytest.mark.parametrize(
    ("name", "leave"),
    [
        ("OpenAI", stop_chat),
        ("OpenAI", stop_chat_helper),
        ("OpenAI", close_responses),
        ("Anthropic", stop_messages),
        ("Anthropic", drop_messages),
    ],
)
def test_a_stream_that_is_left_is_stored_as_far_as_it_went(
    models: ScriptedModels, told: MemSense, name: str, leave: Callable[[Any], None]
) -> None:
    models.script = [LONG]
    with open_client(name, models) as plain:
        leave(remember(plain, told, user_id="ada"))
    assert list_new(told) == [f"user: {QUESTION}\nassistant: Lisbon is"]


async def test_so_is_an_asynchronous_one(models: ScriptedModels, told: MemSense) -> None:
    models.script = [LONG]
    messages = [{"role": "user", "content": QUESTION}]
    async with open_client("AsyncAnthropic", models) as plain:
        client = remember(plain, told, user_id="ada")
        async with client.messages.stream(messages=messages, **MESSAGES) as stream:
            async for text in stream.text_stream:
                if text == "is ":
                    break
    assert list_new(told) == [f"user: {QUESTION}\nassistant: Lisbon is"]


async def test_so_is_that_of_a_cancelled_task(models: ScriptedModels, told: MemSense) -> None:
    models.script = [f"Lisbon is {BREAK}"]
    models.goes_on.clear()
    has_read = asyncio.Event()

    async def read(client: Any) -> None:
        messages = [{"role": "user", "content": QUESTION}]
        async for chunk in await client.chat.completions.create(
            messages=messages, stream=True, **CHAT
        ):
            if chunk.choices[0].delta.content == "is ":
                has_read.set()

    async with open_client("AsyncOpenAI", models) as plain:
        task = asyncio.create_task(read(remember(plain, told, user_id="ada")))
        await has_read.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert list_new(told) == [f"user: {QUESTION}\nassistant: Lisbon is"]
        models.goes_on.set()


@pytest.mark.parametrize(("name", "ask"), [("OpenAI", chat_stream), ("Anthropic", messages_stream)])
def test_a_call_that_fails_stores_nothing(
    models: ScriptedModels, told: MemSense, name: str, ask: Callable[[Any, Any], str]
) -> None:
    models.script = [500, f"Lisbon is {BREAK}", "In Lisbon."]
    messages = [{"role": "user", "content": QUESTION}]
    errors: Any = (openai.OpenAIError, anthropic.AnthropicError, *network_errors())
    with open_client(name, models) as plain:
        client = remember(plain, told, user_id="ada")
        for _ in range(2):
            with pytest.raises(errors):
                ask(client, messages)
            assert list_new(told) == []
        ask(client, messages)
    assert list_new(told) == [f"user: {QUESTION}\nassistant: In Lisbon."]


def network_errors() -> list[type[Exception]]:
    """Return the errors of the HTTP libraries that the clients may use."""
    names = ("httpx", "httpx2")
    return [module.HTTPError for name in names if (module := pytest.importorskip(name))]


def test_no_secret_is_stored(models: ScriptedModels, memory: MemSense) -> None:
    models.script = ["Your key is AKIA" + "QX7T3MZ5PLR2WVN8" + "."]
    said = "My AWS key is AKIA" + "QX7T3MZ5PLR2WVN8" + ", and I live in Lisbon."
    with open_client("OpenAI", models) as plain:
        chat_create(remember(plain, memory, user_id="ada"), [{"role": "user", "content": said}])
    [stored] = list_new(memory)
    assert "AKIA" not in stored
    assert "I live in Lisbon." in stored
    assert models.bodies[0]["messages"][0]["content"] == said


# When not to, and when it can't -----------------------------------------------------------------


def test_the_caller_switches_it_off_for_some_calls(models: ScriptedModels, told: MemSense) -> None:
    models.script = ["Yes."] * 3
    messages = [{"role": "user", "content": QUESTION}]
    with open_client("OpenAI", models) as plain:
        client = remember(plain, told, user_id="ada")
        with off_the_record():
            chat_create(client, messages)
        chat_create(plain, messages)
        assert OPENING not in json.dumps(models.bodies)
        assert list_new(told) == []
        chat_create(client, messages)
    assert OPENING in json.dumps(models.bodies[2])
    assert list_new(told) == [f"user: {QUESTION}\nassistant: Yes."]


def test_other_options_of_a_client_leave_it_its_memory(
    models: ScriptedModels, told: MemSense
) -> None:
    models.script = ["Yes."]
    with open_client("OpenAI", models) as plain:
        client = remember(plain, told, user_id="ada").with_options(timeout=5).copy()
        chat_create(client, [{"role": "user", "content": QUESTION}])
    assert OPENING in json.dumps(models.bodies)
    assert len(list_new(told)) == 1


def test_a_client_that_remembers_gets_another_memory_and_not_a_second_one(
    models: ScriptedModels, told: MemSense
) -> None:
    models.script = ["Yes."]
    with open_client("OpenAI", models) as plain:
        client = remember(remember(plain, told, user_id="eve"), told, user_id="ada")
        chat_create(client, [{"role": "user", "content": QUESTION}])
    assert json.dumps(models.bodies).count(OPENING) == 1
    assert "Eve moved" not in json.dumps(models.bodies)
    assert len(told.list(user_id="eve")) == 1


@pytest.mark.parametrize(("name", "ask"), [("OpenAI", chat_stream), ("Anthropic", messages_create)])
def test_a_failing_memory_does_not_break_the_call(
    models: ScriptedModels,
    database_url: str,
    name: str,
    ask: Callable[[Any, Any], str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    models.script = ["In Lisbon."] * 2
    messages = [{"role": "user", "content": QUESTION}]
    with MemSense.open(database_url) as memory:
        pass
    with open_client(name, models) as plain, caplog.at_level(logging.WARNING, "memsense"):
        assert ask(remember(plain, memory, user_id="ada"), messages) == "In Lisbon."
        first, second = (record.getMessage() for record in caplog.records)
        assert first.startswith("the model gets no context: ")
        assert second.startswith("the exchange is not stored: ")
        with pytest.raises(DatabaseError):
            ask(remember(plain, memory, user_id="ada", strict=True), messages)
    assert len(models.bodies) == 1


def test_what_can_t_be_wrapped_is_refused(models: ScriptedModels, memory: MemSense) -> None:
    with pytest.raises(InvalidInputError, match="client must be one of openai's or anthropic's"):
        remember(object(), memory, user_id="ada")
    with open_client("OpenAI", models) as plain:
        with pytest.raises(InvalidInputError, match="this is the memory of 'ada' alone"):
            remember(plain, memory.for_user("ada"), user_id="eve")
        with pytest.raises(InvalidInputError, match="max_tokens"):
            remember(plain, memory, user_id="ada", max_tokens=0)


def test_a_client_keeps_its_type(models: ScriptedModels, memory: MemSense) -> None:
    from openai import OpenAI

    with OpenAI(api_key="none", base_url=models.url) as plain:
        client = remember(plain, memory, user_id="ada")
        assert_type(client, OpenAI)
        assert isinstance(client, OpenAI)
