"""PostgreSQL's binary form of numpy arrays, vectors and jsonb, written and read all at once."""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import RawCursor
from psycopg.abc import Buffer, DumperKey
from psycopg.adapt import Dumper, Loader, PyFormat
from psycopg.pq import Format


@dataclass(frozen=True, slots=True)
class _Element:
    """How PostgreSQL knows an array's element type, and the layout of one element."""

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
_READ = tuple(_ELEMENTS[kind].array_oid for kind in (np.int32, np.int64, np.float64))

_ARRAY_HEADER = 20
_VECTOR_HEADER = 4


def register_types(cursor: RawCursor[Any]) -> None:
    """Make the cursor write numpy arrays, and read arrays of numbers as such; quicker jsonb too.

    What it reads are arrays of integer, bigint and double precision, in binary results: of one
    dimension, not empty and without nulls.
    """
    adapters = cursor.adapters
    adapters.register_dumper(np.ndarray, _ArrayDumper)
    adapters.register_loader(_JSONB, _JsonLoader)
    for array_oid in _READ:
        adapters.register_loader(array_oid, _ArrayLoader)


class _ArrayDumper(Dumper):
    """Writes a numpy array of any shape as a PostgreSQL array, all of it at once."""

    format = Format.BINARY

    def get_key(self, obj: NDArray[Any], format: PyFormat) -> DumperKey:  # noqa: A002 (psycopg's name)
        """A dumper for each element type."""
        del format
        return (self.cls, obj.dtype.type)

    def upgrade(self, obj: NDArray[Any], format: PyFormat) -> "_ArrayDumper":  # noqa: A002
        """The dumper for this element type."""
        del format
        dumper = type(self)(self.cls)
        dumper.oid = _ELEMENTS[obj.dtype.type].array_oid
        return dumper

    def dump(self, obj: NDArray[Any]) -> bytes:
        """Dimensions, null flag, element type, each length and lower bound; then the elements."""
        element = _ELEMENTS[obj.dtype.type]
        lengths = obj.shape if obj.size else ()
        body = np.empty(obj.size, dtype=element.layout)
        body["length"] = obj.itemsize
        body["value"] = obj.reshape(-1)
        sizes = [number for length in lengths for number in (length, 1)]
        head = struct.pack(f">3i{len(sizes)}i", len(lengths), 0, element.type_oid, *sizes)
        return head + body.tobytes()


class _ArrayLoader(Loader):
    """Reads a one-dimensional array without nulls as a numpy array, all of it at once."""

    format = Format.BINARY

    def load(self, data: Buffer) -> NDArray[Any]:
        """Dimensions, null flag, element type, length, lower bound; then each length and value."""
        found = bytes(data)
        layout = _BY_OID[int.from_bytes(found[8:12], "big")].layout
        values = np.frombuffer(found, dtype=layout, offset=_ARRAY_HEADER)["value"]
        return values.astype(values.dtype.newbyteorder("="))


def read_joined_arrays(found: bytes, kind: type, lengths: Sequence[int]) -> NDArray[Any]:
    """The values of arrays in binary, one array after another, each with its header.

    `kind` is numpy's type of an element, `lengths` are the arrays' own, none of them 0.
    """
    layout = _ELEMENTS[kind].layout
    arrays: list[NDArray[Any]] = []
    start = 0
    for length in lengths:
        start += _ARRAY_HEADER
        arrays.append(np.frombuffer(found, dtype=layout, count=length, offset=start)["value"])
        start += length * layout.itemsize
    joined = np.concatenate(arrays)
    return joined.astype(joined.dtype.newbyteorder("="))


def as_number_array(numbers: Sequence[int]) -> str:
    """Whole numbers as the text of a PostgreSQL array, for a parameter that is cast to one."""
    return "{" + ",".join(map(str, numbers)) + "}"


def as_text_array(texts: Sequence[str]) -> str:
    """As `as_number_array`, of texts: a fifth of the time that psycopg takes for a list of them."""
    if not texts:
        return "{}"
    escaped = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return '{"' + '","'.join(escaped) + '"}'


def as_halfvec(vector: NDArray[np.floating[Any]]) -> HalfVector:
    """The vector as pgvector's type of two bytes a component."""
    return HalfVector(vector.astype(np.float16, copy=False))


def read_joined_halfvecs(found: bytes) -> NDArray[np.float32]:
    """The vectors as rows, (n, d) float32, from halfvecs in binary, one after another.

    Two bytes each: the dimension and a zero; then the components, big-endian.
    """
    width = int.from_bytes(found[:2], "big")
    raw = np.frombuffer(found, dtype=np.uint8).reshape(-1, _VECTOR_HEADER + 2 * width)
    return np.ascontiguousarray(raw[:, _VECTOR_HEADER:]).view(">f2").astype(np.float32)


_JSONB = 3802
_EMPTY: Mapping[bytes, Callable[[], Any]] = MappingProxyType({b"\x01[]": list, b"\x01{}": dict})


class _JsonLoader(Loader):
    """As json.loads, quicker for what most chunks have: no metadata and no facets."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:
        """A version number of one byte, then the text."""
        found = bytes(data)
        made = _EMPTY.get(found)
        return made() if made else json.loads(found[1:])
