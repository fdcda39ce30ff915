"""Whatever the bytes: a reader gives conversations or raises `IngestError`, nothing else."""

import copy
import io
import json
from functools import partial
from typing import cast

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from small_logs import SMALL_LOGS

from memsense.errors import IngestError
from memsense.ingest import (
    ReadOptions,
    ReadReport,
    Source,
    message_hash,
    message_key,
    pair_exchanges,
    read_source,
)

TIMES = 10 if settings.get_current_profile_name() == "random" else 1
"""`pytest --all` tries ten times as many logs, or more."""

# The words that the readers look for, so that random values get past the first check.
KEYS = (
    "type message messages content text role uuid parentUuid sessionId id parentId payload "
    "mapping current_node parent author parts content_type recipient weight metadata "
    "create_time chat_messages sender attachments files conversations from value data kwargs lc "
    "values config configurable thread_id conversation speaker_a session_1 session_1_date_time "
    "haystack_sessions haystack_session_ids haystack_dates question_id ts user thread_ts blocks "
    "elements chats list date_unixtime contents chunkedPrompt chunks history prompt response "
    "input instruction timestamp isSidechain isMeta turn request body choices title summary"
)
WORDS = (
    "user assistant human ai system tool session message session_meta event_msg response_item "
    "user_message agent_message session_metadata remove chat text summary all 1452837318.000002 "
    "2024-01-01T00:00:00Z 9999-12-31T23:59:59+14:00 \ud83d \x00 <@U1> null D1 "
    "<command-args>x</command-args> [[reply_to_current]]"
)
LINES = (
    "[2019-12-24, 12:23] Jane: hi",
    "20/01/19, 11:23 - Ana: x",
    "99/99/99, 99:99 - Ana: x",
    "9999-99-99 25:61:61 - Ana: x",
    "01/01/2019, 11:25 a. m. - Ana: \u200e<Media omitted>",
    "User: hello",
    "Assistant: hi",
    "## User",
    "**Human:** x",
    "> quoted",
    "<v Ana>cue</v>",
    "00:01.000 --> 00:02.000",
    "session_id;role;content",
    'a;user;"open quote',
    "sep=;",
    "role,content",
    "\x00\x00",
    "",
)

