"""Comparison of the public methods of Python with the routes of HTTP (HTTP in the reference)."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

from memsense.client.histories import HistoriesResource
from memsense.client.items import ItemsResource
from memsense.server.operations import RESOURCES
from memsense.server.routes import memories, operating, searches

OPERATIONS = (*memories.OPERATIONS, *searches.OPERATIONS, *operating.OPERATIONS)

WRITTEN_OUT: Mapping[str, str] = {
    "export_to": "`GET /v1/export`; `/v1/exports`",
    "import_from": "`/v1/imports`",
    "ingest": "`POST /v1/ingest`, with the log as an upload",
}
"""Methods whose routes are written by hand: they send and receive streams."""

_FRAMEWORKS = "adapters of frameworks use it, in their own process"
_PROCESS = "concerns the server's process"

WITHOUT_ROUTE: Mapping[str, str] = {
    "open": "the server opens the memory",
    "close": "the server closes it",
    "for_user": "`user_id`, or a key of one user, does it in each request",
    "embedder": "a Python object",
    "pool_size": _PROCESS,
    "traces.flush": "each route that reads recorded searches does it",
    "traces.failures": _PROCESS,
    "jobs.start": f"{_PROCESS}, which starts its worker",
    "jobs.work": f"{_PROCESS}: `memsense worker`",
    "models.add": "an operator's act, `memsense model add`",
    "models.trial": "gives a Python object; `POST /v1/models/compare` compares models",
    **{f"items.{name}": _FRAMEWORKS for name in ("run", "tail", "clear", "sweep")},
    **{f"histories.{name}": _FRAMEWORKS for name in ("append", "read", "pop", "clear")},
}
"""Public methods that have no route, each with its reason."""

ALL_RESOURCES: Mapping[str, type[Any]] = {
    **RESOURCES,
    "items": ItemsResource,
    "histories": HistoriesResource,
}


def list_methods() -> Iterator[str]:
    """Yield the dotted name of each public method of `MemSense` and its resources."""
    for resource, kind in ALL_RESOURCES.items():
        # The fields of a dataclass are no methods.
        declared: Any = kind
        field_names = {it.name for it in fields(declared)} if is_dataclass(kind) else set[str]()
        members: list[tuple[str, Any]] = inspect.getmembers(declared)
        for name, value in members:
            is_method = callable(value) or isinstance(value, property)
            is_resource = name in ALL_RESOURCES or isinstance(value, cached_property)
            is_hidden = name.startswith("_") or name in field_names
            if is_method and not is_resource and not is_hidden:
                yield f"{resource}.{name}".lstrip(".")


def render_exceptions() -> str:
    """Return a list of the methods that have no route like the others, by reason, in Markdown."""
    names: dict[str, list[str]] = {}
    for name, text in sorted({**WRITTEN_OUT, **WITHOUT_ROUTE}.items()):
        names.setdefault(text, []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(methods)}: {text}" for text, methods in names.items())
