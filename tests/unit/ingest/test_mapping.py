"""A mapping reads any JSON, table, database or lines of text, without a reader of its own."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foreign_databases import connect

from memsense.cli.app import hoist_global_options, root
from memsense.errors import IngestError, InvalidInputError
from memsense.ingest import READERS, ReadOptions, ReadReport, expand_paths, read_source
from memsense.ingest.mapping.format_map import FormatMap, load_format, map_from_fields, save_format
from memsense.ingest.registry import choose_reader, plugin_readers, readers
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Fields = Mapping[str, str | Sequence[str]]

EVENTS = {
    "id": "s1",
    "name": "A walk",
    "events": [
        {
            "author": "human",
            "content": {"parts": [{"text": "Where is"}, {"text": "the boat?"}]},
            "timestamp": 1700000000,
        },
        {"author": "tool", "content": {"parts": [{"text": "{}"}]}, "timestamp": 1700000001},
        {"author": "bot7", "content": {"parts": [{"text": "At the pier."}]}, "hidden": True},
        {
            "author": "bot7",
            "content": {"parts": [{"call": 1}, {"text": "In the shed."}]},
            "timestamp": "2023-11-14T22:13:22Z",
        },
    ],
}
OF_EVENTS: Fields = {
    "messages": "$.events[*]",
    "role": "author",
    "content": "content.parts[*].text",
    "time": "timestamp",
    "session": "id",
    "title": "name",
    "roles.bot7": "assistant",
    "skip.hidden message": "@.hidden",
}


@pytest.fixture(autouse=True)
def own_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's own formats, which is empty."""
    folder = tmp_path / "own formats"
    monkeypatch.setenv("MEMSENSE_FORMATS_DIR", str(folder))
    return folder


