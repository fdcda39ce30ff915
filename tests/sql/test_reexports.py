"""A log that is exported again, under another name, from another phone or by another clock."""

import json
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.draft.ingest_run import IngestReport

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "logs3"
START = datetime(2026, 3, 18, 19, 0)  # noqa: DTZ001 (a chat names no zone)

Line = tuple[datetime, str, str]
"""Time, speaker and text of a message of a chat."""


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> MemSense:
    """Return a memory in which each test has a user of its own."""
    return MemSense.open(module_database_url, embedder=HashingEmbedder())


def chat(days: int = 6, *, seed: int = 1, people: Sequence[str] = ("Nils", "Marta")) -> list[Line]:
    """Return a chat of several days, in which some days are a single "ok"."""
    source = random.Random(seed)
    words = "oak board saw blade shed mill glue clamp varnish drill plane chisel bench".split()
    lines: list[Line] = []
    for day in range(days):
        at = START + timedelta(days=day, minutes=source.randrange(60))
        for number in range(1 if day % 3 == 1 else 7):
            text = f"{day}.{number} " + " ".join(source.choices(words, k=source.choice([2, 9])))
            short = day % 3 == 1 or number % 4 == 3
            lines.append((at, people[number % 2], "ok" if short else text))
            at += timedelta(minutes=source.randrange(1, 4))
    return lines


def write(path: Path, lines: Sequence[Line], *, is_phone: bool = False) -> Path:
    """Write a chat as WhatsApp exports it, on a computer or on an iPhone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    form = "[{0:%d.%m.%y}, {0:%H:%M:%S}] {1}: {2}" if is_phone else "{0:%d.%m.%y, %H:%M} - {1}: {2}"
    path.write_text("\n".join(form.format(*line) for line in lines) + "\n")
    return path


def stored(memory: MemSense, user: str) -> list[str]:
    """Return the texts of the memory's messages in the order of their times."""
    found: list[str] = []
    for chunk in sorted(
        memory.list(user_id=user, limit=1000),
        key=lambda it: (it.occurred_at.timestamp() if it.occurred_at else 0, it.ordinal),
    ):
        found += (chunk.user_text + "\n\n" + chunk.assistant_text).strip().split("\n\n")
    return found


def read(memory: MemSense, path: Path, user: str) -> IngestReport:
    return memory.ingest(path, user_id=user, embed="later")


def shifted(lines: Sequence[Line], **by: float) -> list[Line]:
    return [(at + timedelta(**by), name, text) for at, name, text in lines]


def renamed(lines: Sequence[Line], **names: str) -> list[Line]:
    return [(at, names.get(name, name), text) for at, name, text in lines]


def rewritten(lines: Sequence[Line], position: int, text: str) -> list[Line]:
    at, name, _ = lines[position]
    return [*lines[:position], (at, name, text), *lines[position + 1 :]]


EXPORTS: dict[str, tuple[slice, Callable[[list[Line]], list[Line]]]] = {
    "renamed": (slice(None), lambda it: it),
    "grown": (slice(20), lambda it: it),
    "window begins later": (slice(None), lambda it: it[5:]),
    "window begins earlier": (slice(5, None), lambda it: it),
    "window moved": (slice(20), lambda it: it[8:]),
    "one zone apart": (slice(20), lambda it: shifted(it, hours=1)),
    "far zone": (slice(20), lambda it: shifted(it, hours=-9, minutes=-30)),
    "summer time": (slice(20), lambda it: shifted(it[:15], hours=1) + shifted(it[15:], hours=2)),
    "contact renamed": (slice(20), lambda it: renamed(it, Marta="Marta Vogel")),
    "two phones": (
        slice(20),
        lambda it: shifted(renamed(it, Marta="Ich", Nils="Nils Berg"), hours=1),
    ),
}
"""The lines of a chat that the first export has, and what the second one makes of all."""


