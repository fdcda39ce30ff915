"""A log of any format that is cut anywhere, or in which any value is another, never crashes."""

import copy
import io
import json
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import pytest
from small_logs import SMALL_LOGS

from memsense.errors import IngestError
from memsense.ingest import ReadOptions, Source, pair_exchanges, read_source

WRONG: tuple[Any, ...] = (None, True, -1, 1e300, "x", "", [], {}, [[]], [{}], {"a": []})


def read(text: str, form: str | None = None, *, everything: bool = False) -> int:
    """How many exchanges are read; 0 where the log is refused."""
    options = ReadOptions(format=form, sidechains=everything, all_branches=everything)
    opener = partial(io.BytesIO, text.encode(errors="replace"))
    source = Source(label="log.jsonl", name="log.jsonl", opener=opener)
    try:
        return sum(len(pair_exchanges(one)) for one in read_source(source, options))
    except IngestError:
        return 0


def other_values(value: object) -> Iterator[object]:
    """The value with one place after the other filled with something wrong, or left out."""
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        for key, inner in known.items():
            yield {name: item for name, item in known.items() if name != key}
            for other in (*WRONG, *other_values(inner)):
                yield known | {key: other}
    elif isinstance(value, list):
        items = cast("list[object]", value)
        for place, inner in enumerate(items):
            for other in (*WRONG, *other_values(inner)):
                yield [*items[:place], copy.deepcopy(other), *items[place + 1 :]]


@pytest.mark.parametrize("form", SMALL_LOGS)
def test_a_log_may_be_cut_anywhere(form: str) -> None:
    log = SMALL_LOGS[form]("hi")
    assert read(log, form) >= 1
    for end in range(len(log)):
        read(log[:end])
        read(log[:end], form)


@pytest.mark.parametrize("form", [form for form in SMALL_LOGS if SMALL_LOGS[form]("hi")[0] in "[{"])
def test_any_value_of_a_log_may_be_another(form: str) -> None:
    log = SMALL_LOGS[form]("hi")
    try:
        values = [json.loads(log)]
    except ValueError:
        values = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    for place, value in enumerate(values):
        for other in other_values(value):
            told = [*values[:place], other, *values[place + 1 :]]
            text = "".join(json.dumps(one) + "\n" for one in told)
            read(text)
            read(text, form, everything=True)
