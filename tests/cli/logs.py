"""Small logs of memsense's own format, for tests that ingest one."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def exchange(session: str, number: int, question: str, answer: str) -> list[dict[str, str]]:
    minute = f"2025-05-01T10:{number:02}"
    return [
        {
            "session_id": session,
            "id": f"{session}-{number}-{role}",
            "role": role,
            "content": text,
            "timestamp": f"{minute}:{second}+00:00",
        }
        for role, text, second in (("user", question, "01"), ("assistant", answer, "30"))
    ]
