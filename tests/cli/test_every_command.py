"""Every command of the command line runs once and prints something."""

import threading

from command import run

from memsense import MemSense
from memsense.cli.app import COMMANDS

EXAMPLES = {
    "add": "add - --user ada",
    "archive": "archive 2",
    "changes": "changes list --user ada",
    "compare": "compare",
    "config": "config show",
    "context": "context bees --user ada --silence 0",
    "db": "db status",
    "delete": "delete 3 --yes",
    "demote": "demote 1",
    "doctor": "doctor",
    "entities": "entities --all-users",
    "erase": "erase --user bob --yes",
    "erasures": "erasures",
    "export": "export - --user ada",
    "feedback": "feedback 1 --helpful",
    "forget": "forget 2",
    "formats": "formats",
    "help": "help all",
    "history": "history 1",
    "ingest": "ingest - --user ada --format text --dry-run",
    "init": "init",
    "install": "install cursor --user ada --dry-run",
    "jobs": "jobs list",
    "key": "key list",
    "openapi": "openapi",
    "left-off": "left-off --user ada --project boats",
    "list": "list --user ada",
    "model": "model status",
    "profile": "profile list",
    "project": "project list",
    "promote": "promote 1",
    "recent": "recent --user ada",
    "redact": "redact --stored --all-users --yes",
    "restore": "restore 2",
    "search": "search bees --user ada",
    "sessions": "sessions --user ada",
    "settings": "settings show",
    "show": "show 1",
    "sql": "sql recall",
    "stats": "stats",
    "tenant": "tenant list",
    "trace": "trace list",
    "ttl": "ttl --help",
    "update": "update 1 --tag bees",
    "why-not": "why-not bees 1 --user ada",
    "worker": "worker --once",
}
ELSEWHERE = {"demo", "eval", "hook", "import", "mcp", "replay", "serve"}
"""Commands that other files run: they take long, or need other programs or commands' output."""


def test_each_command_has_an_example() -> None:
    assert EXAMPLES.keys() | ELSEWHERE == COMMANDS.keys()


def test_every_command_runs_prints_something_and_leaves_no_thread(database_url: str) -> None:
    with MemSense.open(database_url) as memory:
        for number in range(3):
            content = f"I keep {number} bees in Lisbon, and their honey is dark and sweet."
            memory.add([{"role": "user", "content": content}], user_id="ada", session_id="s")
        memory.add([{"role": "user", "content": "I leave."}], user_id="bob", session_id="s")
    threads = set(threading.enumerate())
    for command in EXAMPLES.values():
        done = run(database_url, *command.split(), stdin="User: hi\nAssistant: hello\n")
        assert (done.returncode, done.stdout != "") == (0, True), (command, done.stderr)
        # A memory that is not closed keeps its pool's threads; others could keep a process alive.
        assert set(threading.enumerate()) <= threads, command
