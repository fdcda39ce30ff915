"""`memsense profile`: the shipped recall profiles, and those stored in a namespace."""

from typing import Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import By, Changes, Output, Without
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.settings import value_text
from memsense.cli.target import check_profile, target_of
from memsense.cli.values import read_overrides
from memsense.search.profiles import BALANCED, Profile

app = new_app(
    no_args_is_help=True,
    help="List, show, store and delete profiles: named sets of a search's weights and constants.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")]


@app.command("list")
def list_profiles(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the profiles that a search can use: shipped ones, then those of the namespace.

    \b
      memsense profile list
    """
    with target_of(ctx).open() as memory:
        profiles = memory.profiles.list()
        in_use = memory.settings.show()["profile"].value
    if print_data(
        output,
        [
            {
                "name": item.profile.name,
                "origin": item.origin,
                "in_use": item.profile.name == in_use,
                "created_by": item.created_by,
                "created_at": item.created_at,
                "constants": item.profile.constants(),
            }
            for item in profiles
        ],
    ):
        return
    rows = table("profile", "", "differs from balanced in", "stored by", "when")
    default = BALANCED.constants()
    for item in profiles:
        differences = [
            f"{name}={value_text(value)}"
            for name, value in item.profile.constants().items()
            if value != default[name]
        ]
        add_row(
            rows,
            item.profile.name,
            "in use" if item.profile.name == in_use else "",
            ", ".join(differences) or "nothing",
            plain(item.created_by or "-"),
            when(item.created_at),
        )
    console().print(rows)


@app.command("show")
def show(ctx: typer.Context, name: Name, *, output: Output = "table") -> None:
    """Show a profile with all of its weights and constants.

    \b
      memsense profile show vector_heavy
    """
    with target_of(ctx).open() as memory:
        profile = memory.profiles.get(name)
    _print_profile(profile, output=output)


def _print_profile(profile: Profile, *, output: OutputForm) -> None:
    if output != "table":
        constants = profile.constants()
        items = [{"name": name, "value": value} for name, value in constants.items()]
        print_data(output, {"name": profile.name, "constants": constants}, items)
        return
    default = BALANCED.constants()
    rows = table("constant", profile.name, BALANCED.name, right=(profile.name, BALANCED.name))
    for name, value in profile.constants().items():
        differs = value != default[name]
        style = "bold" if differs else None
        add_row(rows, name, value_text(value), value_text(default[name]), style=style)
    console().print(rows)


@app.command("create")
def create(
    ctx: typer.Context,
    name: Name,
    *,
    base: Annotated[str, typer.Option("--from", metavar="NAME")] = "balanced",
    changes: Changes = None,
    without: Without = None,
    by: By = None,
    output: Output = "table",
) -> None:
    """Store a new profile in the namespace: a copy of another, with changes.

    \b
      memsense profile create mine --from vector_heavy --set lexical=1.5 --without vec_user
      memsense settings set profile=mine
      memsense search "tea or coffee" --user ines --profile mine

    Args:
        base: Profile to copy.
    """
    overrides = read_overrides(changes or (), without or ())
    with target_of(ctx).open() as memory:
        # An unknown base is wrong usage, as an unknown --profile is: exit code 2.
        check_profile(memory, base)
        created = memory.profiles.create(name, base, by=by, **overrides)
    _print_profile(created, output=output)


@app.command("delete")
def delete(ctx: typer.Context, name: Name, *, by: By = None) -> None:
    """Delete a stored profile; an error while the setting `profile` names it.

    \b
      memsense profile delete mine
    """
    with target_of(ctx).open() as memory:
        memory.profiles.delete(name, by=by)
    console().print(Text(f"profile {name} is deleted"))