# A valid log of each JSON format, to be broken in one place.
SEEDS: tuple[list[object], ...] = (
    [
        {"type": "summary", "summary": "t", "leafUuid": "u1"},
        {"type": "user", "uuid": "u0", "sessionId": "s", "message": {"content": "hi"}},
        {
            "type": "assistant",
            "uuid": "u1",
            "parentUuid": "u0",
            "sessionId": "s",
            "message": {"id": "m", "content": [{"type": "text", "text": "ok"}]},
        },
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "sessionId": "s",
            "isSidechain": True,
            "message": {"id": "m", "content": [{"type": "text", "text": "ok then"}]},
        },
    ],
    [
        {"type": "session", "id": "s", "cwd": "/", "timestamp": "2025-01-01T00:00:00Z"},
        {
            "type": "message",
            "id": "a",
            "parentId": None,
            "message": {
                "role": "user",
                "timestamp": 1735732803000,
                "content": 'Sender (untrusted metadata):\n```json\n{"name": "x"}\n```\n\nhi',
            },
        },
        {
            "type": "message",
            "id": "b",
            "parentId": "a",
            "message": {"role": "assistant", "content": [{"type": "toolCall"}]},
        },
    ],
    [
        {"type": "session_meta", "payload": {"id": "s", "timestamp": "2025-01-01T00:00:00Z"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "hi"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "ok"}],
            },
        },
    ],
    [
        {"type": "session_metadata", "sessionId": "s", "startTime": "2025-01-01T00:00:00Z"},
        {"type": "user", "id": "m", "content": [{"text": "hi"}]},
        {"contents": [{"role": "model", "parts": [{"text": "ok"}]}]},
    ],
    [
        [
            {
                "id": "c",
                "title": "t",
                "create_time": 1735732803.5,
                "current_node": "b",
                "is_do_not_remember": False,
                "mapping": {
                    "r": {"message": None, "parent": None},
                    "a": {
                        "parent": "r",
                        "message": {
                            "id": "a",
                            "author": {"role": "user"},
                            "content": {"content_type": "text", "parts": ["hi", {"text": "x"}]},
                            "metadata": {},
                        },
                    },
                    "b": {
                        "parent": "a",
                        "message": {
                            "id": "b",
                            "author": {"role": "assistant"},
                            "recipient": "all",
                            "content": {"content_type": "code", "text": "x"},
                        },
                    },
                    "c": {"parent": "a", "message": {"author": {"role": "assistant"}}},
                },
            }
        ]
    ],
    [
        [
            {
                "uuid": "c",
                "current_leaf_message_uuid": "b",
                "chat_messages": [
                    {"uuid": "a", "sender": "human", "text": "hi", "parent_message_uuid": "0"},
                    {
                        "uuid": "b",
                        "sender": "assistant",
                        "content": [{"type": "text", "text": "ok"}],
                        "parent_message_uuid": "a",
                        "attachments": [{"file_name": "x", "extracted_content": "y"}],
                    },
                    {"uuid": "d", "sender": "assistant", "parent_message_uuid": "a"},
                ],
            }
        ]
    ],
    [
        {
            "question_id": "q",
            "haystack_session_ids": ["s", "s"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/20 (Sat) 02:21"],
            "haystack_sessions": [[{"role": "user", "content": "hi"}], []],
        }
    ],
    [
        {
            "sample_id": "x",
            "conversation": {
                "speaker_a": "A",
                "speaker_b": "B",
                "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "hi"}],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
            },
        }
    ],
    [
        {
            "id": "x_1",
            "conversations": [{"from": "human", "value": "hi"}, {"human": "", "assistant": "b"}],
        }
    ],
    [
        {
            "id": 7,
            "name": "n",
            "messages": [
                {
                    "id": 1,
                    "type": "message",
                    "date_unixtime": "1735732803",
                    "from": "A",
                    "text": ["x"],
                }
            ],
        }
    ],
    [
        {
            "values": {"messages": [{"type": "human", "content": "hi", "id": "h"}]},
            "config": {"configurable": {"thread_id": "t", "checkpoint_ns": ""}},
            "metadata": {"step": 1},
            "created_at": "2025-01-01T00:00:00Z",
        },
        [{"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "ok", "id": "a"}}],
        [{"type": "remove", "data": {"id": "a", "type": "remove"}}],
    ],
    [
        [
            {
                "ts": "1452837318.000002",
                "user": "U1",
                "text": "<@U1> <#C1|x> <!here> <http://a|b>",
                "thread_ts": "1452837318.000002",
                "user_profile": {"name": "n"},
                "attachments": [{"fallback": "f"}],
            },
            {
                "ts": "1452837319.000002",
                "bot_id": "B",
                "text": "",
                "blocks": [{"elements": [{"elements": [{"type": "text", "text": "x"}]}]}],
            },
        ]
    ],
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "id": "s"},
        {"body": {"messages": [{"role": "user", "content": "x"}]}, "custom_id": "r"},
        {"request": {"messages": [{"role": "user", "content": "x"}]}, "response": {"choices": []}},
        {"response": {"body": {"choices": [{"message": {"role": "assistant", "content": "x"}}]}}},
    ],
    [
        {"session_id": "s", "role": "user", "content": "hi", "timestamp": 1735732803, "turn": 1},
        {"instruction": "a", "input": "b", "output": "c", "history": [["x", "y"]]},
    ],
)

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from(WORDS.split(" ")),
    st.text(max_size=5),
)
json_values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=6),
    ),
    max_leaves=25,
)
json_logs = st.lists(json_values, min_size=1, max_size=5).map(
    lambda values: "\n".join(json.dumps(value) for value in values).encode()
)
text_logs = st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=10)), max_size=12).map(
    lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass")
)


