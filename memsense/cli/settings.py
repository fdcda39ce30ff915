"""`memsense settings`: what searches use, changed while they run."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import By, Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.ranking import WORDED, read_settings
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.search.profiles import ROUTES

if TYPE_CHECKING:
    from memsense.search.settings import Setting, SettingsInForce
    from memsense.store.settings import RecordedChange

app = new_app(
    no_args_is_help=True, help="Show and change what the searches of a namespace use, at once."
)

Expected = Annotated[
    int | None,
    typer.Option(metavar="N", help="change nothing unless the settings are at this version"),
]


@app.command("show")
def show(
    ctx: typer.Context,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="every constant, not only what is set, and the weights")
    ] = False,
    output: Output = "table",
) -> None:
    """Show the settings in force, and where each comes from.

    \b
      memsense settings show
      memsense --namespace work settings show --all
    """
    with target_of(ctx).open() as memory:
        found = memory.settings.show()
    _tell(found, every=every, output=output)


def _tell(found: "SettingsInForce", *, every: bool, output: OutputForm) -> None:
    if output != "table":
        fields = found.as_dict()
        print_data(output, fields, fields["settings"])
        return
    made = table("setting", "value", "from", "set by", "when")
    for setting in found.settings:
        if every or _is_telling(setting):
            is_set = setting.origin == "database"
            add_row(
                made,
                setting.name,
                value_text(setting.value),
                setting.origin,
                plain(setting.changed_by or ""),
                when(setting.changed_at) if setting.changed_at else "",
                style="bold" if is_set else None,
            )
    console().print(made)
    console().print(Text(f"version {found.version} of the settings", style="dim"))


def _is_telling(setting: "Setting") -> bool:
    return setting.origin == "database" or setting.name in {*WORDED, *ROUTES}


def value_text(value: object) -> str:
    """A setting's value as it is written on the command line."""
    return str(value).lower() if isinstance(value, bool) else plain(str(value))


@app.command("set")
def set_values(
    ctx: typer.Context,
    assignments: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE...",
            help="profile, a route's weight (0 to 5), a constant, embedder_failure or history",
        ),
    ],
    *,
    by: By = None,
    expected_version: Expected = None,
    output: Output = "table",
) -> None:
    """Set what searches use from the next one on, in every process; all or nothing.

    \b
      memsense settings set profile=vector_heavy
      memsense settings set lexical=1.5 mmr_lambda=0.9 --by ada
      memsense settings set embedder_failure=lexical
      memsense settings set history=on

    A weight of 0 leaves the route out. Weights and constants apply on top of the profile.
    """
    changes = read_settings(assignments)
    with target_of(ctx).open() as memory:
        found = memory.settings.set(by=by, expected_version=expected_version, **changes)
    _tell(found, every=False, output=output)


@app.command("reset")
def reset(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="the settings to take back")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="take back all that is set")] = False,
    by: By = None,
    expected_version: Expected = None,
    output: Output = "table",
) -> None:
    """Take settings back: the environment and the defaults count again.

    \b
      memsense settings reset lexical
      memsense settings reset --all
    """
    if bool(names) == every:
        raise typer.BadParameter("name the settings to take back, or give --all")
    with target_of(ctx).open() as memory:
        found = memory.settings.reset(*(names or ()), by=by, expected_version=expected_version)
    _tell(found, every=False, output=output)


@app.command("history")
def history(
    ctx: typer.Context,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="how many at most")] = 20,
    output: Output = "table",
) -> None:
    """Show who changed which setting or profile, when, and from what to what; the latest first.

    \b
      memsense settings history -n 5
    """
    with target_of(ctx).open() as memory:
        found = memory.settings.history(limit=limit)
    if output != "table":
        print_data(output, [asdict(change) for change in found])
    elif not found:
        console().print("Nothing was ever set here.")
    else:
        _print_history(found)


def _print_history(changes: "Sequence[RecordedChange]") -> None:
    made = table("version", "when", "who", "what", "before", "after", right=("version",))
    for change in changes:
        add_row(
            made,
            change.version,
            when(change.changed_at),
            plain(change.changed_by),
            f"profile {change.name}" if change.kind == "profile" else plain(change.name),
            _side(change, change.before),
            _side(change, change.after),
        )
    console().print(made)


def _side(change: "RecordedChange", value: object) -> str:
    if value is None:
        return "-"
    return "stored" if change.kind == "profile" else value_text(value)
