"""The seven tools, with what a model is told of each."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from inspect import cleandoc
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from memsense.errors import MemSenseError
from memsense.mcp.answers import (
    ChangeAnswer,
    FeedbackAnswer,
    RecallAnswer,
    RecentAnswer,
    RememberAnswer,
    WhyNotAnswer,
    tell_contents,
    whose,
)
from memsense.mcp.scope import Access, FindAccess, Request
from memsense.mcp.telling import tell_change, tell_recall, tell_recent, tell_remembered
from memsense.types import MemoryKind

P = ParamSpec("P")
R = TypeVar("R")

CONTENT_BUDGET = 2_000
"""Characters of a recalled memory, those around what the question asks for."""

MOST_RECALLED = 20
MOST_LISTED = 50

ChunkId = Annotated[int, Field(ge=1, description="a memory's chunk, as recall and recent show it")]
Question = Annotated[str, Field(min_length=1, max_length=8_000, description="in plain words")]
Time = Annotated[str | None, Field(description="ISO 8601, such as 2026-03-01")]
Tags = Annotated[list[str] | None, Field(max_length=20, description="short labels")]
Reason = Annotated[str | None, Field(max_length=10_000, description="why, for the history")]


def tell_errors(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Let the model read what memsense says of a failure: it names the remedy."""

    @wraps(function)
    async def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await function(*args, **kwargs)
        except MemSenseError as error:
            raise ToolError(str(error)) from error

    return told


class Tools:
    """The tools over what `find` says that a call may work on."""

    def __init__(self, find: FindAccess) -> None:
        self._find = find

    @tell_errors
    async def recall(
        self,
        request: Request,
        *,
        question: Question,
        top_k: Annotated[int, Field(ge=1, le=MOST_RECALLED, description="how many at most")] = 5,
        since: Annotated[Time, Field(description="from this time on, ISO 8601")] = None,
        until: Annotated[Time, Field(description="before this time, ISO 8601")] = None,
        tags: Annotated[Tags, Field(description="with one of these tags only")] = None,
        exclude: Annotated[
            list[int] | None, Field(description="chunks that you have seen already")
        ] = None,
        as_of: Annotated[
            Time, Field(description="what memory held at this time, ISO 8601, if history is kept")
        ] = None,
        explain: Annotated[
            bool, Field(description="also how each part of a score came about")
        ] = False,
    ) -> Annotated[CallToolResult, RecallAnswer]:
        """Find what was said in earlier conversations.

        Use it before you answer anything that may depend on who the user is, what they like, what
        was decided or done before, or when they say "again", "as usual", "last time". Ask one
        question a call, in words that the memory may hold. Each hit has its chunk, date and score.
        """
        access = (await self._find(request)).require("read")
        result = await access.memory.search(
            question,
            top_k=top_k,
            since=since,
            until=until,
            tags=tags,
            exclude=exclude or (),
            as_of=as_of,
            content_budget=CONTENT_BUDGET,
            trace=access.scope.trace,
        )
        notes = [] if result else [await _contents(access)]
        answer = RecallAnswer.of(access, question, result, notes=notes, explain=explain)
        return _result(tell_recall(answer), answer)

    @tell_errors
    async def remember(
        self,
        request: Request,
        *,
        text: Annotated[
            str, Field(min_length=1, max_length=100_000, description="what the user said or wants")
        ],
        answer: Annotated[
            str | None, Field(max_length=100_000, description="what was answered, decided or done")
        ] = None,
        kind: Annotated[
            MemoryKind | None,
            Field(description="how lasting it is; left out, it is found by rules"),
        ] = None,
        tags: Tags = None,
        occurred_at: Annotated[Time, Field(description="when, ISO 8601; default: now")] = None,
        ttl: Annotated[
            str | None,
            Field(max_length=50, description="how long to keep it, such as 12h or 30d; or never"),
        ] = None,
        expires_at: Annotated[Time, Field(description="or until when, ISO 8601")] = None,
    ) -> Annotated[CallToolResult, RememberAnswer]:
        """Keep something for later conversations.

        Use it when the user states a lasting fact, a preference or a decision, corrects what you
        recalled, or asks you to remember. One matter a call, in the user's words, so that it is
        understood without this conversation: names and dates, not "he" and "tomorrow". Never
        passwords or keys. The same text within ten minutes is stored once.
        """
        access = (await self._find(request)).require("write")
        session_id = access.scope.session_now()
        said = [("user", text), *([("assistant", answer)] if answer else [])]
        added = await access.memory.add(
            [{"role": role, "content": content, "at": occurred_at} for role, content in said],
            session_id=session_id,
            agent_id=access.scope.agent_id,
            memory_kind=kind,
            tags=tags or (),
            ttl=ttl,
            expires_at=expires_at,
        )
        told = RememberAnswer.of(access, session_id, added)
        return _result(tell_remembered(told), told)

    @tell_errors
    async def why_not(
        self, request: Request, *, question: Question, chunk_id: ChunkId
    ) -> Annotated[CallToolResult, WhyNotAnswer]:
        """Say why recall does not return a memory for a question, or as which hit it does.

        Use it when a memory that should have been found was not. The first step of the search
        that lost it is named, with its numbers.
        """
        access = (await self._find(request)).require("read")
        verdict = await access.memory.why_not(question, chunk_id)
        answer = WhyNotAnswer.of(access, question, verdict)
        where = f"searched: user {answer.user}, namespace {answer.namespace}"
        return _result(f"Chunk {chunk_id}: {answer.text}.\n{where}", answer)

    @tell_errors
    async def recent(
        self,
        request: Request,
        *,
        limit: Annotated[int, Field(ge=1, le=MOST_LISTED, description="how many at most")] = 10,
    ) -> Annotated[CallToolResult, RecentAnswer]:
        """List the latest memories, newest first.

        Use it to see where things were left off, or what has just been stored. To answer a
        question, use recall.
        """
        access = (await self._find(request)).require("read")
        found = await access.memory.recent(limit=limit)
        notes = [] if found else [await _contents(access)]
        answer = RecentAnswer.of(access, found, notes)
        return _result(tell_recent(answer), answer)

    @tell_errors
    async def forget(
        self, request: Request, *, chunk_id: ChunkId, reason: Reason = None
    ) -> Annotated[CallToolResult, ChangeAnswer]:
        """Take a memory out of every recall; restore brings it back.

        Use it when the user asks to forget something, or says that a memory is wrong or no longer
        so: then remember what is right, too.
        """
        access = (await self._find(request)).require("forget")
        changed = await access.memory.forget(chunk_id, reason=reason)
        answer = ChangeAnswer(**whose(access), chunk_id=chunk_id, changed=changed)
        return _result(tell_change(answer, "forgotten"), answer)

    @tell_errors
    async def restore(
        self, request: Request, *, chunk_id: ChunkId, reason: Reason = None
    ) -> Annotated[CallToolResult, ChangeAnswer]:
        """Bring a forgotten memory back.

        Use it when something was forgotten by mistake.
        """
        access = (await self._find(request)).require("forget")
        changed = await access.memory.restore(chunk_id, reason=reason)
        answer = ChangeAnswer(**whose(access), chunk_id=chunk_id, changed=changed)
        return _result(tell_change(answer, "restored"), answer)

    @tell_errors
    async def feedback(
        self,
        request: Request,
        *,
        chunk_id: ChunkId,
        helpful: Annotated[bool, Field(description="whether the memory helped to answer")],
        question: Annotated[
            str | None, Field(max_length=10_000, description="that it was recalled for")
        ] = None,
        note: Annotated[str | None, Field(max_length=10_000, description="what was wrong")] = None,
    ) -> Annotated[CallToolResult, FeedbackAnswer]:
        """Record whether a recalled memory helped.

        Use it when a memory was decisive, or misleading. It goes into the memory's history and
        changes no score.
        """
        access = (await self._find(request)).require("write")
        await access.memory.feedback(chunk_id, helpful=helpful, question=question, note=note)
        answer = FeedbackAnswer(**whose(access), chunk_id=chunk_id, helpful=helpful)
        told = "helpful" if helpful else "not helpful"
        return _result(f"Recorded: chunk {chunk_id} of {answer.user} was {told}.", answer)


