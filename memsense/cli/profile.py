"""`memsense profile`: the shipped profiles, and those stored in a namespace."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import By, Changes, Output, Without
from memsense.cli.output import OutputForm, print_data
from memsense.cli.ranking import read_overrides
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.settings import value_text
from memsense.cli.target import check_profile, target_of
from memsense.search.profiles import BALANCED, Profile

if TYPE_CHECKING:
    from memsense.client.profiles import KnownProfile

app = new_app(
    no_args_is_help=True, help="Profiles: named sets of all weights and constants of a search."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="the profile's name")]


@app.command("list")
def list_profiles(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the profiles that a search may name: the shipped ones, then the namespace's own.

    \b
      memsense profile list
    """
    with target_of(ctx).open() as memory:
        found = memory.profiles.list()
        in_use = memory.settings.show()["profile"].value
    if output != "table":
        print_data(output, [_fields(item, in_use) for item in found])
        return
    made = table("profile", "", "differs from balanced in", "stored by", "when")
    for item in found:
        add_row(
            made,
            item.profile.name,
            "in use" if item.profile.name == in_use else "",
            _told(_differences(item.profile)) or "nothing",
            plain(item.created_by or "-"),
            when(item.created_at),
        )
    console().print(made)


def _fields(item: "KnownProfile", in_use: str) -> dict[str, Any]:
    return {
        "name": item.profile.name,
        "origin": item.origin,
        "in_use": item.profile.name == in_use,
        "created_by": item.created_by,
        "created_at": item.created_at,
        "constants": item.profile.constants(),
    }


def _differences(profile: Profile) -> dict[str, Any]:
    default = BALANCED.constants()
    return {name: value for name, value in profile.constants().items() if value != default[name]}


def _told(constants: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value_text(value)}" for name, value in constants.items())


@app.command("show")
def show(ctx: typer.Context, name: Name, *, output: Output = "table") -> None:
    """Show a profile with every weight and constant.

    \b
      memsense profile show vector_heavy
    """
    with target_of(ctx).open() as memory:
        found = memory.profiles.get(name)
    _tell(found, output=output)


def _tell(profile: Profile, *, output: OutputForm) -> None:
    if output != "table":
        constants = profile.constants()
        rows = [{"name": name, "value": value} for name, value in constants.items()]
        print_data(output, {"name": profile.name, "constants": constants}, rows)
        return
    default = BALANCED.constants()
    made = table("constant", profile.name, BALANCED.name, right=(profile.name, BALANCED.name))
    for name, value in profile.constants().items():
        differs = value != default[name]
        style = "bold" if differs else None
        add_row(made, name, value_text(value), value_text(default[name]), style=style)
    console().print(made)


@app.command("create")
def create(
    ctx: typer.Context,
    name: Name,
    *,
    base: Annotated[
        str, typer.Option("--from", metavar="NAME", help="the profile to begin with")
    ] = "balanced",
    changes: Changes = None,
    without: Without = None,
    by: By = None,
    output: Output = "table",
) -> None:
    """Store a profile in the namespace, with all of its constants.

    \b
      memsense profile create mine --from vector_heavy --set lexical=1.5 --without vec_user
      memsense settings set profile=mine
      memsense search "tea or coffee" --user ines --profile mine
    """
    overrides = read_overrides(changes or (), without or ())
    with target_of(ctx).open() as memory:
        check_profile(memory, base)
        made = memory.profiles.create(name, base, by=by, **overrides)
    _tell(made, output=output)


@app.command("delete")
def delete(ctx: typer.Context, name: Name, *, by: By = None) -> None:
    """Delete a stored profile; not while the setting `profile` names it.

    \b
      memsense profile delete mine
    """
    with target_of(ctx).open() as memory:
        memory.profiles.delete(name, by=by)
    console().print(Text(f"profile {name} is deleted"))
