"""`memsense config`: the settings of this process, which the environment and the options make."""

from typing import Any

import typer

from memsense.cli.app import new_app
from memsense.cli.options import Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table
from memsense.cli.target import target_of
from memsense.config import SettingInUse, explain_settings, hide_secret
from memsense.db.address import shown_url

app = new_app(
    no_args_is_help=True, help="Show the settings that the environment and the options make."
)


@app.callback()
def group() -> None:
    """Show the settings that the environment and the options make."""


@app.command("show")
def show(ctx: typer.Context, *, output: Output = "table") -> None:
    """Show each setting, its value, and where that comes from; keys and passwords are hidden.

    \b
      memsense config show
      MEMSENSE_TENANT=acme memsense config show --json

    What searches use of a namespace is in the database: `memsense settings show`.
    """
    found = [_describe(setting) for setting in explain_settings(**target_of(ctx).given())]
    if output != "table":
        print_data(output, found)
        return
    made = table("setting", "value", "from")
    for setting in found:
        value = "-" if setting["value"] is None else plain(str(setting["value"]))
        add_row(made, setting["name"], value, setting["source"] or "default")
    console().print(made)


def _describe(setting: SettingInUse) -> dict[str, Any]:
    is_url = setting.name == "database_url" and setting.value
    option = f"--{setting.name.replace('_', '-')}"
    return {
        "name": setting.name,
        "value": shown_url(setting.value) if is_url else hide_secret(setting.name, setting.value),
        "origin": "option" if setting.origin == "given" else setting.origin,
        "source": option if setting.origin == "given" else setting.variable,
    }
