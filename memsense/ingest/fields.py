"""The names under which logs keep a message's time, its id and its answer: one table for readers.

Names are compared without case, underscores, hyphens and blanks, so that `createdAt`, `created_at`
and `Created At` are one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from memsense.ingest.content import content_text
from memsense.ingest.values import JsonObject, identifier, mapping, objects, reach, sequence, string
from memsense.types import JsonValue

_TABLE = """
session: session_id session conversation_id conversation chat_id thread_id thread dialog_id channel
role: role sender from speaker author user name type
speaker: speaker name author username
content: content text message body value utterance
time: timestamp time created_at created create_time date datetime ts sent_at start_time
 datetime_utc created_date date_time timestamp_ms created_on inserted_at sent_on
id: id message_id uuid
order: turn index seq position
prompt: prompt question query user input instruction
response: response answer assistant bot reply output completion
"""
FIELDS: Final[Mapping[str, Sequence[str]]] = {
    field: aliases.replace("_", "").split()
    for field, _, aliases in (
        line.partition(":") for line in _TABLE.strip().replace("\n ", " ").split("\n")
    )
}
"""The names of each field, without underscores, the likelier first."""

_MESSAGE_IDS: Final = ("id", "messageid", "uuid", "_id")
# Next to a list of messages, these hold the answer to it.
_ANSWERS: Final = ("response", "answer", "completion", "reply", "output", "generatedtext", "chosen")
# Texts next to a list of messages that describe it, and are no words of a speaker.
_DESCRIPTIONS: Final = frozenset(
    """
    title name description summary topic subject system systemprompt instructions model source tags
    tools functions metadata meta category license licence id error status url user
    """.split()
)
_MOST_NAMED = 40


@lru_cache(maxsize=4096)
def normalise_name(name: str) -> str:
    """Return a field's name as the table has it; the first one may bear a byte order mark."""
    return "".join(char for char in name.strip().lower() if char not in "_- \ufeff") or name


def find_time(record: JsonObject) -> JsonValue:
    """Return the time of a message or a conversation as it is written; None if it has none."""
    return _find(record, FIELDS["time"])


def find_message_id(message: JsonObject) -> str | None:
    """Return the message's own id, or None."""
    return identifier(_find(message, _MESSAGE_IDS))


def find_answers(record: JsonObject, messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the answers next to a list of messages, as messages of the assistant.

    An answer that ends the list already is not returned again.
    """
    last = content_text(mapping(messages[-1]).get("content")).strip() if messages else ""
    answers: list[JsonObject] = []
    texts = {last} if last else set[str]()
    for name, value in record.items():
        if normalise_name(name) not in _ANSWERS:
            continue
        for answer in _read_answer(value):
            text = content_text(answer.get("content", answer.get("text"))).strip()
            if text and text not in texts:
                answers.append(answer)
                texts.add(text)
    return answers


def find_other_texts(record: JsonObject, read: frozenset[str]) -> Iterator[str]:
    """Yield the keys next to a list of messages that hold words which no reader takes."""
    for key, value in record.items():
        name = normalise_name(key)
        if key in read or name in _DESCRIPTIONS or name in _ANSWERS or name in FIELDS["time"]:
            continue
        texts = [value, *sequence(value), *(reach(value, part) for part in ("content", "text"))]
        texts += [reach(item, part) for item in sequence(value) for part in ("content", "text")]
        if any(" " in string(text).strip() for text in texts):
            yield key[:_MOST_NAMED]


def unpack_json(value: JsonValue) -> JsonValue:
    """Return the value that a text holds as JSON, as tables of logs store it; else the value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            parsed: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return parsed
    return value


def _find(record: JsonObject, names: Sequence[str]) -> JsonValue:
    values = {normalise_name(key): value for key, value in record.items() if value is not None}
    return next((values[name] for name in names if name in values), None)


def _read_answer(value: JsonValue) -> list[JsonObject]:
    """Return the messages of an answer: of an API's response, a message, or a text alone."""
    value = unpack_json(value)
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}] if value.strip() else []
    if isinstance(value, list):
        # Of several candidates the first was taken.
        for item in value:
            if answer := _read_answer(item):
                return answer
        return []
    body = mapping(value)
    body = mapping(body.get("body")) or body
    for choice in objects(body.get("choices"))[:1]:
        message = mapping(choice.get("message"))
        return [message] if message else _read_answer(choice.get("text"))
    if message := mapping(body.get("message")):
        return [message]
    if any(key in body for key in ("content", "text")):
        return [{"role": "assistant"} | dict(body)]
    return []
