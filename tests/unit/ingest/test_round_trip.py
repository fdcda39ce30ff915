"""Any messages, written in a format and read back, give the same exchanges."""

import csv
import io
import itertools
import json
from collections.abc import Callable, Sequence
from functools import partial

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from memsense.ingest import ReadOptions, ReadReport, Source, pair_exchanges, read_source
from memsense.types import Conversation

Said = Sequence[tuple[str, str]]  # (role or name, text)
Writer = Callable[[Said], object]
Exchanges = list[tuple[list[str], list[str]]]

INVISIBLE = "\ufeff\x85"
# Words that programs write for themselves; the readers take them out, by tests of their own.
OF_PROGRAMS = (
    "NO_REPLY",
    "HEARTBEAT",
    "Caveat: The messages",
    "[Request interrupted",
    "This session is being continued",
    "Here is a summary of the conversation",
    "This block is not supported",
    "[[reply_to",
    "AGENTS.md",
)


def is_visible(text: str) -> bool:
    is_of_a_person = not any(words in text for words in OF_PROGRAMS)
    return is_of_a_person and bool(text.strip(INVISIBLE).strip())


# What any log may hold; control characters other than line ends come in tests of their own.
any_text = st.text(
    st.characters(exclude_categories=("Cs", "Co", "Cc"), include_characters="\n\t"), max_size=40
).filter(is_visible)
# What a line-oriented log can hold without becoming ambiguous.
line_text = (
    st.text(st.characters(categories=("L", "N", "Zs"), include_characters="\n,.!?"), max_size=40)
    .map(str.strip)
    .filter(lambda text: is_visible(text) and text != "null")
)
said_by_roles = st.lists(st.tuples(st.sampled_from(("user", "assistant")), any_text), min_size=1)
lines_by_roles = st.lists(st.tuples(st.sampled_from(("user", "assistant")), line_text), min_size=1)
said_by_people = st.lists(
    st.tuples(st.sampled_from(("Ana", "Bo", "Cy Lee")), line_text), min_size=1
)


def expected_exchanges(said: Said, user: str) -> Exchanges:
    """By another way than the product: runs of one side, an answer joins the run before it."""
    exchanges: Exchanges = []
    for is_user, run in itertools.groupby(said, key=lambda pair: pair[0] == user):
        texts = [text for _, text in run]
        if is_user:
            exchanges.append((texts, []))
        elif exchanges:
            exchanges[-1][1].extend(texts)
        else:
            exchanges.append(([], texts))
    return exchanges


def read_back(content: str, form: str, options: ReadOptions | None = None) -> list[Conversation]:
    """Read by detection, which has to find the form."""
    data = content.encode()
    source = Source(label="log", name="log", opener=partial(io.BytesIO, data))
    conversations = list(read_source(source, options, report := ReadReport()))
    assert report.detected["log"][0] == form, f"a log of {form} is taken for another"
    return conversations


def exchanges_of(conversations: Sequence[Conversation]) -> Exchanges:
    return [
        ([m.text for m in exchange.user], [m.text for m in exchange.assistant])
        for conversation in conversations
        for exchange in pair_exchanges(conversation)
    ]


def write_chatgpt(said: Said) -> object:
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for number, (role, text) in enumerate(said):
        message = {
            "id": f"n{number}",
            "author": {"role": role},
            "content": {"content_type": "text", "parts": [text]},
            "recipient": "all",
        }
        node: dict[str, object] = {"message": message, "parent": parent}
        mapping[f"n{number}"] = node
        parent = f"n{number}"
    return [{"id": "c", "current_node": parent, "mapping": mapping}]


def write_claude_ai(said: Said) -> object:
    senders = {"user": "human", "assistant": "assistant"}
    messages = [
        {
            "uuid": f"m{number}",
            "sender": senders[role],
            "text": text,
            "content": [{"type": "text", "text": text}],
        }
        for number, (role, text) in enumerate(said)
    ]
    return [{"uuid": "c", "name": "", "chat_messages": messages}]


