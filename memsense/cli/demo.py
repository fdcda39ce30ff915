"""`memsense demo`: the sample log in, three questions, their arithmetic, and a look at the rows."""

from collections.abc import Sequence
from importlib import import_module
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from memsense.cli.ingest import run_with_progress
from memsense.cli.render import add_row, console, shorten, table
from memsense.cli.search import print_result
from memsense.cli.serve import PAGE, tell_address
from memsense.cli.signals import end_when_interrupted
from memsense.cli.summary import print_summary
from memsense.cli.target import Target, target_of
from memsense.db import connect, migrate
from memsense.db.address import shown_url
from memsense.db.rows import Named, fetch_all
from memsense.server.options import ServerOptions
from memsense.text.tables import TextTable

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

NAMESPACE = "demo"
USER = "ines"
QUESTIONS = (
    "Which nut makes Joost ill?",
    "What hot drink replaced her morning espresso, and why?",
    "When is the family travelling to Japan, after the postponement?",
)
HITS = 3
ROWS = 5
VALUE_WIDTH = 48


def demo(
    ctx: typer.Context,
    *,
    opens: Annotated[
        bool, typer.Option("--open", help="then show the page with this memory in a browser")
    ] = False,
) -> None:
    """Ingest the sample log, ask three questions, explain the hits, show the rows behind them.

    \b
      memsense demo
      memsense demo --open

    Uses the namespace "demo" unless you name another. Run it again: nothing is stored twice.
    """
    given = target_of(ctx)
    target = Target(
        database_url=given.database_url,
        tenant=given.tenant,
        namespace=given.namespace or NAMESPACE,
    )
    to = console()
    server = import_module("memsense.server.run") if opens else None  # or say what it lacks
    if not target.settings().database_url:
        typer.echo("Starting PostgreSQL (the first time takes some seconds) ...", err=True)
    with target.database() as url:
        migrate.upgrade(url)
        if not target.settings().database_url:
            migrate.make_roles(url)
        to.print(Text(f"PostgreSQL is ready: {shown_url(url)}"))
        with target.open() as memory:
            _ingest_sample(to, memory)
            for number, question in enumerate(QUESTIONS, 2):
                _ask(to, memory, number, question)
        _show_rows(to, url, target)
    _say_next(to, target)
    if server is not None:
        _show_page(server, target)


def _show_page(server: Any, target: Target) -> None:
    """Serve the page until Ctrl-C, and open it at the first question."""
    asked = urlencode({"q": QUESTIONS[0], "user": USER})
    end_when_interrupted()
    server.serve(
        target.settings(), ServerOptions(port=0), on_start=tell_address, opens=f"{PAGE}?{asked}"
    )


def _ingest_sample(to: Console, memory: "MemSense") -> None:
    to.print(Rule("1. A conversation log becomes memory", align="left"))
    log = files("memsense") / "data" / "sample_conversation.jsonl"
    with as_file(log) as path:
        report = run_with_progress(memory, [str(path)], {"user_id": USER})
    print_summary(to, report)
    if report.repeated:
        to.print("Exactly once: what an earlier run stored is known and left alone.")


def _ask(to: Console, memory: "MemSense", number: int, question: str) -> None:
    to.print()
    to.print(Rule(Text(f"{number}. {question}"), align="left"))
    result = memory.search(question, user_id=USER, top_k=HITS, granularity="turn")
    print_result(to, result, neighbors=False, explained=1)


def _show_rows(to: Console, url: str, target: Target) -> None:
    to.print()
    to.print(
        Rule(f"{len(QUESTIONS) + 2}. All of it is rows: memsense.chunk_overview", align="left")
    )
    values = {"namespace": target.settings().namespace, "limit": ROWS}
    with connect(url) as connection:
        to.print(_rows_table(fetch_all(connection, "fetch_overview", values, "demo.sql", of=Named)))


def _rows_table(rows: Sequence[Named]) -> TextTable:
    made = table(*rows[0])
    for row in rows:
        texts = ("" if value is None else str(value) for value in row.values())
        add_row(made, *(shorten(text, VALUE_WIDTH) for text in texts))
    return made


def _say_next(to: Console, target: Target) -> None:
    to.print(Rule("What to type next", align="left"))
    program = f"memsense --namespace {target.namespace}"
    whose = f"--user {USER}"
    for command, purpose in (
        (f'{program} search "Does she eat fish?" {whose} --explain', "ask something else"),
        (f"{program} recent {whose} -n 5", "what was said last"),
        (f'{program} db psql -c "TABLE memsense.session_timeline LIMIT 5"', "any view, in psql"),
        ("memsense ingest PATH --user NAME", "your own logs: memsense formats lists what it reads"),
        ("memsense --help", "everything else"),
    ):
        to.print(Text(f"  {command}", style="bold"), soft_wrap=True)
        to.print(Text(f"      {purpose}", style="dim"))
