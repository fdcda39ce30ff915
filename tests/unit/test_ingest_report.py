"""The report of an ingest run: failures by reason, the default user, and progress by bytes."""

import io
import json

from rich.console import Console
from rich.progress import Progress

from memsense.cli.progress import IngestProgress
from memsense.cli.summary import print_summary
from memsense.draft.ingest_run import IngestReport, NothingIngestedError


def test_a_thousand_failures_of_one_reason_are_one_line() -> None:
    report = IngestReport()
    for number in range(1_008):
        place = f"notes/{number}.txt"
        report.fail(place, f"{place}: not a conversation that memsense knows; the formats are many")
    report.fail("notes/b.zip", "the archive can't be read")
    text = str(NothingIngestedError(report))
    assert text == (
        "1008 of the logs: not a conversation that memsense knows; the formats are many"
        " (notes/0.txt, notes/1.txt, notes/2.txt, ...);"
        " 1 of the logs: the archive can't be read (notes/b.zip)"
    )
    fields = report.as_dict()
    assert [(one["count"], len(one["examples"])) for one in fields["failures"]] == [
        (1008, 3),
        (1, 1),
    ]
    assert len(json.dumps(fields)) < 20_000
    assert len(report.failed) == 1_009


def test_the_report_says_that_nothing_named_a_user() -> None:
    out = io.StringIO()
    report = IngestReport(users={"default"}, is_default_user=True)
    print_summary(Console(file=out, width=200), report)
    assert "filed under the user 'default'" in out.getvalue()
    assert "--user" in out.getvalue()
    out = io.StringIO()
    print_summary(Console(file=out, width=200), IngestReport(users={"ada"}))
    assert "filed under" not in out.getvalue()


def test_the_bar_moves_while_a_long_session_is_read() -> None:
    bar = Progress(disable=True)
    progress = IngestProgress(bar)
    progress.start(1_000)
    progress.note_bytes(400)
    assert bar.tasks[0].completed == 400
    report = IngestReport(exchanges=4, stored=2)
    progress.note_bytes(1_000)
    progress.note_report(report)
    assert bar.tasks[0].completed == 500
    assert bar.tasks[0].description == "storing"
