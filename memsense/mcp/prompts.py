"""Prompts that a person can choose in a host."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field

from memsense.errors import MemSenseError
from memsense.mcp.answers import describe_contents
from memsense.mcp.scope import FindAccess
from memsense.mcp.sdk import CheckedPrompt, Request, Server, shown_error

MAX_TOKENS = 2_000
"""Largest length of the memories in the prompt `recall`."""

REMEMBER = """\
Go through this conversation and store what will matter in later ones: lasting facts about the \
user, preferences, decisions with their reasons, corrections. First call `recall` for each of \
them: leave out what is stored already, and `forget` the memories that it replaces. Call \
`remember` once for each fact, in words that can be understood without this conversation. Then \
list what you stored."""

EXPLAIN = """\
Explain in plain words why memory answers this question as it does: {question!r}. Call `recall` \
with it and with `explain`. For each hit, say which routes and terms made its score. If a memory \
is missing that should be there, find its chunk with another `recall` or with `recent`, and call \
`why_not`."""


class Prompts:
    """Prompts over the memory that `find` returns for a call."""

    def __init__(self, find: FindAccess) -> None:
        self._find = find

    async def recall(
        self,
        request: Request,
        question: Annotated[str, Field(description="The question to answer.")],
    ) -> str:
        """Answer a question from memory; the prompt holds the memories."""
        try:
            access = (await self._find(request)).require("read")
            # The person has asked for memories: here nothing is too far from the question.
            context = await access.memory.context(
                question,
                max_tokens=MAX_TOKENS,
                project=access.scope.project,
                silence=0,
                trace=access.scope.trace,
            )
            text = str(context) or describe_contents(access, await access.memory.stats())
        except MemSenseError as error:
            raise shown_error(str(error)) from error
        return f"{text}\n\nAnswer from these memories, or say that they hold no answer: {question}"

    async def remember(self) -> str:
        """Store what matters of this conversation."""
        return REMEMBER

    async def explain(
        self, question: Annotated[str, Field(description="The question that memory answered.")]
    ) -> str:
        """Explain why memory answers a question as it does."""
        return EXPLAIN.format(question=question)


def add_prompts(server: Server, find: FindAccess, *, read_only: bool) -> None:
    """Add the prompts to the server; with `read_only`, not the one that writes."""
    prompts = Prompts(find)
    offered: list[tuple[Callable[..., Awaitable[str]], str]] = [
        (prompts.recall, "Answer from memory"),
        (prompts.explain, "Explain a recall"),
    ]
    if not read_only:
        offered.append((prompts.remember, "Remember this conversation"))
    for prompt, title in offered:
        server.add_prompt(CheckedPrompt.from_function(prompt, title=title))
