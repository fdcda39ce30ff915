"""`memsense project`: what memories are about, and named pools of sessions."""

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
    no_args_is_help=True, help="List projects, and pool sessions, to limit searches to them."
)

SESSIONS_SHOWN = 60

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the project.")]
Sessions = Annotated[list[str], typer.Argument(metavar="SESSION...", help="Ids of sessions.")]


@app.command("list")
def list_projects(
    ctx: typer.Context,
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME")] = None,
    output: Output = "table",
) -> None:
    """List the projects that memories are about, and the pools of sessions.

    \b
      memsense project list
      memsense project list --user ines

    Args:
        user: Only projects of this user's memories.
    """
    with target_of(ctx).open() as memory:
        view = memory if user is None else memory.for_user(user)
        projects = view.projects.list()
    if print_data(output, [asdict(project) for project in projects]):
        return
    if not projects:
        console().print("No projects: make one with 'memsense project create'.")
        return
    rows = table(
        "project", "sessions", "exchanges", "last", "pool", right=("sessions", "exchanges")
    )
    for project in projects:
        pool = shorten(", ".join(project.session_ids), SESSIONS_SHOWN) or "empty"
        last = when(project.last_at) if project.last_at else ""
        add_row(
            rows,
            plain(project.name),
            project.sessions,
            project.exchanges,
            last,
            pool if project.created_at else "",
        )
    console().print(rows)


@app.command("show")
def show(ctx: typer.Context, name: Name, *, output: Output = "table") -> None:
    """Print the sessions of a project's pool, one on each line.

    \b
      memsense project show kitchen
    """
    with target_of(ctx).open() as memory:
        project = memory.projects.get(name)
    if print_data(output, asdict(project)):
        return
    for session_id in project.session_ids:
        typer.echo(plain(session_id))


@app.command("create")
def create(
    ctx: typer.Context,
    name: Name,
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[SESSION]...")] = None,
    *,
    output: Output = "table",
) -> None:
    """Create a pool of sessions; a session need not exist yet.

    \b
      memsense project create kitchen s01-20250203 s04-20250310
      memsense search "Which colour?" --user ines --project kitchen

    Args:
        sessions: Ids of sessions.
    """
    with target_of(ctx).open() as memory:
        project = memory.projects.create(name, sessions or ())
    _print_project(project, output=output)


@app.command("delete")
def delete(ctx: typer.Context, name: Name) -> None:
    """Delete a project; its sessions stay as they are.

    \b
      memsense project delete kitchen
    """
    with target_of(ctx).open() as memory:
        memory.projects.delete(name)
    console().print(Text(f"project {plain(name)} is deleted"))


@app.command("add")
def add(ctx: typer.Context, name: Name, sessions: Sessions, *, output: Output = "table") -> None:
    """Add sessions to a project.

    \b
      memsense project add kitchen s05-20250401
    """
    with target_of(ctx).open() as memory:
        project = memory.projects.add(name, sessions)
    _print_project(project, output=output)


@app.command("remove")
def remove(ctx: typer.Context, name: Name, sessions: Sessions, *, output: Output = "table") -> None:
    """Remove sessions from a project.

    \b
      memsense project remove kitchen s05-20250401
    """
    with target_of(ctx).open() as memory:
        project = memory.projects.remove(name, sessions)
    _print_project(project, output=output)


def _print_project(project: "Project", *, output: OutputForm) -> None:
    if print_data(output, asdict(project)):
        return
    count = len(project.session_ids)
    sessions = "1 session" if count == 1 else f"{count} sessions"
    console().print(Text(f"project {plain(project.name)} has {sessions}"))
