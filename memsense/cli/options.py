"""The options that several commands share."""

from typing import Annotated

import typer

from memsense.search.profiles import PROFILES

AsJson = Annotated[bool, typer.Option("--json", help="print JSON (its fields: docs/cli.md)")]
User = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="whose memory; default: everybody's"),
]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="of this agent only")]
Project = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="of this project's sessions only (memsense project)"),
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        help=f"{', '.join(PROFILES)}, or a stored one; default: what the settings say",
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="who, for the history; default: your user name"),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="change a route's weight or a constant of the profile; repeatable",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="ROUTE", help="leave a route out; repeatable"),
]
ChunkId = Annotated[int, typer.Argument(metavar="CHUNK", help="a chunk's id, as searches show it")]
ChunkIds = Annotated[
    list[int], typer.Argument(metavar="CHUNK", help="chunk ids, as searches show them")
]
Reason = Annotated[str | None, typer.Option(help="why; goes into the chunk's history")]