@pytest.fixture
def own_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Put a folder of installed packages on the path, until the test ends."""
    plugin_readers.cache_clear()
    yield lambda folder: monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    plugin_readers.cache_clear()


def turns(conversations: Sequence[Conversation]) -> list[tuple[str, str, str | None, str]]:
    return [
        (one.session_id, message.role, message.speaker, message.text)
        for one in conversations
        for message in one.messages
    ]


def call(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        root(args=hoist_global_options(arguments), prog_name="memsense")
    return ended.value.code


def test_nested_messages_get_their_roles_texts_and_times(read_log: ReadLog) -> None:
    conversations, report = read_log(json.dumps(EVENTS), ReadOptions(map=OF_EVENTS))
    assert turns(conversations) == [
        ("s1", "user", None, "Where is\n\nthe boat?"),
        ("s1", "assistant", None, "In the shed."),
    ]
    assert conversations[0].title == "A walk"
    assert conversations[0].format == "mapped"
    times = [message.at for message in conversations[0].messages]
    assert [at and at.timestamp() for at in times] == [1700000000, 1700000002]
    assert report.skip_counts == {"tool message": 1, "hidden message": 1}


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [
        # Several conversations in one value; ids of their own, or numbers.
        (
            {"conversations": "$.chats[*]", "messages": "log", "role": "who", "content": "said"},
            {
                "chats": [
                    {"log": [{"who": "user", "said": "a"}]},
                    {"log": [{"who": "ai", "said": "b"}]},
                ]
            },
            [("log:1", "user", None, "a"), ("log:1:2", "assistant", None, "b")],
        ),
        # Messages in two places of one record, in turn.
        (
            {"messages": ["in.messages", "out[*].message"], "session": "$.run"},
            {
                "run": 7,
                "in": {"messages": [{"role": "user", "content": "a"}]},
                "out": [
                    {"message": {"role": "assistant", "content": [{"type": "text", "text": "b"}]}}
                ],
            },
            [("7", "user", None, "a"), ("7", "assistant", None, "b")],
        ),
        # Messages that are JSON within a text.
        (
            {"messages": "$.attributes['gen_ai.input.messages']", "content": "parts[*].content"},
            {
                "attributes": {
                    "gen_ai.input.messages": '[{"role":"user","parts":[{"content":"a"}]}]'
                }
            },
            [("log:1", "user", None, "a")],
        ),
        # The first path that leads to a text; a flag as a role; a person's name.
        (
            {
                "messages": "$.list[*]",
                "role": "is_me",
                "roles.true": "user",
                "roles.false": "assistant",
                "content": ["edited", "text"],
            },
            {"list": [{"is_me": True, "text": "a", "edited": "A"}, {"is_me": False, "text": "b"}]},
            [("log:1", "user", None, "A"), ("log:1", "assistant", None, "b")],
        ),
        (
            {"messages": "$.list[*]", "role": "by.name", "content": "text", "html": "true"},
            {"list": [{"by": {"name": "Ana"}, "text": "<p>a &amp; b</p>"}]},
            [("log:1", "other", "Ana", "a & b")],
        ),
        # A question and its answer in one record.
        (
            {"prompt": "input.q", "response": "output.a", "session": "chat"},
            {"chat": "c", "input": {"q": "a"}, "output": {"a": "b"}},
            [("c", "user", None, "a"), ("c", "assistant", None, "b")],
        ),
        # Names of files beside the text.
        (
            {"messages": "$.list[*]", "files": "docs[*].title"},
            {"list": [{"role": "user", "content": "see", "docs": [{"title": "a.pdf"}]}]},
            [("log:1", "user", None, "see\n\n[file: a.pdf]")],
        ),
        # `$[*]` of a top-level list: its items come one at a time.
        (
            {"messages": "$[*].turns[*]", "session": "$[*].n"},
            [{"n": 1, "turns": [{"role": "user", "content": "a"}]}],
            [("1", "user", None, "a")],
        ),
    ],
)
def test_a_mapping_reaches_any_place(
    fields: Fields, value: Any, expected: Sequence[object], read_log: ReadLog
) -> None:
    conversations, _ = read_log(json.dumps(value), ReadOptions(map=fields))
    assert turns(conversations) == expected


def test_records_of_a_session_belong_together_and_repeat_nothing(read_log: ReadLog) -> None:
    def record(number: int, session: str, *texts: str) -> str:
        said = [
            {"role": "assistant" if place % 2 else "user", "content": text}
            for place, text in enumerate(texts)
        ]
        return json.dumps({"session": session, "at": number, "messages": said}) + "\n"

    # The second record comes first, and a step beside it knows only the beginning.
    log = record(2, "a", "hi", "yes?", "more", "no") + record(1, "a", "hi", "yes?")
    log += record(3, "b", "hi") + record(4, "a", "more", "no") + record(5, "a", "no", "end")
    fields = {"messages": "messages[*]", "groups": "yes", "repeats": "yes", "order": "at"}
    conversations, report = read_log(log, ReadOptions(map=fields))
    assert [text for _, _, _, text in turns(conversations[:1])] == [
        "hi", "yes?", "more", "no", "no", "end",
    ]  # fmt: skip
    assert conversations[1].session_id == "b"
    assert report.skip_counts == {"repeated earlier turn": 4}


def test_a_table_with_other_than_plain_columns_is_mapped(read_log: ReadLog) -> None:
    table = (
        "Case No,Who said it,What (raw),kind\n1,agent,<b>hi</b>,msg\n1,Ana,hello,msg\n1,,x,note\n"
    )
    fields = {
        "session": "Case No",
        "role": "Who said it",
        "content": "What (raw)",
        "html": "true",
        "skip.note": "@.kind == 'note'",
    }
    conversations, report = read_log(table, ReadOptions(map=fields), name="t.csv")
    assert turns(conversations) == [("1", "assistant", None, "hi"), ("1", "other", "Ana", "hello")]
    assert report.skip_counts == {"note": 1}


def test_plain_columns_are_read_as_rows_with_the_usual_names_for_the_rest(
    read_log: ReadLog,
) -> None:
    table = "who,text,thread\nuser,hi,9\nbot,yes,9\n"
    conversations, report = read_log(table, ReadOptions(map={"role": "who"}), name="t.csv")
    assert turns(conversations) == [("9", "user", None, "hi"), ("9", "assistant", None, "yes")]
    assert report.detected["t.csv"][0] == "rows"


def test_lines_of_text_are_mapped_by_a_pattern(read_log: ReadLog) -> None:
    text = "18:00 -!- Ana joined\n18:01 <Ana> hi\n  there\n18:02 <bot> hello\n"
    fields = {"line": r"(?P<time>\d\d:\d\d) <(?P<role>\w+)> (?P<content>.*)"}
    conversations, report = read_log(text, ReadOptions(map=fields), name="x.log")
    assert turns(conversations) == [
        ("x", "other", "Ana", "hi\n  there"),
        ("x", "assistant", None, "hello"),
    ]
    assert report.skip_counts == {"line of another form": 1}


# Databases ----------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "chat.db"
    with closing(connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE thread (tid INTEGER PRIMARY KEY, subject TEXT);
            CREATE TABLE post (n INTEGER PRIMARY KEY, tid INTEGER, by_user INTEGER, body TEXT);
            INSERT INTO thread VALUES (1, 'Boats'), (2, 'Bees');
            INSERT INTO post VALUES (1, 1, 1, '{"text": "where?"}'),
                (2, 2, 1, '{"text": "hives?"}'), (3, 1, 0, '{"text": "here"}');
            """
        )
    return path


