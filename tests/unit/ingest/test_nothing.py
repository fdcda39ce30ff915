"""A run that keeps nothing says why, and what would keep something."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small_logs import SMALL_LOGS

from memsense.ingest import ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

SIDE = {
    "type": "user",
    "uuid": "u",
    "sessionId": "s",
    "isSidechain": True,
    "message": {"content": "x"},
}


def test_messages_of_sub_agents_name_their_option(read_log: ReadLog) -> None:
    side = "".join(json.dumps(SIDE | {"uuid": f"u{n}"}) + "\n" for n in range(119))
    _, report = read_log(side + '{"type": "progress"}\n')
    assert report.explain_nothing() == "all 119 messages of sub-agents: --sidechains reads them"


def test_several_reasons_are_told_the_commonest_first(read_log: ReadLog) -> None:
    messages = [{"role": "system", "content": "x"}] * 2 + [{"role": "user", "content": ""}]
    _, report = read_log(json.dumps({"messages": messages}))
    assert report.explain_nothing() == (
        "2 messages left out as: system message; 1 message left out as: empty message"
    )


def test_a_folder_of_guesses_names_its_option(tmp_path: Path, read_path: ReadLog) -> None:
    (tmp_path / "chat.txt").write_text("User: hi\nAssistant: hello\n")
    _, report = read_path(tmp_path)
    why = report.explain_nothing()
    assert why == "1 file only guessed to be a conversation: --guessed reads it"


@pytest.mark.parametrize("form", ["openai_messages", "claude_code"])
def test_a_run_that_kept_something_has_nothing_to_explain(form: str, read_log: ReadLog) -> None:
    _, report = read_log(SMALL_LOGS[form]("hi"))
    assert report.explain_nothing() is None
