"""The seven tools, with the descriptions that a model reads."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import cleandoc
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from pydantic import Field, ValidationError

from memsense.client.verbs import Memory
from memsense.declaration import parameters_of, unknown_argument
from memsense.errors import MemSenseError
from memsense.inputs import LONGEST_NOTE, describe_argument_fault, whole_number
from memsense.mcp.answers import (
    RECALL_TOKENS,
    describe_contents,
    explain_recall,
    format_change,
    format_hits,
    format_recall,
    format_recent,
    format_remembered,
    format_verdict,
)
from memsense.mcp.scope import Access, FindAccess, Scope
from memsense.mcp.sdk import CallToolResult, Request, Tool, ToolError, text_result, tool_hints
from memsense.search.request import FILTER_NAMES
from memsense.text.prompts import searched
from memsense.text.visible import show
from memsense.types import ChosenKind

P = ParamSpec("P")
R = TypeVar("R")

CONTENT_BUDGET = 2_000
"""Largest length of a recalled memory, cut around the words of the question."""

DEFAULT_TOP_K = 5
"""Hits that an explained recall and why_not look at by default."""

LARGEST_TOP_K = 20
LARGEST_LIMIT = 50

EVERY_PROJECT = "*"
"""The project that asks for the memories of all projects alike."""

PROJECT = (
    'Only memories about this project; "*": all projects alike. Default: those of other projects'
    " come only if the question surely asks for them"
)

ChunkId = Annotated[int, Field(ge=1)]
Question = Annotated[str, Field(min_length=1, max_length=8_000)]
Time = Annotated[str | None, Field(description="ISO 8601, such as 2026-03-01.")]
Tags = Annotated[list[str] | None, Field(max_length=20, description="Short labels.")]
Reason = Annotated[str | None, Field(max_length=LONGEST_NOTE)]
TopK = Annotated[
    Annotated[int, whole_number(1, LARGEST_TOP_K)] | None,
    Field(description="Maximum number of memories, up to 20."),
]


SHARED = ("min_score", *FILTER_NAMES, "timezone", "as_of")
"""Parameters of `MemSense.search` that recall and why_not share: every filter is one.

If why_not had others than recall, it would explain another search: "it is hit number 6" of a
memory that recall did not return.
"""


def takes_search_options(function: Callable[P, R]) -> Callable[P, R]:
    """Put the search options in the place of a tool's `**options`."""
    declared = parameters_of(Memory.search)
    options: dict[str, tuple[Any, Any]] = {"top_k": (TopK, None)}
    for name in SHARED:
        # Models often send null for those that they don't use.
        text = PROJECT if name == "project" else declared[name].text
        kind = Annotated[declared[name].type | None, Field(description=text)]
        options[name] = (kind, None)
    signature = inspect.signature(function)
    own = [it for it in signature.parameters.values() if it.kind is not it.VAR_KEYWORD]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in options.items()
    ]
    cast("Any", function).__signature__ = signature.replace(parameters=[*own, *shared])
    return function