def read_database(path: Path, fields: Fields) -> list[Conversation]:
    (source,) = expand_paths([path])
    return list(read_source(source, ReadOptions(map=fields)))


def test_a_query_joins_the_tables_of_a_database(database: Path) -> None:
    fields = {
        "query": "SELECT * FROM post JOIN thread USING (tid) ORDER BY n",
        "session": "tid",
        "title": "subject",
        "role": "by_user",
        "roles.1": "user",
        "roles.0": "assistant",
        "json_keys": "body",
        "content": "body.text",
    }
    conversations = read_database(database, fields)
    assert turns(conversations) == [
        ("1", "user", None, "where?"),
        ("1", "assistant", None, "here"),
        ("2", "user", None, "hives?"),
    ]
    assert [one.title for one in conversations] == ["Boats", "Bees"]


def test_a_database_needs_a_table_or_a_query(database: Path) -> None:
    fields = {"session": "tid", "role": "by_user", "content": "body"}
    with pytest.raises(IngestError, match=r"--map table=NAME.*the tables are post, thread"):
        read_database(database, fields)
    with pytest.raises(IngestError, match=r"no table 'posts'; there are post, thread"):
        read_database(database, fields | {"table": "posts"})
    assert len(turns(read_database(database, fields | {"table": "post"}))) == 3


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM post",
        "DROP TABLE post",
        "ATTACH DATABASE '{folder}/stolen.db' AS stolen",
        "PRAGMA journal_mode = WAL",
        "SELECT load_extension('x')",
        "SELECT nothing FROM post",
        "no query at all",
    ],
)
def test_a_query_of_a_format_can_only_read(query: str, database: Path) -> None:
    before = database.read_bytes()
    fields = {"query": query.format(folder=database.parent), "content": "body"}
    with pytest.raises(IngestError, match="the query can't be run"):
        read_database(database, fields)
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == ["chat.db"]


