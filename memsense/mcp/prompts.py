"""The prompts that a person may choose in a host."""

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from memsense.errors import MemSenseError
from memsense.mcp.answers import tell_contents
from memsense.mcp.scope import FindAccess, Request

MAX_TOKENS = 2_000
"""Of the memories that stand in the prompt `recall`."""

REMEMBER = """\
Go through this conversation and keep what will matter in later ones: lasting facts about the \
user, preferences, decisions with their reasons, corrections. Call `recall` first for each, to see \
whether it is known: leave out what is, and `forget` what it replaces. Call `remember` once for \
each matter, in words that are understood without this conversation. Then list what you kept."""

EXPLAIN = """\
Explain in plain words why memory answers as it does: {question!r}. Call `recall` with it and \
`explain`. For each hit, say from its parts which routes and terms made its score. If a memory \
that belongs there is missing, find its chunk with another `recall` or with `recent`, and call \
`why_not`."""


class Prompts:
    """The prompts over what `find` says that a call may read."""

    def __init__(self, find: FindAccess) -> None:
        self._find = find

    async def recall(
        self,
        request: Request,
        question: Annotated[str, Field(description="what you want to know")],
    ) -> str:
        """Answer a question from memory: what was said earlier stands in the prompt."""
        try:
            access = (await self._find(request)).require("read")
            result = await access.memory.search(question, trace=access.scope.trace)
            told = str(result.to_prompt(max_tokens=MAX_TOKENS))
            held = told or tell_contents(access, await access.memory.stats())
        except MemSenseError as error:
            raise ValueError(str(error)) from error
        return f"{held}\n\nAnswer from these memories, or say that they don't tell: {question}"

    async def remember(self) -> str:
        """Keep what matters of this conversation."""
        return REMEMBER

    async def explain(
        self, question: Annotated[str, Field(description="the question to memory")]
    ) -> str:
        """Explain why memory answers a question as it does."""
        return EXPLAIN.format(question=question)


def add_prompts(server: MCPServer[Any], find: FindAccess, *, read_only: bool) -> None:
    """Give the server its prompts, without the one that writes where it only reads."""
    prompts = Prompts(find)
    server.prompt(title="Answer from memory")(prompts.recall)
    server.prompt(title="Explain a recall")(prompts.explain)
    if not read_only:
        server.prompt(title="Remember this conversation")(prompts.remember)