@pytest.mark.parametrize("case", EXPORTS)
def test_another_export_of_a_chat_stores_no_message_twice_and_loses_none(
    memory: MemSense, tmp_path: Path, case: str
) -> None:
    user, lines, (first, second) = case, chat(), EXPORTS[case]
    exported = second(lines)
    read(memory, write(tmp_path / "WhatsApp Chat with Marta.txt", lines[first]), user)
    path = tmp_path / "again" / "WhatsApp Chat with Marta (1).txt"
    report = read(memory, write(path, exported, is_phone="phones" in user), user)

    assert sorted(stored(memory, user)) == sorted(text for _, _, text in lines)
    name = f"{tmp_path.name}/WhatsApp Chat with Marta"
    assert [each.session_id for each in report.continued] == [name]
    if all(at in {line[0] for line in lines} for at, *_ in exported):
        assert stored(memory, user) == [text for _, _, text in lines]
    sessions = memory.sessions(user_id=user)
    assert all(it.session_id.startswith(f"{name}/") for it in sessions)
    for place in (path, tmp_path / "WhatsApp Chat with Marta.txt"):
        report = read(memory, place, user)
        assert (report.stored, report.replaced) == (0, 0)
        assert report.exchanges == report.repeated
    # The third name is that of a chat that has gone on.
    grown = [*exported, (exported[-1][0] + timedelta(days=2), exported[-1][1], "The last word.")]
    assert read(memory, write(tmp_path / "third.txt", grown), user).stored == 1


def test_three_writers_of_one_export_store_each_message_once(
    memory: MemSense, module_database_url: str, tmp_path: Path
) -> None:
    lines = chat()
    read(memory, write(tmp_path / "chat.txt", lines[:20]), "three")
    # Two have the export under one name, a third under another, with a window that begins later.
    paths = [write(tmp_path / "chat (1).txt", lines)] * 2
    paths.append(write(tmp_path / "copy" / "chat (2).txt", lines[4:]))
    barrier = threading.Barrier(len(paths))

    def store(path: Path) -> IngestReport:
        with MemSense.open(module_database_url, embedder=HashingEmbedder()) as writer:
            barrier.wait()
            return read(writer, path, "three")

    with ThreadPoolExecutor(len(paths)) as threads:
        reports = [*threads.map(store, paths)]
    assert sorted(stored(memory, "three")) == sorted(text for _, _, text in lines)
    assert sum(report.stored for report in reports) >= 1
    assert not any(report.failed for report in reports)
    assert [read(memory, path, "three").stored for path in paths] == [0, 0, 0]


@pytest.mark.parametrize("sessions", [1, 2, 3])
def test_a_continued_log_is_resumed_where_the_run_was_killed(
    memory: MemSense, tmp_path: Path, sessions: int
) -> None:
    user, lines = f"killed after {sessions}", chat()
    read(memory, write(tmp_path / "chat.txt", lines[:12]), user)
    before = len(stored(memory, user))
    again = write(tmp_path / "chat (1).txt", lines)
    calls = iter(range(100))

    def kill(_: IngestReport) -> None:
        if next(calls) >= sessions + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.ingest(again, user_id=user, embed="later", on_session=kill)
    assert before < len(stored(memory, user)) < len(lines)
    read(memory, again, user)
    assert stored(memory, user) == [text for _, _, text in lines]
    assert read(memory, again, user).stored == 0


def test_a_message_that_was_edited_replaces_its_memory(memory: MemSense, tmp_path: Path) -> None:
    lines = chat()
    read(memory, write(tmp_path / "one.txt", lines), "edit")
    edited = rewritten(lines, 4, "I meant the other drill.")
    report = read(memory, write(tmp_path / "two.txt", edited), "edit")
    assert (report.stored, report.replaced) == (0, 1)
    assert stored(memory, "edit") == [text for _, _, text in edited]


def test_a_message_that_was_deleted_on_the_phone_stays(memory: MemSense, tmp_path: Path) -> None:
    lines = chat()
    read(memory, write(tmp_path / "one.txt", lines), "deleted")
    report = read(memory, write(tmp_path / "two.txt", [*lines[:4], *lines[5:]]), "deleted")
    assert (report.stored, report.replaced) == (0, 0)
    assert stored(memory, "deleted") == [text for _, _, text in lines]


def test_an_exchange_that_the_first_export_lacks_is_put_in_its_place(
    memory: MemSense, tmp_path: Path
) -> None:
    lines = chat()
    read(memory, write(tmp_path / "one.txt", [*lines[:10], *lines[12:]]), "between")
    for name in ("two", "three"):
        read(memory, write(tmp_path / f"{name}.txt", lines), "between")
        assert stored(memory, "between") == [text for _, _, text in lines]


def test_what_was_forgotten_stays_forgotten(memory: MemSense, tmp_path: Path) -> None:
    lines = chat()
    read(memory, write(tmp_path / "one.txt", lines[:-2]), "forgetful")
    chunk = memory.list(user_id="forgetful", limit=1000)[3]
    memory.forget(chunk.chunk_id)
    before = stored(memory, "forgetful")
    read(memory, write(tmp_path / "two.txt", lines), "forgetful")
    assert stored(memory, "forgetful") == [*before, *(text for _, _, text in lines[-2:])]


