"""The audit: texts on disk are those kept and those left out, for every format."""

import io
import json
from functools import partial

import pytest
from small_logs import LOGS
from test_human_words import full_session

from memsense.ingest import ReadOptions, Source
from memsense.ingest.audit import NOT_LOOKED_AT, Audit, audit_source

TEXTS = (
    "Where do the looms of the mill stand?",
    "They stand in the western hall.",
    "Move them to the east, please.",
    "They are in the east now.",
)
NAMES = {"aider": ".aider.chat.history.md", "gemini_takeout": "MyActivity.json", "rows": "log.csv"}


def audit(log: str, name: str, form: str | None = None) -> Audit:
    data = log.encode()
    source = Source(label=name, name=name, opener=partial(io.BytesIO, data), size=len(data))
    result = Audit()
    audit_source(source, ReadOptions(format=form), result)
    return result


def total_left_out(result: Audit) -> int:
    return sum(group.count for group in result.left_out)


@pytest.mark.parametrize("form", LOGS)
def test_texts_on_disk_are_kept_or_left_out_for_a_reason(form: str) -> None:
    log = LOGS[form](TEXTS)
    result = audit(log, NAMES.get(form, "log.txt" if form == "text" else "log"), form)
    assert result.texts == result.kept_texts + total_left_out(result)
    samples = " ".join(text for one in result.left_out for _, _, text in one.samples)
    # Four texts were counted by hand: all are kept, none is among those that were left out.
    assert result.kept_texts >= len(TEXTS)
    assert not [text for text in TEXTS if text in samples]


@pytest.mark.parametrize("form", [form for form in LOGS if LOGS[form](TEXTS).startswith("{")])
def test_a_text_that_no_reader_takes_is_found(form: str) -> None:
    log = LOGS[form](TEXTS)
    record = {"role": "user", "stray": "words of a person that no reader takes"}
    records = log.rstrip("\n").split("\n")
    value = json.loads(records[0])
    log = "\n".join([json.dumps(value | {"memsense_test": record}), *records[1:]])
    (group,) = [
        group
        for group in audit(log, "log", form).left_out
        if any(record["stray"] in text for _, _, text in group.samples)
    ]
    assert (group.role, group.count) == ("user", 1)


def test_a_persons_words_stand_first() -> None:
    result = audit(full_session().text(), "session.jsonl")
    assert result.texts == result.kept_texts + total_left_out(result)
    roles = [group.role for group in result.left_out]
    assert roles.index("unknown") < roles.index("assistant") < roles.index("tool")
    by_reason = {group.reason: group for group in result.left_out}
    assert "prompt in the queue that was not sent yet" in by_reason
    # No record of the session goes past its reader, and no word of a person's turns is lost.
    assert not [g for g in result.left_out if g.role == "user" and g.reason == NOT_LOOKED_AT]
