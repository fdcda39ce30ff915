"""`memsense demo`: ingests the sample log, asks three questions, explains the hits, shows rows."""

from importlib import import_module
from importlib.resources import as_file, files
from typing import Annotated
from urllib.parse import quote, urlencode

import typer
from rich.rule import Rule
from rich.text import Text

from memsense.cli.exits import end_when_interrupted
from memsense.cli.ingest import run_with_progress
from memsense.cli.render import add_row, console, shorten, table
from memsense.cli.search import print_result
from memsense.cli.serve import PAGE, print_address
from memsense.cli.summary import print_summary
from memsense.cli.target import Target, target_of
from memsense.db import connect, migrate
from memsense.db.address import shown_url
from memsense.db.rows import Named, fetch_all
from memsense.server.options import ServerOptions

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


def demo(ctx: typer.Context, *, opens: Annotated[bool, typer.Option("--open")] = False) -> None:
    """Ingest the sample log, ask three questions, explain the hits, show the rows behind them.

    \b
      memsense demo
      memsense demo --open

    Uses the namespace "demo" unless you name another. A second run stores nothing twice.

    Args:
        opens: Then open the page with this memory in a browser.
    """
    chosen = target_of(ctx)
    target = Target(
        database_url=chosen.database_url,
        tenant=chosen.tenant,
        namespace=chosen.namespace or NAMESPACE,
    )
    settings = target.settings()
    to = console()
    # Imported first, so that a missing package is reported before the demo has run.
    server = import_module("memsense.server.run") if opens else None
    if not settings.database_url:
        typer.echo("Starting PostgreSQL (the first time takes some seconds) ...", err=True)
    with target.database() as url:
        migrate.upgrade(url)
        if not settings.database_url:
            migrate.make_roles(url)
        to.print(Text(f"PostgreSQL is ready: {shown_url(url)}"))

        with target.open() as memory:
            to.print(Rule("1. A conversation log becomes memory", align="left"))
            log = files("memsense") / "data" / "sample_conversation.jsonl"
            with as_file(log) as path:
                report = run_with_progress(memory, [str(path)], {"user_id": USER})
            print_summary(to, report)
            if report.repeated:
                to.print("Exactly once: what an earlier run has stored is not stored again.")

            for number, question in enumerate(QUESTIONS, 2):
                to.print()
                to.print(Rule(Text(f"{number}. {question}"), align="left"))
                result = memory.search(question, user_id=USER, top_k=HITS, granularity="turn")
                print_result(to, result, neighbors=False, explained=1)

        to.print()
        to.print(
            Rule(f"{len(QUESTIONS) + 2}. All of it is rows: memsense.chunk_overview", align="left")
        )
        values = {"namespace": settings.namespace, "limit": ROWS}
        with connect(url) as connection:
            rows = fetch_all(connection, "fetch_overview", values, "demo.sql", of=Named)
        overview = table(*rows[0])
        for row in rows:
            texts = ("" if value is None else str(value) for value in row.values())
            add_row(overview, *(shorten(text, VALUE_WIDTH) for text in texts))
        to.print(overview)

    to.print(Rule("What to type next", align="left"))
    program = f"memsense --namespace {settings.namespace}"
    user = f"--user {USER}"
    for command, purpose in (
        (f'{program} search "Does she eat fish?" {user} --explain', "ask something else"),
        (f"{program} recent {user} -n 5", "list the latest memories"),
        (f'{program} db psql -c "TABLE memsense.session_timeline LIMIT 5"', "any view, in psql"),
        (
            "memsense ingest PATH --user NAME",
            "your own logs: memsense formats lists the formats that it reads",
        ),
        ("memsense serve", f"the page: http://127.0.0.1:8321/ui/?ns={quote(settings.namespace)}"),
        ("memsense --help", "everything else"),
    ):
        # Not wrapped, so that the command can be copied.
        to.print(Text(f"  {command}", style="bold"), soft_wrap=True)
        to.print(Text(f"      {purpose}", style="dim"))
    if server is not None:
        # The page opens with the first question asked, and is served until Ctrl-C.
        query = urlencode({"q": QUESTIONS[0], "user": USER, "ns": settings.namespace})
        end_when_interrupted()
        server.serve(
            settings, ServerOptions(port=0), on_start=print_address, opens=f"{PAGE}?{query}"
        )
