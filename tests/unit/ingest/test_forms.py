"""Forms of logs that differ from their program's usual ones, and what is close to them."""

import json
import zipfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest
from small_logs import lines

from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport, pair_exchanges
from memsense.ingest.jsonstream import Record, scan_json
from memsense.ingest.mapping.mapped import unflatten
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

ASKED, SAID = "Which pump for the well?", "The 400 W pump."
TURNS = [("user", ASKED), ("assistant", SAID)]


def turns(conversations: Sequence[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


MESSAGES = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID}]
CHAT = {
    "uuid": "c",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": ASKED},
        {"uuid": "m2", "sender": "assistant", "text": SAID},
    ],
}
NODES: dict[str, Any] = {
    "a": {"parent": None, "children": ["b"], "message": None},
    "b": {
        "parent": "a", "children": ["c"],
        "message": {"author": {"role": "user"}, "content": {"parts": [{"text": ASKED}]}},
    },
    "c": {
        "parent": "b", "children": [],
        "message": {
            "author": {"role": "assistant"},
            "content": {"content_type": "text", "parts": [{"content_type": "text", "text": SAID}]},
        },
    },
}  # fmt: skip
FORMS: dict[str, tuple[str, str]] = {
    "claude_ai in a wrapper": ("claude_ai", json.dumps({"conversations": [CHAT]})),
    "chatgpt with parts as objects": ("chatgpt", json.dumps([{"id": "c", "mapping": NODES}])),
    "pairs of user and bot": (
        "rows",
        json.dumps([{"timestamp": "2025-07-17 15:45:49", "user": ASKED, "bot": SAID}]),
    ),
    "pairs of query and response": (
        "rows",
        json.dumps([{"session_id": "s", "query": ASKED, "response": SAID}]),
    ),
    "adk without an app": (
        "google_adk",
        json.dumps(
            {
                "id": "s", "context": {},
                "events": [
                    {
                        "invocation_id": "i", "author": author,
                        "content": {"parts": [{"text": text}], "role": role},
                    }
                    for author, role, text in (("user", "user", ASKED), ("pilot", "model", SAID))
                ],
            }
        ),
    ),
    "a result for the answer's text": (
        "openai_messages",
        json.dumps({"history": [MESSAGES[0], {"role": "assistant", "result": SAID}]}),
    ),
    "an observation as the user's words": (
        "openai_messages",
        json.dumps(
            {
                "history": [
                    *MESSAGES,
                    {"role": "user", "content": "ls: none", "message_type": "observation"},
                ]
            }
        ),
    ),
    "codex items without a type": (
        "codex",
        lines(
            {"type": "session_meta", "payload": {"id": "s"}},
            *(
                {
                    "type": "response_item",
                    "payload": {"role": role, "content": [{"type": kind, "text": text}]},
                }
                for role, kind, text in (
                    ("user", "input_text", ASKED), ("assistant", "output_text", SAID),
                )
            ),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_recognised_and_read(name: str, read_log: ReadLog) -> None:
    form, text = FORMS[name]
    conversations, report = read_log(text)
    assert report.detected["log.jsonl"][0] == form
    assert [(role, text) for role, text in turns(conversations)] == TURNS


def test_numbered_speakers_have_paragraphs(read_log: ReadLog) -> None:
    parts = (f"Speaker {n % 2}: It is deep, part {n}.\n\nSo it is.\nVery.\n\n" for n in range(4))
    conversations, _ = read_log("".join(parts), name="talk.txt")
    assert [message.speaker for message in conversations[0].messages] == [
        "Speaker 0", "Speaker 1", "Speaker 0", "Speaker 1",
    ]  # fmt: skip


def test_keys_with_numbers_are_lists() -> None:
    flat: dict[str, Any] = {"a.1.b": 2, "a.0.b": 1, "c": {"d.e": [{"f.0": 3}]}, "g": 4, "g.h": 5}
    nested = {"a": [{"b": 1}, {"b": 2}], "c": {"d": {"e": [{"f": [3]}]}}, "g": {"h": 5}}
    assert unflatten(flat) == nested


def test_spans_with_flat_attributes_repeat_no_turn(read_log: ReadLog) -> None:
    def span(start: str, said: Sequence[str]) -> dict[str, Any]:
        attributes: dict[str, Any] = {"openinference.span.kind": "LLM", "session.id": "well"}
        for number, text in enumerate(said[:-1]):
            key = f"llm.input_messages.{number}.message"
            attributes[f"{key}.role"] = "assistant" if number % 2 else "user"
            attributes[f"{key}.contents.0.message_content.text"] = text
        attributes["llm.output_messages.0.message.role"] = "assistant"
        attributes["llm.output_messages.0.message.content"] = said[-1]
        return {"context": {"trace_id": start}, "start_time": start, "attributes": attributes}

    said = [ASKED, SAID, "And which hose?", "25 mm."]
    log = lines(span("2026-05-01T10:01:00Z", said), span("2026-05-01T10:00:00Z", said[:2]))
    conversations, report = read_log(log)
    assert report.detected["log.jsonl"][0] == "phoenix"
    assert [text for _, text in turns(conversations)] == said
    assert conversations[0].session_id == "well"


def test_an_evaluation_is_read_from_its_samples_alone(
    tmp_path: Path, read_path: Callable[..., tuple[list[Conversation], ReadReport]]
) -> None:
    log = tmp_path / "boats.eval"
    sample = {"id": 1, "epoch": 1, "input": ASKED, "messages": MESSAGES}
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"task": "boats"}}))
        archive.writestr("_journal/start.json", json.dumps({"eval": {"task": "boats"}}))
        archive.writestr("summaries.json", json.dumps([{"id": 1, "input": ASKED}]))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    conversations, report = read_path(log)
    assert turns(conversations) == TURNS
    side = report.skipped["side file of an export"]
    assert (side.count, side.unit) == (3, "file")


