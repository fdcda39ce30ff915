"""Times, ids and answers are found by whatever name a log gives them; nothing beside is silent."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from memsense.ingest import ReadOptions, ReadReport, parse_timestamp
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, object]

ASKED = {"role": "user", "content": "Who is on call?"}
ANSWERED = {"role": "assistant", "content": "Ines is on call."}
NOON = datetime(2026, 3, 1, 10, tzinfo=UTC)


def texts(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [ASKED], "answer": "Ines is on call."},
        {"messages": [ASKED], "completion": "Ines is on call."},
        {"messages": [ASKED], "completion": [ANSWERED]},
        {"messages": [ASKED], "completions": None, "response": {"message": ANSWERED}},
        {"request": {"messages": [ASKED]}, "response": ANSWERED},
        {"request": {"messages": [ASKED]}, "response": "Ines is on call."},
        {
            "request": {"messages": [ASKED]},
            "response": {"body": {"choices": [{"message": ANSWERED}]}},
        },
        # LiteLLM's spend logs, as its API and as a table's dump give them.
        {
            "request_id": "r1",
            "call_type": "acompletion",
            "startTime": "2026-03-01T10:00:00Z",
            "messages": [ASKED],
            "response": {"id": "c1", "choices": [{"index": 0, "message": ANSWERED}]},
        },
        {
            "request_id": "r1",
            "messages": json.dumps([ASKED]),
            "response": json.dumps({"choices": [{"message": ANSWERED}]}),
        },
        {
            "request_id": "r1",
            "messages": {},
            "proxy_server_request": {"messages": [ASKED]},
            "response": {"choices": [{"message": ANSWERED}]},
        },
        # The answer that ends the list is not said twice.
        {"messages": [ASKED, ANSWERED], "answer": "Ines is on call."},
    ],
)
def test_an_answer_beside_the_messages_is_kept(record: Json, read_log: ReadLog) -> None:
    conversations, report = read_log(json.dumps(record) + "\n")
    assert texts(conversations) == [("user", "Who is on call?"), ("assistant", "Ines is on call.")]
    assert not report.skip_counts


def test_answers_of_older_qwen_code_are_kept(read_log: ReadLog) -> None:
    turns = [{"type": "user", "content": "hi"}, {"type": "qwen", "content": "hello"}]
    conversations, _ = read_log(
        json.dumps({"sessionId": "s", "projectHash": "h", "messages": turns})
    )
    assert texts(conversations) == [("user", "hi"), ("assistant", "hello")]


def test_words_beside_the_messages_that_nobody_reads_are_counted(read_log: ReadLog) -> None:
    record = {
        "title": "On call",
        "messages": [ASKED, ANSWERED],
        "rejected": "Nobody is on call.",
        "feedback": [{"text": "not what I asked"}],
        "model": "some model",
        "kind": "chat",
    }
    _, report = read_log(json.dumps(record))
    assert report.skip_counts == {
        "text next to the messages (rejected)": 1,
        "text next to the messages (feedback)": 1,
    }


@pytest.mark.parametrize(
    "key", ["createdAt", "ts", "startTime", "datetime_utc", "created_date", "Sent At", "timestamp"]
)
@pytest.mark.parametrize("form", ["openai_messages", "sharegpt", "rows"])
def test_a_time_has_many_names(key: str, form: str, read_log: ReadLog) -> None:
    at = "2026-03-01T10:00:00Z"
    logs = {
        "openai_messages": json.dumps({"messages": [ASKED | {key: at}]}),
        "sharegpt": json.dumps({"conversations": [{"from": "human", "value": "hi", key: at}]}),
        "rows": f"role,content,{key}\nuser,hi,{at}\nassistant,hello,{at}\n",
    }
    conversations, _ = read_log(logs[form])
    assert (conversations[0].format, conversations[0].messages[0].at) == (form, NOON)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("01.03.2026 10:00", NOON),
        ("1.3.2026, 10:00:00", NOON),
        ("3/13/2026 10:00 AM", datetime(2026, 3, 13, 10, tzinfo=UTC)),
        ("13/3/2026 22:05", datetime(2026, 3, 13, 22, 5, tzinfo=UTC)),
        ("3/1/2026 10:00 AM", NOON),
        ("Sun, 01 Mar 2026 10:00:00 +0000", NOON),
        ("Sun, 1 Mar 2026 12:00:00 +0200", NOON),
        ("Mar 1, 2026 10:00 AM", NOON),
        ("1 March 2026 10:00", NOON),
        ("1 Mar 2026 10:00 CET", NOON),
        ("32.13.2026 10:00", None),
        ("May 4", None),
        ("10", None),
        ("1/2/3", None),
    ],
)
def test_a_time_is_read_as_people_write_it(written: str, at: datetime | None) -> None:
    assert parse_timestamp(written).at == at


def test_a_table_tells_by_one_row_whether_the_day_comes_first(read_log: ReadLog) -> None:
    out = io.StringIO()
    rows = [("user", "hi", "3/4/2026 10:00"), ("assistant", "hello", "3/25/2026 10:00")]
    csv.writer(out).writerows([("role", "content", "time"), *rows])
    conversations, _ = read_log(out.getvalue(), name="log.csv")
    assert [m.at and m.at.month for m in conversations[0].messages] == [3, 3]
    conversations, _ = read_log(
        out.getvalue().replace("25/", "5/").replace("3/25", "3/5"),
        ReadOptions(date_order="dmy"),
        name="log.csv",
    )
    assert [m.at and m.at.month for m in conversations[0].messages] == [4, 5]
