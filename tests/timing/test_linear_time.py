"""Reading a text takes time in proportion to its length, whatever the text is."""

import io
import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from growth import LINEAR, growth

from memsense.draft.chunking import split_exchange, split_text
from memsense.draft.facets.tagger import RuleTagger
from memsense.errors import IngestError
from memsense.graph.extraction.model import find_mentions
from memsense.graph.extraction.naming import entity_key, question_keys
from memsense.graph.extraction.rules import RuleExtractor
from memsense.ingest import ReadOptions, Source, read_source
from memsense.ingest.chat_lines import parse_head
from memsense.ingest.readers import READERS
from memsense.search.question import analyse_question, find_quotations
from memsense.search.question.names import find_names
from memsense.search.question.time.engine import find_intervals
from memsense.search.question.time.order import find_order
from memsense.store.planning import drop_repeats
from memsense.text.configurations import list_former_lexemes
from memsense.text.identifiers import find_identifiers, index_identifiers
from memsense.text.language import detect
from memsense.text.lexemes import ask_lexemes, index_lexemes, lexical_query, list_lexemes
from memsense.types import ChunkDraft, Conversation, ExchangeDraft

Read = Callable[[str], object]

SPEAKERS = ("Ann Lee", "Bob", "Will", "東京 太郎")
ASKED_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
TAGGER, EXTRACTOR = RuleTagger(), RuleExtractor()


def exhaust(items: Iterable[object]) -> None:
    deque(items, maxlen=0)


READ: dict[str, Read] = {
    "question": lambda text: analyse_question(text, speakers=SPEAKERS, asked_at=ASKED_AT),
    "intervals": lambda text: find_intervals(text, now=ASKED_AT),
    "order": lambda text: find_order(text, ()),
    "names": lambda text: find_names(text, SPEAKERS),
    "quotations": lambda text: exhaust(find_quotations(text)),
    "identifiers": find_identifiers,
    "identifiers of a memory": index_identifiers,
    "entities of a question": question_keys,
    "an entity": entity_key,
    "entities": lambda text: EXTRACTOR.extract(text, SPEAKERS),
    "mentions": lambda text: find_mentions(EXTRACTOR, [(text, text)], SPEAKERS),
    "facets": lambda text: TAGGER.tag(text, ""),
    "facets of an answer": lambda text: TAGGER.tag("", text),
    "lexemes": lambda text: index_lexemes(text, "de"),
    "a list of lexemes": lambda text: list_lexemes(text, "en"),
    "lexemes of a question": lambda text: ask_lexemes(text, "de", ["en", "fr"]),
    "a lexical query": lambda text: lexical_query(text, "de", ["en"]),
    "former lexemes": lambda text: list_former_lexemes(text, "en"),
    "language": lambda text: detect(text, "en"),
    "pieces": lambda text: split_exchange(text, text),
    "a chat's line": parse_head,
}

UNITS = (
    *(" ", "\n", "a", "A", "1", "_", "-", ".", ",", "'", '"', "`", "*", "#", "@", "(", "[", "{"),
    *("<", "/", "!", "é", "中", "ก่ ", "\u0e48\u0e38", "\u0301", "\u200e", "\x00", "\ufeff"),
    *("a ", "A ", "Ab ", "a. ", "A. ", "a\n", "a-", "a_", "a.", "a/", "1.", "f0", "#1 ", "@a "),
    *(
        "3月3日",
        "3月",
        "上周",
        "先週の",
        "2024年から",
        "vor zwei ",
        "il y a ",
        "3.5.",
        "2024-03-03 ",
    ),
    *("5 May ", "5 May, ", "May and ", "7 May 2023 to ", "in 2023 ", "last week ", "day before "),
    *('"a" ', "'a ", "“„", '"Ann" ', "Ann ", "Bob's ", "Will ", "Ann 5 May ", "東京 太郎", "東京"),
    *("I ", "my ", "i went ", "as a ", "I am a nurse. ", "https://", "```", "- ", "> a\n"),
    *("Ann: a\n", "# Ann\n", "**Ann**: a\n", "24/12/24, 12:23 - Ann: a\n", '{"a": ', '{"a": 1}\n'),
    *("12:23\n", "a,", "a\t", '"a\n', "<system-reminder></system-reminder>", "【1†"),
)
BEFORE = (
    *("5 May", "in", "May", "last", "Ann", "Is ", '"', "I ", "my ", "a.", "```", "@", "#", "["),
    *("24/12/24, 12:23", "24/12/24,", "24/12/24, 12:23 - Ann: ", "Ann:", "**Ann", "1 --> ", '{"a'),
)
RUNS = (" ", "\n", "a", "1", "_", ".", "-", ", ")
TEXTS = [
    *(("", unit) for unit in UNITS),
    *((before, unit) for before in BEFORE for unit in RUNS),
]