def test_a_long_evaluation_is_read_sample_by_sample(read_log: ReadLog) -> None:
    samples = [{"id": n, "epoch": 1, "messages": MESSAGES} for n in range(400)]
    about = {"version": 2, "eval": {"task": "boats", "run_id": "r"}}
    text = json.dumps(about | {"samples": samples, "stats": {"started": "[,]"}}, indent=1)
    # Each sample is yielded when its own text has been read, whatever follows.
    taken: list[str] = []
    pieces = (text[at : at + 4096] for at in range(0, len(text), 4096))
    noted = (piece for piece in pieces if not taken.append(piece))
    for record in islice(scan_json(noted, within="samples"), 100):
        assert isinstance(record, Record)
        assert cast("dict[str, object]", record.value)["eval"] == about["eval"]
    assert len(taken) < len(text) / 4096 / 3
    conversations, report = read_log(text)
    assert len(conversations) == 400
    assert len({one.session_id for one in conversations}) == 400
    assert conversations[7].title == "boats"
    assert report.detected["log.jsonl"][0] == "inspect"
    # A log that was cut off is read as far as it goes.
    conversations, report = read_log(text[: len(text) // 2], ReadOptions(format="inspect"))
    assert 150 < len(conversations) < 201
    assert report.skip_counts["cut off at the end"] == 1


@pytest.mark.parametrize(
    ("day", "clock", "expected"),
    [
        ("2026/11/18(Wed)", "21:02", "2026-11-18T21:02:00+00:00"),
        ("Wed, 11/18/2026", "09:02PM", "2026-11-18T21:02:00+00:00"),
        ("2026. 11. 18 수요일", "오후 9:02", "2026-11-18T21:02:00+00:00"),
        ("2026년 11월 18일 수요일", "오전 12:02", "2026-11-18T00:02:00+00:00"),
        ("2026.11.18 水曜日", "9:02", "2026-11-18T09:02:00+00:00"),
    ],
)
def test_days_and_clocks_of_line(day: str, clock: str, expected: str, read_log: ReadLog) -> None:
    text = f'[LINE] Mina\n{day}\n{clock}\tMina\t"He said ""no"".\nThat is all."\n'
    conversations, _ = read_log(text, name="line.txt")
    (message,) = conversations[0].messages
    assert message.at is not None
    assert message.at.isoformat() == expected
    assert message.text == 'He said "no".\nThat is all.'


def test_the_one_who_saved_a_skype_chat_comes_first(read_log: ReadLog) -> None:
    quote = (
        '<quote author="8:ada" timestamp="1"><legacyquote>[1] Ada: </legacyquote>Where?'
        "<legacyquote>\n\n&lt;&lt;&lt; </legacyquote></quote>At the pier &amp; beyond."
    )
    said = [
        {
            "id": str(n), "displayName": name, "messagetype": "RichText", "from": who,
            "originalarrivaltime": f"2026-03-01T10:0{n}:00.0000000Z", "content": text,
        }
        for n, who, name, text in ((2, "8:bo", None, quote), (1, "8:ada", "Ada", "Where?"))
    ]  # fmt: skip
    log = {"userId": "8:bo", "conversations": [{"id": "8:ada", "MessageList": said}]}
    conversations, _ = read_log(json.dumps(log))
    assert conversations[0].participants == ("8:bo", "Ada")
    assert turns(conversations) == [
        ("other", "Where?"), ("other", "Where?At the pier & beyond."),
    ]  # fmt: skip


def test_blocks_of_an_exported_session_keep_their_lines(read_log: ReadLog) -> None:
    text = (
        "╭──────────────────╮\n│ Claude Code v2   │\n╰──────────────────╯\n\n"
        "> which pump?\n  for the well\n\n> ! ls\n  ⎿  notes.md\n\n"
        "● Two reasons:\n  - it is deep\n\n    - twelve metres\n\n"
        "● Bash(ls\n      -l)\n  ⎿  notes.md\n"
    )
    conversations, report = read_log(text, name="session.txt")
    assert turns(conversations) == [
        ("user", "which pump?\nfor the well"),
        ("assistant", "Two reasons:\n- it is deep\n\n  - twelve metres"),
    ]
    assert report.skip_counts == {"line of another form": 3, "command": 1, "tool call": 1}


@pytest.mark.parametrize(
    "text",
    [
        "[LINE] 12 of the script\nA line without a tab\n",
        "╭──────────────╮\n│ A table      │\n╰──────────────╯\n> a quotation\n",
        json.dumps({"eval": {"task": "t"}, "samples": [{"id": 1, "scores": 0.5}]}),
        json.dumps({"userId": "u", "conversations": [{"id": "c", "title": "t"}]}),
        json.dumps({"attributes": {"llm.model": "m", "gen_ai.prompt.0.tokens": 3}}),
    ],
)
def test_one_mark_of_two_is_not_enough(text: str, read_log: ReadLog) -> None:
    with pytest.raises(IngestError):
        read_log(text, name="some.txt")


@pytest.mark.parametrize(
    ("name", "form", "expected", "exchanges"),
    [
        ("inspect_log.json", "inspect", ["user", "assistant", "assistant"], 1),
        ("openinference_flat.jsonl", "phoenix", ["user", "assistant"] * 2, 2),
        ("line_en.txt", "line", ["Mina", "Tom", "Tom"], 2),
        ("line_ja.txt", "line", ["ミナ", "トム"], 1),
        ("skype_messages.json", "skype", ["Mina", "8:tom"], 2),
        (
            "claude_export.txt",
            "claude_export",
            ["user", *["assistant"] * 2, "user", "assistant"],
            2,
        ),
        ("../whatsapp_kr.txt", "whatsapp", ["민수", "지은", "민수"], 2),
    ],
)
def test_shared_samples_are_read(
    name: str, form: str, expected: list[str], exchanges: int, samples: Path, read_log: ReadLog
) -> None:
    path = samples / "logs3" / "formats" / name
    if not path.is_file():
        pytest.skip(f"no sample {path}")
    conversations, report = read_log(path.read_bytes(), ReadOptions(), name=path.name)
    assert report.detected[path.name][0] == form
    sides = [m.speaker or m.role for one in conversations for m in one.messages]
    assert sides == expected
    assert sum(len(pair_exchanges(one)) for one in conversations) == exchanges
    times = [m.at for one in conversations for m in one.messages]
    if form == "whatsapp":
        assert [at and at.strftime("%H:%M") for at in times] == ["21:14", "21:15", "00:03"]
