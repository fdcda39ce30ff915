"""PostgreSQL's binary format of numpy arrays, vectors and jsonb, written and read all at once."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import RawCursor
from psycopg.abc import Buffer, DumperKey
from psycopg.adapt import Dumper, Loader, PyFormat
from psycopg.pq import Format
from psycopg.types.json import JsonbBinaryLoader
from pydantic_core import from_json


@dataclass(frozen=True, slots=True)
class _Element:
    """An array's element type: PostgreSQL's ids for it, and the layout of one element."""

    type_oid: int
    array_oid: int
    layout: np.dtype[np.void]


def _element(type_oid: int, array_oid: int, form: str) -> _Element:
    return _Element(type_oid, array_oid, np.dtype([("length", ">i4"), ("value", form)]))


_ELEMENTS: Mapping[type, _Element] = {
    np.bool_: _element(16, 1000, "?"),
    np.int16: _element(21, 1005, ">i2"),
    np.int32: _element(23, 1007, ">i4"),
    np.int64: _element(20, 1016, ">i8"),
    np.float64: _element(701, 1022, ">f8"),
}
_BY_OID = {element.type_oid: element for element in _ELEMENTS.values()}
_JSONB = 3802
_READ = tuple(_ELEMENTS[kind].array_oid for kind in (np.int32, np.int64, np.float64))

_ARRAY_HEADER = 20
_VECTOR_HEADER = 4


def register_types(cursor: RawCursor[Any]) -> None:
    """Make the cursor write and read numpy arrays without nulls, and read jsonb faster."""
    adapters = cursor.adapters
    adapters.register_dumper(np.ndarray, _ArrayDumper)
    adapters.register_loader(_JSONB, _JsonLoader)
    for array_oid in _READ:
        adapters.register_loader(array_oid, _ArrayLoader)


class _ArrayDumper(Dumper):
    """Dumper of a numpy array of any shape as a PostgreSQL array, all of it at once."""

    format = Format.BINARY

    def get_key(self, obj: NDArray[Any], format: PyFormat) -> DumperKey:  # noqa: A002 (psycopg's name)
        """Return the key of a dumper for this element type."""
        del format
        return (self.cls, obj.dtype.type)

    def upgrade(self, obj: NDArray[Any], format: PyFormat) -> "_ArrayDumper":  # noqa: A002
        """Return the dumper for this element type."""
        del format
        dumper = type(self)(self.cls)
        dumper.oid = _ELEMENTS[obj.dtype.type].array_oid
        return dumper

    def dump(self, obj: NDArray[Any]) -> bytes:
        """Return dimensions, null flag, element type, lengths and bounds; then the elements."""
        element = _ELEMENTS[obj.dtype.type]
        lengths = obj.shape if obj.size else ()
        body = np.empty(obj.size, dtype=element.layout)
        body["length"] = obj.itemsize
        body["value"] = obj.reshape(-1)
        sizes = [number for length in lengths for number in (length, 1)]
        head = struct.pack(f">3i{len(sizes)}i", len(lengths), 0, element.type_oid, *sizes)
        return head + body.tobytes()


class _ArrayLoader(Loader):
    """Loader of a one-dimensional array without nulls as a numpy array, all of it at once."""

    format = Format.BINARY

    def load(self, data: Buffer) -> NDArray[Any]:
        """Read dimensions, null flag, element type, length, bound; then lengths and values."""
        sent = bytes(data)
        layout = _BY_OID[int.from_bytes(sent[8:12], "big")].layout
        values = np.frombuffer(sent, dtype=layout, offset=_ARRAY_HEADER)["value"]
        return values.astype(values.dtype.newbyteorder("="))


def read_joined_arrays(data: bytes, kind: type, lengths: Sequence[int]) -> NDArray[Any]:
    """Return the values of binary arrays of numpy's `kind`, one after another, none empty."""
    layout = _ELEMENTS[kind].layout
    arrays: list[NDArray[Any]] = []
    start = 0
    for length in lengths:
        start += _ARRAY_HEADER
        arrays.append(np.frombuffer(data, dtype=layout, count=length, offset=start)["value"])
        start += length * layout.itemsize
    joined = np.concatenate(arrays)
    return joined.astype(joined.dtype.newbyteorder("="))


def as_number_array(numbers: Sequence[int]) -> str:
    """Return whole numbers as the text of a PostgreSQL array, for a cast parameter."""
    return "{" + ",".join(map(str, numbers)) + "}"


def as_text_array(texts: Sequence[str]) -> str:
    """Return texts as the text of a PostgreSQL array, in a fifth of psycopg's time for a list."""
    if not texts:
        return "{}"
    escaped = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return '{"' + '","'.join(escaped) + '"}'


def as_texts_of_arrays(lists: Sequence[Sequence[int]]) -> str:
    """Return lists of whole numbers, of any lengths, as the text of an array of texts of arrays."""
    return as_text_array([as_number_array(numbers) for numbers in lists])


def as_halfvec(vector: NDArray[np.floating[Any]]) -> HalfVector:
    """Return the vector as pgvector's type of two bytes a component."""
    return HalfVector(vector.astype(np.float16, copy=False))


def read_joined_halfvecs(data: bytes) -> NDArray[np.float32]:
    """Return vectors as rows, (n, d) float32, from halfvecs in binary, one after another.

    Each has two bytes of dimension and two of zero, then the components, big-endian.
    """
    width = int.from_bytes(data[:2], "big")
    raw = np.frombuffer(data, dtype=np.uint8).reshape(-1, _VECTOR_HEADER + 2 * width)
    return np.ascontiguousarray(raw[:, _VECTOR_HEADER:]).view(">f2").astype(np.float32)


class _JsonLoader(JsonbBinaryLoader):
    """psycopg's loader of jsonb, with a parser that takes a fifth of json.loads' time."""

    _loads = staticmethod(from_json)
