"""The readers of one run: memsense's own, formats as files, plug-ins, and the user's formats."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from memsense.errors import IngestError
from memsense.ingest.mapping.format_map import (
    AD_HOC,
    BUILT_IN,
    SUFFIX,
    FormatMap,
    formats_folder,
    list_format_files,
    load_format,
    map_from_fields,
)
from memsense.ingest.mapping.mapped import mapped_reader
from memsense.ingest.options import ReadOptions
from memsense.ingest.readers import GENERIC, READERS
from memsense.ingest.reading import Reader

GROUP = "memsense.readers"
"""Entry points of this group are readers of other packages (docs/guides/readers.md)."""

MapChoice = str | Path | Mapping[str, str | Sequence[str]]
"""A mapping as a caller gives it: fields, a format's file, or the name of a format."""


def readers() -> Mapping[str, Reader]:
    """Return all readers by name, in the order in which detection asks them.

    Programs' readers come first, then formats as files, plug-ins and the user's own formats, and
    last the readers of forms that many programs write. The first with a name keeps it.
    """
    by_name = {name: reader for name, reader in READERS.items() if name not in GENERIC}
    own = _readers_of(list_format_files(formats_folder()), origin="yours")
    more = (*built_in_readers(), *plugin_readers(), *own)
    for reader in (*more, *(READERS[name] for name in GENERIC)):
        if reader.name not in READERS or reader.name in GENERIC:
            by_name.setdefault(reader.name, reader)
    return by_name


@lru_cache(maxsize=1)
def built_in_readers() -> tuple[Reader, ...]:
    """Return the readers of the formats that memsense has as files."""
    return tuple(_readers_of(list_format_files(BUILT_IN)))


@lru_cache(maxsize=1)
def plugin_readers() -> tuple[Reader, ...]:
    """Return the readers that installed packages bring along.

    Raises IngestError if one can't be loaded, or is neither a `Reader` nor a `FormatMap`.
    """
    return tuple(_load_plugin(point) for point in entry_points(group=GROUP))


def _load_plugin(point: EntryPoint) -> Reader:
    package = point.dist.name if point.dist else "an unknown package"
    try:
        value = point.load()
    except (ImportError, AttributeError) as error:
        raise IngestError(
            f"the reader {point.name!r} of {package} can't be loaded ({error}); update or uninstall"
            " that package"
        ) from error
    if isinstance(value, FormatMap):
        return mapped_reader(value.name, lambda: value, origin=package)
    if not isinstance(value, Reader):
        raise IngestError(
            f"the reader {point.name!r} of {package} must be a memsense Reader or FormatMap, not"
            f" {type(value).__name__}; update or uninstall that package"
        )
    return replace(value, origin=package)


def _readers_of(files: Iterator[tuple[str, Path]], *, origin: str = "memsense") -> Iterator[Reader]:
    for name, path in files:
        # A format is read when a log is first compared with it: most runs need none.
        load = lru_cache(maxsize=1)(load_format)
        yield mapped_reader(name, partial(load, path, name), origin=origin)


def choose_reader(name: str) -> Reader:
    """Return the reader of that name, or of the format's file at that path.

    Raises IngestError if there is none, or the file can't be used.
    """
    if name.endswith(SUFFIX):
        form = load_format(Path(name))
        return mapped_reader(form.name, lambda: form)
    by_name = readers()
    if name not in by_name:
        raise IngestError(
            f"unknown format {name!r}; the formats are {', '.join(by_name)}, or the path of a"
            f" format's file (*{SUFFIX})"
        )
    return by_name[name]


def choose_mapped(
    choice: MapChoice, options: ReadOptions, *, is_database: bool = False
) -> tuple[Reader, ReadOptions]:
    """Return the reader of a mapping that a caller gives, with the options for it.

    Raises InvalidInputError or IngestError if the mapping can't be used.
    """
    form = read_map(choice)
    if form.columns is not None and not is_database:
        # Plain columns: the reader of rows knows the usual names of the others.
        return READERS["rows"], options.model_copy(update={"columns": form.columns})
    return mapped_reader(form.name, lambda: form), options


def read_map(choice: MapChoice) -> FormatMap:
    """Return the mapping that a caller gives as fields or as the path of a format's file.

    Raises InvalidInputError or IngestError if it can't be used.
    """
    if isinstance(choice, str | Path):
        return load_format(Path(choice))
    return map_from_fields(choice)


__all__ = ["AD_HOC", "GROUP", "MapChoice", "choose_mapped", "choose_reader", "read_map", "readers"]
