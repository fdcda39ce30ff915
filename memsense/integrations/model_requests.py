"""Requests and answers of OpenAI's and Anthropic's APIs, read without importing their libraries.

Servers that speak these protocols leave fields out, and messages may be mappings or objects. What
is missing is read as nothing: a memory must not break a call that the provider would answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from memsense.draft.messages import read_form


@dataclass(frozen=True, slots=True)
class _Api:
    """Form of one provider's requests.

    Attributes:
        key: Key of the messages in a request's body.
        part: Type of a part of a message that is text.
        has_blocks: Whether a context is in a part of its own. Anthropic caches whole parts.
    """

    key: str
    part: str
    has_blocks: bool = False


_APIS: Final = {
    "/chat/completions": _Api("messages", "text"),
    "/responses": _Api("input", "input_text"),
    "/v1/messages": _Api("messages", "text", has_blocks=True),
}

_CALLS: Final = frozenset(
    """tool_use function_call custom_tool_call computer_call local_shell_call shell_call
    apply_patch_call mcp_approval_request""".split()
)
"""Types of a tool's call that the caller answers with a result."""

_RESULTS: Final = ("_output", "tool_result", "mcp_approval_response")
"""Endings of the types of such results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Request for an answer.

    Attributes:
        api: Its form.
        body: Its body.
        messages: Its messages; a text alone is one message of the user's.
        place: Position of the user's last message with words; None if there is none.
        user_texts: Words of the user since the last answer, one text a message.
        earlier_texts: Words of the user before that.
        has_results: Whether results of tools follow the user's last message.
        answers_to: Id of the response before, where OpenAI keeps the messages before.
        conversation: Id of the conversation, where OpenAI keeps the messages before.
        is_forced: Whether the model must call a certain tool, so that the call is the answer.
    """

    api: _Api
    body: Mapping[str, Any]
    messages: Sequence[object]
    place: int | None
    user_texts: Sequence[str]
    earlier_texts: Sequence[str]
    has_results: bool
    answers_to: str | None
    conversation: str | None
    is_forced: bool

    @classmethod
    def read(cls, path: str, body: object) -> "Request | None":
        """Return the request that is sent to a path; None if it is not one for an answer."""
        api = _APIS.get(path.partition("?")[0])
        content = _get(body, api.key) if api else None
        # A request to Responses may have a stored prompt instead of an input.
        if api is None or not isinstance(content, str | Iterable):
            return None
        messages: list[object] = [{"role": "user", "content": content}]
        if not isinstance(content, str):
            messages = list(cast("Iterable[object]", content))
        words = [_read_words(message) for message in messages]
        results = {index for index, item in enumerate(messages) if _is_tool_result(item)}
        places = [index for index, text in enumerate(words) if text and index not in results]
        place = first = places[-1] if places else None
        while first and first - 1 in places:
            first -= 1
        end = -1 if place is None else place
        return cls(
            api=api,
            # An iterator is read only once: the body must have what it held.
            body={
                **cast("Mapping[str, Any]", body),
                api.key: content if isinstance(content, str) else messages,
            },
            messages=messages,
            place=place,
            user_texts=[words[index] for index in places if first is not None and index >= first],
            earlier_texts=[words[index] for index in places if first is not None and index < first],
            has_results=any(index > end for index in results),
            answers_to=_find_text(body, "previous_response_id") or None,
            conversation=_find_text(body, "conversation")
            or _find_text(body, "conversation", "id")
            or None,
            is_forced=_get(body, "tool_choice", "type") in {"function", "tool", "custom"},
        )

    def with_context(self, context: str) -> Mapping[str, Any]:
        """Return the body with a context behind the user's last message.

        Everything before it keeps its place, so that the provider's cache of it stays valid.
        """
        if not context or self.place is None:
            return self.body
        api, message = self.api, self.messages[self.place]
        content = _get(message, "content")
        if not isinstance(content, str):
            content = [*_list(content), {"type": api.part, "text": context}]
        elif api.has_blocks:
            content = [{"type": api.part, "text": text} for text in (content, context)]
        else:
            content = f"{content}\n\n{context}"
        if isinstance(self.body[api.key], str):
            return {**self.body, api.key: content}
        mapping = cast("Any", message if isinstance(message, Mapping) else vars(message))
        messages = list(self.messages)
        messages[self.place] = {**mapping, "content": content}
        return {**self.body, api.key: messages}


