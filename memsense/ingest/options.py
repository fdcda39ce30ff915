"""What a caller may choose about reading; one value, passed down to every reader."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Literal

DateOrder = Literal["dmy", "mdy", "ymd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read logs.

    `format` names a reader and switches detection off. `user_speaker` is whose side of a
    people-to-people log is the user's. `timezone` is the zone of times written without one.
    `date_order` settles `03/04/21`. `columns` maps a field (session, role, content, time, id,
    order, speaker, prompt, response) to a column of a CSV or JSON row. `session_gap` is the
    silence that ends a session of a chat that never ends. `bots` keeps bot posts of Slack.
    `roots` are folders whose logs have their place below them, as if the folder had been given.
    `guessed` reads, in folders and archives too, a log that only looks like a conversation.
    """

    format: str | None = None
    user_speaker: str | None = None
    timezone: tzinfo | None = None
    date_order: DateOrder | None = None
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    sidechains: bool = False
    all_branches: bool = False
    keep_do_not_remember: bool = False
    session_gap: timedelta = timedelta(hours=6)
    bots: bool = True
    guessed: bool = False
    roots: Sequence[str | Path] = ()
