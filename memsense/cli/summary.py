"""What an ingest run did, as tables for people."""

from collections import Counter
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from memsense.cli.render import add_row, plain, table, when
from memsense.write.ingest_run import IngestReport

LISTED_SOURCES = 8
LISTED_PLACES = 3


def print_summary(to: Console, report: IngestReport, *, watched: bool = False) -> None:
    """The sources with their formats, the counts, what was skipped and where, the warnings.

    Of logs that were `watched` while they grew, only what was written is told.
    """
    _print_sources(to, report)
    if watched:
        _print_row(to, {"stored": report.stored, "replaced": report.replaced})
    else:
        _print_counts(to, report)
    _print_skipped(to, report)
    for label, names in list(report.read.taken_as_user.items())[:LISTED_SOURCES]:
        shown = plain(", ".join(names[:LISTED_PLACES]) + (", ..." * (len(names) > LISTED_PLACES)))
        verb = "is" if len(names) == 1 else "are"
        note = f"note: {shown} {verb} taken as the user of {plain(label)} (--me NAME chooses)"
        to.print(Text(note, style="yellow"))
    for warning in report.read.warnings:
        to.print(Text(f"note: {plain(warning)}", style="yellow"))
    if not report.usable and not watched and (why := report.read.explain_nothing()):
        to.print(Text(f"nothing to store: {plain(why)}", style="red"))
    if report.deferred:
        told = (
            f"note: {report.deferred} stored without vectors: words find them, and"
            f" 'memsense worker' embeds them ({plain(report.deferred_because or '')})"
        )
        to.print(Text(told, style="yellow"))
    for failure in report.failed:
        to.print(Text(f"failed: {plain(failure)}", style="red"))


def _print_sources(to: Console, report: IngestReport) -> None:
    detected = report.read.detected
    if len(detected) <= LISTED_SOURCES:
        made = table("log", "format", "because")
        for label, (name, reason) in detected.items():
            add_row(made, plain(label), name, plain(reason))
    else:
        made = table("logs", "format", "because", right=("logs",))
        for (name, reason), count in Counter(detected.values()).most_common():
            add_row(made, count, name, plain(reason))
    if detected:
        to.print(made)


def _print_counts(to: Console, report: IngestReport) -> None:
    read = report.read
    stored = "would store" if report.dry_run else "stored"
    counts: dict[str, object] = {
        "sessions": report.sessions,
        "messages": f"{read.messages_kept} of {read.messages_read}",
        "exchanges": report.exchanges,
        stored: report.stored,
        "replaced": report.replaced,
        "known already": report.repeated,
        "skipped": sum(read.skip_counts.values()),
    }
    _print_row(to, counts)
    if read.earliest:
        to.print(f"from {when(read.earliest)} to {when(read.latest)}", end="; ")
    to.print(Text(f"memory of {plain(', '.join(sorted(report.users))) or 'nobody'}"))
    for count, what in (
        (read.unusable_times, "times could not be read"),
        (read.replaced_characters, "characters that PostgreSQL can't hold became \ufffd"),
        (read.reencoded_lines.count, "lines were not UTF-8"),
        (read.injected_blocks, "blocks that a hook or a memory had put into messages are left out"),
    ):
        if count:
            to.print(f"note: {count} {what}", style="yellow")


def _print_row(to: Console, counts: Mapping[str, object]) -> None:
    made = table(*counts, right=tuple(counts))
    add_row(made, *counts.values())
    to.print(made)


def _print_skipped(to: Console, report: IngestReport) -> None:
    if not report.read.skipped:
        return
    made = table("skipped", "count", "first at", right=("count",))
    for reason, tally in report.read.skipped.items():
        places = [
            plain(source if line is None else f"{source}:{line}")
            for source, line in tally.examples[:LISTED_PLACES]
        ]
        unit = "" if tally.unit == "message" else f" ({tally.unit})"
        add_row(made, f"{reason}{unit}", tally.count, "\n".join(places))
    to.print(made)