async def _contents(access: Access) -> str:
    return tell_contents(access, await access.memory.stats())


def _result(text: str, answer: BaseModel) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=answer.model_dump(mode="json", exclude_none=True),
    )


def make_tools(find: FindAccess, *, read_only: bool) -> list[Tool]:
    """The tools that only read, or all of them."""
    tools = Tools(find)
    found = [
        _make(tools.recall, "Recall", reads=True, repeatable=True),
        _make(tools.why_not, "Why not recalled", reads=True, repeatable=True),
        _make(tools.recent, "Recent memories", reads=True, repeatable=True),
    ]
    if read_only:
        return found
    return [
        *found,
        _make(tools.remember, "Remember"),
        _make(tools.forget, "Forget", destructive=True, repeatable=True),
        _make(tools.restore, "Restore", repeatable=True),
        _make(tools.feedback, "Feedback"),
    ]


def _make(
    function: Callable[..., object],
    title: str,
    *,
    reads: bool = False,
    destructive: bool = False,
    repeatable: bool = False,
) -> Tool:
    made = Tool.from_function(
        function,
        title=title,
        description=cleandoc(function.__doc__ or ""),
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=reads,
            destructive_hint=destructive,
            idempotent_hint=repeatable,
            open_world_hint=False,
        ),
    )
    made.parameters = _without_titles(made.parameters)
    made.fn_metadata.output_schema = _without_titles(made.fn_metadata.output_schema)
    return made


def _without_titles(schema: Any) -> Any:
    """The schema without the titles that pydantic makes of each name: a third of its length."""
    if isinstance(schema, Mapping):
        found = cast("Mapping[str, Any]", schema)
        kept = {name: value for name, value in found.items() if name != "title"}
        return {name: _without_titles(value) for name, value in kept.items()}
    if isinstance(schema, list):
        return [_without_titles(item) for item in cast("list[Any]", schema)]
    return schema
