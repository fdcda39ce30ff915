"""What a person says is kept, whichever record carries it: nothing is lost, nothing comes twice."""

import json
from collections.abc import Callable

import pytest

from memsense.ingest import ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, object]

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). "
)
NOTE = (
    "\n\nNote: The user's next message may contain a correction or preference. Pay close attention"
)


class Session:
    """A session of Claude Code that is written line by line, each line linked to the last one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._last: str | None = None

    def write(self, kind: str, linked: bool = True, /, **fields: object) -> None:
        line: Json = {"type": kind, "sessionId": "s", "timestamp": self._time(), **fields}
        if linked:
            line |= {"uuid": f"u{len(self.lines)}", "parentUuid": self._last}
            self._last = f"u{len(self.lines)}"
        self.lines.append(json.dumps(line))

    def _time(self) -> str:
        return f"2026-01-01T10:{len(self.lines):02d}:00.000Z"

    def say(self, text: str) -> None:
        self.write("user", message={"role": "user", "content": text})

    def answer(self, *blocks: Json) -> None:
        message = {"role": "assistant", "id": f"msg{len(self.lines)}", "content": list(blocks)}
        self.write("assistant", message=message)

    def result(self, call: str, content: object, result: object = None, **fields: object) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        message = {"role": "user", "content": [block]}
        self.write("user", message=message, toolUseResult=result, **fields)

    def queue(self, operation: str, content: str | None = None) -> None:
        content_field = {} if content is None else {"content": content}
        self.write("queue-operation", False, operation=operation, **content_field)

    def deliver(self, prompt: object, **fields: object) -> None:
        attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt, **fields}
        self.write("attachment", attachment=attachment)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(call_id: str, name: str, **arguments: object) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def said(conversations: list[Conversation], role: str) -> list[str]:
    return [m.text for one in conversations for m in one.messages if m.role == role]


def full_session() -> Session:
    """Return a session in which a person says 11 things, only two of them in a turn of their own.

    The agent says 5 things, two of them plans.
    """
    log = Session()
    log.say("Move the billing job to Postgres.")  # 1
    log.answer(text("I will look at it."), call("t1", "Bash", command="ls"))
    # Typed while the agent works: the queue logs it as well, and then hands it over.
    log.queue("enqueue", "and never touch the migrations folder")
    log.result("t1", "billing.py", {"stdout": "billing.py"})
    log.queue("remove", "and never touch the migrations folder")
    log.deliver("and never touch the migrations folder", origin={"kind": "human"})  # 2
    # Machines use the same record.
    note = "<task-notification>\n<status>completed</status>\n</task-notification>"
    log.queue("enqueue", note)
    log.queue("remove", note)
    log.deliver(note, commandMode="task-notification", origin={"kind": "task-notification"})
    log.write("attachment", attachment={"type": "skill_listing", "content": "many skills"})
    log.deliver([text("use the blue cluster"), {"type": "image"}])  # 3, without an origin
    # Older versions log such a prompt in the queue alone.
    log.queue("enqueue", "keep the old table for a week")  # 4
    log.queue("remove")
    # Rejections, with a reason and without.
    log.answer(call("t2", "Edit", file_path="a.py"))
    reason = f"{REJECTED}To tell you how to proceed, the user said:\nno, the port is 5433{NOTE}"
    log.result("t2", reason, "Error: The user doesn't want to", toolDenialKind="user-rejected")  # 5
    log.answer(call("t3", "Edit", file_path="b.py"))
    log.result("t3", f"{REJECTED}STOP what you are doing and wait for the user to tell you")
    # A file that quotes such a text is no decision.
    log.answer(call("t4", "Read", file_path="notes.md"))
    log.result("t4", f"1\t{REJECTED}To tell you how to proceed, the user said:\nquoted")
    # Questions of the agent: answered in the structured result, in text alone, and put off.
    questions = [{"question": "Which database?"}, {"question": "Which days?", "multiSelect": True}]
    log.answer(call("t5", "AskUserQuestion", questions=questions))
    answers = {"Which database?": "The replica", "Which days?": "Monday, Friday"}
    notes = {"Which database?": {"notes": "the one in Lisbon"}}
    log.result(
        "t5",
        'User has answered your questions: "Which database?"="The replica"',
        {"questions": questions, "answers": answers, "annotations": notes},
    )  # 6
    log.answer(call("t6", "AskUserQuestion", questions=[{"question": "Who reviews?"}]))
    told = 'User has answered your questions: "Who reviews?"="Ines". You can now continue with the'
    log.result("t6", told + " user's answers in mind.")  # 7
    log.answer(call("t7", "AskUserQuestion", questions=[{"question": "Deploy today?"}]))
    clarify = (
        f"{REJECTED}To tell you how to proceed, the user said:\nThe user wants to clarify these"
        " questions.\n    This means they may have additional information.\n\n    Questions asked:"
        '\n- "Deploy today?"\n  Answer: Only after the backup\n- "Tell the team?"\n  (No answer'
        f" provided){NOTE}"
    )
    log.result("t7", clarify)  # 8
    # Plans: in the call, rejected with a reason; in the result, as newer versions write them.
    log.answer(text("Here is my plan."), call("t8", "ExitPlanMode", plan="# Plan A\n\nDrop it."))
    log.result(
        "t8", f"{REJECTED}To tell you how to proceed, the user said:\nrename it instead"
    )  # 9
    log.answer(call("t9", "ExitPlanMode", allowedPrompts=[]))
    approved = "User has approved your plan. You can now start coding.\n\n## Approved Plan:\n# B"
    log.result("t9", approved, {"plan": "# Plan B\n\nRename it.", "filePath": "/p.md"})
    # Queued, and then a turn of its own, as the agent was done.
    log.queue("enqueue", "now run the tests")
    log.answer(text("Renamed."))
    log.queue("dequeue")
    log.say("now run the tests")  # 10
    # A decision in the tools of a sub-agent is the person's, too.
    told = "Permission for this tool use was denied. The tool use was rejected. The user said:\n"
    log.result("x", f"{told}not in prod", isSidechain=True, agentId="a7")  # 11
    log.answer(text("All green."))
    # Taken back to be edited, and still waiting: nobody has sent these.
    log.queue("enqueue", "commit it")
    log.queue("popAll")
    log.queue("enqueue", "push it to main")
    return log


HUMAN = [
    "Move the billing job to Postgres.",
    "and never touch the migrations folder",
    "use the blue cluster",
    "keep the old table for a week",
    "no, the port is 5433",
    "Which database? The replica the one in Lisbon\nWhich days? Monday, Friday",
    '"Who reviews?"="Ines".',
    "Deploy today? Only after the backup",
    "rename it instead",
    "now run the tests",
    "not in prod",
]


def test_every_word_of_a_person_in_claude_code_is_kept_and_none_twice(read_log: ReadLog) -> None:
    conversations, report = read_log(full_session().text())
    assert said(conversations, "user") == HUMAN
    assert said(conversations, "assistant") == [
        "I will look at it.",
        "Here is my plan.\n\n# Plan A\n\nDrop it.",
        "# Plan B\n\nRename it.",
        "Renamed.",
        "All green.",
    ]
    assert {one.session_id for one in conversations} == {"s", "s/a7"}
    assert report.skip_counts["prompt in the queue that was not sent yet"] == 1
    assert report.skip_counts["prompt that was taken back from the queue"] == 1
    assert report.skip_counts["attachment of the program (skill_listing)"] == 1
    # Every record of the log is kept, or counted under a reason.
    assert report.messages_read == report.records


def test_a_session_that_grows_keeps_what_it_had(read_log: ReadLog) -> None:
    # A prompt of the queue is not taken before it is clear that it has no record of its own.
    lines = full_session().lines
    seen: list[tuple[str, str | None]] = []
    for end in range(1, len(lines) + 1):
        conversations, _ = read_log("\n".join(lines[:end]) + "\n")
        now = [(m.text, m.external_id) for one in conversations for m in one.messages]
        assert set(seen) <= set(now), lines[end - 1]
        seen = now


def test_a_prompt_that_waited_when_the_log_ended_comes_when_it_is_sent(read_log: ReadLog) -> None:
    log = full_session()
    log.queue("dequeue")
    log.say("push it to main")
    log.answer(text("Pushed."))
    assert said(read_log(log.text())[0], "user").count("push it to main") == 1


def test_loglines_of_the_web_need_no_ids(read_log: ReadLog) -> None:
    lines = [
        {"type": "user", "message": {"role": "user", "content": "hi"}, "timestamp": "2026-01-01"},
        {"type": "assistant", "message": {"role": "assistant", "content": [text("hello")]}},
    ]
    conversations, _ = read_log(json.dumps({"loglines": lines}), name="session.json")
    assert conversations[0].format == "claude_code"
    assert [m.text for m in conversations[0].messages] == ["hi", "hello"]


def test_types_of_records_are_counted_by_name_and_new_ones_are_warned_of(
    read_log: ReadLog,
) -> None:
    log = Session()
    log.say("hi")
    log.write("system", content="compacted")
    log.write("human-aside", text="what nobody reads")
    log.write("human-aside", text="neither this")
    _, report = read_log(log.text())
    assert report.skip_counts == {
        "not a message (system)": 1,
        "not a message (human-aside)": 2,
    }
    (warning,) = report.warnings
    assert "'human-aside'" in warning
    assert "new to the reader of claude_code" in warning
    # A log of which nothing is kept does not warn.
    _, report = read_log("\n".join(log.lines[1:]), ReadOptions(format="claude_code"))
    assert report.warnings == []


@pytest.mark.parametrize("mode", ["bash", "task-notification"])
def test_queued_commands_of_other_modes_are_no_words(mode: str, read_log: ReadLog) -> None:
    log = Session()
    log.say("hi")
    log.deliver("ls -l", commandMode=mode)
    log.answer(text("hello"))
    assert said(read_log(log.text())[0], "user") == ["hi"]
