"""The caller's choices about reading: one value, passed down to every reader."""

from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import InstanceOf

from memsense.ingest.pairing import EXCHANGE_GAP
from memsense.inputs import AsMapping, Check, Gap, Input, Name, Switch, Text, wrong_value

DateOrder = Literal["dmy", "mdy", "ymd"]


def _read_map(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if not isinstance(value, str | Path):
        raise wrong_value("must be fields with their paths, or the path of a format's file", value)
    return value


MapInput = Annotated[str | Path | Mapping[str, str | Sequence[str]], Check(_read_map)]
"""Fields of a mapping, or the path of a format's file."""


class ReadOptions(Input):
    """Choices about how logs are read.

    Args:
        format: Name of the format, or the path of a format's file (`*.toml`); None detects it by
            the log's content.
        user_speaker: The speaker whose side of a log between people is the user's.
        timezone: Zone of times that are written without one; None stores them as UTC, marked as
            having an unknown zone.
        date_order: Order of day, month and year, which settles `03/04/21`.
        map: Where a file keeps what memory needs: fields with their paths, such as
            `{"messages": "$.events[*]", "role": "author"}`, or the path of a format's file.
            the page 'Fields of a mapping' describes the fields.
        columns: Column of a CSV or JSON row for each field: session, role, content, time, id,
            order, speaker, prompt or response.
        sidechains: Read the sessions of sub-agents too, as sessions of their own.
        all_branches: Read abandoned branches and turns that were taken back too.
        keep_do_not_remember: Read ChatGPT's conversations that are marked as not to be remembered.
        session_gap: Silence that ends a session of a chat that has no sessions of its own.
        exchange_gap: Silence between two messages of one side that ends an exchange, so that a
            later message has a day of its own; `timedelta(0)` for none.
        project: The project of what a log holds, where the log itself names none.
        bots: Keep what bots post in Slack and Discord.
        guessed: Read, in folders and archives too, logs that only look like conversations.
        exclude_folders: Folders whose sessions are never read: the agent worked there, or the log
            lies there. Those of the setting of the same name count as well.
        roots: Folders whose logs are named by their path below them, as if the folder had been
            given.
        uploads: Such a folder, too, which no name or report shows: a server keeps uploads there.

    Raises:
        InvalidInputError: If a value is of the wrong type; names the field.
    """

    format: Name | None = None
    user_speaker: Text | None = None
    timezone: InstanceOf[tzinfo] | None = None
    date_order: DateOrder | None = None
    map: MapInput | None = None
    columns: Annotated[Mapping[str, Text], AsMapping] = {}
    sidechains: Switch = False
    all_branches: Switch = False
    keep_do_not_remember: Switch = False
    session_gap: InstanceOf[timedelta] = timedelta(hours=6)
    exchange_gap: Gap = EXCHANGE_GAP
    project: Name | None = None
    bots: Switch = True
    guessed: Switch = False
    exclude_folders: Sequence[str | Path] = ()
    roots: Sequence[str | Path] = ()
    uploads: str | Path | None = None
