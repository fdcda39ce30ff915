"""Attributes of OpenTelemetry spans for searches and for changes of memories."""

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


def describe_search(
    span: Span,
    requests: Sequence[SearchRequest],
    results: Sequence[SearchResult],
    *,
    with_text: bool,
) -> None:
    """Set a search's attributes: number of hits, routes, profile and trace ids.

    `with_text` adds the questions and the hits' texts. These are the users' own words, so that
    the setting `telemetry_text` must ask for them.
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


def traced(
    operation: Operation, count: Callable[[Any], int] | None = None
) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[Concatenate[Any, P], R]]:
    """Run a method of an object with a `_context` within a span of this operation.

    `count` returns the number of changed memories from the method's result.
    """

    def decorate(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
        @wraps(method)
        def within_span(self: _InContext, *args: P.args, **kwargs: P.kwargs) -> R:
            store_id = self._context.store_id  # pyright: ignore[reportPrivateUsage]
            with telemetry.operation(operation, store_id) as span:
                result = method(self, *args, **kwargs)
                if count is not None and span.is_recording:
                    span.set("gen_ai.memory.record.count", count(result))
            return result

        return within_span

    return decorate
