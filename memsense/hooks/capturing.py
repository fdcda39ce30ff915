"""Takes the sessions in that hooks have noted, each by the ledger: what is there already stays."""

import json
import logging
import tempfile
from pathlib import Path
from typing import Any, cast

from memsense.client.own import UserMemory
from memsense.errors import DatabaseError, MemSenseError
from memsense.hooks.agents import FORMATS, AgentName
from memsense.hooks.place import Place
from memsense.ingest import ReadOptions
from memsense.write.drafting import Annotations

_TAKEN = ".taken"

logger = logging.getLogger("memsense.hooks")


def waiting(place: Place) -> list[Path]:
    """The sessions that were noted, in order of time."""
    noted = [path for path in place.queue.iterdir() if path.suffix in {".json", _TAKEN}]
    return sorted(noted, key=lambda path: path.stat().st_mtime)


def take_in(memory: UserMemory, noted: Path) -> None:
    """Ingest a session; raises DatabaseError, and then it is noted still.

    What can't be read is told in the log, and noted no more.
    """
    taken = noted.with_suffix(_TAKEN)
    noted.replace(taken)
    try:
        _ingest(memory, json.loads(taken.read_bytes()))
    except DatabaseError:
        if not noted.with_suffix(".json").exists():  # else it was noted again meanwhile
            taken.replace(noted.with_suffix(".json"))
        raise
    except (MemSenseError, OSError, ValueError, KeyError) as error:
        logger.warning("a session can't be taken in: %s", error)
    taken.unlink(missing_ok=True)


def _ingest(memory: UserMemory, told: dict[str, Any]) -> None:
    agent = cast("AgentName", told["agent"])
    if told["session"] is None:
        _ingest_file(memory, agent, Path(told["log"]))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.json"
        file.write_text(json.dumps(told["session"]))
        _ingest_file(memory, agent, file)


def _ingest_file(memory: UserMemory, agent: AgentName, file: Path) -> None:
    report = memory.ingest(
        file,
        options=ReadOptions(format=FORMATS[agent]),
        annotations=Annotations(agent_id=agent),
    )
    for reason in report.failed:
        logger.warning("%s: %s", file, reason)
    if report.stored or report.replaced:
        logger.info("%s: %d stored, %d replaced", file, report.stored, report.replaced)
