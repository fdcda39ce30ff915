"""The audit: texts on disk are those kept and those left out, for every format."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from foreign_databases import PROGRAMS, write_database
from small_logs import LOGS
from test_coding_agents import write_storage
from test_human_words import full_session
from test_mapped_formats import DATABASES, as_lines, make_database
from test_mapped_formats import LOGS as MAPPED
from wanted_logs import TEXTS as LINES

from memsense.ingest import ReadOptions, Source, expand_paths, read_source
from memsense.ingest.audit import NOT_LOOKED_AT, Audit, audit_source
from memsense.ingest.registry import readers

TEXTS = (
    "Where do the looms of the mill stand?",
    "They stand in the western hall.",
    "Move them to the east, please.",
    "They are in the east now.",
)
NAMES = {"aider": ".aider.chat.history.md", "gemini_takeout": "MyActivity.json", "rows": "log.csv"}


def audit(log: str, name: str, form: str | None = None) -> Audit:
    data = log.encode()
    source = Source(label=name, name=name, opener=partial(io.BytesIO, data), size=len(data))
    result = Audit()
    audit_source(source, ReadOptions(format=form), result)
    return result


def total_left_out(result: Audit) -> int:
    return sum(group.count for group in result.left_out)


@pytest.mark.parametrize("form", [form for form in LOGS if LOGS[form](TEXTS).startswith("{")])
def test_a_text_that_no_reader_takes_is_found(form: str) -> None:
    log = LOGS[form](TEXTS)
    record = {"role": "user", "stray": "words of a person that no reader takes"}
    records = log.rstrip("\n").split("\n")
    value = json.loads(records[0])
    log = "\n".join([json.dumps(value | {"memsense_test": record}), *records[1:]])
    (group,) = [
        group
        for group in audit(log, "log", form).left_out
        if any(record["stray"] in text for _, _, text in group.samples)
    ]
    assert (group.role, group.count) == ("user", 1)


def test_a_persons_words_stand_first() -> None:
    result = audit(full_session().text(), "session.jsonl")
    assert result.texts == result.kept_texts + total_left_out(result)
    roles = [group.role for group in result.left_out]
    assert roles.index("unknown") < roles.index("assistant") < roles.index("tool")
    by_reason = {group.reason: group for group in result.left_out}
    assert "prompt in the queue that was not sent yet" in by_reason
    # No record of the session goes past its reader, and no word of a person's turns is lost.
    assert not [g for g in result.left_out if g.role == "user" and g.reason == NOT_LOOKED_AT]


# Every format ------------------------------------------------------------------------------------


Write = Callable[[Path], Path]


def as_file(name: str, text: str) -> Write:
    def write(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def as_zip(name: str, text: str) -> Write:
    def write(folder: Path) -> Path:
        path = folder / "export.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, text)
        return path

    return write


def write_slack(folder: Path) -> Path:
    (folder / "users.json").write_text('[{"id": "U1", "name": "ada"}, {"id": "U2", "name": "bo"}]')
    (folder / "channels.json").write_text('[{"id": "C1", "name": "boats"}]')
    as_file("boats/2016-01-15.json", LOGS["slack"](TEXTS))(folder)
    return folder


def write_opencode(folder: Path) -> Path:
    write_storage(folder / "opencode" / "storage")
    return folder


def write_program(form: str) -> Write:
    return lambda folder: write_database(folder, form, *TEXTS)


CASES: dict[str, tuple[str, Write]] = {
    **{
        form: (form, as_file(NAMES.get(form, "log.txt" if form == "text" else "log"), make(TEXTS)))
        for form, make in LOGS.items()
    },
    **{form: (form, as_file("log.jsonl", as_lines(log))) for form, log in MAPPED.items()},
    **{form: (form, as_file("log.txt", log)) for form, log in LINES.items()},
    **{form: (form, partial(make_database, name=form)) for form in DATABASES if form not in MAPPED},
    "google_adk, a database": ("google_adk", partial(make_database, name="google_adk")),
    **{f"{form}, a database": (form, write_program(form)) for form in PROGRAMS},
    "slack, a folder": ("slack", write_slack),
    "opencode, a folder": ("opencode", write_opencode),
    "chatgpt, a zip": ("chatgpt", as_zip("conversations.json", LOGS["chatgpt"](TEXTS))),
    "zulip, a zip": ("zulip", as_zip("messages.json", as_lines(MAPPED["zulip"]))),
}
"""For each case the format and the function that writes a log of it into a folder."""


_OF_SPECSTORY = {f"_**{who} (2026-01-01 10:00:0{n}Z)**_" for n, who in enumerate(("User", "Agent"))}
UNSEEN: Mapping[str, set[str]] = {
    # Heads of turns and of files, which hold a name and a time.
    "aider": {"# aider chat started at 2026-01-01 10:00:00"},
    "specstory": {"<!-- Generated by SpecStory, Markdown v2.1.0 -->", *_OF_SPECSTORY},
    "imessage": {f"Jan 01, 2026 10:00:0{n} AM (Read by you)" for n in range(3)},
    # A result stands below the line of its call, which is counted.
    "claude_export": {"⎿ Read 12 lines"},
    # The second stands below the line that is counted as a reaction.
    "zoom": {
        "00:01:02 From Ada Lovelace to Everyone:",
        'Reacted to "At the pier." with a heart',
    },
    # Names of people, programs and classes.
    "slack": {"U1", "U2"},
    "slack, a folder": {"U1", "U2"},
    "gemini_takeout": {"Gemini Apps"},
    "langsmith": {"langchain", "schema", "messages"},
    "mattermost": {"ada"},
    # Thinking beside words in one message.
    "deepseek": {"hm"},
    "otel_genai_spans": {"hm"},
    "lm_studio": {"hm"},
    "zed": {"hm"},
    # An error of the API, the title of a sub-agent's session, files of tools' parts.
    "helicone": {"too many requests"},
    "crush": {"A task"},
    "opencode, a folder": {"hm", "file content", "so far"},
}
"""Texts of a case that go past its reader uncounted, looked at by hand: no turn is among them."""


def test_every_format_has_a_case() -> None:
    assert {form for form, _ in CASES.values()} == set(readers())


@pytest.mark.parametrize("case", CASES)
def test_texts_of_every_format_are_kept_or_left_out_for_a_reason(case: str, tmp_path: Path) -> None:
    form, write = CASES[case]
    result = Audit()
    messages: list[str] = []
    for source in expand_paths([write(tmp_path)]):
        options = ReadOptions(format=form)
        audit_source(source, options, result)
        messages += [m.text for one in read_source(source, options) for m in one.messages]
    assert messages
    assert result.texts == result.kept_texts + total_left_out(result)
    assert result.kept_texts >= len(messages)
    left_out = {text: one.reason for one in result.left_out for _, _, text in one.samples}
    assert not [text for text in messages if text in left_out]
    unseen = {text for text, reason in left_out.items() if reason == NOT_LOOKED_AT}
    assert unseen == UNSEEN.get(case, set())
    if case in LOGS:
        # Four texts were counted by hand: all are kept, none is among those that were left out.
        assert result.kept_texts >= len(TEXTS)
        assert not [text for text in TEXTS if text in " ".join(left_out)]
