"""Events of hooks: the project of the folder that the agent works in."""

import json
from typing import get_args

import pytest

from memsense.hooks.agents import AgentName, read_event


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cwd": "/work/elsewhere/looms"}, "/work/elsewhere/looms"),
        ({"cwd": "/home/grace"}, None),
        ({"cwd": "relative"}, None),
        ({"cwd": 7}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("agent", get_args(AgentName))
def test_an_event_is_about_the_project_of_its_folder(
    agent: AgentName, fields: dict[str, object], expected: str | None
) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "s", **fields}
    assert read_event(agent, json.dumps(event)).project == expected


@pytest.mark.parametrize(
    ("fields", "task"),
    [
        ({"cwd": "/work/shop"}, "recall"),
        ({"cwd": "/work/bank/api"}, None),
        ({"cwd": "/work/shop", "transcript_path": "/work/bank/log.jsonl"}, None),
        ({}, "recall"),
    ],
)
def test_in_an_excluded_folder_an_event_has_no_task(
    fields: dict[str, str], task: str | None
) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Hi", **fields}
    read = read_event("claude-code", json.dumps(event), exclude_folders=["/work/bank"])
    assert read.task == task
