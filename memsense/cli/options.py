"""The options that several commands share."""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal, get_args

import typer

from memsense.cli.app import JSON_REQUESTED
from memsense.cli.output import OutputForm
from memsense.search.profiles import PROFILES
from memsense.types import Granularity, MemoryKind

KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a completion function that offers the names which begin like the value."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


AsJson = Annotated[bool, typer.Option("--json", help="print JSON (its fields: docs/cli.md)")]


def _apply_json_flag(ctx: typer.Context, output: OutputForm) -> OutputForm:
    if not ctx.meta.get(JSON_REQUESTED):
        return output
    if output not in {"table", "json"}:
        raise typer.BadParameter(f"--json is --output json, not {output}")
    return "json"


Output = Annotated[
    OutputForm,
    typer.Option(
        "--output",
        "-o",
        callback=_apply_json_flag,
        help="a table for people, or data: one JSON text, a JSON line or a CSV row an item",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="memory as it stood then (settings: history=on)"),
]
ExpiresAt = Annotated[
    str | None,
    typer.Option("--expires-at", metavar="TIME", help="when it expires, ISO 8601: 2027-01-01"),
]
Ttl = Annotated[
    str | None,
    typer.Option(metavar="TTL", help="expires so long from now: 45s, 12h, 30d, 4w; or 'never'"),
]
User = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="whose memory; or --all-users"),
]
AllUsers = Annotated[bool, typer.Option("--all-users", help="everybody's memory")]
AnyUser = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="of this user only; default: everybody's"),
]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="of this agent only")]
Project = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="of this project's sessions only (memsense project)"),
]
Sessions = Annotated[
    list[str] | None,
    typer.Option("--session", metavar="ID", help="of these sessions only; repeatable"),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="from this time on, ISO 8601: 2025-03-01")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="before this time")]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="with at least one of these tags; repeatable"),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"of this kind: {', '.join(KINDS)}; repeatable",
        autocompletion=complete_from(KINDS),
    ),
]
Metadata = Annotated[
    str | None, typer.Option(metavar="JSON", help="whose metadata contains this JSON object")
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="a chunk (number) or message to leave out; repeatable"),
]
TopK = Annotated[int, typer.Option("--top-k", "-k", metavar="N", help="how many hits at most")]
Granular = Annotated[
    Granularity | None,
    typer.Option("--granularity", "-g", help="exchanges or sessions; default: as the profile says"),
]
MinScore = Annotated[
    float | None,
    typer.Option(
        metavar="SCORE", help="only memories that score at least so much; there may be none"
    ),
]
ContentBudget = Annotated[
    int,
    typer.Option(
        metavar="N", help="characters of a memory's text at most, around what is asked for"
    ),
]
Prompt = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="print text for a prompt: whole exchanges, N tokens at most"
    ),
]
PromptForm = Annotated[
    Literal["markdown", "xml", "messages"], typer.Option(help="what --prompt prints")
]
AskedAt = Annotated[
    str | None, typer.Option(metavar="TIME", help="when 'last week' counts from; default: now")
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        help=f"{', '.join(PROFILES)}, or a stored one; default: what the settings say",
        autocompletion=complete_from(PROFILES),
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="who, for the history; default: your user name"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="don't ask whether you are sure")]
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