@dataclass(slots=True)
class Answer:
    """Answer of a model, whole or as far as its stream went.

    Attributes:
        text: Its words.
        has_calls: Whether it goes on after the caller's next request, such as with a tool's result.
        has_failed: Whether the provider reports a failure.
        response_id: Id of the response, under which OpenAI may keep it.
    """

    text: str = ""
    has_calls: bool = False
    has_failed: bool = False
    response_id: str | None = None

    def read(self, response: object) -> None:
        """Take over a whole response, or the state of one within a stream.

        Args:
            response: A chat completion, a response or a message.
        """
        message = _get(response, "choices", 0, "message")
        self.text = _find_text(message, "content") or _find_text(message, "refusal")
        self.has_calls |= bool(_get(message, "tool_calls") or _get(message, "function_call"))
        for item in (*_list(response, "content"), *_list(response, "output")):
            self._read_part(item)
            # Reasoning has contents, too.
            for part in _list(item, "content") if _get(item, "type") == "message" else ():
                self.text += _find_text(part, "text") or _find_text(part, "refusal")
        self.has_calls |= _get(response, "stop_reason") == "pause_turn"
        self.has_failed |= _get(response, "status") in {"failed", "cancelled"}
        self.response_id = _find_text(response, "id") or None

    def read_event(self, event: object) -> None:
        """Add an event of a stream.

        Args:
            event: Any event of the three APIs.
        """
        match _get(event, "type"):
            case None:
                choice = _get(event, "choices", 0)
                if _get(choice, "index") in (0, None):
                    delta = _get(choice, "delta")
                    self.text += _find_text(delta, "content") or _find_text(delta, "refusal")
                    self.has_calls |= bool(_get(delta, "tool_calls", 0))
                    self.has_calls |= _get(delta, "function_call") is not None
            case "response.output_text.delta" | "response.refusal.delta":
                self.text += _find_text(event, "delta")
            case "response.output_item.added":
                self._read_part(_get(event, "item"))
            case "content_block_start":
                self._read_part(_get(event, "content_block"))
            case "content_block_delta":
                self.text += _find_text(event, "delta", "text")
            case "message_delta":
                self.has_calls |= _get(event, "delta", "stop_reason") == "pause_turn"
            case _ if (response := _get(event, "response")) is not None:
                self.read(response)
            case _:
                pass

    def _read_part(self, part: object) -> None:
        self.has_calls |= _get(part, "type") in _CALLS
        if _get(part, "type") == "text":
            self.text += _find_text(part, "text")


def _get(value: object, *path: str | int) -> Any:
    """Return the value at a path of keys, attributes and positions; None if there is none."""
    for step in path:
        if isinstance(value, Mapping):
            value = cast("Mapping[object, object]", value).get(step)
        elif isinstance(step, str):
            value = getattr(value, step, None)
        else:
            items = _list(value)
            value = items[step] if len(items) > step else None
    return value


def _find_text(value: object, *path: str | int) -> str:
    text = _get(value, *path)
    return text if isinstance(text, str) else ""


def _list(value: object, *path: str | int) -> Sequence[object]:
    items = _get(value, *path)
    return cast("Sequence[object]", items) if isinstance(items, list | tuple) else ()


def _is_tool_result(message: object) -> bool:
    if _get(message, "role") in {"tool", "function"}:
        return True
    parts = (message, *_list(message, "content"))
    return any(_find_text(part, "type").endswith(_RESULTS) for part in parts)


def _read_words(message: object) -> str:
    """Return the words of a user's message, without what memories and hooks put into it."""
    if _get(message, "role") != "user":
        return ""
    with suppress(ValueError):
        form = read_form({"role": "user", "content": _get(message, "content")})
        return _find_text(form, "content").strip()
    return ""
