"""Text out of bytes, and JSON values out of text, at any cut."""

import io
import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.ingest import decoding
from memsense.ingest.decoding import decode_chunks, split_lines
from memsense.ingest.jsonstream import Broken, Record, peek_json, scan_json
from memsense.inputs import sanitise

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
# Bare lists are read item by item, so that documents here are objects.
documents = st.dictionaries(st.text(), values, max_size=5)


def cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def values_of(chunks: Iterator[str], envelope: str | None = None) -> list[object]:
    return [item.value for item in scan_json(chunks, envelope) if isinstance(item, Record)]


@given(
    docs=st.lists(documents),
    size=st.integers(1, 50),
    indent=st.sampled_from((None, 2)),
    as_list=st.booleans(),
    data=st.data(),
)
@settings(deadline=None)
def test_documents_survive_any_layout_any_envelope_and_any_cut(
    docs: list[object], size: int, indent: int | None, as_list: bool, data: st.DataObject
) -> None:
    # One draw for the three: drawing documents takes longer than reading them.
    parts = [json.dumps(doc, indent=indent) for doc in docs]
    text = f"[{','.join(parts)}]" if as_list else "\n".join(parts)
    assert values_of(cut(text, size)) == docs, "another layout"

    if docs:
        text = json.dumps({"conversations": docs, "more": [{"x": 1}]})
        assert values_of(cut(" " + text, size), "conversations") == docs, "in an envelope"

    # A text that is cut off loses at most its last value.
    few = [json.dumps(doc) for doc in docs[:4]]
    text = "\n".join(few)
    shown = text[: data.draw(st.integers(0, len(text)))]
    whole = sum(len("\n".join(few[: n + 1])) <= len(shown) for n in range(len(few)))
    assert values_of(iter([shown])) == docs[:whole], "cut off"


def test_lines_of_records_are_counted() -> None:
    items = list(scan_json(iter(['\n{"a": 1}\n\n{"b":\n 2} {"c": 3}\nbad\n{"d": 4}\n'])))
    assert [(type(item).__name__, item.line) for item in items] == [
        ("Record", 2),
        ("Record", 4),
        ("Record", 5),
        ("Broken", 6),
        ("Record", 7),
    ]


def test_a_bad_line_costs_only_itself() -> None:
    text = '{"a": 1}\n{"b": "cut off\n{"c": 3}\n{"d": 4}\n'
    assert values_of(iter([text])) == [{"a": 1}, {"c": 3}, {"d": 4}]


def test_a_truncated_list_gives_its_whole_items() -> None:
    items = list(scan_json(iter([json.dumps([{"a": 1}, {"b": {"c": [1, 2]}}], indent=1)[:-12]])))
    assert [item.value for item in items if isinstance(item, Record)] == [{"a": 1}]
    assert [item.at_end for item in items if isinstance(item, Broken)] == [True]


def test_a_peek_completes_the_value_that_the_cut_broke() -> None:
    records, broken = peek_json('[{"a": 1}, {"mapping": {"x": {"id": "y', complete=False)
    assert [record.value for record in records] == [{"a": 1}, {"mapping": {"x": {"id": "y"}}}]
    assert broken == 0


@given(st.text(st.characters(exclude_categories=("Cs",))), st.integers(1, 9))
@settings(deadline=None)
def test_utf8_is_decoded_whatever_the_chunk_size(text: str, size: int) -> None:
    bad: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "CHUNK_BYTES", size)
        decoded = "".join(decode_chunks(io.BytesIO(("x" * 4 + text).encode()), bad.append))
    assert decoded == "x" * 4 + text
    assert bad == []


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]
)
def test_a_byte_order_mark_decides(encoding: str) -> None:
    text = "naïve 中文 🎉\n" * 3
    mark = "" if encoding in ("utf-8-sig", "utf-16", "utf-32") else "\ufeff"
    data = (mark + text).encode(encoding)
    assert "".join(decode_chunks(io.BytesIO(data), lambda _line: None)) == text


def test_stray_bytes_are_windows_characters_and_their_lines_are_named() -> None:
    bad: list[int] = []
    data = "fine é\n".encode() + b"caf\xe9 \x93quoted\x94\n" + "ünd 🎉".encode() + b" \x81 \xe9"
    text = "".join(decode_chunks(io.BytesIO(data), bad.append))
    assert text == "fine é\ncafé “quoted”\nünd 🎉 \ufffd é"
    assert bad == [2, 3]


@given(st.binary(max_size=60), st.integers(1, 7))
@settings(deadline=None)
def test_any_bytes_become_text_without_surrogates(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "CHUNK_BYTES", size)
        "".join(decode_chunks(io.BytesIO(data), lambda _line: None)).encode()


@given(st.text(st.sampled_from("ab\n\r\u2028\x85")), st.integers(1, 5))
@settings(deadline=None)
def test_only_a_line_feed_ends_a_line(text: str, size: int) -> None:
    lines = list(split_lines(cut(text, size)))
    assert "".join(lines) == text
    assert [line.removesuffix("\n") for line in lines] == [
        line for line in text.split("\n") if line or lines
    ][: len(lines)]


@given(st.text(st.characters(exclude_categories=("Cs",))))
@settings(deadline=None)
def test_sanitising_changes_only_what_cannot_be_stored(text: str) -> None:
    cleaned, count = sanitise(f"\ud83d{text}\x00")
    assert cleaned == "\ufffd" + text.replace("\x00", "\ufffd") + "\ufffd"
    assert count == 2 + text.count("\x00")
