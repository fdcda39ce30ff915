"""Nodes on this machine that are killed and started again, and a copy of a cluster's tables."""

import os
import pwd
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
from psycopg import sql
from servers import TestServer, with_database

from memsense.db.migrate import upgrade
from memsense.db.queries import as_sql

_COLUMNS = """
SELECT c.relname, array_agg(quote_ident(a.attname) ORDER BY a.attnum)
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'alembic_version' AND a.attgenerated = ''
GROUP BY c.relname
"""


@dataclass(frozen=True)
class Node:
    """A node whose server runs on this machine: its directory, and the user that runs it."""

    url: str
    folder: Path
    program: Path
    user: str

    @classmethod
    def find(cls, url: str) -> "Node | None":
        """Return the node at the URL, None if its processes are not this machine's, or not ours."""
        with psycopg.connect(url) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
            try:
                server = psutil.Process(connection.info.backend_pid).parent()
            except psutil.NoSuchProcess:
                return None
        assert row is not None
        folder = Path(row[0])
        if server is None or str(folder) not in server.cmdline():
            return None
        user = server.username()
        is_ours = os.geteuid() in {0, pwd.getpwnam(user).pw_uid}
        program = Path(server.exe()).with_name("pg_ctl")
        return cls(url, folder, program, user) if is_ours else None

    def kill(self) -> None:
        """Kill the server's first process, and wait until the others have noticed."""
        pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        server = psutil.Process(pid)
        others = server.children(recursive=True)
        server.kill()
        # They look for it once in a while, and keep its memory from the next server until then.
        for process in others:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs([server, *others], timeout=30)

    def start(self) -> None:
        """Start the server again, and wait until it answers.

        Its environment is empty: what ends with the run is known by a variable.
        """
        log = self.folder.with_name(f"{self.folder.name}.log")
        command = [str(self.program), "-D", str(self.folder), "-l", str(log), "-w", "start"]
        user = self.user if os.geteuid() == 0 else None
        subprocess.run(
            command,
            user=user,
            cwd=self.folder,
            env={},
            start_new_session=True,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # it says that it was killed
            timeout=120,
        )


@contextmanager
def plain_copy(server: TestServer, url: str) -> Generator[psycopg.Connection]:
    """Yield a connection to a copy of the cluster's tables, in a database without Citus.

    There any statement may be made of them, also one that names no tenant.
    """
    name = f"{urlsplit(url).path.removeprefix('/')}_copy"
    identifier = sql.Identifier(name)
    with psycopg.connect(server.url, autocommit=True) as first:
        first.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(identifier))
        try:
            plain = with_database(url, name)
            upgrade(plain)
            with psycopg.connect(url) as source, psycopg.connect(plain) as target:
                target.execute("SET session_replication_role = replica")
                for table, columns in source.execute(_COLUMNS).fetchall():
                    _copy_table(source, target, table, as_sql(", ".join(columns)))
                target.commit()
                yield target
        finally:
            first.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))


def _copy_table(
    source: psycopg.Connection, target: psycopg.Connection, table: str, columns: sql.SQL
) -> None:
    names = {"table": sql.Identifier("memsense", table), "columns": columns}
    out = sql.SQL("COPY (SELECT {columns} FROM {table}) TO STDOUT").format(**names)
    into = sql.SQL("COPY {table} ({columns}) FROM STDIN").format(**names)
    target.execute(sql.SQL("DELETE FROM {table}").format(**names))
    with source.cursor().copy(out) as rows, target.cursor().copy(into) as copied:
        for block in rows:
            copied.write(block)
