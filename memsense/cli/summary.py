"""Report of an ingest run, as tables for people."""

from collections import Counter
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from memsense.cli.render import add_row, plain, table, when
from memsense.draft.ingest_run import DEFAULT_USER, IngestReport
from memsense.text.secrets import summary

LISTED_SOURCES = 8
LISTED_PLACES = 3


def print_summary(to: Console, report: IngestReport, *, is_watched: bool = False) -> None:
    """Print the logs with their formats, the counts, what was skipped and where, and the notes."""
    _print_sources(to, report)
    if is_watched:
        # Each pass over a growing log reads it from the beginning: only the writes can be summed.
        _print_row(to, {"stored": report.stored, "replaced": report.replaced})
    else:
        _print_counts(to, report)
    if report.read.skipped:
        _print_skipped(to, report)
    for label, names in list(report.read.taken_as_user.items())[:LISTED_SOURCES]:
        text = plain(", ".join(names[:LISTED_PLACES]) + (", ..." * (len(names) > LISTED_PLACES)))
        verb = "is" if len(names) == 1 else "are"
        note = f"note: {text} {verb} taken as the user of {plain(label)} (--me NAME chooses)"
        to.print(Text(note, style="yellow"))
    for continuation in report.continued[:LISTED_SOURCES]:
        to.print(Text(f"note: {plain(str(continuation))}", style="yellow"))
    for warning in report.read.warnings:
        to.print(Text(f"note: {plain(warning)}", style="yellow"))
    if not report.usable and not is_watched and (reason := report.read.explain_nothing()):
        to.print(Text(f"nothing to store: {plain(reason)}", style="red"))
    if report.deferred:
        text = (
            f"note: {report.deferred} stored without vectors: only words find them until"
            f" 'memsense worker' embeds them ({plain(report.deferred_because or '')})"
        )
        to.print(Text(text, style="yellow"))
    if report.redacted:
        to.print(Text(f"note: {summary(report.redacted)}", style="yellow"))
    if report.is_default_user:
        text = f"note: filed under the user {DEFAULT_USER!r}: the logs name none (--user NAME does)"
        to.print(Text(text, style="yellow"))
    if report.failed:
        to.print(Text(f"failed: {plain(report.describe_failures())}", style="red"))


def _print_sources(to: Console, report: IngestReport) -> None:
    detected = report.read.detected
    # A folder of agents' sessions may hold thousands of logs: these are counted by format.
    if len(detected) <= LISTED_SOURCES:
        rows = table("log", "format", "because")
        for label, (name, reason) in detected.items():
            add_row(rows, plain(label), name, plain(reason))
    else:
        rows = table("logs", "format", "because", right=("logs",))
        for (name, reason), count in Counter(detected.values()).most_common():
            add_row(rows, count, name, plain(reason))
    if detected:
        to.print(rows)


def _print_counts(to: Console, report: IngestReport) -> None:
    read = report.read
    counts: dict[str, object] = {
        "sessions": report.sessions,
        "messages": f"{read.messages_kept} of {read.messages_read}",
        "exchanges": report.exchanges,
        "would store" if report.dry_run else "stored": report.stored,
        "replaced": report.replaced,
        "known already": report.repeated,
        "skipped": sum(read.skip_counts.values()),
    }
    _print_row(to, counts)
    if read.earliest:
        to.print(f"from {when(read.earliest)} to {when(read.latest)}", end="; ")
    to.print(Text(f"memory of {plain(', '.join(sorted(report.users))) or 'nobody'}"))
    for count, text in (
        (read.unusable_times, "times could not be read"),
        (read.replaced_characters, "characters that PostgreSQL can't store became \ufffd"),
        (read.reencoded_lines.count, "lines were not UTF-8"),
        (read.injected_blocks, "blocks that a hook or a memory had put into messages are left out"),
    ):
        if count:
            to.print(f"note: {count} {text}", style="yellow")


def _print_row(to: Console, counts: Mapping[str, object]) -> None:
    rows = table(*counts, right=tuple(counts))
    add_row(rows, *counts.values())
    to.print(rows)


def _print_skipped(to: Console, report: IngestReport) -> None:
    rows = table("skipped", "count", "first at", right=("count",))
    # The first places are enough to look at what was skipped, and why.
    for reason, tally in report.read.skipped.items():
        places = [
            plain(source if line is None else f"{source}:{line}")
            for source, line in tally.examples[:LISTED_PLACES]
        ]
        unit = "" if tally.unit == "message" else f" ({tally.unit})"
        add_row(rows, f"{reason}{unit}", tally.count, "\n".join(places))
    to.print(rows)
