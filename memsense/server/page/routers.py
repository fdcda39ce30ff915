"""Routers of every page, in the order in which they are asked."""

from fastapi import APIRouter

from memsense.server.page import (
    add,
    administration,
    ask,
    context,
    differences,
    memories,
    questions,
    sign_in,
    traces,
    users,
)
from memsense.server.page.visitors import AnyVisitor
from memsense.server.problems import ProblemError

missing = APIRouter(include_in_schema=False)


@missing.get("/ui/{path:path}")
async def refuse_path(path: str, visitor: AnyVisitor) -> None:
    """Raise ProblemError; the visitor gets the page of the error with its navigation."""
    del visitor
    raise ProblemError(404, f"there is no page /ui/{path[:100]}")


ROUTERS = (
    sign_in.router,
    ask.router,
    context.router,
    memories.router,
    add.router,
    traces.router,
    differences.router,
    questions.router,
    administration.router,
    users.router,
    missing,
)
