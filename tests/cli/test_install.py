"""`memsense install` as a person meets it: what it shows, what it writes, and back."""

from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import command
import pytest

CONFIG = '# mine\nmodel = "x"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own folder as the home directory."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))


def run(*arguments: str) -> CompletedProcess[str]:
    return command.run(None, "install", *arguments)


def files(home: Path) -> Sequence[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Codex's configuration in a home of the test's own."""
    file = tmp_path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(CONFIG)
    return file


def test_the_change_is_shown_and_made_and_taken_back(tmp_path: Path, config: Path) -> None:
    given = ("codex", "--user", "ada", "--read-only", "--namespace", "work")
    tried = run(*given, "--dry-run")
    assert tried.returncode == 0
    assert "+[mcp_servers.memsense]" in tried.stdout
    assert "nothing is changed" in tried.stderr
    assert config.read_text() == CONFIG
    done = run(*given)
    assert (done.returncode, done.stdout) == (0, tried.stdout)
    arguments = '["mcp", "--user", "ada", "--namespace", "work", "--read-only"]'
    assert f"args = {arguments}" in config.read_text()
    backup = config.with_name("config.toml.before-memsense")
    assert str(backup) in done.stderr
    assert backup.read_text() == CONFIG
    again = run(*given)
    assert (again.returncode, again.stdout) == (0, "")
    assert "nothing to do" in again.stderr
    back = run("codex", "--remove")
    assert back.returncode == 0
    assert "-[mcp_servers.memsense]" in back.stdout
    assert config.read_text() == CONFIG
    assert files(tmp_path) == [".codex/config.toml"]


def test_a_database_is_named_in_the_environment_of_the_server(tmp_path: Path) -> None:
    url = "postgresql://ada@db.example/memory"
    done = run("cursor", "--user", "ada", "--database-url", url)
    assert done.returncode == 0
    assert f'"MEMSENSE_DATABASE_URL": "{url}"' in (tmp_path / ".cursor" / "mcp.json").read_text()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hush-hush@db.example/memory",
        "postgresql+psycopg://db.example/memory?user=ada&password=hush-hush",
        "host=db.example user=ada password='hush-hush' dbname=memory",
        "host=db.example user=ada sslpassword=hush-hush dbname=memory",
    ],
)
@pytest.mark.parametrize("host", ["cursor", "claude-code"])
def test_no_password_is_written_into_an_agent_s_file(
    tmp_path: Path, host: str, address: str
) -> None:
    hooks = ["--hooks"] if host == "claude-code" else []
    done = run(host, "--user", "ada", *hooks, "--database-url", address)
    assert done.returncode == 2
    assert "holds a password" in done.stderr
    for remedy in ("~/.pgpass", "PGPASSFILE", "MEMSENSE_DATABASE_URL"):
        assert remedy in done.stderr
    assert "hush-hush" not in done.stdout + done.stderr
    assert files(tmp_path) == []


def test_what_is_wrong_is_told_in_one_line(config: Path) -> None:
    done = run("codex")
    assert done.returncode == 2
    assert done.stderr == "memsense: say whose memory to serve: --user NAME\n"
    config.write_text("= broken")
    done = run("codex", "--user", "ada")
    assert done.returncode == 2
    assert done.stderr.startswith(f"memsense: {config} can't be read: ")
    done = run("codx", "--user", "ada")
    assert done.returncode == 2
    assert "did you mean 'codex'?" in done.stderr
    assert config.read_text() == "= broken"
