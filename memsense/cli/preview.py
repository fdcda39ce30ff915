"""`memsense ingest --preview` and `--audit`: reads of a log that need no database."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.text import Text

from memsense.cli.exits import FAILED, one_line
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.draft.continuing import Continuation
from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport, Source, expand_paths, read_source
from memsense.ingest.audit import Audit, audit_source
from memsense.ingest.detection import UnknownFormError
from memsense.types import Conversation

_CONVERSATIONS_SHOWN = 3
_MESSAGES_SHOWN = 6
_CHARACTERS_SHOWN = 100


def show_preview(
    paths: Sequence[str],
    options: ReadOptions,
    continued: Sequence[Continuation],
    *,
    tries: bool = False,
    output: OutputForm,
) -> None:
    """Read the logs, and print the first conversations with the counts of all.

    With `tries` a log in an unknown form is read by the mapping that is proposed first. Raises
    IngestError if a log can't be read.
    """
    report = ReadReport()
    first: list[Conversation] = []
    proposed: list[str] = []

    def read(source: Source, options: ReadOptions) -> None:
        for conversation in read_source(source, options, report):
            if len(first) < _CONVERSATIONS_SHOWN:
                first.append(conversation)

    for source in expand_paths(paths, report, roots=options.roots):
        try:
            read(source, options)
        except UnknownFormError as error:
            if not tries or not error.proposals:
                raise
            proposed += (one.command(source.label) for one in error.proposals)
            read(source, options.model_copy(update={"map": dict(error.proposals[0].fields)}))
    fields = _as_dict(first, report) | {"continued": [asdict(each) for each in continued]}
    if print_data(output, fields | ({"proposed": proposed} if tries else {})):
        return
    for label, (name, reason) in list(report.detected.items())[:_CONVERSATIONS_SHOWN]:
        console().print(Text(f"{plain(label)}: {name} ({plain(reason)})"))
    for conversation in first:
        title = f" ({plain(conversation.title)})" if conversation.title else ""
        console().print(Text(f"\nsession {plain(conversation.session_id)}{title}", style="bold"))
        rows = table("time", "who", "text")
        for message in conversation.messages[:_MESSAGES_SHOWN]:
            line = " ".join(message.text.split())
            is_long = len(line) > _CHARACTERS_SHOWN
            text = line[:_CHARACTERS_SHOWN] + "..." * is_long
            add_row(rows, when(message.at), plain(message.speaker or message.role), plain(text))
        console().print(rows)
        if more := len(conversation.messages[_MESSAGES_SHOWN:]):
            console().print(f"and {more} more messages")
    rows = table("kept and left out", "count", right=("count",))
    add_row(rows, "conversations kept", report.conversations)
    add_row(rows, "messages kept", report.messages_kept)
    for reason, tally in report.skipped.items():
        unit = "" if tally.unit == "message" else f" ({tally.unit})"
        add_row(rows, plain(f"left out: {reason}{unit}"), tally.count)
    if report.unusable_times:
        add_row(rows, "times that could not be read", report.unusable_times)
    console().print(rows)
    for warning in [*map(str, continued), *report.warnings]:
        console().print(Text(f"note: {plain(warning)}", style="yellow"))
    console().print("nothing is stored: this is a preview")
    if proposed:
        # The commands stand alone on their lines, so that they can be copied.
        console().print("to store it:" if len(proposed) == 1 else "to store it, or its like:")
        for command in proposed:
            typer.echo(plain(command))


def _as_dict(first: Sequence[Conversation], report: ReadReport) -> dict[str, Any]:
    return {
        "detected": {label: name for label, (name, _) in report.detected.items()},
        "conversations": report.conversations,
        "messages_kept": report.messages_kept,
        "left_out": dict(report.skip_counts),
        "unusable_times": report.unusable_times,
        "first": [
            {
                "session_id": one.session_id,
                "title": one.title,
                "user_id": one.metadata.get("user_id"),
                "messages": [
                    {
                        "role": message.role,
                        "speaker": message.speaker,
                        "at": message.at,
                        "text": message.text,
                    }
                    for message in one.messages[:_MESSAGES_SHOWN]
                ],
            }
            for one in first
        ],
    }


def print_audit(paths: Sequence[str], options: ReadOptions, output: OutputForm) -> None:
    """Print what of the logs is kept and left out; exit with 1 if no log could be read."""
    audit, failed, count = Audit(), list[str](), 0
    for source in expand_paths(paths, ReadReport(), roots=options.roots):
        try:
            audit_source(source, options, audit)
            count += 1
        except IngestError as error:
            failed.append(one_line(error))
    if not print_data(output, audit.as_dict() | {"logs": count, "failed": failed}):
        out = sum(group.count for group in audit.left_out)
        console().print(
            f"{count} logs: {audit.texts} texts on disk = {audit.kept_texts} kept + {out} left out"
        )
        rows = table("whose", "left out because", "count", "first of them", right=("count",))
        for group in audit.left_out:
            samples = [f"{label}:{line} {text}" for label, line, text in group.samples]
            add_row(rows, group.role, plain(group.reason), group.count, plain("\n".join(samples)))
        if audit.left_out:
            console().print(rows)
        if failed:
            console().print(Text(plain(f"{len(failed)} failed, as {failed[0]}"), style="red"))
    if not count:
        raise typer.Exit(FAILED)
