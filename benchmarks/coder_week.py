"""A week of one coder: what hooks, MCP and Python put before the model at each prompt.

    python -m benchmarks.coder_week
    python -m benchmarks.coder_week FILE --misses

tests/data/coder_week.jsonl has stored exchanges of three projects, and 50 prompts, half of them
with pasted text: `needs`, the texts that an answer must know, `quiet`, whether nothing stored
concerns the prompt, and `topic_words`. The exchanges are stored in the namespace `coder-week`,
which is emptied first. For the hook, a day in a project is one session, which gets the rules once.
Printed for each way:

- carried: the needed texts that are shown;
- silent: the quiet prompts that show nothing but standing rules;
- unnamed: lines about another project that stand below no heading with its name, standing rules
  counted apart: a rule of the person holds in every project;
- on topic: tokens of lines that have one of the topic's words, of prompts that are not quiet, with
  and without standing rules; then tokens of memories that have one, in whichever of their lines.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from memsense import AsyncMemSense, MemSense, load_settings
from memsense.errors import NotFoundError
from memsense.hooks.recall import Recaller
from memsense.mcp.scope import Access, Request, Scope
from memsense.mcp.server import build_server
from memsense.search.prompt import RULES_HEADING
from memsense.text.tokens import count_tokens
from memsense.types import Chunk

WEEK = Path(__file__).parent.parent / "tests" / "data" / "coder_week.jsonl"
NAMESPACE, USER = "coder-week", "coder"
MAX_TOKENS = 1_000

Row = dict[str, Any]


def read_lines(text: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield the heading, the chunk and the text of each quoted line of a context."""
    heading, chunk_id = "", None
    for line in text.splitlines():
        if not line.startswith("> "):
            heading, chunk_id = line, None
            continue
        label = re.match(r"> \[(\d+)[^\]]*\] ", line)
        chunk_id = int(label[1]) if label else chunk_id
        yield heading, chunk_id, line[label.end() if label else 2 :].strip()


def fold(text: str) -> str:
    """Return the words of a text, its quotation marks of lines left out."""
    return " ".join(re.sub(r"^> +", "", text, flags=re.MULTILINE).split())


def measure(
    name: str, prompts: list[Row], texts: list[str], chunks: Mapping[int, Chunk]
) -> list[str]:
    """Print the figures of one way, and return what it misses."""
    counts = dict.fromkeys(("needs", "carried", "quiet", "silent", "unnamed", "unnamed_rules"), 0)
    tokens = {"topic": 0, "all": 0, "topic_rules": 0, "rules": 0, "topic_memories": 0}
    misses: list[str] = []
    for prompt, text in zip(prompts, texts, strict=True):
        lines = list(read_lines(text))
        others = [line for line in lines if line[0] != RULES_HEADING]
        for need in prompt["needs"]:
            counts["needs"] += 1
            is_carried = fold(need) in fold(text)
            counts["carried"] += is_carried
            if not is_carried:
                misses.append(f"{prompt['id']} lacks: {need}")
        if prompt["quiet"]:
            counts["quiet"] += 1
            counts["silent"] += not others
            misses += [f"{prompt['id']} is not silent: {line}" for *_, line in others[:1]]
        for heading, chunk_id, line in lines:
            is_rule = heading == RULES_HEADING
            chunk = chunks.get(chunk_id) if chunk_id is not None else None
            project = chunk.project if chunk else None
            if project not in {None, prompt["project"]} and f"project {project}" not in heading:
                counts["unnamed_rules" if is_rule else "unnamed"] += 1
                misses.append(f"{prompt['id']} has of {project}: {line}")
            if not prompt["quiet"]:
                is_on_topic, of_topic = (
                    any(word.casefold() in text.casefold() for word in prompt["topic_words"])
                    for text in (line, chunk.content if chunk else line)
                )
                kind, of = ("topic_rules", "rules") if is_rule else ("topic", "all")
                tokens[of] += count_tokens(line)
                tokens[kind] += is_on_topic * count_tokens(line)
                if not is_rule:
                    tokens["topic_memories"] += of_topic * count_tokens(line)
    every = tokens["all"] + tokens["rules"]
    shares = tokens["topic"] / max(1, tokens["all"])
    with_rules = (tokens["topic"] + tokens["topic_rules"]) / max(1, every)
    print(
        f"{name}: carried {counts['carried']} of {counts['needs']}; silent {counts['silent']} of"
        f" {counts['quiet']}; unnamed {counts['unnamed']}, rules {counts['unnamed_rules']};"
        f" on topic {shares:.0%} of {tokens['all']} tokens without rules, {with_rules:.0%} of"
        f" {every} with them; in memories on topic"
        f" {tokens['topic_memories'] / max(1, tokens['all']):.0%} without rules"
    )
    return misses


