"""Writes pages from templates; nothing in them runs that is not the server's own."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import memsense
from memsense.search.explanation import score_text

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


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "when": show_time,
        "score": score_text,
        "segment": lambda text: quote(str(text), safe=""),
        "query": write_query,
    }
    made.globals["version"] = memsense.__version__  # pyright: ignore[reportArgumentType]
    return made


def write_page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The template of that name, filled."""
    text = _environment().get_template(name).render(**values)
    return HTMLResponse(text, status_code=status, headers=HEADERS)


def write_query(values: Mapping[str, str]) -> str:
    """The values as an address has them behind its question mark."""
    return urlencode(values)


def show_time(moment: datetime | None) -> str:
    """The moment to the minute, in UTC."""
    return "no date" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
