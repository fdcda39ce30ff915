"""The commands that erase for good, and the receipts that they leave."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from memsense.cli.options import ChunkIds, Output, Yes
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.errors import NotFoundError

if TYPE_CHECKING:
    from memsense.store.erasing import Receipt

User = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="whose memory")]
EraseBy = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="who, for the receipt; default: your user name"),
]


def erase(
    ctx: typer.Context,
    *,
    user: User = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="this session only, not all of the user's")
    ] = None,
    message: Annotated[
        str | None, typer.Option(metavar="ID", help="the exchanges only that hold this message")
    ] = None,
    by: EraseBy = None,
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Erase a user's memory for good, or a session or message of it, and print the receipt.

    \b
      memsense erase --user ada --by "data protection"
      memsense erase --user ada --session s01-20250203 --yes --json

    Recorded searches and history go too. Backups and the server's log of writes are not reached;
    VACUUM frees the pages.
    """
    if user is None and session is None and message is None:
        raise typer.BadParameter("say what to erase: --user, --session or --message")
    named = {"message": message, "session": session, "user": user}
    told = " of ".join(f"{what} {name!r}" for what, name in named.items() if name is not None)
    with target_of(ctx).open() as memory:
        _confirm(f"Erase {told} for good?", yes=yes)
        receipt = memory.erase(user_id=user, session_id=session, message_id=message, by=by)
    if output != "table":
        print_data(output, receipt.as_dict())
    else:
        _print_receipts([receipt])


def delete(
    ctx: typer.Context,
    chunks: ChunkIds,
    *,
    by: EraseBy = None,
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Erase memories for good, and print their receipts; `forget` can be undone, this can't.

    \b
      memsense delete 42 --yes

    A session's chunk takes its exchanges along, a part of an exchange the other parts.
    """
    with target_of(ctx).open() as memory:
        found = [memory.get(chunk) for chunk in chunks]
        _confirm(f"Erase chunk {', '.join(map(str, chunks))} for good?", yes=yes)
        receipts: list[Receipt] = []
        for chunk in found:
            with suppress(NotFoundError):  # it went with the one before
                receipts.append(memory.delete(chunk.chunk_id, by=by))
    if output != "table":
        print_data(output, [receipt.as_dict() for receipt in receipts])
    else:
        _print_receipts(receipts)


def erasures(
    ctx: typer.Context,
    *,
    about: Annotated[
        str | None,
        typer.Option(metavar="ID", help="only of this user, session, message or chunk"),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="how many at most")] = 100,
    output: Output = "table",
) -> None:
    """List the receipts of what was erased, the latest first.

    \b
      memsense erasures --about ada

    A receipt holds no id; --about compares hashes.
    """
    with target_of(ctx).open() as memory:
        found = memory.erasures.list(limit=limit, about=about)
    if output != "table":
        print_data(output, [receipt.as_dict() for receipt in found])
    elif not found:
        console().print("No receipts.")
    else:
        _print_receipts(found)


def _confirm(question: str, *, yes: bool) -> None:
    if not yes:
        typer.confirm(f"{question} It can't be undone.", abort=True, err=True)


def _print_receipts(receipts: Sequence["Receipt"]) -> None:
    made = table("receipt", "when", "what", "who", "rows deleted")
    for receipt in receipts:
        counts = ", ".join(f"{count} {name}" for name, count in receipt.counts.items())
        add_row(
            made,
            str(receipt.erasure_id),
            when(receipt.erased_at),
            receipt.kind,
            plain(receipt.erased_by),
            counts,
        )
    console().print(made)