def ask_mcp(url: str | None, prompts: list[Row]) -> list[str]:
    """Return what the tool `recall` answers to each prompt, in its project."""

    async def main() -> list[str]:
        texts: list[str] = []
        settings = load_settings(namespace=NAMESPACE, **({"database_url": url} if url else {}))
        memory = await AsyncMemSense.open(settings=settings)
        for project in dict.fromkeys(prompt["project"] for prompt in prompts):
            scope = Scope(user_id=USER, project=project)

            async def find(request: Request, scope: Scope = scope) -> Access:  # noqa: ARG001
                return Access(
                    memory=memory.for_user(USER),
                    scope=scope,
                    namespace=NAMESPACE,
                    silence=settings.silence,
                )

            async with Client(build_server(find, read_only=True)) as client:
                for number, prompt in enumerate(prompts):
                    if prompt["project"] == project:
                        asked = {"question": prompt["prompt"][:8_000]}
                        answer: Any = await client.call_tool("recall", asked)
                        texts.append(f"{number:03}{answer.content[0].text}")
        await memory.close()
        return [text[3:] for text in sorted(texts, key=lambda text: text[:3])]

    return anyio.run(main)


def main() -> None:
    """Store the week, ask by each way, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path, default=WEEK)
    parser.add_argument("--misses", action="store_true", help="print what is missed, too")
    options = parser.parse_args()
    rows: list[Row] = [json.loads(line) for line in options.file.read_text().splitlines()]
    prompts = [row for row in rows if row["type"] == "prompt"]
    with MemSense.open(namespace=NAMESPACE) as memory:
        with suppress(NotFoundError):
            memory.erase(user_id=USER)
        for row in rows:
            if row["type"] == "stored":
                sides = [("user", row["user"]), ("assistant", row["assistant"])]
                memory.add(
                    [
                        {"role": role, "content": text, "at": row["at"]}
                        for role, text in sides
                        if text
                    ],
                    user_id=USER,
                    session_id=row["session"],
                    project=row["project"],
                )
        view = memory.for_user(USER)
        chunks = {it.chunk_id: it for it in view.list(limit=1_000)}

        def ask(prompt: Row) -> str:
            return str(
                view.context(
                    prompt["prompt"][:8_000],
                    project=prompt["project"],
                    max_tokens=MAX_TOKENS,
                    asked_at=prompt["at"],
                )
            )

        recaller = Recaller()

        def ask_hook(prompt: Row) -> str:
            project, day = prompt["project"], prompt["at"][:10]
            return recaller.recall(
                view,
                f"{project} on {day}",
                prompt["prompt"],
                project=project,
                max_tokens=MAX_TOKENS,
            )[0]

        ways: dict[str, Callable[[Row], str]] = {"Python": ask, "hook": ask_hook}
        answers = {name: [way(prompt) for prompt in prompts] for name, way in ways.items()}
    answers["MCP"] = ask_mcp(None, prompts)
    for name, texts in answers.items():
        misses = measure(name, prompts, texts, chunks)
        if options.misses:
            print(*(f"  {miss}" for miss in misses), sep="\n")


if __name__ == "__main__":
    main()
