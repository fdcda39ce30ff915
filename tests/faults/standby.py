"""A standby of a PostgreSQL server, made with the server's own programs."""

import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psutil
import psycopg

PATIENCE = 60


@dataclass(frozen=True)
class Standby:
    """A standby of a server of this machine, in a directory of its own."""

    folder: Path
    programs: Path
    user: str | None
    database: str

    @classmethod
    def copy_of(cls, url: str, folder: Path) -> "Standby":
        """Return a standby of the server at `url`, which is not started yet."""
        with psycopg.connect(url) as connection:
            database = connection.info.dbname
            process = psutil.Process(connection.info.backend_pid).parent()
        assert process is not None
        user = process.username() if os.geteuid() == 0 else None
        folder.mkdir()
        if user:
            shutil.chown(folder, user)
        standby = cls(folder, Path(process.exe()).parent, user, database)
        standby._run("pg_basebackup", "-D", str(folder / "data"), "-R", "-c", "fast", "-d", url)
        return standby

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/{self.database}?host={self.folder}&port=5999"

    def start(self) -> None:
        options = f"-p 5999 -k {self.folder} -c listen_addresses='' -c restart_after_crash=off"
        log = str(self.folder / "log")
        self._pg_ctl("start", "-w", "-l", log, "-o", options)

    def stop(self) -> None:
        self._pg_ctl("stop", "-m", "immediate")

    def pause(self) -> None:
        """Replay nothing from now on."""
        self._do("SELECT pg_wal_replay_pause()")
        self._wait("SELECT pg_get_wal_replay_pause_state() = 'paused'")

    def go_on(self) -> None:
        self._do("SELECT pg_wal_replay_resume()")

    def catch_up(self, url: str) -> None:
        """Wait until it has replayed what its primary at `url` has written."""
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert row is not None
        self._wait("SELECT pg_last_wal_replay_lsn() >= %s", row[0])

    def _do(self, statement: LiteralString) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def _wait(self, condition: LiteralString, *values: str) -> None:
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(self.url, autocommit=True) as connection:
            while connection.execute(condition, values).fetchone() != (True,):
                assert time.monotonic() < deadline, condition
                time.sleep(0.02)

    def _pg_ctl(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        group = pwd.getpwnam(self.user).pw_gid if self.user else None
        subprocess.run(
            command, user=self.user, group=group, cwd=self.folder, check=True, timeout=PATIENCE
        )
