"""Where programs keep their logs: every format says it, and what is there is found."""

import json
from pathlib import Path

import pytest

from memsense.cli.app import root
from memsense.ingest import READERS, find_places
from memsense.ingest.places import BY_HAND, PLACES, SYSTEMS, System, places_of

VARIABLES = (
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "KIMI_SHARE_DIR",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, with brackets in its name, which no pattern may take for its own."""
    folder = tmp_path / "home [1]"
    folder.mkdir()
    monkeypatch.setattr(Path, "home", lambda: folder)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return folder


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_every_format_says_where_its_logs_are() -> None:
    assert [form for form in READERS if not (places_of(form) or form in BY_HAND)] == []


def test_places_and_words_are_of_formats_that_are_read() -> None:
    assert {place.format for place in PLACES} | set(BY_HAND) <= set(READERS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_place_is_shown_with_a_brace(system: System) -> None:
    for place in PLACES:
        shown = place.display(system)
        assert shown.startswith("~/") or (system == "windows" and shown.startswith("%APPDATA%\\"))
        assert not set(shown) & set("{}")


def test_an_empty_home_has_no_logs(home: Path) -> None:
    assert home.is_dir()
    assert find_places() == []


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("macos", "Library/Application Support"),
        ("linux", ".config"),
        ("windows", "AppData/Roaming"),
    ],
)
def test_an_extension_is_found_in_any_editor_made_like_vs_code(
    system: System, folder: str, home: Path
) -> None:
    tasks = [
        make(home / folder / editor / "User/globalStorage/saoudrizwan.claude-dev/tasks")
        for editor in ("Code", "Cursor")
    ]
    found = find_places(system=system)
    assert [(one.place.program, one.path) for one in found] == [("Cline", path) for path in tasks]


def test_a_variable_of_the_program_moves_its_place(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(home / ".codex/sessions")
    moved = make(tmp_path / "else [*]/sessions")
    monkeypatch.setenv("CODEX_HOME", str(moved.parent))
    assert [one.path for one in find_places()] == [moved]


def test_only_the_formats_asked_for_are_looked_for(home: Path) -> None:
    make(home / ".codex/sessions")
    gemini = make(home / ".gemini/tmp")
    assert [one.path for one in find_places(["gemini_cli"])] == [gemini]
    assert len(find_places()) == 2


def test_formats_prints_the_place_on_each_system(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        root(args=["formats", "--json"], prog_name="memsense")
    assert ended.value.code == 0
    told = {one["format"]: one for one in json.loads(capsys.readouterr().out)}
    assert told["codex"]["linux"][0] == "~/.codex/sessions"
    assert "%APPDATA%\\*\\User" in told["cline"]["windows"][1]
    assert told["chatgpt"]["by_hand"] == "Settings, Data controls, Export data"


@pytest.mark.parametrize(
    ("program", "folder", "form"),
    [
        ("Amp", ".local/share/amp/threads", "openai_messages"),
        ("Oh My Pi", ".omp/agent/sessions", "openclaw"),
        ("Mistral Vibe", ".vibe/logs/session", "rows"),
        ("Cline", ".cline/data/sessions", "openai_messages"),
        ("Kimi Code", ".kimi-code/sessions", "kimi"),
    ],
)
def test_more_programs_are_found(
    program: str, folder: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "KIMI_CODE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / folder).mkdir(parents=True)
    found = [(one.place.program, one.place.format, one.path) for one in find_places(system="linux")]
    assert (program, form, tmp_path / folder) in found
