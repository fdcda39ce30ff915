"""`memsense ingest --audit`: the texts of logs that would be kept, and those that would not."""

from collections.abc import Sequence

import typer
from rich.text import Text

from memsense.cli.exits import FAILED, one_line
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table
from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport, expand_paths
from memsense.ingest.audit import Audit, audit_source


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
