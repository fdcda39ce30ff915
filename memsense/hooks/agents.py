"""What the hooks of each coding agent tell, and how they want to be answered."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

AgentName = Literal["claude-code", "codex", "gemini", "opencode"]
Task = Literal["warm", "recall", "capture"]

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
FORMATS: Final[Mapping[AgentName, str]] = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini_cli",
    "opencode": "opencode",
}
"""The reader of each agent's log."""

_FORGETS: Final = ("clear", "compact")
"""Sources of a session's start after which the model has lost what it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One call of a hook.

    `log` is the file that the session is written to, `session` the session itself where the agent
    tells it instead. `has_forgotten`: the model has lost what it was given before.
    """

    agent: AgentName
    name: str
    task: Task | None
    session_id: str
    prompt: str = ""
    log: str | None = None
    session: Mapping[str, Any] | None = None
    has_forgotten: bool = False


def read_event(agent: AgentName, text: str | bytes) -> Event:
    """What an agent tells its hook; raises ValueError for anything else."""
    told = json.loads(text)
    if not isinstance(told, dict):
        raise ValueError("a hook's input is a JSON object")  # noqa: TRY004 (a fault of the text)
    found = cast("dict[str, Any]", told)
    name = found.get("hook_event_name")
    if not isinstance(name, str):
        raise ValueError("a hook's input has a hook_event_name")  # noqa: TRY004
    log, session = found.get("transcript_path"), found.get("session")
    # What one agent of several says to another is no conversation of the person's.
    task = None if found.get("agent_id") else TASKS.get(name)
    return Event(
        agent=agent,
        name=name,
        task=task,
        session_id=str(found.get("session_id") or ""),
        prompt=str(found.get("prompt") or ""),
        log=log if isinstance(log, str) and log else None,
        session=cast("Mapping[str, Any]", session) if isinstance(session, dict) else None,
        has_forgotten=found.get("source") in _FORGETS,
    )


def write_answer(event: Event, context: str) -> str:
    """The memories as the agent takes them; nothing where there are none."""
    if not context:
        return ""
    if event.agent == "opencode":
        return json.dumps({"context": context})
    added = {"hookEventName": event.name, "additionalContext": context}
    return json.dumps({"hookSpecificOutput": added})