@st.composite
def broken_seeds(draw: st.DrawFn) -> bytes:
    """A valid log with one of its values put in place of another, or taken out."""
    values = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    holder: list[object] | dict[str, object] = values
    while True:
        keys = list(range(len(holder))) if isinstance(holder, list) else list(holder)
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        inner = cast("object", holder[key])  # type: ignore[index]
        if isinstance(inner, list | dict) and draw(st.integers(0, 3)):
            holder = cast("list[object] | dict[str, object]", inner)
            continue
        if draw(st.booleans()):
            holder[key] = draw(json_values)  # type: ignore[index]
        else:
            del holder[key]  # type: ignore[arg-type]
        break
    return "\n".join(json.dumps(value) for value in values).encode()


logs = st.one_of(st.binary(max_size=200), json_logs, text_logs, broken_seeds())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A log with bytes cut out, put in, or cut off."""
    data = draw(logs)
    place = draw(st.integers(0, len(data)))
    return data[:place] + draw(st.binary(max_size=4)) + data[place + draw(st.integers(0, 9)) :]


def read_all(data: bytes, options: ReadOptions) -> ReadReport:
    """Read, pair and name everything; `IngestError` is the one way to fail."""
    source = Source(label="log", name="log.jsonl", opener=partial(io.BytesIO, data))
    report = ReadReport()
    try:
        for conversation in read_source(source, options, report):
            exchanges = pair_exchanges(conversation)
            paired = [m for one in exchanges for side in (one.user, one.assistant) for m in side]
            assert sorted(map(id, paired)) == sorted(map(id, conversation.messages))
            for index, message in enumerate(conversation.messages):
                storable = (message.text, message_key(conversation, index, message))
                assert "\x00" not in "".join(storable)
                "".join((*storable, message_hash(message), message.speaker or "")).encode()
            "".join((conversation.session_id, conversation.title or "")).encode()
            json.dumps(cast("object", conversation.metadata), ensure_ascii=False).encode()
    except IngestError:
        pass
    return report


OPTIONS = st.builds(
    ReadOptions,
    sidechains=st.booleans(),
    all_branches=st.booleans(),
    keep_do_not_remember=st.booleans(),
    date_order=st.sampled_from((None, "dmy", "mdy", "ymd")),
    columns=st.sampled_from(({}, {"content": "text", "role": "user"})),
)


@given(data=st.one_of(logs, damaged()), options=OPTIONS)
@settings(max_examples=30 * TIMES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_read_or_refused(data: bytes, options: ReadOptions) -> None:
    read_all(data, options)


@given(data=st.one_of(logs, damaged()), all_branches=st.booleans(), sidechains=st.booleans())
@settings(
    max_examples=480 if TIMES > 1 else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_any_bytes_are_read_or_refused_as_any_format(
    data: bytes, all_branches: bool, sidechains: bool
) -> None:
    # Each log is drawn once for all formats: with fixed seeds each would draw the same.
    for form in SMALL_LOGS:
        note(f"read as {form}")
        read_all(data, ReadOptions(format=form, all_branches=all_branches, sidechains=sidechains))


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"messages":[{"role":"user","content":"hi","timestamp":' + b"9" * 5_000 + b"}]}",
        b'[{"id":' + b"1" * 5_000 + b"}]\n{}",
        b'{"a":"' + b"\xff" * 10_000,
        b'"' + b"a" * 10_000,
        b"\xff\xfe\x00",
        b"\x00" * 1_000,
        b'[{"a": NaN, "b": -Infinity, "timestamp": NaN, "ts": Infinity}]',
    ],
    ids=[
        "deep lists",
        "deep objects",
        "long number",
        "long id",
        "bytes",
        "open",
        "odd",
        "nul",
        "nan",
    ],
)
def test_hostile_bytes_are_read_or_refused_as_any_format(data: bytes) -> None:
    read_all(data, ReadOptions())
    for form in SMALL_LOGS:
        read_all_as(form, data)


def read_all_as(form: str, data: bytes) -> None:
    read_all(data, ReadOptions(format=form))
