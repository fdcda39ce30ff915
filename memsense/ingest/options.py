"""What a caller may choose about reading; one value, passed down to every reader."""

from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Literal

from pydantic import InstanceOf

from memsense.inputs import AsMapping, Input, Name, Switch, Text

DateOrder = Literal["dmy", "mdy", "ymd"]


class ReadOptions(Input):
    """How to read logs; making one raises InvalidInputError.

    `format` names a reader and switches detection off. `user_speaker` is whose side of a
    people-to-people log is the user's. `timezone` is the zone of times written without one.
    `date_order` settles `03/04/21`. `columns` maps a field (session, role, content, time, id,
    order, speaker, prompt, response) to a column of a CSV or JSON row. `session_gap` is the
    silence that ends a session of a chat that never ends. `bots` keeps bot posts of Slack.
    `roots` are folders whose logs have their place below them, as if the folder had been given.
    `guessed` reads, in folders and archives too, a log that only looks like a conversation.
    """

    format: Name | None = None
    user_speaker: Text | None = None
    timezone: InstanceOf[tzinfo] | None = None
    date_order: DateOrder | None = None
    columns: Annotated[Mapping[str, Text], AsMapping] = {}
    sidechains: Switch = False
    all_branches: Switch = False
    keep_do_not_remember: Switch = False
    session_gap: InstanceOf[timedelta] = timedelta(hours=6)
    bots: Switch = True
    guessed: Switch = False
    roots: Sequence[str | Path] = ()