@pytest.mark.parametrize("apart", [timedelta(0), timedelta(hours=1), timedelta(days=1, minutes=7)])
def test_two_chats_with_fifty_equal_short_lines_stay_two(
    memory: MemSense, tmp_path: Path, apart: timedelta
) -> None:
    texts = ["ok", "yes", "no", "thanks", "good night"] * 10
    user = f"short {apart}"
    for name, offset in (("Marta", timedelta(0)), ("Tom", apart)):
        at = [START + offset + timedelta(minutes=number) for number in range(50)]
        short = [(at[n], ("Nils", name)[n % 2], text) for n, text in enumerate(texts)]
        own = [(at[-1] + timedelta(minutes=n), name, f"{name} says {n} things") for n in range(9)]
        report = read(memory, write(tmp_path / f"{name}.txt", [*short, *own]), user)
        assert report.continued == []
        assert report.repeated == 0
    assert len(stored(memory, user)) == 2 * 59


def listed(texts: Sequence[str]) -> str:
    roles = ("user", "assistant")
    return json.dumps([{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)])


def test_a_list_of_messages_without_times_that_grew_under_another_name(
    memory: MemSense, tmp_path: Path
) -> None:
    texts = [f"Which pump lifts water {n} metres?" if n % 2 == 0 else f"{n}0 W." for n in range(12)]
    for number, (first, last) in enumerate([(0, 6), (0, 9), (4, 12), (0, 12)]):
        path = tmp_path / f"chat{number}.json"
        path.write_text(listed(texts[first:last]))
        read(memory, path, "list")
    assert stored(memory, "list") == texts


def test_lists_that_begin_with_the_same_prompt_stay_several(
    memory: MemSense, tmp_path: Path
) -> None:
    prompt = "Answer in one word, in English, and without a full stop at its end."
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.json").write_text(listed([prompt, "Yes.", f"And {name}?", name]))
        assert read(memory, tmp_path / f"{name}.json", "prompts").repeated == 0


def test_two_exports_of_one_folder_are_one_chat(memory: MemSense, tmp_path: Path) -> None:
    lines = chat()
    write(tmp_path / "chats" / "a" / "Marta.txt", lines[:20])
    write(tmp_path / "chats" / "b" / "Marta (1).txt", lines)
    read(memory, tmp_path / "chats", "folder")
    assert stored(memory, "folder") == [text for _, _, text in lines]


def test_new_session_stores_a_log_under_its_own_name(memory: MemSense, tmp_path: Path) -> None:
    lines = chat(1)
    read(memory, write(tmp_path / "one.txt", lines), "apart")
    path = write(tmp_path / "two.txt", lines)
    report = memory.ingest(path, user_id="apart", new_session=True)
    assert (report.continued, report.repeated) == ([], 0)
    assert len(stored(memory, "apart")) == 2 * len(lines)
    report = read(memory, path, "apart")
    assert (report.continued, report.stored) == ([], 0)


def test_a_log_is_recognised_under_another_setting_for_secrets(
    memory: MemSense, tmp_path: Path
) -> None:
    secret = "AKIA" + "".join(random.Random(5).choices("ABCDEFGHIJKLMNOP234567", k=16))
    lines = rewritten(chat(1), 2, f"The key is {secret}, keep it.")
    for number, redact in enumerate([False, False, True, False]):
        path = write(tmp_path / f"{number}.txt", lines)
        report = memory.ingest(path, user_id="secret", redact=redact)
        assert report.stored == (report.exchanges if number == 0 else 0)
        # With secrets stored, a read that replaces them takes them out; none puts them back.
        assert report.replaced == (number == 2)
        assert (secret in "".join(stored(memory, "secret"))) == (number < 2)


def test_a_dry_run_says_what_a_log_continues(memory: MemSense, tmp_path: Path) -> None:
    lines = chat()
    read(memory, write(tmp_path / "one.txt", lines[:20]), "dry")
    path = write(tmp_path / "two.txt", lines)
    report = memory.ingest(path, user_id="dry", dry_run=True)
    [continued] = report.as_dict()["continued"]
    name = f"{tmp_path.name}/one"
    assert continued == {"source": str(path), "session_id": name, "matched": 20, "messages": 20}
    sentence = f"continues the session {name!r} (20 of its 20 messages are in it)"
    assert str(report.continued[0]) == f"{path} {sentence}"
    assert report.stored + report.repeated == report.exchanges


