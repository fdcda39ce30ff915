"""The option --json, short for --output json: every command that has the one has the other."""

from typing import Annotated, Any

import typer

JSON_WANTED = "memsense.json"
"""Where a call of the command line notes that --json was given."""


def _note_json(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.meta[JSON_WANTED] = True
    return wanted


def _json_flag(
    *,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            is_eager=True,
            expose_value=False,
            callback=_note_json,
            help="short for --output json (its fields: docs/cli.md)",
        ),
    ] = False,
) -> None:
    """Hold the option --json, which every command with --output has."""


def add_json_flag(command: Any) -> None:
    """Give the command and those below it --json wherever they have --output."""
    for below in getattr(command, "commands", {}).values():
        add_json_flag(below)
    if any("--output" in parameter.opts for parameter in command.params):
        app = typer.Typer(add_completion=False)
        app.command()(_json_flag)
        command.params.append(typer.main.get_command(app).params[0])
