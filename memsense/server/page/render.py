"""Renderer of pages from templates; only the server's own scripts run in them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import memsense
from memsense.search.explanation import score_text
from memsense.text.visible import show

HERE = Path(__file__).parent
STATIC = HERE / "static"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class _Stored(str):
    """A text that a form sends back: it must come back as it is stored."""

    __slots__ = ()


def _show_value(value: Any) -> Any:
    """Return a value of a template as it may be shown; HTML is made of such values already."""
    if isinstance(value, Markup | _Stored):
        return value
    return show(value) if isinstance(value, str) else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        # Memories are shown as text, even if they hold markup.
        autoescape=True,
        finalize=_show_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "when": format_time,
        "day": format_day,
        "month": format_month,
        "score": score_text,
        "stored": _Stored,
        "segment": lambda text: quote(str(text), safe=""),
        "query": encode_query,
    }
    environment.globals["version"] = memsense.__version__  # pyright: ignore[reportArgumentType]
    return environment


def render(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page of a template with these values."""
    text = _environment().get_template(name).render(**values)
    return HTMLResponse(text, status_code=status, headers=HEADERS)


def encode_query(values: Mapping[str, str]) -> str:
    """Return the values as the query of an address."""
    return urlencode(values)


def format_day(moment: datetime) -> str:
    """Return the day of a time, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d}"


def format_month(moment: datetime | None) -> str:
    """Return the month of a time, in UTC."""
    return "No date" if moment is None else f"{moment.astimezone(UTC):%B %Y}"


def format_time(moment: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return "no date" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
