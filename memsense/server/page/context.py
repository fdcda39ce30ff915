"""Page *Context*: what a model would get for a prompt, with its tokens and what is left out."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.server.page.ask import form_error_status
from memsense.server.page.ranked import list_memories
from memsense.server.page.visitors import ReadingVisitor

router = APIRouter(prefix="/ui/context", include_in_schema=False)

DEFAULT_TOKENS = 1000


@router.get("")
async def show_context(  # noqa: PLR0917 (fields of a form)
    visitor: ReadingVisitor,
    q: str = "",
    user: str = "",
    tokens: str = str(DEFAULT_TOKENS),
    silence: str = "",
    project: str = "",
    layout: str = "markdown",
) -> Response:
    """Show the form, and below it the context of the prompt."""
    fields = {
        "q": q, "user": user, "tokens": tokens, "silence": silence, "project": project,
        "layout": layout,
    }  # fmt: skip
    values: dict[str, Any] = {"fields": fields, "prompt": None, "problem": None, "chunks": {}}
    if not q.strip():
        return visitor.page("context.html", **values)
    try:
        # Numbers go on as they were typed: `context` names the argument that is wrong.
        arguments: dict[str, Any] = {
            "max_tokens": int(tokens) if tokens.isdecimal() else tokens or DEFAULT_TOKENS,
            "silence": _number(silence),
            "project": project or None,
            "format": layout,
        }
        whose = visitor.whose(user)
        prompt = await visitor.caller.memory.context(q, trace=False, **arguments, **whose)
    except MemSenseError as error:
        values["problem"] = str(error)
        return visitor.page("context.html", form_error_status(error), **values)
    chunks = await visitor.caller.memory.get_many([*prompt.chunk_ids, *prompt.omitted])
    views = {item.chunk_id: item for item in list_memories([*chunks.values()])}
    budget = int(tokens) if tokens.isdecimal() else DEFAULT_TOKENS
    values |= {
        "prompt": prompt,
        "used": min(1000, round(1000 * prompt.tokens / max(1, budget))),
        "lines": [(line, chunks.get(line.chunk_id)) for line in prompt.lines],
        "omitted": [(views[it], why) for it, why in prompt.omitted.items() if it in views],
    }
    return visitor.page("context.html", **values)


def _number(text: str) -> Any:
    try:
        return float(text) if text else None
    except ValueError:
        return text
