"""PgBouncer for one test, in transaction mode, with fewer server connections than clients."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from waiting import wait_until

SERVER_CONNECTIONS = 2
PATIENCE = 30

_SETTINGS = """\
[databases]
{database} = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {connections}
max_client_conn = 200
"""

_PLACES = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin"


@contextmanager
def open_pgbouncer(database_url: str, mode: str = "transaction") -> Generator[str]:
    """Yield the database's URL through a PgBouncer; skip the test if it is not installed."""
    program = shutil.which("pgbouncer", path=_PLACES)
    if program is None:
        pytest.skip("needs pgbouncer: apt-get install pgbouncer")
    server = {name: str(value) for name, value in conninfo_to_dict(database_url).items()}
    port = _free_port()
    parts = {"host", "port", "dbname", "user", "password"} & server.keys()
    with tempfile.TemporaryDirectory(prefix="memsense-pgbouncer-") as folder:
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(
            _SETTINGS.format(
                database=server["dbname"],
                server=" ".join(f"{name}='{server[name]}'" for name in sorted(parts)),
                port=port,
                mode=mode,
                connections=SERVER_CONNECTIONS,
            )
        )
        Path(folder).chmod(0o755)
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, str(file)], stdout=log, stderr=log, cwd="/", user=_other_user()
            )
            try:
                url = (
                    f"postgresql://{quote(str(server['user']))}@127.0.0.1:{port}/{server['dbname']}"
                )
                _wait_for(url, process, Path(folder) / "log")
                yield url
            finally:
                process.terminate()
                process.wait(PATIENCE)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _other_user() -> int | None:
    """Return the user to run PgBouncer as, which refuses root. The server's user may open its
    socket.
    """
    if os.geteuid() != 0:
        return None
    for name in ("pgserver", "postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    raise AssertionError("no user to run pgbouncer as")


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(answers, "an answer of pgbouncer")
