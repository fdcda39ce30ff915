"""Logs of real programs: the right format, and the sessions and exchanges counted by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsense.errors import IngestError
from memsense.ingest import ReadReport, joined_text, message_key, pair_exchanges
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Sides = list[tuple[int, int]]

# Format, then each session with the messages on both sides of each of its exchanges.
COUNTED: dict[str, tuple[str, dict[str, Sides]]] = {
    "chatgpt/real_2025-06_array_hidden_nodes.json": (
        "chatgpt",
        {"6857150a-cd20-800f-a5f7-d2404f94b935": [(1, 1)] * 5},
    ),
    "claude_ai/bulk_export_small.json": (
        "claude_ai",
        {"test-conv-1": [(1, 1)], "test-conv-2": [(1, 1), (1, 1)]},
    ),
    "claude_ai/malformed_messages.json": (
        "claude_ai",
        {"test-conv-with-errors": [(1, 1), (1, 2), (1, 4)]},
    ),
    "claude_code/edge_cases_malformed.jsonl": (
        "claude_code",
        {"edge_cases": [(1, 1), (2, 1), (2, 0)]},
    ),
    "claude_code/real_v1.0.98_tools_split_messages.jsonl": (
        "claude_code",
        {"1af7fc5e-8455-4414-9ccd-011d40f70b2a": [(0, 3)]},
    ),
    "codex_gemini/codex_rollout_minimal.jsonl": (
        "codex",
        {"codex_gemini/codex_rollout_minimal": [(1, 1)]},
    ),
    "codex_gemini/gemini_cli_minimal.jsonl": ("gemini_cli", {"abc": [(1, 1)]}),
    "generic/messages.csv": ("rows", {"s1": [(1, 1)], "s2": [(1, 1)]}),
    "generic/messages.jsonl": ("rows", {"s1": [(1, 1)], "s2": [(1, 1)]}),
    "langchain/dumpd.json": ("langchain", {"langchain/dumpd": [(0, 1), (1, 0)]}),
    "langchain/file_history.json": ("langchain", {"langchain/file_history": [(1, 0)]}),
    "langchain/messages_to_dict.json": (
        "langchain",
        {"langchain/messages_to_dict": [(0, 1), (1, 0)]},
    ),
    "langchain/model_dump.json": ("langchain", {"langchain/model_dump": [(0, 1), (1, 0)]}),
    "langchain/state_history.json": ("langchain", {"t-1": [(1, 1), (1, 0)]}),
    "openai_jsonl/llamafactory_tools_reasoning_trimmed.jsonl": (
        "openai_messages",
        {
            "openai_jsonl/llamafactory_tools_reasoning_trimmed:1:906ee585": [(1, 1)],
            "openai_jsonl/llamafactory_tools_reasoning_trimmed:2:4caf7c06": [(1, 1), (1, 1)],
        },
    ),
    "openclaw/openclaw_v3_real_trimmed.jsonl": (
        "openclaw",
        {"8555a0a4-0b79-459d-939c-e17cdbbf4fe2": [(1, 1)]},
    ),
    "plain_text/signal.txt": (
        "signal",
        {
            "plain_text/signal/2019-12-24T12:23": [(1, 0)],
            "plain_text/signal/2020-01-17T21:49": [(0, 1)],
        },
    ),
    "plain_text/whatsapp_ddmmyy_24hrs.txt": (
        "whatsapp",
        {
            "plain_text/whatsapp_ddmmyy_24hrs/2019-01-01T11:25": [(1, 0)],
            "plain_text/whatsapp_ddmmyy_24hrs/2019-01-20T11:23": [(1, 0)],
            "plain_text/whatsapp_ddmmyy_24hrs/2019-01-30T20:49": [(0, 1)],
            "plain_text/whatsapp_ddmmyy_24hrs/2020-06-10T15:55": [(0, 1)],
            "plain_text/whatsapp_ddmmyy_24hrs/2021-12-10T10:10": [(0, 1)],
            "plain_text/whatsapp_ddmmyy_24hrs/2021-12-20T12:10": [(0, 1)],
            "plain_text/whatsapp_ddmmyy_24hrs/2021-12-30T22:01": [(1, 0)],
        },
    ),
    "plain_text/whatsapp_mmddyyyy_12hrs.txt": (
        "whatsapp",
        {
            "plain_text/whatsapp_mmddyyyy_12hrs/2019-01-01T11:25": [(1, 0)],
            "plain_text/whatsapp_mmddyyyy_12hrs/2019-01-20T11:23": [(1, 0)],
            "plain_text/whatsapp_mmddyyyy_12hrs/2019-01-30T20:49": [(0, 1)],
            "plain_text/whatsapp_mmddyyyy_12hrs/2020-06-10T15:55": [(0, 1)],
            "plain_text/whatsapp_mmddyyyy_12hrs/2021-12-10T10:10": [(0, 1)],
            "plain_text/whatsapp_mmddyyyy_12hrs/2021-12-20T12:10": [(0, 1)],
            "plain_text/whatsapp_mmddyyyy_12hrs/2021-12-30T22:01": [(1, 0)],
        },
    ),
    "sharegpt/fastchat_dummy_trimmed.json": (
        "sharegpt",
        {
            "identity_0": [(1, 1)] * 2,
            "identity_1": [(1, 1)],
            "identity_2": [(1, 1)] * 3,
            "identity_3": [(1, 1)] * 2,
            "identity_4": [(1, 1)],
            "identity_5": [(1, 1)] * 3,
        },
    ),
    "slack/testarchive": (
        "slack",
        {
            "C0JGLMMNX:2016-01-14": [(2, 0)],
            "C0JGLMMNX:2016-01-15": [(1, 1), (1, 3)],
            "C0JGLMMNX:2016-01-16": [(1, 0)],
            "C0JGLMMNX:2016-03-17": [(8, 1), (2, 1)],
            "C0JL6CGQ2:2016-02-07": [(3, 0)],
        },
    ),
}

ONE_EXCHANGE: Sides = [(1, 1)]
# The sides of the exchanges of each session, what was skipped, and other counts not 0.
MALFORMED: dict[str, tuple[dict[str, Sides], dict[str, int]]] = {
    "bom_mid_concatenated.jsonl": ({"s1": [(1, 1), (1, 1)]}, {}),
    "bom_utf16le.json": ({"c1": ONE_EXCHANGE}, {}),
    "bom_utf8.json": ({"c1": ONE_EXCHANGE}, {}),
    "chatgpt_current_node_missing_and_cycle.json": (
        {"g2": ONE_EXCHANGE, "g3": ONE_EXCHANGE},
        {"abandoned branch": 2, "node without a message": 1, "conversation without messages": 1},
    ),
    "chatgpt_regenerated_branch.json": (
        {"g1": ONE_EXCHANGE},
        {"abandoned branch": 1, "node without a message": 1},
    ),
    "crlf_and_blank_lines.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "dangling_parent.jsonl": ({"s1": [(1, 1), (1, 1)]}, {}),
    "duplicate_ids.jsonl": (
        {"s1": ONE_EXCHANGE},
        {"repeated message": 1, "earlier version of a message": 1},
    ),
    "latin1_inside_utf8.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "line_separator_u2028_inside_text.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "lone_surrogate.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "message_not_object.jsonl": ({"s1": ONE_EXCHANGE}, {"message is not an object": 2}),
    "mixed_timezones_and_units.jsonl": ({"s": [(1, 1)] * 6}, {}),
    "no_final_newline.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "not_objects.jsonl": ({"s1": ONE_EXCHANGE}, {"not an object": 4, "not a message": 1}),
    "nul_tail.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "null_content.jsonl": ({"s1": ONE_EXCHANGE}, {"empty message": 4}),
    "out_of_order_timestamps.jsonl": ({"s1": [(1, 1), (1, 1)]}, {}),
    "parent_cycle.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "raw_control_char.jsonl": ({"s1": ONE_EXCHANGE}, {}),
    "streaming_snapshots_same_message_id.jsonl": (
        {"s1": ONE_EXCHANGE},
        {"thinking": 1, "tool call": 1},
    ),
    "truncated_last_line.jsonl": ({"s1": [(1, 1), (1, 0)]}, {"cut off at the end": 1}),
    "two_objects_one_line.jsonl": ({"s1": ONE_EXCHANGE}, {}),
}
WORDS = {
    "bom_mid_concatenated.jsonl": ["a", "b", "c", "d"],
    "bom_utf16le.json": ["hi", "hello"],
    "chatgpt_regenerated_branch.json": ["Tell me a slogan", "NEW BRANCH is the shown one"],
    "duplicate_ids.jsonl": ["same", "other text, same uuid"],
    "latin1_inside_utf8.jsonl": ["café ok", "café latin-1"],
    "line_separator_u2028_inside_text.jsonl": [
        "before\u2028after \u2029 and \u0085 next",
        "ok",
    ],
    "lone_surrogate.jsonl": ["broken \ufffd emoji and nul \ufffd end", "ok"],
    "raw_control_char.jsonl": ["one", "two\x01three"],
    "streaming_snapshots_same_message_id.jsonl": ["q", "part one"],
}
"""The words of malformed logs that are most easily lost."""
WITHOUT_RECORDS = {"empty.jsonl", "empty_array.json", "whitespace.json"}


def sides(conversations: list[Conversation]) -> dict[str, Sides]:
    return {
        conversation.session_id: [
            (len(exchange.user), len(exchange.assistant))
            for exchange in pair_exchanges(conversation)
        ]
        for conversation in conversations
    }


def keys_of(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [
        (one.session_id, message_key(one, index, message))
        for one in conversations
        for index, message in enumerate(one.messages)
    ]


def texts(conversations: list[Conversation]) -> list[str]:
    return [message.text for one in conversations for message in one.messages]


@pytest.mark.parametrize("name", COUNTED)
def test_a_sample_has_the_exchanges_counted_by_hand_and_the_same_keys_again(
    name: str, samples: Path, read_path: ReadLog
) -> None:
    form, expected = COUNTED[name]
    conversations, report = read_path(samples / name)
    assert {one.format for one in conversations} == {form}
    assert [detected for detected, _ in report.detected.values()] == [form]
    assert sides(conversations) == expected

    keys = keys_of(conversations)
    assert len(set(keys)) == len(keys)
    assert keys_of(read_path(samples / name)[0]) == keys


def test_every_sample_is_counted_here(samples: Path) -> None:
    slack = samples / "slack"
    found = {
        path.relative_to(samples).as_posix()
        for path in samples.rglob("*")
        if path.is_file() and slack not in path.parents and path.name != "README.md"
        # Logs of formats that are not read yet, with expectations of their own.
        if "logs3" not in path.parts
    }
    assert set(WORDS) <= set(MALFORMED)
    malformed = {f"malformed/{name}" for name in (*MALFORMED, *WITHOUT_RECORDS)}
    assert found == ({*COUNTED} - {"slack/testarchive"}) | malformed


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_log_keeps_its_words_and_counts_the_rest(
    name: str, samples: Path, read_path: ReadLog
) -> None:
    expected, skipped = MALFORMED[name]
    conversations, report = read_path(samples / "malformed" / name)
    assert sides(conversations) == expected
    assert report.skip_counts == skipped
    if name in WORDS:
        assert texts(conversations) == WORDS[name]


@pytest.mark.parametrize("name", sorted(WITHOUT_RECORDS))
def test_a_log_without_any_record_is_an_error_that_names_it(
    name: str, samples: Path, read_path: ReadLog
) -> None:
    with pytest.raises(IngestError, match=name):
        read_path(samples / "malformed" / name)


def test_of_a_regenerated_answer_only_the_shown_one_is_read(
    samples: Path, read_path: ReadLog
) -> None:
    name = "chatgpt_current_node_missing_and_cycle.json"
    conversations, _ = read_path(samples / "malformed" / name)
    assert not [text for text in texts(conversations) if "OLD BRANCH" in text]


def test_lines_in_another_encoding_are_named(samples: Path, read_path: ReadLog) -> None:
    _, report = read_path(samples / "malformed" / "latin1_inside_utf8.jsonl")
    assert report.reencoded_lines.count == 1
    assert [line for _, line in report.reencoded_lines.examples] == [2]


def test_replaced_characters_are_counted(samples: Path, read_path: ReadLog) -> None:
    _, report = read_path(samples / "malformed" / "lone_surrogate.jsonl")
    assert report.replaced_characters == 2


def test_times_of_all_units_and_zones_come_out_in_utc(samples: Path, read_path: ReadLog) -> None:
    conversations, report = read_path(samples / "malformed" / "mixed_timezones_and_units.jsonl")
    messages = conversations[0].messages
    noon = datetime(2025, 1, 1, 12, tzinfo=UTC)
    expected = [noon + timedelta(seconds=second) for second in range(8)]
    expected[4] += timedelta(milliseconds=250)
    expected[7] += timedelta(microseconds=200)
    assert [message.at for message in messages] == [*expected, None, None, None, None]
    assert [i for i, message in enumerate(messages) if not message.at_zone_known] == [2]
    assert report.unusable_times == 3


def test_the_person_of_an_openclaw_session_is_named_and_unwrapped(
    samples: Path, read_path: ReadLog
) -> None:
    conversations, _ = read_path(samples / "openclaw")
    question, answer = conversations[0].messages
    assert (question.speaker, question.text) == ("openclaw-tui", "はくあ")
    assert answer.text.startswith("や。はくあ")


def test_slack_marks_become_words(samples: Path, read_path: ReadLog) -> None:
    conversations, _ = read_path(samples / "slack" / "testarchive")
    assert texts(conversations)[0].startswith("@abilinski: Created an issue")
    quoted = next(text for text in texts(conversations) if "now then?" in text)
    assert quoted.startswith('>"Essentially')


def test_langgraph_messages_get_the_time_of_the_first_state_that_holds_them(
    samples: Path, read_path: ReadLog
) -> None:
    conversations, _ = read_path(samples / "langchain" / "state_history.json")
    day = datetime(2026, 11, 21, 20, 57, tzinfo=UTC)
    assert [message.at for message in conversations[0].messages] == [
        day + timedelta(microseconds=791263),
        day + timedelta(microseconds=797647),
        day + timedelta(microseconds=801306),
    ]


def test_locomo_gives_every_turn_once_with_its_day_and_no_answers(
    samples: Path, read_path: ReadLog
) -> None:
    path = samples.parent / "eval" / "locomo10.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    conversations, report = read_path(path)
    assert len(conversations) == 272
    assert report.messages_kept == 5882
    first = conversations[0]
    assert (first.metadata, first.session_id) == ({"user_id": "conv-26"}, "D1")
    assert first.participants == ("Caroline", "Melanie")
    assert first.messages[0].external_id == "D1:1"
    assert first.messages[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert not first.messages[0].at_zone_known
    assert {m.role for one in conversations for m in one.messages} == {"other"}
    pictured = [text for text in texts(conversations) if text.endswith("]")]
    assert sum("[image: " in text for text in pictured) == 1226


def test_joined_text_separates_messages_by_a_blank_line(samples: Path, read_path: ReadLog) -> None:
    conversations, _ = read_path(samples / "claude_code" / "edge_cases_malformed.jsonl")
    last = pair_exchanges(conversations[0])[-1]
    assert joined_text(last.user).endswith("symbols ∑∆√π∞\n\nwow error")