def _set_only(options: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """Return the options that are set, by the call or else by its scope."""
    options = {**options, "timezone": options["timezone"] or scope.timezone}
    if options["project"] == EVERY_PROJECT:
        options["project"] = None
    return {name: value for name, value in options.items() if value is not None}


def pass_texts_on(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Pass texts on to the model as it may see them, those of a MemSenseError, too: it helps."""

    @wraps(function)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            answer = await function(*args, **kwargs)
        except MemSenseError as error:
            raise ToolError(show(str(error))) from error
        return cast("R", show(answer)) if isinstance(answer, str) else answer

    return wrapper


class CheckedTool(Tool):
    """Tool that names a wrong or unknown argument in the words of the Python API.

    The SDK ignores unknown arguments: a filter that a model has misspelt would be lost silently.
    """

    async def run(
        self, arguments: dict[str, Any], context: Any, convert_result: bool = False
    ) -> Any:
        """Run the tool; raises ToolError for an argument that it can't take."""
        prefix = f"Error executing tool {self.name}"  # as the SDK words its own errors
        names = self.parameters["properties"]
        for name in arguments:
            if name not in names:
                raise ToolError(f"{prefix}: {unknown_argument(name, names)}")
        try:
            parsed = self.fn_metadata.pre_parse_json(arguments)
            self.fn_metadata.arg_model.model_validate(parsed)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in fault["loc"][:1])
            raise ToolError(f"{prefix}: {describe_argument_fault(fault, place)}") from error
        return await super().run(arguments, context, convert_result)


class Tools:
    """Tools over the memory that `find` returns for a call."""

    def __init__(self, find: FindAccess) -> None:
        self._find = find

    @pass_texts_on
    @takes_search_options
    async def recall(
        self,
        request: Request,
        *,
        question: Question,
        explain: Annotated[
            bool, Field(description="Add the arithmetic of each score; long.")
        ] = False,
        **options: Any,
    ) -> CallToolResult:
        """Find what was said in earlier conversations.

        Use it before you answer anything that may depend on who the user is, what they like, what
        was decided or done before, or when they say "again", "as usual", "last time". Ask one
        question a call, in words that the memory may hold.
        """
        access = (await self._find(request)).require("read")
        question = access.clean(question)
        arguments = _set_only(options, access.scope)
        if explain or any(options[name] is not None for name in ("min_score", "project")):
            return await self._search(access, question, arguments, explain=explain)
        context = await access.memory.context(
            question,
            max_tokens=RECALL_TOKENS,
            project=access.scope.project,
            silence=access.silence,
            on_purpose=True,
            rules=False,
            card=False,
            trace=access.scope.trace,
            **arguments,
        )
        # What is shown needs no reason.
        reasons = ("silence", "projects", "prompt") if context else ()
        notes = [it for it in context.notes if it.kind not in reasons]
        return text_result(await self._finish(access, context, notes))

    async def _search(
        self, access: Access, question: str, arguments: dict[str, Any], *, explain: bool
    ) -> CallToolResult:
        """Return the hits of a search: the call decides itself which are enough."""
        arguments = {"top_k": DEFAULT_TOP_K, "content_budget": CONTENT_BUDGET, **arguments}
        result = await access.memory.search(
            "\n".join(searched(question)), trace=access.scope.trace, **arguments
        )
        notes: list[str] = [*result.notes]
        if result.trace_id is not None:
            notes.append(f"recorded: memsense://trace/{result.trace_id}")
        is_silent = not explain and "min_score" not in arguments
        if result and is_silent and (chance := result.relevance.chance) < access.silence:
            notes.append(f"nothing known concerns it (chance {chance:.0%}); min_score=0 shows it")
            result = replace(result, hits=())
        text = await self._finish(access, format_hits(access, result, explain=explain), notes)
        return text_result(text, explain_recall(access, result, notes) if explain else None)

    @staticmethod
    async def _finish(access: Access, memories: str, notes: Sequence[str]) -> str:
        """Return the text of a recall; one without memories says what memory holds."""
        if not memories:
            notes = [*notes, describe_contents(access, await access.memory.stats())]
        return format_recall(memories, notes)

    @pass_texts_on
    async def remember(
        self,
        request: Request,
        *,
        text: Annotated[
            str, Field(min_length=1, max_length=100_000, description="What the user said.")
        ],
        answer: Annotated[
            str | None, Field(max_length=100_000, description="What you answered, decided or did.")
        ] = None,
        kind: Annotated[
            ChosenKind | None,
            Field(
                description='How lasting it is; default: by rules. "rule": how the user wants'
                " work or answers to be done from now on, in the user's own words."
            ),
        ] = None,
        tags: Tags = None,
        occurred_at: Annotated[Time, Field(description="When, ISO 8601.")] = None,
        ttl: Annotated[
            str | None,
            Field(max_length=50, description='How long to keep it: "12h", "30d", "never".'),
        ] = None,
        expires_at: Annotated[Time, Field(description="Or until when.")] = None,
    ) -> str:
        """Store something for later conversations.

        Use it when the user states a lasting fact, a preference or a decision, corrects what you
        recalled, or asks you to remember. One fact a call, in the user's words, so that it can be
        understood without this conversation: names and dates, not "he" and "tomorrow". Never
        passwords or keys.
        """
        access = (await self._find(request)).require("write")
        messages = [("user", text), *([("assistant", answer)] if answer else [])]
        added = await access.memory.add(
            [{"role": role, "content": content, "at": occurred_at} for role, content in messages],
            session_id=access.scope.session_now(),
            agent_id=access.scope.agent_id,
            project=access.scope.project,
            memory_kind=kind,
            redact=access.redacts,
            tags=tags or (),
            ttl=ttl,
            expires_at=expires_at,
        )
        return format_remembered(access, added)

    @pass_texts_on
    @takes_search_options
    async def why_not(
        self, request: Request, *, question: Question, chunk_id: ChunkId, **options: Any
    ) -> str:
        """Explain why recall does not return a memory for a question, or as which hit it does.

        Use it when recall missed a memory that it should have found, with the options of that
        recall. The answer names the step of the search that lost it.
        """
        access = (await self._find(request)).require("read")
        question = access.clean(question)
        arguments: dict[str, Any] = {
            "top_k": DEFAULT_TOP_K,
            **_set_only(options, access.scope),
        }
        verdict = await access.memory.why_not(question, chunk_id, **arguments)
        return format_verdict(access, verdict)

    @pass_texts_on
    async def recent(
        self,
        request: Request,
        *,
        limit: Annotated[int, Field(ge=1, le=LARGEST_LIMIT, description="Up to 50.")] = 10,
    ) -> str:
        """List the latest memories, newest first.

        Use it to see where a conversation was left off, or what has just been stored. To answer a
        question, use recall.
        """
        access = (await self._find(request)).require("read")
        chunks = await access.memory.recent(limit=limit)
        notes = [] if chunks else [describe_contents(access, await access.memory.stats())]
        return format_recent(access, chunks, notes)

    @pass_texts_on
    async def forget(self, request: Request, *, chunk_id: ChunkId, reason: Reason = None) -> str:
        """Remove a memory from all recalls; restore brings it back.

        Use it when the user asks to forget something, or says that a memory is wrong or out of
        date: then also remember what is right.
        """
        access = (await self._find(request)).require("forget")
        changed = await access.memory.forget(chunk_id, reason=access.clean(reason))
        return format_change(access, chunk_id, changed, "forgotten")

    @pass_texts_on
    async def restore(self, request: Request, *, chunk_id: ChunkId, reason: Reason = None) -> str:
        """Bring a forgotten memory back.

        Use it when something was forgotten by mistake.
        """
        access = (await self._find(request)).require("forget")
        changed = await access.memory.restore(chunk_id, reason=access.clean(reason))
        return format_change(access, chunk_id, changed, "restored")

    @pass_texts_on
    async def feedback(
        self,
        request: Request,
        *,
        chunk_id: ChunkId,
        helpful: bool,
        question: Annotated[str | None, Field(max_length=LONGEST_NOTE)] = None,
        note: Annotated[str | None, Field(max_length=LONGEST_NOTE)] = None,
    ) -> str:
        """Record whether a recalled memory helped.

        Use it when a memory was decisive, or misleading. It goes into the memory's history and
        changes no score.
        """
        access = (await self._find(request)).require("write")
        question, note = access.clean(question), access.clean(note)
        await access.memory.feedback(chunk_id, helpful=helpful, question=question, note=note)
        verdict = "helpful" if helpful else "not helpful"
        return f"Recorded: chunk {chunk_id} of {access.scope.user_id} was {verdict}."


def make_tools(find: FindAccess, *, read_only: bool) -> list[Tool]:
    """Return all tools; with `read_only`, those that only read."""
    tools = Tools(find)
    reading = [
        _make_tool(tools.recall, "Recall", reads=True, repeatable=True),
        # Its options are those of recall, whose texts stand above it in the list.
        _make_tool(tools.why_not, "Why not recalled", reads=True, repeatable=True, texts=False),
        _make_tool(tools.recent, "Recent memories", reads=True, repeatable=True),
    ]
    if read_only:
        return reading
    return [
        *reading,
        _make_tool(tools.remember, "Remember"),
        _make_tool(tools.forget, "Forget", destructive=True, repeatable=True),
        _make_tool(tools.restore, "Restore", repeatable=True),
        _make_tool(tools.feedback, "Feedback"),
    ]


def _make_tool(
    function: Callable[..., object],
    title: str,
    *,
    reads: bool = False,
    destructive: bool = False,
    repeatable: bool = False,
    texts: bool = True,
) -> Tool:
    tool = CheckedTool.from_function(
        function,
        title=title,
        description=cleandoc(function.__doc__ or ""),
        annotations=tool_hints(title, reads=reads, destructive=destructive, repeatable=repeatable),
        structured_output=False,
    )
    tool.parameters = _shorten_schema(tool.parameters, texts=texts)
    return tool


_LIMITS = frozenset(
    "title format pattern minLength maxLength minItems maxItems minimum maximum".split()
)


def _shorten_schema(schema: Any, *, texts: bool = True) -> Any:
    """Return the schema as a model needs it: names, types, choices, and texts if `texts`.

    A model pays for the whole list of tools in every request. Of a text the first sentence is
    enough. Limits are left out, because an error names the one that a call breaks, and so are null
    and defaults of null: an argument that isn't required can be left out. Calls are still checked
    by the whole schema, null included.
    """
    if isinstance(schema, list):
        return [_shorten_schema(item, texts=texts) for item in cast("list[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    fields = dict(cast("Mapping[str, Any]", schema))
    if "description" in fields:
        fields["description"] = fields["description"].partition(". ")[0].removesuffix(".")
    if "properties" in fields:
        names = fields.pop("properties")
        short = {name: _shorten_schema(item, texts=texts) for name, item in names.items()}
        return {"type": "object", "properties": short, "required": fields.get("required", [])}
    choices = [item for item in fields.pop("anyOf", ()) if item != {"type": "null"}]
    if len(choices) == 1:
        fields = {**choices[0], **fields}
    elif choices:
        fields["anyOf"] = choices
    return {
        name: _shorten_schema(item, texts=texts)
        for name, item in fields.items()
        if name not in _LIMITS
        and not (name == "default" and item is None)
        and not (name == "description" and not texts)
        and not (name == "additionalProperties" and item is True)
    }