def test_what_was_stored_without_keys_gets_them_when_its_log_is_read_again(
    memory: MemSense, tmp_path: Path, module_database_url: str
) -> None:
    lines = chat()
    path = write(tmp_path / "one.txt", lines)
    read(memory, path, "old")
    with psycopg.connect(module_database_url) as conn:
        conn.execute(
            "UPDATE memsense.ingested_messages AS m SET content_key = NULL"
            " FROM memsense.scopes AS s WHERE m.tenant_id = s.tenant_id"
            " AND m.scope_id = s.scope_id AND s.user_id = 'old'"
        )
    assert read(memory, path, "old").stored == 0
    assert read(memory, write(tmp_path / "two.txt", lines), "old").stored == 0


def test_an_erased_chat_leaves_no_other_name_and_is_stored_again(
    memory: MemSense, tmp_path: Path, module_database_url: str
) -> None:
    lines = chat(1)
    read(memory, write(tmp_path / "one.txt", lines), "erased")
    path = write(tmp_path / "two.txt", lines)
    read(memory, path, "erased")
    query = "SELECT count(*) FROM memsense.session_aliases WHERE alias LIKE '%/two/%'"
    with psycopg.connect(module_database_url) as conn:
        before = conn.execute(query).fetchone()
        [session] = memory.sessions(user_id="erased")
        receipt = memory.erase(user_id="erased", session_id=session.session_id)
        assert receipt.counts["session_aliases"] == 1
        conn.rollback()
        after = conn.execute(query).fetchone()
    assert before is not None
    assert after is not None
    assert after[0] == before[0] - 1
    assert read(memory, path, "erased").stored


def test_a_fork_that_has_gone_on_is_read_on(memory: MemSense, tmp_path: Path) -> None:
    texts = [f"Step {n}." for n in range(20)]
    (tmp_path / "a.jsonl").write_text("\n".join(coded(texts[:6], session="c", mark="v")))
    fork = tmp_path / "b.jsonl"
    for length in (6, 9, 15, 20):
        fork.write_text("\n".join(coded(texts[:length], session="d", mark="w")))
        read(memory, tmp_path, "gone on")
        assert stored(memory, "gone on") == texts[: max(6, length)]


def test_a_chat_is_recognised_after_an_export_and_an_import(
    memory: MemSense, tmp_path: Path
) -> None:
    lines = chat()
    read(memory, write(tmp_path / "one.txt", lines), "before")
    moved = tmp_path / "moved.jsonl"
    memory.export_to(moved, user_id="before")
    memory.erase(user_id="before")
    memory.import_from(moved)
    assert read(memory, write(tmp_path / "two.txt", lines), "before").stored == 0


def coded(texts: Sequence[str], *, session: str, mark: str, first: int = 0) -> list[str]:
    """Return lines of Claude Code, whose ids have a mark."""
    rows: list[str] = []
    for number, text in enumerate(texts, first):
        role = ("user", "assistant")[number % 2]
        row = {
            "type": role,
            "uuid": f"{mark}{number}",
            "parentUuid": f"{mark}{number - 1}" if number else None,
            "sessionId": session,
            "timestamp": f"2026-05-01T10:{number:02}:30.5Z",
            "message": {"role": role, "content": text, "id": f"{mark}m{number}"},
        }
        rows.append(json.dumps(row))
    return rows


def test_a_session_that_was_written_again_under_new_ids_is_not_stored_twice(
    memory: MemSense, tmp_path: Path
) -> None:
    texts = [f"Step {n}." for n in range(8)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(coded(texts[:6], session="a", mark="x")))
    read(memory, path, "fork")
    # A fork repeats the session under ids of its own, and goes on.
    fork = tmp_path / "b.jsonl"
    fork.write_text("\n".join(coded(texts, session="b", mark="y")))
    report = read(memory, fork, "fork")
    assert (report.stored, report.repeated) == (1, 3)
    assert stored(memory, "fork") == texts
    assert [each.session_id for each in report.continued] == ["a"]
    assert read(memory, fork, "fork").stored == 0


TALK = (
    ("user", "which pump do we use for the well?"),
    ("assistant", "I look into the notes."),
    (
        "assistant",
        "The 400 W pump. The notes name two reasons:\n- the well is 12 m deep\n- the hose",
    ),
    ("user", "and who sells it?\nplease with the town"),
    ("assistant", "Brunnen-Kurz in Jena."),
)


