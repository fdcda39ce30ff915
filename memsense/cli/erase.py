"""Commands that erase memories for good, and list the receipts."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memsense.cli.exits import confirm
from memsense.cli.options import ChunkIds, Output, Selection, Yes, options_of
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.errors import NotFoundError

if TYPE_CHECKING:
    from memsense.store.erasing import Receipt


@options_of("erase")
def erase(
    ctx: typer.Context,
    *,
    selection: Selection,
    everywhere: Annotated[bool, typer.Option("--all-namespaces")] = False,
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Erase a user's memory for good, or one session or message of it, and print the receipt.

    \b
      memsense erase --user ada --by "data protection"
      memsense erase --user ada --all-namespaces
      memsense erase --user ada --session s01-20250203 --yes --json

    Recorded searches and the history are erased, too. Backups and the database's write-ahead log
    keep their copies; VACUUM frees the disk space.

    Args:
        everywhere: Erase the user in every namespace of the tenant.
    """
    nouns = {"message_id": "message", "session_id": "session", "user_id": "user"}
    parts = [f"{noun} {selection[name]!r}" for name, noun in nouns.items() if name in selection]
    if not parts:
        raise typer.BadParameter("say what to erase: --user, --session or --message")
    with target_of(ctx).open() as memory:
        if everywhere:
            if parts != [f"user {selection.get('user_id')!r}"]:
                raise typer.BadParameter(
                    "--all-namespaces needs --user, and excludes --session and --message"
                )
            confirm(f"Erase {parts[0]} in every namespace for good?", yes=yes)
            receipts = memory.erasures.everywhere(selection["user_id"], by=selection.get("by"))
            if not print_data(output, [receipt.as_dict() for receipt in receipts]):
                _print_receipts(receipts)
            return
        confirm(f"Erase {' of '.join(parts)} for good?", yes=yes)
        receipt = memory.erase(**selection)
    if not print_data(output, receipt.as_dict()):
        _print_receipts([receipt])


@options_of("delete", leave_out={"if_version", "key"})
def delete(
    ctx: typer.Context,
    chunks: ChunkIds,
    *,
    selection: Selection,
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Erase memories for good, and print their receipts; `forget` can be undone, this can't.

    \b
      memsense delete 42 --yes

    A session's chunk takes its exchanges along, a part of an exchange the other parts.
    """
    with target_of(ctx).open() as memory:
        # An unknown id is reported before anything is erased.
        for chunk in chunks:
            memory.get(chunk)
        confirm(f"Erase chunk {', '.join(map(str, chunks))} for good?", yes=yes)
        receipts: list[Receipt] = []
        for chunk in chunks:
            # The chunk before may have taken this one along.
            with suppress(NotFoundError):
                receipts.append(memory.delete(chunk, **selection))
    if not print_data(output, [receipt.as_dict() for receipt in receipts]):
        _print_receipts(receipts)


@options_of("erasures.redact")
def redact(
    ctx: typer.Context,
    *,
    stored: Annotated[bool, typer.Option("--stored")] = False,
    selection: Selection,
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Replace the secrets in what is stored by their kind, for good, and count them.

    \b
      memsense redact --stored --all-users --dry-run
      memsense redact --stored --user ada --kinds password,api-key --yes --json

    'memsense doctor --secrets' counts what memories hold. Recorded searches that asked with a
    secret are deleted. Backups keep their copies. After an interruption, run it again.

    Args:
        stored: Redact what is stored already; must be given.
    """
    from memsense.cli.progress import count_progress

    if not stored:
        raise typer.BadParameter(
            "say --stored: what is stored from now on is redacted by the setting 'redact'"
        )
    whose = f"user {selection['user_id']!r}" if "user_id" in selection else "all users"
    with target_of(ctx).open() as memory:
        if "dry_run" not in selection:
            confirm(f"Replace the secrets in what is stored of {whose} for good?", yes=yes)
        with count_progress("redacting", "memories") as (progress, task):
            result = memory.erasures.redact(
                **selection,
                on_progress=lambda done, total: progress.update(task, completed=done, total=total),
            )
    if print_data(output, asdict(result)):
        return
    replaced = "would be replaced" if "dry_run" in selection else "replaced"
    total = sum(result.redacted.values())
    typer.echo(f"{total} secret{'s' * (total != 1)} {replaced}{': ' * bool(total)}", nl=False)
    typer.echo(", ".join(f"{count} {kind}" for kind, count in result.redacted.items()))


def erasures(
    ctx: typer.Context,
    *,
    about: Annotated[str | None, typer.Option(metavar="ID")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N")] = 100,
    output: Output = "table",
) -> None:
    """List the receipts of erasures, the latest first.

    \b
      memsense erasures --about ada

    A receipt holds hashes instead of ids; --about compares the hash of ID with them.

    Args:
        about: Only receipts of this user, session, message or chunk.
        limit: Maximum number of receipts.
    """
    with target_of(ctx).open() as memory:
        receipts = memory.erasures.list(limit=limit, about=about)
    if output != "table":
        print_data(output, [receipt.as_dict() for receipt in receipts])
    elif not receipts:
        console().print("No receipts.")
    else:
        _print_receipts(receipts)


def _print_receipts(receipts: Sequence["Receipt"]) -> None:
    rows = table("receipt", "when", "what", "who", "deleted", "gone from")
    for receipt in receipts:
        counts = ", ".join(f"{count} {name}" for name, count in receipt.counts.items())
        add_row(
            rows,
            str(receipt.erasure_id),
            when(receipt.erased_at),
            receipt.kind,
            plain(receipt.erased_by),
            counts,
            _describe_purge(receipt),
        )
    console().print(rows)


def _describe_purge(receipt: "Receipt") -> str:
    """Return from which files the words of an erasure have gone, and since when."""
    if receipt.purged_full_at is not None:
        return f"all files but the write-ahead log since {when(receipt.purged_full_at)}"
    if receipt.purged_at is not None:
        return f"indexes since {when(receipt.purged_at)}"
    return "rows alone; memsense db purge"
