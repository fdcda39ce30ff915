"""Events that coding agents send to their hooks, and the form of the answer that each expects."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from memsense.text.folders import lies_in
from memsense.text.projects import project_of

AgentName = Literal["claude-code", "codex", "gemini", "opencode"]
Task = Literal["warm", "start", "recall", "capture"]
"""`start` and `recall` are answered; `warm` opens the memory, `capture` ingests the session."""

TASKS: Final[Mapping[str, Task]] = {
    "SessionStart": "warm",
    "UserPromptSubmit": "recall",
    "BeforeAgent": "recall",  # Gemini CLI
    "chat.message": "recall",  # opencode
    "Stop": "capture",
    "AfterAgent": "capture",
    "session.idle": "capture",
    "PreCompact": "capture",
    "PreCompress": "capture",
    "SessionEnd": "capture",
}
ANSWERED: Final = ("start", "recall")
FORMATS: Final[Mapping[AgentName, str]] = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini_cli",
    "opencode": "opencode",
}
"""The log format of each agent, as `memsense ingest --format` names it."""

# After these session starts the model no longer has the memories that it was given.
_CLEARING_SOURCES: Final = ("clear", "compact")

# After these it knows nothing of the project. A resumed or compacted session has its own end.
_STARTING_SOURCES: Final = ("startup", "clear")


# No dataclass: importing dataclasses takes a tenth of the hook's processor time.
class Event(NamedTuple):
    """One call of a hook.

    `log` is the path of the session's log file. opencode writes no such file, and sends the whole
    session as `session` instead. `has_forgotten` is true if the model's context was cleared, so
    that memories it was given before may be given again. `project` is that of the folder that the
    agent works in.
    """

    agent: AgentName
    name: str
    task: Task | None
    session_id: str
    prompt: str = ""
    log: str | None = None
    project: str | None = None
    session: Mapping[str, Any] | None = None
    has_forgotten: bool = False


def read_event(
    agent: AgentName, text: str | bytes, *, exclude_folders: Sequence[str] = ()
) -> Event:
    """Parse the JSON that an agent sends to its hook; raise ValueError if it is not an event.

    In one of `exclude_folders` an event has no task: nothing of it is recalled or captured.
    """
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("a hook's input must be a JSON object")  # noqa: TRY004 (wrong content)
    fields = cast("dict[str, Any]", document)
    name = fields.get("hook_event_name")
    if not isinstance(name, str):
        raise ValueError("a hook's input must have a hook_event_name")  # noqa: TRY004
    log, session = fields.get("transcript_path"), fields.get("session")
    folder = fields.get("cwd")
    # A sub-agent's prompts come from another agent, not from the person: ignore its events.
    task = None if fields.get("agent_id") else TASKS.get(name)
    if any(isinstance(it, str) and lies_in(it, exclude_folders) for it in (folder, log)):
        task = None
    project = project_of(folder) if isinstance(folder, str) else None
    if task == "warm" and project and fields.get("source") in _STARTING_SOURCES:
        task = "start"
    return Event(
        agent=agent,
        name=name,
        task=task,
        session_id=str(fields.get("session_id") or ""),
        prompt=str(fields.get("prompt") or ""),
        log=log if isinstance(log, str) and log else None,
        project=project,
        session=cast("Mapping[str, Any]", session) if isinstance(session, dict) else None,
        has_forgotten=fields.get("source") in _CLEARING_SOURCES,
    )


def format_answer(event: Event, context: str) -> str:
    """Return the memories in the form that the agent reads; empty if there are none."""
    if not context:
        return ""
    if event.agent == "opencode":
        return json.dumps({"context": context})
    output = {"hookEventName": event.name, "additionalContext": context}
    return json.dumps({"hookSpecificOutput": output})
