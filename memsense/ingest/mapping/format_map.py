"""A format as data: paths to what a log holds, conditions, words for roles; read from TOML."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, cast

import platformdirs
import tomlkit

from memsense.environment import read_variable
from memsense.errors import IngestError, InvalidInputError
from memsense.ingest.mapping.paths import find_condition_fault, find_path_fault
from memsense.ingest.readers.rows import FIELDS
from memsense.inputs import (
    AsList,
    AsMapping,
    Check,
    Input,
    Name,
    Switch,
    Text,
    shorten,
    wrong_value,
)
from memsense.text.nearest import did_you_mean

SUFFIX = ".toml"
AD_HOC = "mapped"
"""Name of a mapping that has none: one that the caller gave as fields."""
BUILT_IN = Path(__file__).parents[1] / "formats"

_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
_IS_PLAIN = re.compile(r"[^$\[\].@*]+")


def _read_paths(value: object) -> tuple[str, ...]:
    items = cast("Sequence[object]", value if isinstance(value, list | tuple) else (value,))
    texts: list[str] = []
    for text in items:
        if not isinstance(text, str):
            raise wrong_value("must be a path or a list of paths", text)
        texts.append(text)
        if not text.strip():
            raise ValueError("is an empty path")
        # A name alone can't be wrong, and compiling costs more than looking.
        if not _IS_PLAIN.fullmatch(text) and (fault := find_path_fault(text)):
            raise ValueError(fault)
    return tuple(texts)


def _read_condition(value: object) -> str:
    if not isinstance(value, str):
        raise wrong_value("must be a condition such as \"@.type == 'tool'\"", value)
    if fault := find_condition_fault(value):
        raise ValueError(fault)
    return value


def _read_pattern(value: object) -> str:
    if not isinstance(value, str):
        raise wrong_value("must be a regular expression", value)
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regular expression ({error}): {shorten(value)}") from error
    return value


Paths = Annotated[Sequence[str], Check(_read_paths, is_whole=True)]
Condition = Annotated[str, Check(_read_condition, is_whole=True)]
Pattern = Annotated[str, Check(_read_pattern, is_whole=True)]
Names = Annotated[Sequence[Text], AsList]


class Marks(Input):
    """Marks by which a log shows its format; without any, only its name chooses it.

    Args:
        keys: Keys that a record must have.
        condition: Condition that such a record must meet too.
        columns: Names that the header of a table must hold.
        tables: Tables that an SQLite database must have, each with columns that it must have.
        lines: Number of lines at the beginning of a text that must be messages by `line`; they must
            be half of all lines there, too, unless the first line matches `first`.
        first: Regular expression that the first line of a text must match.
    """

    keys: Names = ()
    condition: Condition | None = None
    columns: Names = ()
    tables: Annotated[Mapping[str, Names], AsMapping] = {}
    lines: int = 0
    first: Pattern | None = None


class MappedFields(Input):
    """Paths to what memory needs; of several paths the first with a value counts.

    Args:
        conversations: Conversations within a record; default: the record is one, or a part of one.
        messages: Messages within a conversation, from all paths in turn; default: it is a message
            itself. Text that is JSON is parsed, and the items of a list are the messages.
        session: Id of the session.
        title: Title of the session.
        user: User whose memory the session is.
        owner: Speaker who saved the log, whose side is the user's.
        folder: Folder in which the session took place.
        started: Time of the session; with `groups` also of its messages without one.
        role: Who speaks: a word for a role, else a person's name.
        speaker: Name of who speaks.
        content: Text of a message; the texts of one path are joined.
        files: Names of files that came with a message.
        time: Time of a message.
        id: Id of a message.
        order: Number or time that orders the messages of a session.
        prompt: Question of a record that holds a question and its answer.
        response: Answer of such a record.
    """

    conversations: Paths = ()
    messages: Paths = ()
    session: Paths = ()
    title: Paths = ()
    user: Paths = ()
    owner: Paths = ()
    folder: Paths = ()
    started: Paths = ()
    role: Paths = ()
    speaker: Paths = ()
    content: Paths = ()
    files: Paths = ()
    time: Paths = ()
    id: Paths = ()
    order: Paths = ()
    prompt: Paths = ()
    response: Paths = ()


class FormatMap(Input):
    """A format that a mapping describes.

    Args:
        name: Name by which `--format` chooses it.
        description: What the format is, in a line.
        source: Where its schema was published.
        family: Format whose logs are the same conversations in another form: what both hold is
            stored once.
        versions: Versions of the program whose logs it was tried with.
        real_files: Number of real files that it was tried with.
        places: Where programs keep such logs.
        detect: Marks by which a log of the format is recognised.
        map: Paths to what memory needs.
        roles: Role for each word that the log uses, in addition to the usual ones; that of `*` is
            for all other words, which are names.
        where: Condition for a record to be read at all; others are counted.
        skip: Condition for each reason to leave a message out.
        bots: Condition for a message of a bot, which `ReadOptions(bots=False)` leaves out.
        json: Keys or columns whose text or compressed bytes are JSON.
        table: Table of an SQLite database to read.
        query: Query of an SQLite database to read instead of a table.
        line: Regular expression whose named groups are the fields of a line of text. A line with
            the group `day` is the date of the times in the lines below it, and in such a log texts
            of several lines may be quoted. A group `half` is the word for a half of the day.
        stream: Key of a log's one object whose list is long: its items are read one by one.
        indent: Blanks before lines that continue a text, whose blank lines are kept.
        flat: Whether keys such as `a.0.b` stand for lists and objects within each other.
        html: Whether texts are HTML.
        pieces: Whether a text may be a list of pieces of any type, which are joined as they stand.
        groups: Whether records with the same session are parts of one conversation.
        repeats: Whether a record repeats the earlier turns of its session.
        silences: Whether a silence ends a session.
        usual_names: Whether fields without a path are looked up under their usual names.
    """

    name: Name = AD_HOC
    description: Text = ""
    source: Text = ""
    family: Text | None = None
    versions: Text = ""
    real_files: int = 0
    places: Names = ()
    detect: Marks = Marks()
    map: MappedFields = MappedFields()
    roles: Annotated[Mapping[str, Text], AsMapping] = {}
    where: Condition | None = None
    skip: Annotated[Mapping[str, Condition], AsMapping] = {}
    bots: Condition | None = None
    json_keys: Names = ()
    table: Text | None = None
    query: Text | None = None
    line: Pattern | None = None
    stream: Text | None = None
    indent: str = ""
    flat: Switch = False
    html: Switch = False
    pieces: Switch = False
    groups: Switch = False
    repeats: Switch = False
    silences: Switch = False
    usual_names: Switch = False

    @cached_property
    def line_pattern(self) -> re.Pattern[str] | None:
        """The compiled pattern of a line, or None."""
        return re.compile(self.line) if self.line else None

    @cached_property
    def columns(self) -> Mapping[str, str] | None:
        """The columns of a mapping of plain rows; None if it says more than that."""
        fields = self.map.model_dump(exclude_defaults=True)
        is_plain = all(
            name in FIELDS and len(paths) == 1 and _IS_PLAIN.fullmatch(paths[0])
            for name, paths in fields.items()
        )
        others = self.model_dump(exclude_defaults=True).keys() - {"map", "usual_names"}
        if self.name != AD_HOC or others or not is_plain:
            return None
        return {name: paths[0] for name, paths in fields.items()}

    def as_toml(self) -> str:
        """Return the format as the text of a file that others can use."""
        fields = self.model_dump(exclude_defaults=True)
        fields.pop("name", None)  # the file's own name
        paths = fields.get("map", {})
        fields["map"] = {key: v[0] if len(v) == 1 else v for key, v in paths.items()}
        document = tomlkit.document()
        # Tables come last: in TOML what follows one belongs to it.
        for name, value in sorted(fields.items(), key=lambda item: isinstance(item[1], dict)):
            document[name] = _as_toml_value(value)
        return tomlkit.dumps(document)


def _as_toml_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        named = cast("Mapping[str, Any]", value)
        return {key: _as_toml_value(item) for key, item in named.items()}
    return list(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else value


# Making one ---------------------------------------------------------------------------------------


_PREFIXES = ("roles", "skip")
FIELD_NAMES: Sequence[str] = (
    *MappedFields.model_fields,
    *("table", "query", "line", "stream", "indent", "json_keys", "where", "bots"),
    *("flat", "html", "pieces", "groups", "repeats", "silences"),
)
"""Fields that a mapping given in place may set, in addition to `roles.WORD` and `skip.REASON`."""
_SWITCHES = frozenset({"flat", "html", "pieces", "groups", "repeats", "silences"})
_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def map_from_fields(fields: Mapping[str, str | Sequence[str]]) -> FormatMap:
    """Return the mapping that fields given in place describe.

    Args:
        fields: Path or paths of each field, such as `{"role": "author", "roles.human": "user"}`.

    Raises:
        InvalidInputError: If a field is unknown or its path is wrong; names the field.
    """
    values: dict[str, Any] = {"usual_names": True}
    for name, value in fields.items():
        group, dot, word = name.partition(".")
        if dot and group in _PREFIXES and word:
            values.setdefault(group, {})[word] = value
        elif name in MappedFields.model_fields:
            values.setdefault("map", {})[name] = value
        elif name in FIELD_NAMES:
            is_switch = name in _SWITCHES and isinstance(value, str)
            values[name] = _WORDS.get(str(value).lower(), value) if is_switch else value
            if name == "json_keys" and isinstance(value, str):
                values[name] = [value]
        else:
            raise InvalidInputError(
                f"map: no field named {name!r}; there are {', '.join(FIELD_NAMES)}, roles.WORD and"
                f" skip.REASON{did_you_mean(name, FIELD_NAMES)}"
            )
    return FormatMap(**values)


def load_format(path: Path, name: str | None = None) -> FormatMap:
    """Return the format of a TOML file; its name is the file's.

    Raises:
        IngestError: If the file can't be read, is no TOML, or a value in it is wrong.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise IngestError(f"{path}: can't be read ({error.strerror})") from error
    except ValueError as error:  # bytes that are no UTF-8, or no TOML
        raise IngestError(f"{path}: not a format's file ({error})") from error
    fields: dict[str, Any] = {"name": name or path.stem} | values
    try:
        return FormatMap(**fields)
    except InvalidInputError as error:
        raise IngestError(f"{path}: {error}") from error


# The user's own -----------------------------------------------------------------------------------


def formats_folder() -> Path:
    """Return the folder of the user's own formats: MEMSENSE_FORMATS_DIR, else the usual place."""
    if own := read_variable("MEMSENSE_FORMATS_DIR"):
        return Path(own)
    return Path(platformdirs.user_config_dir("memsense", appauthor=False)) / "formats"


def list_format_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names and the files of a folder's formats, in the order of their names."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if _FILE_NAME.fullmatch(path.stem):
            yield path.stem, path


def save_format(form: FormatMap, name: str) -> Path:
    """Save a format under a name among the user's own; return its file.

    Raises InvalidInputError for a name that can't be a file's.
    """
    if not _FILE_NAME.fullmatch(name):
        raise InvalidInputError(
            f"name must be up to 61 lower-case letters, digits, - and _, not {name!r}"
        )
    folder = formats_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{SUFFIX}"
    path.write_text(form.as_toml(), encoding="utf-8")
    return path
