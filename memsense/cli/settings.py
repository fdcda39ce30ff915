"""`memsense settings` and `memsense config`: settings of searches, and settings of this process."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import By, Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.cli.values import TEXT_SETTINGS, read_settings
from memsense.config import SettingInUse, explain_settings, hide_secret
from memsense.db.address import shown_url
from memsense.search.profiles import ROUTES

if TYPE_CHECKING:
    from memsense.search.settings import SettingsInForce
    from memsense.store.settings import RecordedChange

app = new_app(no_args_is_help=True, help="Show and change the settings of a namespace's searches.")

Expected = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Change nothing unless the settings are at this version; `settings show` prints it.",
    ),
]


@app.command("show")
def show(
    ctx: typer.Context,
    *,
    every: Annotated[bool, typer.Option("--all")] = False,
    output: Output = "table",
) -> None:
    """Show the settings in force, and where each comes from.

    \b
      memsense settings show
      memsense --namespace work settings show --all

    Args:
        every: Show every constant, not only weights and changed settings.
    """
    with target_of(ctx).open() as memory:
        settings = memory.settings.show()
    _print_settings(settings, every=every, output=output)


def _print_settings(settings: "SettingsInForce", *, every: bool, output: OutputForm) -> None:
    if output != "table":
        fields = settings.as_dict()
        print_data(output, fields, fields["settings"])
        return
    rows = table("setting", "value", "from", "set by", "when")
    for setting in settings.settings:
        is_set = setting.origin == "database"
        # A profile has some 60 constants; those that were never set are of little interest.
        if every or is_set or setting.name in {*TEXT_SETTINGS, "user_quota", *ROUTES}:
            add_row(
                rows,
                setting.name,
                value_text(setting.value),
                setting.origin,
                plain(setting.changed_by or ""),
                when(setting.changed_at) if setting.changed_at else "",
                style="bold" if is_set else None,
            )
    console().print(rows)
    console().print(Text(f"version {settings.version} of the settings", style="dim"))


def value_text(value: object) -> str:
    """Return a setting's value as it is written on the command line."""
    return str(value).lower() if isinstance(value, bool) else plain(str(value))


@app.command("set")
def set_values(
    ctx: typer.Context,
    assignments: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...")],
    *,
    by: By = None,
    expected_version: Expected = None,
    output: Output = "table",
) -> None:
    """Change settings for all later searches, in every process; all of them or none.

    \b
      memsense settings set profile=vector_heavy
      memsense settings set lexical=1.5 mmr_lambda=0.9 --by ada
      memsense settings set timezone=Europe/Lisbon
      memsense settings set embedder_failure=lexical
      memsense settings set history=on
      memsense settings set user_quota=10000 on_quota=archive

    A weight of 0 leaves the route out. Weights and constants apply on top of the profile.

    Args:
        assignments: profile, a route's weight (0 to 5), a constant, timezone, week_start,
            hemisphere, date_order, embedder_failure, history, redact, redact_kinds, on_expiry,
            user_quota or on_quota.
    """
    changes = read_settings(assignments)
    with target_of(ctx).open() as memory:
        settings = memory.settings.set(by=by, expected_version=expected_version, **changes)
    _print_settings(settings, every=False, output=output)


@app.command("reset")
def reset(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    *,
    every: Annotated[bool, typer.Option("--all")] = False,
    by: By = None,
    expected_version: Expected = None,
    output: Output = "table",
) -> None:
    """Reset settings to the environment's values, else to the defaults.

    \b
      memsense settings reset lexical
      memsense settings reset --all

    Args:
        names: Settings to reset.
        every: Reset all settings.
    """
    # Without names nothing is reset, rather than everything.
    if bool(names) == every:
        raise typer.BadParameter("name the settings to reset, or give --all")
    with target_of(ctx).open() as memory:
        settings = memory.settings.reset(*(names or ()), by=by, expected_version=expected_version)
    _print_settings(settings, every=False, output=output)


@app.command("history")
def history(
    ctx: typer.Context,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N")] = 20,
    output: Output = "table",
) -> None:
    """List the changes of settings and profiles, the latest first: who, when, from what to what.

    \b
      memsense settings history -n 5

    Args:
        limit: Maximum number of changes.
    """
    with target_of(ctx).open() as memory:
        changes = memory.settings.history(limit=limit)
    if print_data(output, [asdict(change) for change in changes]):
        return
    if not changes:
        console().print("No setting was ever changed here.")
        return
    rows = table("version", "when", "who", "what", "before", "after", right=("version",))
    for change in changes:
        add_row(
            rows,
            change.version,
            when(change.changed_at),
            plain(change.changed_by),
            f"profile {change.name}" if change.kind == "profile" else plain(change.name),
            _side(change, change.before),
            _side(change, change.after),
        )
    console().print(rows)


def _side(change: "RecordedChange", value: object) -> str:
    if value is None:
        return "-"
    # A profile's value is all of its constants, too many for a cell.
    return "stored" if change.kind == "profile" else value_text(value)


config = new_app(
    no_args_is_help=True, help="Show the settings that the environment and the options make."
)


# Without a callback Typer would make the only command, `show`, the group itself.
@config.callback()
def config_group() -> None:
    """Show the settings that the environment and the options make."""


@config.command("show")
def show_config(ctx: typer.Context, *, output: Output = "table") -> None:
    """Show each setting of this process, its value and its origin; keys and passwords are hidden.

    \b
      memsense config show
      MEMSENSE_TENANT=acme memsense config show --json

    The settings of a namespace's searches are in the database: `memsense settings show`.
    """
    overrides = target_of(ctx).overrides()
    settings = [_describe(setting) for setting in explain_settings(**overrides)]
    if print_data(output, settings):
        return
    rows = table("setting", "value", "from")
    for setting in settings:
        value = "-" if setting["value"] is None else plain(str(setting["value"]))
        add_row(rows, setting["name"], value, setting["source"] or "default")
    console().print(rows)


def _describe(setting: SettingInUse) -> dict[str, Any]:
    is_url = setting.name in {"database_url", "replica_url"} and setting.value
    option = f"--{setting.name.replace('_', '-')}"
    return {
        "name": setting.name,
        "value": shown_url(setting.value) if is_url else hide_secret(setting.name, setting.value),
        "origin": "option" if setting.origin == "given" else setting.origin,
        "source": option if setting.origin == "given" else setting.variable,
    }