def find_slow(read: Read, texts: Iterable[tuple[str, str]]) -> str:
    """Return a text whose time grows faster than its length; empty if there is none."""

    def make(before: str, unit: str, size: int) -> str:
        return before + unit * (size // len(unit)) + "\x01"

    slow = (
        f"{before!r} + n * {unit!r}"
        for before, unit in texts
        if growth(read, partial(make, before, unit)) >= LINEAR
    )
    return next(slow, "")


def test_a_day_before_thirty_thousand_blanks_is_found_at_once() -> None:
    text = "5 May" + 30_000 * " "
    started = time.thread_time()
    assert analyse_question(text, asked_at=ASKED_AT).intervals[0].text == "5 May"
    assert time.thread_time() - started < 1  # a hundredth; 17 seconds where it is quadratic


def test_a_long_text_is_cut_without_being_copied_for_each_piece() -> None:
    text = 32_000_000 * " "
    started = time.thread_time()
    assert "".join(split_text(text)) == text
    assert time.thread_time() - started < 1


@pytest.mark.parametrize(
    ("form", "record"),
    [
        (
            "claude_code",
            {"type": "user", "uuid": "1", "message": {"content": "<bash-input></bash-input>"}},
        ),
        (
            "codex",
            {
                "type": "message",
                "role": "user",
                "content": "<skill>read the file of the skill</skill>",
            },
        ),
        (
            "openclaw",
            {
                "type": "message",
                "id": "1",
                "message": {
                    "role": "user",
                    "content": "Sender (untrusted metadata):\n```\n{}\n```\n",
                },
            },
        ),
    ],
)
def test_text_that_a_program_inserted_before_the_users_is_removed_without_copies(
    form: str, record: dict[str, Any]
) -> None:
    holder = record.get("message", record)
    holder["content"] = holder["content"] * 60_000 + "hello"
    started = time.thread_time()
    (conversation,) = read(json.dumps(record), form)
    assert [message.text for message in conversation.messages] == ["hello"]
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("name", READ)
def test_reading_a_text_takes_time_in_proportion_to_its_length(name: str) -> None:
    assert find_slow(READ[name], TEXTS) == ""


@pytest.mark.parametrize("name", READERS)
def test_reading_a_log_takes_time_in_proportion_to_its_length(name: str) -> None:
    assert find_slow(partial(read, form=name), TEXTS) == ""


def read(text: str, form: str) -> list[Conversation]:
    source = Source(label="log", name="log.txt", opener=partial(io.BytesIO, text.encode()))
    with suppress(IngestError):
        return list(read_source(source, ReadOptions(format=form)))
    return []


@pytest.mark.parametrize("piece", ["a-", "_", "a_", "a", "a/", "1.", "f0", "a.", "#1", "-", "~/."])
def test_no_text_takes_long_to_be_read(piece: str) -> None:
    started = time.thread_time()
    index_identifiers(piece * (100_000 // len(piece)))
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    "text",
    [
        "-" * 20_000,
        "a" + "_" * 20_000,
        "a/" * 10_000,
        "a." * 10_000,
        "A " * 10_000,
        "A." * 10_000,
        "Aa-" * 7_000,
        '"A' * 10_000,
        "@a" * 10_000,
        "a@" * 10_000,
        "``` " * 5_000,
        "v1." * 7_000,
    ],
    ids=lambda text: text[:4],
)
def test_no_text_makes_a_rule_backtrack_without_end(text: str) -> None:
    started = time.thread_time()
    RuleExtractor().extract(text, ())
    question_keys(text)
    assert time.thread_time() - started < 10  # a tenth of a second, unless a rule backtracks


@pytest.mark.parametrize(
    "unit", ["i ", "my ", "a", "I've been really ", "I was and ", "we-", " ", ". ", "```", "I'm a "]
)
def test_hostile_repetition_is_read_in_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    started = time.thread_time()
    RuleTagger().tag(text, text)
    assert time.thread_time() - started < 10


def test_an_ordinary_question_is_analysed_within_two_milliseconds() -> None:
    text = (
        "What did Caroline's sister say about the pottery class they took on 7 May 2023, and why?"
    )
    times: list[float] = []
    for _ in range(51):
        start = time.thread_time()
        analyse_question(text, speakers=SPEAKERS, asked_at=ASKED_AT)
        times.append(time.thread_time() - start)
    assert min(times) < 0.002


@pytest.mark.parametrize(
    "part", ["'a ", '"a ', "7 May 2023 to ", "May and ", "\u201c\u201e", "Bob's "]
)
def test_the_time_of_a_long_question_grows_with_its_length_only(part: str) -> None:
    def seconds(size: int) -> float:
        text = part * (size // len(part))
        start = time.thread_time()
        analyse_question(text, speakers=SPEAKERS, asked_at=ASKED_AT)
        return time.thread_time() - start

    short, long = (min(seconds(size) for _ in range(5)) for size in (4_000, 40_000))
    assert long < 60 * short


def test_repeats_among_many_are_found_in_proportion_to_their_number() -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)

    def make(count: int) -> list[ExchangeDraft]:
        chunks = [
            ChunkDraft(
                granularity="turn",
                session_id="s",
                ordinal=0,
                last_ordinal=0,
                occurred_at=noon + number * timedelta(minutes=10) / 3,
                content_hash=f"{number // 2}",
            )
            for number in range(count)
        ]
        return [ExchangeDraft(chunks=[chunk]) for chunk in chunks]

    def compare_each_with_all(exchanges: list[ExchangeDraft]) -> int:
        return sum(one.chunks == other.chunks for one in exchanges for other in exchanges)

    assert growth(compare_each_with_all, make) >= LINEAR
    assert growth(drop_repeats, make) < LINEAR