def write_session(path: Path) -> Path:
    """Write a session as Claude Code keeps it."""
    rows: list[dict[str, object]] = []
    for number, (role, text) in enumerate(TALK):
        content: object = [{"type": "text", "text": text}] if role == "assistant" else text
        message: dict[str, object] = {"role": role, "content": content}
        if role == "assistant":
            message["id"] = f"a{number}"
        parent = f"r{number - 1}" if number else None
        about = {"uuid": f"r{number}", "parentUuid": parent, "sessionId": "5c", "type": role}
        rows.append({**about, "timestamp": f"2026-03-18T19:0{number}:00Z", "message": message})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_export(path: Path, more: str = "") -> Path:
    """Write the same session as /export does."""
    signs = {"user": ">", "assistant": "⏺"}
    said = "\n\n".join(
        f"{signs[role]} {text}".replace("\n", "\n  ")
        + "\n\n⏺ Read(notes.md)\n  ⎿  12 lines" * (n == 1)
        for n, (role, text) in enumerate(TALK)
    )
    path.write_text(f"╭{'─' * 30}╮\n│ ✻ Welcome to Claude Code!  │\n╰{'─' * 30}╯\n\n{said}\n{more}")
    return path


@pytest.mark.parametrize("order", ["session, export", "export, session", "one run"])
def test_a_session_and_its_export_as_text_are_one(
    memory: MemSense, tmp_path: Path, order: str
) -> None:
    paths = [write_session(tmp_path / "5c.jsonl"), write_export(tmp_path / "conversation.txt")]
    if order.startswith("export"):
        paths.reverse()
    runs = [paths] if order == "one run" else [[path] for path in paths]
    reports = [memory.ingest(*run, user_id=order, embed="later") for run in runs]
    texts = [" ".join(text.split()) for text in stored(memory, order)]
    assert texts == [" ".join(text.split()) for _, text in TALK]
    assert len(reports[-1].continued) == 1
    assert reports[-1].continued[0].matched == len(TALK)
    for path in paths:
        assert read(memory, path, order).stored == 0
    # A later export holds more of the session.
    more = "\n> Thank you, I call them today.\n\n⏺ They open at nine.\n"
    assert read(memory, write_export(tmp_path / "later.txt", more), order).stored == 1
    assert len(stored(memory, order)) == len(TALK) + 2


def test_an_agent_that_writes_its_history_again_in_one_file_is_read_once(
    memory: MemSense, tmp_path: Path
) -> None:
    texts = [f"Step {n}." for n in range(8)]
    again = coded(texts[:4], session="e", mark="t")
    again += coded(["Or another step?", "Yes."], session="e", mark="t", first=4)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*coded(texts, session="e", mark="s"), *again]))
    report = read(memory, path, "again")
    # The chain that goes on last is the current one, from the rows that both have.
    assert stored(memory, "again") == [*texts[:4], "Or another step?", "Yes."]
    assert report.read.skip_counts == {
        "copy of a row under another id": 4,
        "abandoned branch": 4,
    }


def test_ids_that_stand_for_several_texts_are_no_ids(memory: MemSense, tmp_path: Path) -> None:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "id": roles[n % 2], "content": f"{n}?"} for n in range(8)]
    path = tmp_path / "relayed.json"
    path.write_text(json.dumps(messages))
    report = read(memory, path, "relayed")
    assert stored(memory, "relayed") == [f"{n}?" for n in range(8)]
    assert any("ids of messages stand for several texts" in it for it in report.read.warnings)
    assert report.read.skip_counts == {}
    assert read(memory, path, "relayed").stored == 0


def test_the_samples_of_a_second_export_and_of_a_relay(memory: MemSense) -> None:
    if not SAMPLES.exists():
        pytest.skip("the shared samples are not on this machine")
    first = read(memory, SAMPLES / "reexport" / "first", "samples")
    second = read(memory, SAMPLES / "reexport" / "second", "samples")
    assert (first.read.messages_kept, second.continued[0].matched) == (9, 9)
    assert (first.stored, second.repeated) == (5, 5)
    assert second.stored <= 3
    assert len(stored(memory, "samples")) == 9 + 4

    read(memory, SAMPLES / "relay_same_message_id.jsonl", "relay")
    pairs = [(it.user_text, it.assistant_text) for it in memory.list(user_id="relay")]
    watts = {n: f"Answer {n}: the {n + 3}00 W one." for n in range(3)}
    asked = {n: f"Question {n}: which pump for well {n}?" for n in range(3)}
    assert sorted(pairs) == [(asked[n], watts[n]) for n in range(3)]
