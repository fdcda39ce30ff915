"""Ingestion of the sessions that hooks have queued; exchanges that are stored already stay."""

import json
import logging
import tempfile
from pathlib import Path
from typing import cast

from memsense.actor import acting_as, format_actor
from memsense.client.user_memory import UserMemory
from memsense.draft.drafting import Annotations
from memsense.errors import DatabaseError, MemSenseError
from memsense.hooks.agents import FORMATS, AgentName
from memsense.hooks.folder import HookFolder
from memsense.ingest import ReadOptions
from memsense.text.secrets import summary

_IN_PROGRESS = ".taken"

logger = logging.getLogger("memsense.hooks")


def list_queue(folder: HookFolder) -> list[Path]:
    """Return the queued sessions, oldest first."""
    # An entry in progress belongs to a daemon that was killed: it is queued again.
    entries = [path for path in folder.queue.iterdir() if path.suffix in {".json", _IN_PROGRESS}]
    return sorted(entries, key=lambda path: path.stat().st_mtime)


def ingest_entry(memory: UserMemory, entry: Path) -> None:
    """Ingest a queued session and remove it from the queue.

    Raises DatabaseError; the session then stays in the queue. A session that can't be read is
    logged and dropped.
    """
    # Renamed first: a hook that queues the session again meanwhile writes a new file, which stays.
    in_progress = entry.with_suffix(_IN_PROGRESS)
    entry.replace(in_progress)
    try:
        request = json.loads(in_progress.read_bytes())
        agent = cast("AgentName", request["agent"])
        # An entry that an earlier version has queued names no project.
        project = cast("str | None", request.get("project"))
        if request["session"] is None:
            _ingest_log(memory, agent, Path(request["log"]), project)
        else:
            with tempfile.TemporaryDirectory() as directory:
                log = Path(directory) / "session.json"
                log.write_text(json.dumps(request["session"]))
                _ingest_log(memory, agent, log, project)
    except DatabaseError:
        # An entry that was queued meanwhile is newer and holds this session's turns, too.
        if not entry.with_suffix(".json").exists():
            in_progress.replace(entry.with_suffix(".json"))
        raise
    except (MemSenseError, OSError, ValueError, KeyError) as error:
        logger.warning("a session can't be ingested: %s", error)
    in_progress.unlink(missing_ok=True)


def _ingest_log(memory: UserMemory, agent: AgentName, log: Path, project: str | None) -> None:
    with acting_as(format_actor("hook", agent)):
        report = memory.ingest(
            log,
            options=ReadOptions(format=FORMATS[agent], project=project),
            annotations=Annotations(agent_id=agent),
        )
    for reason in report.failed:
        logger.warning("%s: %s", log, reason)
    if report.stored or report.replaced:
        logger.info("%s: %d stored, %d replaced", log, report.stored, report.replaced)
    if report.redacted:
        logger.info("%s: %s", log, summary(report.redacted))
