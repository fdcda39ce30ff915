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


OPTIONS = ("--timeout", "1.5", "--max-tokens", "600")


@pytest.mark.parametrize(
    ("host", "file", "options", "limit"),
    [
        ("claude-code", ".claude/settings.json", OPTIONS, '"timeout": 5'),
        ("claude-code", ".claude/settings.json", ("--timeout", "20"), '"timeout": 23'),
        ("codex", ".codex/hooks.json", OPTIONS, '"timeout": 5'),
        ("gemini", ".gemini/extensions/memsense/hooks/hooks.json", OPTIONS, '"timeout": 5000'),
        ("opencode", ".config/opencode/plugins/memsense.js", OPTIONS, "const TIMEOUT = 5000"),
        (
            "opencode",
            ".config/opencode/plugins/memsense.js",
            ("--timeout", "20"),
            "const TIMEOUT = 23000",
        ),
    ],
)
def test_timeout_and_budget_go_into_the_hooks_and_the_agent_waits_longer(
    tmp_path: Path, host: str, file: str, options: Sequence[str], limit: str
) -> None:
    assert run(host, "--user", "ada", "--hooks", *options).returncode == 0
    text = (tmp_path / file).read_text()
    words = '", "'.join(options) if host == "opencode" else " ".join(options)
    assert words in text
    assert limit in text
    # Another installation without them takes the defaults again.
    assert run(host, "--user", "ada", "--hooks").returncode == 0
    assert options[0] not in (tmp_path / file).read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--timeout", "1"), "are options of hooks: add --hooks"),
        (("--max-tokens", "600"), "are options of hooks: add --hooks"),
        (("--hooks", "--timeout", "0"), "--timeout"),
        (("--hooks", "--timeout", "soon"), "--timeout"),
        (("--hooks", "--max-tokens", "0"), "--max-tokens"),
    ],
)
def test_a_timeout_or_budget_that_cannot_be_used_is_refused(
    tmp_path: Path, options: Sequence[str], message: str
) -> None:
    done = run("codex", "--user", "ada", *options)
    assert done.returncode == 2
    assert message in done.stderr
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