# Faults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mesages": "$.x"}, "no field named 'mesages'.*did you mean 'messages'"),
        ({"content": "a["}, r"content is no path that can be followed: 'a\['"),
        ({"content": ""}, r"content is an empty path"),
        ({"skip.x": "@.a =="}, r"skip\.x is no path that can be followed"),
        ({"html": "perhaps"}, "html"),
        ({"line": "("}, "line is no regular expression"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_field(fields: Fields, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        map_from_fields(fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[map]\nrole = 3\n", "mine.toml: role must be a path or a list of paths"),
        ("[map\n", "mine.toml: not a format's file"),
        ("[map]\nrol = 'x'\n", "mine.toml: rol is unknown"),
        (None, "mine.toml: can't be read"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(
    text: str | None, said: str, tmp_path: Path, read_log: ReadLog
) -> None:
    file = tmp_path / "mine.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(IngestError, match=said):
        read_log("{}", ReadOptions(format=str(file)))


@pytest.mark.parametrize("value", [1, None, "x", [], {}, [[]], {"events": 1}, {"events": {"a": 1}}])
def test_a_mapping_survives_values_of_another_shape(value: Any, read_log: ReadLog) -> None:
    values = [value, EVENTS, {"events": [value, {"author": value, "content": {"parts": value}}]}]
    conversations, _ = read_log(json.dumps(values), ReadOptions(map=OF_EVENTS))
    assert turns(conversations)[:2] == [
        ("s1", "user", None, "Where is\n\nthe boat?"),
        ("s1", "assistant", None, "In the shed."),
    ]


# Formats as files ---------------------------------------------------------------------------------


def test_a_format_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "name": "mine",
        "description": 'Mine, "quoted"\n',
        "detect": {"keys": ["events"], "tables": {"a": ["b", "c"]}},
        "map": {"role": "author", "content": ["a", "b['x']"]},
        "roles": {"human 1": "user"},
        "skip": {"a reason": "@.x == 'y'"},
        "html": True,
        "query": "SELECT 1",
    }
    form = FormatMap(**values)
    file = tmp_path / "mine.toml"
    file.write_text(form.as_toml())
    assert load_format(file) == form


def test_a_saved_format_is_chosen_by_name_by_file_or_by_its_marks(
    own_formats: Path, read_log: ReadLog
) -> None:
    log = json.dumps(EVENTS)
    with pytest.raises(IngestError, match="not a conversation"):
        read_log(log)
    file = save_format(map_from_fields(OF_EVENTS), "mine")
    assert file == own_formats / "mine.toml"
    for options in (
        ReadOptions(format="mine"),
        ReadOptions(format=str(file)),
        ReadOptions(map=file),
    ):
        conversations, _ = read_log(log, options)
        assert len(turns(conversations)) == 2
        assert conversations[0].format == "mine"
    with file.open("a") as stream:
        stream.write("[detect]\nkeys = ['events']\ncondition = '@.events[0].author'\n")
    conversations, report = read_log(log)
    assert report.detected["log.jsonl"] == ("mine", "records with events")
    assert len(turns(conversations)) == 2


def test_a_format_of_ones_own_takes_no_name_of_another() -> None:
    save_format(map_from_fields({"role": "x.y"}), "claude_code")
    assert readers()["claude_code"] is READERS["claude_code"]
    with pytest.raises(InvalidInputError, match="lower-case letters"):
        save_format(map_from_fields({"role": "x"}), "../mine")


def test_commands_add_show_list_and_remove_a_format(
    own_formats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maps = [part for pair in OF_EVENTS.items() for part in ("--map", f"{pair[0]}={pair[1]}")]
    assert call("formats", "add", "mine", *maps, "--description", "My walks") == 0
    assert str(own_formats / "mine.toml") in capsys.readouterr().out
    assert call("formats", "show", "mine") == 0
    shown = capsys.readouterr().out
    shared = tmp_path / "theirs.toml"
    shared.write_text(shown)
    assert call("formats", "add", "theirs", "--from", str(shared)) == 0
    capsys.readouterr()
    assert call("formats", "--json") == 0
    listed = {item["format"]: item for item in json.loads(capsys.readouterr().out)}
    assert (listed["theirs"]["what"], listed["theirs"]["origin"]) == ("My walks", "yours")
    log = tmp_path / "walk.json"
    log.write_text(json.dumps(EVENTS))
    for name in ("mine", "theirs", str(shared)):
        assert call("ingest", str(log), "--format", name, "--preview", "--json") == 0
        printed = json.loads(capsys.readouterr().out)
        assert (printed["messages_kept"], printed["left_out"]) == (
            2, {"tool message": 1, "hidden message": 1},
        )  # fmt: skip
    assert call("formats", "remove", "mine") == 0
    assert call("formats", "remove", "mine") == 2
    assert call("formats", "add", "chatgpt", *maps) == 2
    assert call("ingest", str(log), "--format", "mine", "--preview") == 2
    assert sorted(path.name for path in own_formats.iterdir()) == ["theirs.toml"]


def test_a_preview_shows_the_first_conversations_and_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "walk.jsonl"
    log.write_text("".join(json.dumps(EVENTS | {"id": f"s{n}"}) + "\n" for n in range(5)))
    maps = [part for pair in OF_EVENTS.items() for part in ("--map", f"{pair[0]}={pair[1]}")]
    assert call("ingest", str(log), *maps, "--preview") == 0
    printed = capsys.readouterr().out
    assert "session s2 (A walk)" in printed
    assert "session s3" not in printed
    assert "Where is the boat?" in printed
    assert ["left", "out:", "hidden", "message", "5"] in map(str.split, printed.splitlines())
    assert "nothing is stored" in printed


# Proposals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "rows.jsonl",
            '{"ts": 1700000000, "from": "ada", "msg": "Where is it?"}\n'
            '{"ts": 1700000009, "from": "bo", "msg": "At the pier."}\n',
            "It looks like rows with from/msg/ts; try: memsense ingest {file} --map role=from"
            " --map content=msg --map time=ts",
        ),
        (
            "nested log.json",
            json.dumps(
                {
                    "v": 2,
                    "data": {
                        "turns": [
                            {"meta": {"sender": "ada", "n": 1}, "parts": [{"txt": "Where is it?"}]},
                            {"meta": {"sender": "bo", "n": 2}, "parts": [{"txt": "At the pier."}]},
                        ]
                    },
                }
            ),
            "messages under $.data.turns[*] with meta.sender/parts[*].txt",
        ),
        (
            "deep.json",
            json.dumps(
                {
                    "events": [
                        {"author": "ada", "content": {"parts": [{"text": "Where is it?"}]}},
                        {"author": "bo", "content": {"parts": [{"text": "At the pier."}]}},
                    ]
                }
            ),
            "messages under $.events[*] with author/content.parts[*].text",
        ),
        (
            "records with turns.jsonl",
            '{"l": [{"from": "a", "say": "Where is it?"}, {"from": "b", "say": "At the pier."}]}\n'
            '{"l": [{"from": "a", "say": "Who has it?"}, {"from": "b", "say": "I do."}]}\n',
            "messages under $.l[*] with from/say",
        ),
        (
            "table.csv",
            "When,Who said,Words\n2026-03-01 10:00,Ada L,Where is it?\n"
            "2026-03-01 10:01,Bo,At the pier.\n2026-03-01 10:02,Ada L,Thanks a lot.\n",
            "rows with Who said/Words/When",
        ),
    ],
)
def test_an_unknown_log_gets_a_command_that_reads_it(
    name: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(text)
    assert call("ingest", str(log), "--preview") == 1
    error = capsys.readouterr().err
    assert said.format(file=log) in error
    command = shlex.split(error.partition("try: memsense ")[2].partition(", which reads ")[0])
    assert call(*command, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    texts = [message["text"] for one in printed["first"] for message in one["messages"]]
    assert texts[:2] == ["Where is it?", "At the pier."]
    assert printed["left_out"] == {}


# Plug-ins -----------------------------------------------------------------------------------------

PLUGIN = """
from memsense.errors import IngestError
from memsense.ingest import Reader
from memsense.ingest.mapping.format_map import map_from_fields


def sniff(head):
    return "a diary" if head.text.startswith("Dear diary") else None


def read(reading):
    builder = reading.conversation()
    for number, line in enumerate(reading.lines(), start=1):
        reading.report.records += 1
        builder.add("user", line.strip(), line=number)
    yield from builder.build(reading.source.session_id)


DIARY = Reader(name="diary", sniff=sniff, read=read, describe=lambda: "Diaries")
WRONG = "no reader"
"""


def install(folder: Path, points: str) -> None:
    """Install a small package as pip does: its module, and its metadata with entry points."""
    (folder / "diaries.py").write_text(PLUGIN)
    info = folder / "diary_reader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diary-reader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[memsense.readers]\n{points}\n")


def test_a_reader_of_an_installed_package_is_used(
    tmp_path: Path, read_log: ReadLog, own_plugins: Callable[[Path], None]
) -> None:
    install(tmp_path, "diary = diaries:DIARY")
    own_plugins(tmp_path)
    conversations, report = read_log("Dear diary\nI saw a heron.\n", name="d.txt")
    assert report.detected["d.txt"] == ("diary", "a diary")
    assert [message.text for message in conversations[0].messages] == [
        "Dear diary",
        "I saw a heron.",
    ]
    assert choose_reader("diary").origin == "diary-reader"
    sys.modules.pop("diaries", None)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("diary = diaries:WRONG", "must be a memsense Reader or FormatMap, not str"),
        ("diary = diaries:NOTHING", "of diary-reader can't be loaded"),
        ("diary = no_such_module:X", "update or uninstall that package"),
    ],
)
def test_a_broken_plugin_is_named(
    points: str,
    said: str,
    tmp_path: Path,
    read_log: ReadLog,
    own_plugins: Callable[[Path], None],
) -> None:
    install(tmp_path, points)
    own_plugins(tmp_path)
    with pytest.raises(IngestError, match=said):
        read_log("Dear diary\n", name="d.txt")
    sys.modules.pop("diaries", None)