def claude_code_lines(said: Said) -> list[object]:
    return [
        {
            "type": role,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s",
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for number, (role, text) in enumerate(said)
    ]


def codex_lines(said: Said) -> list[object]:
    kinds = {"user": "user_message", "assistant": "agent_message"}
    events = [
        {"type": "event_msg", "payload": {"type": kinds[role], "message": text}}
        for role, text in said
    ]
    return [{"type": "session_meta", "payload": {"id": "s"}}, *events]


def gemini_lines(said: Said) -> list[object]:
    kinds = {"user": "user", "assistant": "gemini"}
    turns = [
        {"type": kinds[role], "id": f"m{number}", "content": [{"text": text}]}
        for number, (role, text) in enumerate(said)
    ]
    return [{"type": "session_metadata", "sessionId": "s"}, *turns]


def openclaw_lines(said: Said) -> list[object]:
    entries = [
        {
            "type": "message",
            "id": f"e{number}",
            "parentId": f"e{number - 1}" if number else None,
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for number, (role, text) in enumerate(said)
    ]
    return [{"type": "session", "version": 3, "id": "s", "cwd": "/"}, *entries]


def write_openai(said: Said) -> object:
    return {"messages": [{"role": role, "content": text} for role, text in said]}


def write_sharegpt(said: Said) -> object:
    speakers = {"user": "human", "assistant": "gpt"}
    turns = [{"from": speakers[role], "value": text} for role, text in said]
    return [{"id": "s", "conversations": turns}]


LANGCHAIN_TYPES = {"user": "human", "assistant": "ai"}


def write_langchain_dicts(said: Said) -> object:
    return [
        {"type": LANGCHAIN_TYPES[role], "data": {"content": text, "type": LANGCHAIN_TYPES[role]}}
        for role, text in said
    ]


def write_langchain_dumps(said: Said) -> object:
    names = {"user": "HumanMessage", "assistant": "AIMessage"}
    return [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", names[role]],
            "kwargs": {"content": text},
        }
        for role, text in said
    ]


def write_langgraph(said: Said) -> object:
    messages = [
        {"type": LANGCHAIN_TYPES[role], "content": text, "id": f"m{number}"}
        for number, (role, text) in enumerate(said)
    ]
    return {"values": {"messages": messages}, "config": {"configurable": {"thread_id": "t"}}}


def write_longmemeval(said: Said) -> object:
    turns = [{"role": role, "content": text, "has_answer": False} for role, text in said]
    question = {"question_id": "q", "question": "?", "answer": 42, "question_type": "x"}
    return [{**question, "haystack_session_ids": ["s"], "haystack_sessions": [turns]}]


def row_lines(said: Said) -> list[object]:
    return [{"session_id": "s", "role": role, "content": text} for role, text in said]


JSON_WRITERS: dict[str, tuple[str, Writer]] = {
    "chatgpt": ("chatgpt", write_chatgpt),
    "claude_ai": ("claude_ai", write_claude_ai),
    "openai_messages": ("openai_messages", write_openai),
    "sharegpt": ("sharegpt", write_sharegpt),
    "langchain dicts": ("langchain", write_langchain_dicts),
    "langchain dumps": ("langchain", write_langchain_dumps),
    "langgraph": ("langchain", write_langgraph),
    "longmemeval": ("longmemeval", write_longmemeval),
    "rows in a list": ("rows", row_lines),
    "claude_code in a list": ("claude_code", claude_code_lines),
    "openclaw in a list": ("openclaw", openclaw_lines),
}
LINE_WRITERS: dict[str, tuple[str, Callable[[Said], list[object]]]] = {
    "claude_code": ("claude_code", claude_code_lines),
    "codex": ("codex", codex_lines),
    "gemini_cli": ("gemini_cli", gemini_lines),
    "openclaw": ("openclaw", openclaw_lines),
    "rows": ("rows", row_lines),
    "openai_messages, a line each": ("openai_messages", lambda said: [write_openai(said)]),
}


def repeats_a_user(said: Said) -> bool:
    """Whether a user says the same twice in a row: OpenClaw's retry, which reading folds."""
    return any(a == b and a[0] == "user" for a, b in itertools.pairwise(said))


@given(
    said=said_by_roles,
    plain=st.booleans(),
    indent=st.sampled_from((None, 1)),
    end=st.sampled_from(("\n", "\r\n", "\n\n")),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_exchanges_survive_json_of_every_format(
    said: Said, plain: bool, indent: int | None, end: str
) -> None:
    # One draw for all formats: drawing messages takes longer than reading one log of them, and
    # with fixed seeds each format would draw the same.
    dump = partial(json.dumps, ensure_ascii=plain)
    logs = {
        name: (form, dump(make(said), indent=indent)) for name, (form, make) in JSON_WRITERS.items()
    }
    for name, (form, make_lines) in LINE_WRITERS.items():
        logs[name] = form, end.join(map(dump, make_lines(said)))
    expected = expected_exchanges(said, "user")
    for name, (form, content) in logs.items():
        note(f"read as {name}")
        if form != "openclaw" or not repeats_a_user(said):
            assert exchanges_of(read_back(content, form)) == expected, name


@given(said=said_by_roles, delimiter=st.sampled_from(",;\t|"))
@settings(max_examples=60, deadline=None)
def test_exchanges_survive_a_table(said: Said, delimiter: str) -> None:
    stream = io.StringIO(newline="")
    table = csv.writer(stream, delimiter=delimiter)
    table.writerows([("session_id", "role", "content"), *(("s", *pair) for pair in said)])
    conversations = read_back(stream.getvalue(), "rows")
    assert exchanges_of(conversations) == expected_exchanges(said, "user")


@given(said=lines_by_roles, labels=st.sampled_from((("User", "Assistant"), ("Human", "AI"))))
@settings(max_examples=60, deadline=None)
def test_exchanges_survive_a_labelled_transcript(said: Said, labels: tuple[str, str]) -> None:
    said = [("user", "hello"), ("assistant", "hi"), *said]  # both labels have to be there
    names = {"user": labels[0], "assistant": labels[1]}
    content = "\n".join(f"{names[role]}: {text}" for role, text in said)
    conversations = read_back(content, "transcript")
    assert exchanges_of(conversations) == expected_exchanges(said, "user")


def few(said: Said) -> Said:
    """As many messages as one exchange of people holds."""
    return said[:8]


def write_whatsapp(said: Said) -> str:
    return "\n".join(
        f"[2024-03-05, 10:{minute:02d}:30] {name}: {text}"
        for minute, (name, text) in enumerate(said)
    )


def write_slack(said: Said) -> str:
    day = [
        {"type": "message", "user": name, "text": text, "ts": f"17095{number:05d}.000100"}
        for number, (name, text) in enumerate(said)
    ]
    return json.dumps(day)


def write_telegram(said: Said) -> str:
    messages = [
        {
            "id": number,
            "type": "message",
            "date_unixtime": str(1709500000 + number),
            "from": name,
            "text": [text[:3], {"type": "bold", "text": text[3:]}],
        }
        for number, (name, text) in enumerate(said)
    ]
    return json.dumps({"id": 7, "messages": messages})


def write_locomo(said: Said, first: str) -> str:
    turns = [
        {"speaker": name, "dia_id": f"D1:{number}", "text": text}
        for number, (name, text) in enumerate(said)
    ]
    talk = {"speaker_a": first, "speaker_b": "Cy Lee", "session_1": turns}
    return json.dumps([{"sample_id": "x", "conversation": talk, "qa": [{"answer": "no"}]}])


@given(said=said_by_people.map(few), first=st.sampled_from(("Ana", "Bo")))
@settings(max_examples=60, deadline=None)
def test_exchanges_of_people_survive_every_chat(said: Said, first: str) -> None:
    expected = expected_exchanges(said, said[0][0])

    # WhatsApp writes "null" for a file that is missing; no text of a line is that.
    conversations = read_back(write_whatsapp(said), "whatsapp", ReadOptions(date_order="ymd"))
    assert exchanges_of(conversations) == expected, "whatsapp"
    assert {m.role for one in conversations for m in one.messages} == {"other"}
    assert [m.speaker for one in conversations for m in one.messages] == [n for n, _ in said]

    assert exchanges_of(read_back(write_slack(said), "slack")) == expected, "slack"
    assert exchanges_of(read_back(write_telegram(said), "telegram")) == expected, "telegram"

    conversations = read_back(write_locomo(said, first), "locomo")
    assert exchanges_of(conversations) == expected_exchanges(said, first), "locomo"
