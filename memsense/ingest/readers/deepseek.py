"""Reader of DeepSeek's data export: trees of nodes, whose messages are made of fragments."""

from collections.abc import Iterator, Sequence

from memsense.ingest.branches import find_latest_leaf, find_other_branches, path_to_root
from memsense.ingest.content import format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import ObjectRecord, Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
from memsense.ingest.values import JsonObject, identifier, mapping, objects, reach, string
from memsense.types import Conversation, Role

_SPEAKERS: dict[str, Role] = {"REQUEST": "user", "RESPONSE": "assistant"}


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of a DeepSeek export."""
    for record in head.objects:
        nodes = mapping(record.get("mapping")).values()
        has_fragments = any(isinstance(reach(n, "message", "fragments"), list) for n in nodes)
        if has_fragments or ("inserted_at" in record and nodes):
            return "conversations with a mapping of nodes whose messages have fragments"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the latest branch of each conversation; with `all_branches` the others too."""
    for record in reading.objects():
        if not isinstance(record.value.get("mapping"), dict):
            reading.skip("not a conversation", record.line)
            continue
        nodes = {key: mapping(node) for key, node in mapping(record.value["mapping"]).items()}
        parents = {key: identifier(node.get("parent")) for key, node in nodes.items()}
        # The export does not say which branch was shown: the latest one is taken.
        times = {key: epoch_seconds(_message(n).get("inserted_at")) for key, n in nodes.items()}
        main = path_to_root(find_latest_leaf(parents, times) or "", parents)
        session = reading.name_session(identifier(record.value.get("id")), record.ordinal)
        yield from _build(reading, session, record, [(key, nodes[key]) for key in main])
        questions = (key for key in nodes if _role(nodes[key]) == "user")
        for end, path in find_other_branches(main, parents, questions):
            if reading.options.all_branches:
                branch = [(key, nodes[key]) for key in path]
                yield from _build(reading, f"{session}/{end}", record, branch)
            else:
                count = sum(key not in main and bool(_message(nodes[key])) for key in path)
                reading.skip("abandoned branch", record.line, count)


def _message(node: JsonObject) -> JsonObject:
    return mapping(node.get("message"))


def _role(node: JsonObject) -> Role | None:
    kinds = (string(part.get("type")) for part in objects(_message(node).get("fragments")))
    roles: Iterator[Role] = (_SPEAKERS[kind] for kind in kinds if kind in _SPEAKERS)
    return next(roles, None) or role_of(string(_message(node).get("role")))


def _build(
    reading: Reading, session: str, record: ObjectRecord, path: Sequence[tuple[str, JsonObject]]
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for key, node in path:
        message, role = _message(node), _role(node)
        fragments = objects(message.get("fragments"))
        if role not in ("user", "assistant"):
            reason = "thinking" if message.get("fragments") else "node without a message"
            reading.skip(reason, record.line)
            continue
        # Thinking and searches are fragments, too.
        texts = [string(f.get("content")) for f in fragments if string(f.get("type")) in _SPEAKERS]
        files = (format_file(file.get("file_name")) for file in objects(message.get("files")))
        builder.add(
            role,
            join_texts(*(texts or [string(message.get("content"))]), *files),
            external_id=key,
            stamp=reading.stamp(message.get("inserted_at")),
            line=record.line,
        )
    yield from builder.build(
        session,
        title=string(record.value.get("title")),
        started_at=reading.stamp(record.value.get("inserted_at")).at,
    )


READER = Reader(name="deepseek", sniff=sniff, read=read)
