"""What spans of OpenTelemetry tell of searches, and of changes of memories."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from memsense import telemetry
from memsense.client.context import Context
from memsense.search.hits import SearchResult
from memsense.search.request import SearchRequest
from memsense.telemetry import Operation, Span

P = ParamSpec("P")
R = TypeVar("R")


class _InContext(Protocol):
    _context: Context


def tell_search(
    span: Span,
    requests: Sequence[SearchRequest],
    results: Sequence[SearchResult],
    *,
    with_text: bool,
) -> None:
    """Tell what was found, by which routes, and where its arithmetic is recorded.

    `with_text`: the questions and the memories, too, which are the users' own words.
    """
    hits = [hit for result in results for hit in result]
    span.set("gen_ai.memory.record.count", len(hits))
    span.set("memsense.profile", ", ".join(sorted({it.profile for it in results if it.profile})))
    span.set("memsense.trace_id", ", ".join(str(it.trace_id) for it in results if it.trace_id))
    routes = Counter(item.route for hit in hits for item in hit.explain.routes)
    for route, count in routes.items():
        span.set(f"memsense.hits.{route}", count)
    if with_text:
        span.set("gen_ai.memory.query.text", "\n".join(request.query for request in requests))
        records = [{"id": str(hit.chunk_id), "content": hit.content} for hit in hits]
        span.set("gen_ai.memory.records", json.dumps(records, ensure_ascii=False))


def told_as(
    operation: Operation, count: Callable[[Any], int] | None = None
) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[Concatenate[Any, P], R]]:
    """Let a method of what has a context run within a span; `count` reads how many memories it
    changed from what it returns."""

    def decorate(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
        @wraps(method)
        def told(self: _InContext, *args: P.args, **kwargs: P.kwargs) -> R:
            store_id = self._context.store_id  # pyright: ignore[reportPrivateUsage]
            with telemetry.operation(operation, store_id) as span:
                result = method(self, *args, **kwargs)
                if count is not None and span.is_recording:
                    span.set("gen_ai.memory.record.count", count(result))
            return result

        return told

    return decorate
