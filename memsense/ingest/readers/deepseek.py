"""DeepSeek data export: a tree of nodes a conversation, whose messages are made of fragments."""

from collections.abc import Iterator, Sequence

from memsense.ingest.branches import find_latest_leaf, other_branches, path_to_root
from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import JsonObject, identifier, mapping, objects, reach, string
from memsense.types import Conversation, Role

_SPEAKERS: dict[str, Role] = {"REQUEST": "user", "RESPONSE": "assistant"}


def _sniff(head: Head) -> str | None:
    if head.find(_is_conversation):
        return "conversations with a mapping of nodes whose messages have fragments"
    return None


def _is_conversation(record: JsonObject) -> bool:
    nodes = mapping(record.get("mapping")).values()
    is_dated = "inserted_at" in record and bool(nodes)
    return is_dated or any(isinstance(reach(n, "message", "fragments"), list) for n in nodes)


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        if isinstance(record.value.get("mapping"), dict):
            yield from _read_conversation(reading, record)
        else:
            reading.skip("not a conversation", record.line)


def _read_conversation(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    nodes = {key: mapping(node) for key, node in mapping(record.value.get("mapping")).items()}
    parents = {key: identifier(node.get("parent")) for key, node in nodes.items()}
    leaf = find_latest_leaf(parents, {key: _written(node) for key, node in nodes.items()})
    main = path_to_root(leaf or "", parents)
    session = identifier(record.value.get("id"))
    session = session or f"{reading.source.session_id}:{record.ordinal}"
    yield from _build(reading, session, record, [(key, nodes[key]) for key in main])
    others = other_branches(main, parents, (key for key in nodes if _role(nodes[key]) == "user"))
    for end, path in others:
        if reading.options.all_branches:
            branch = [(key, nodes[key]) for key in path]
            yield from _build(reading, f"{session}/{end}", record, branch)
        else:
            left = sum(key not in main and bool(_message(nodes[key])) for key in path)
            reading.skip("abandoned branch", record.line, left)


def _written(node: JsonObject) -> float:
    at = parse_timestamp(_message(node).get("inserted_at")).at
    return at.timestamp() if at else 0.0


def _message(node: JsonObject) -> JsonObject:
    return mapping(node.get("message"))


def _role(node: JsonObject) -> Role | None:
    kinds = (string(part.get("type")) for part in objects(_message(node).get("fragments")))
    for kind in kinds:
        if kind in _SPEAKERS:
            return _SPEAKERS[kind]
    return role_of(string(_message(node).get("role")))


def _build(
    reading: Reading, session: str, record: ObjectRecord, path: Sequence[tuple[str, JsonObject]]
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for key, node in path:
        message, role = _message(node), _role(node)
        if role not in ("user", "assistant"):
            reason = "thinking" if message.get("fragments") else "node without a message"
            reading.skip(reason, record.line)
            continue
        builder.add(
            role,
            _text(message),
            external_id=key,
            stamp=reading.stamp(message.get("inserted_at")),
            line=record.line,
        )
    yield from builder.build(
        session,
        title=string(record.value.get("title")),
        started_at=reading.stamp(record.value.get("inserted_at")).at,
    )


def _text(message: JsonObject) -> str:
    fragments = objects(message.get("fragments"))
    said = [
        string(part.get("content")) for part in fragments if string(part.get("type")) in _SPEAKERS
    ]
    files = [named_file(file.get("file_name")) for file in objects(message.get("files"))]
    return "\n\n".join(
        text for text in (*(said or [string(message.get("content"))]), *files) if text
    )


READER = Reader(name="deepseek", sniff=_sniff, read=_read)
