"""Coding agent with a memory for each folder: `python examples/coding_agent.py "fix the tests"`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from openai import OpenAI

from memsense import MemSense, MemSenseError

SYSTEM = "You work on the project in this folder. Recall before you ask; say what you learned."
MOST_STEPS = 20
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
DESCRIPTIONS = {
    "shell": "Run a command in the project's folder.",
    "recall": "Ask what earlier sessions said or found out about something.",
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": description, "parameters": TEXT}}
    for name, description in DESCRIPTIONS.items()
]


def run_tool(memory: MemSense, project: str, name: str, text: str) -> str:
    """Run a tool and return its output."""
    if name == "recall":
        try:
            return str(memory.search(text, user_id=project).to_prompt(max_tokens=1000))
        except MemSenseError as error:  # such as an empty question
            return str(error)
    process = subprocess.run(["sh", "-c", text], text=True, capture_output=True, check=False)
    return f"exit code {process.returncode}\n{process.stdout}{process.stderr}"[-4000:]


def work(memory: MemSense, model: OpenAI, project: str, task: str) -> str:
    """Do the task step by step; store the words of the conversation, without tools' output."""
    talk: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    for _ in range(MOST_STEPS):
        name = os.environ.get("MODEL", "gpt-5-mini")
        completion = model.chat.completions.create(model=name, messages=talk, tools=TOOLS)
        talk.append(completion.choices[0].message.model_dump(exclude_none=True))
        for call in (calls := talk[-1].get("tool_calls", ())):
            function = call["function"]
            text = json.loads(function["arguments"]).get("text", "")
            result = run_tool(memory, project, function["name"], text)
            talk.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if not calls:
            break
    memory.add(talk, user_id=project, session_id=uuid4().hex)
    return talk[-1]["content"]


if __name__ == "__main__":
    with MemSense.open() as opened, OpenAI() as client:
        print(work(opened, client, str(Path.cwd()), sys.argv[1]))
