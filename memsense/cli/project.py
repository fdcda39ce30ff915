"""`memsense project`: named pools of sessions to search in."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of

if TYPE_CHECKING:
    from memsense.store.projects import Project

app = new_app(
    no_args_is_help=True, help="Projects: named pools of sessions that a search is limited to."
)

SESSIONS_SHOWN = 60

Name = Annotated[str, typer.Argument(metavar="NAME", help="the project's name")]
Sessions = Annotated[list[str], typer.Argument(metavar="SESSION...", help="ids of sessions")]


@app.command("list")
def list_projects(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the projects of the namespace.

    \b
      memsense project list
    """
    with target_of(ctx).open() as memory:
        found = memory.projects.list()
    if output != "table":
        print_data(output, [asdict(project) for project in found])
        return
    if not found:
        console().print("No projects: make one with 'memsense project create'.")
        return
    made = table("project", "sessions", "", "since", right=("sessions",))
    for project in found:
        ids = shorten(", ".join(project.session_ids), SESSIONS_SHOWN)
        add_row(made, plain(project.name), len(project.session_ids), ids, when(project.created_at))
    console().print(made)


@app.command("show")
def show(ctx: typer.Context, name: Name, *, output: Output = "table") -> None:
    """Show a project's sessions, one a line.

    \b
      memsense project show kitchen
    """
    with target_of(ctx).open() as memory:
        found = memory.projects.get(name)
    if output != "table":
        print_data(output, asdict(found))
        return
    for session_id in found.session_ids:
        typer.echo(plain(session_id))


@app.command("create")
def create(
    ctx: typer.Context,
    name: Name,
    sessions: Annotated[
        list[str] | None, typer.Argument(metavar="[SESSION]...", help="ids of sessions")
    ] = None,
    *,
    output: Output = "table",
) -> None:
    """Make a project of sessions, which needn't hold anything yet.

    \b
      memsense project create kitchen s01-20250203 s04-20250310
      memsense search "Which colour?" --user ines --project kitchen
    """
    with target_of(ctx).open() as memory:
        found = memory.projects.create(name, sessions or ())
    _tell(found, output=output)


@app.command("delete")
def delete(ctx: typer.Context, name: Name) -> None:
    """Dissolve a project; its sessions stay where they are.

    \b
      memsense project delete kitchen
    """
    with target_of(ctx).open() as memory:
        memory.projects.delete(name)
    console().print(Text(f"project {plain(name)} is deleted"))


@app.command("add")
def add(ctx: typer.Context, name: Name, sessions: Sessions, *, output: Output = "table") -> None:
    """Put sessions into a project.

    \b
      memsense project add kitchen s05-20250401
    """
    with target_of(ctx).open() as memory:
        found = memory.projects.add(name, sessions)
    _tell(found, output=output)


@app.command("remove")
def remove(ctx: typer.Context, name: Name, sessions: Sessions, *, output: Output = "table") -> None:
    """Take sessions out of a project.

    \b
      memsense project remove kitchen s05-20250401
    """
    with target_of(ctx).open() as memory:
        found = memory.projects.remove(name, sessions)
    _tell(found, output=output)


def _tell(project: "Project", *, output: OutputForm) -> None:
    if output != "table":
        print_data(output, asdict(project))
        return
    count = len(project.session_ids)
    sessions = "1 session" if count == 1 else f"{count} sessions"
    console().print(Text(f"project {plain(project.name)} has {sessions}"))
