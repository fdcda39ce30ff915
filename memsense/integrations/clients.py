"""OpenAI's and Anthropic's clients with a memory: context before each call, capture after it.

A wrapped client is a copy of the caller's whose `post` reads the body of a request for an answer
and puts the context into it. Both libraries send every such request through `post`: `create`,
`parse`, `stream`, and the raw responses. Neither library is imported here.
"""

import inspect
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Sequence,
)
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Final, TypeVar
from uuid import uuid4
from weakref import WeakMethod, ref

from anyio import CancelScope, get_cancelled_exc_class

from memsense.client.user_memory import UserMemory
from memsense.declaration import takes
from memsense.errors import InvalidInputError, MemSenseError
from memsense.inputs import Id, Limit, Switch, shorten
from memsense.integrations.memories import AdaptedMemory, AnyMemory
from memsense.integrations.model_requests import Answer, Request
from memsense.parameters import AgentLabel, ProjectLabel, SessionId

logger = logging.getLogger("memsense.remember")

DEFAULT_MAX_TOKENS: Final = 1_000
TURNS: Final = 1_000
"""Turns whose context is kept for rounds of tool calls that may follow."""
LATEST: Final = 200
"""Exchanges of the session that may stand in the request, so that the context can omit them."""

Client = TypeVar("Client")

_is_off: ContextVar[bool] = ContextVar("memsense_off_the_record", default=False)


@takes
def remember(
    client: Client,
    memory: AnyMemory,
    *,
    user_id: Id | None = None,
    session_id: SessionId | None = None,
    agent_id: AgentLabel | None = None,
    project: ProjectLabel | None = None,
    max_tokens: Limit = DEFAULT_MAX_TOKENS,
    strict: Switch = False,
) -> Client:
    """Return a copy of OpenAI's or Anthropic's client that remembers its conversations.

        client = remember(OpenAI(), memory, user_id="ada")
        client.chat.completions.create(model="gpt-5", messages=messages)

    `chat.completions`, `responses` and `messages` get what the memory knows of the user's last
    message, behind it in `<memsense-context>`, and store the message and its answer. Rounds of tool
    calls get the same context and store nothing. Streams are stored as far as they went. A call
    that fails stores nothing. `with off_the_record():` makes calls without the memory.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `Anthropic` or `AsyncAnthropic`, which stays as it is.
        memory: An open memory, or a user's view of it; the caller closes it.
        user_id: Whose memory it is; a user's view knows.
        session_id: The conversation that it belongs to; default: a new one for each wrapped client.
        agent_id: The agent that the conversation was with.
        project: The project that it is about, such as a repository's address or a folder.
        max_tokens: Maximum length of the context.
        strict: Raise errors of the memory instead of logging them.

    Raises:
        InvalidInputError: For another kind of client, or a user that is not the view's.
    """
    kind: Any = type(client)
    if not {base.__module__.split(".")[0] for base in kind.__mro__} & {"openai", "anthropic"}:
        raise InvalidInputError(
            f"client must be one of openai's or anthropic's clients, not {shorten(client)}"
        )
    adapted = AdaptedMemory(memory)
    recorder = _Recorder(
        memory=adapted,
        user_id=adapted.choose_user(user_id),
        session_id=session_id or f"chat-{uuid4()}",
        agent_id=agent_id,
        project=project,
        max_tokens=max_tokens,
        is_strict=strict,
    )
    # The class's copy, not the client's own: a client that remembers already starts anew.
    return _attach(kind.copy(client), recorder)


@contextmanager
def off_the_record() -> Generator[None]:
    """Make calls of wrapped clients without the memory: no context, and nothing is stored.

    with off_the_record():
        client.chat.completions.create(model="gpt-5", messages=messages)
    """
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def _attach(client: Any, recorder: "_Recorder") -> Any:
    """Return the client, whose requests for answers now go through the recorder."""
    post, copy = client.post, client.copy
    send = _send_async if inspect.iscoroutinefunction(post) else _send
    # Both clients make their resources, which take `post` from them, at first use.
    client.post = partial(send, recorder, post)

    def copy_attached(*args: Any, **options: Any) -> Any:
        return _attach(copy(*args, **options), recorder)

    client.copy = client.with_options = copy_attached
    return client


def _send(recorder: "_Recorder", post: Callable[..., Any], path: str, **options: Any) -> Any:
    request = None if _is_off.get() else Request.read(path, options.get("body"))
    if request is None:
        return post(path, **options)
    turn = recorder.begin(request)
    response = post(path, **{**options, "body": request.with_context(turn.context)})
    result, answer = _unwrap(response), Answer()
    if options.get("stream") and result is not None:
        events = _watch(result._iterator, answer, partial(recorder.capture, turn, answer))  # noqa: SLF001
        _replace_events(result, events, "close")
    elif result is not None:
        answer.read(result)
        recorder.capture(turn, answer)
    return response


async def _send_async(
    recorder: "_Recorder", post: Callable[..., Any], path: str, **options: Any
) -> Any:
    request = None if _is_off.get() else Request.read(path, options.get("body"))
    if request is None:
        return await post(path, **options)
    run = recorder.memory.run
    turn = await run(recorder.begin, request)
    response = await post(path, **{**options, "body": request.with_context(turn.context)})
    result, answer = _unwrap(response), Answer()
    if inspect.isawaitable(result):
        result = await result
    if options.get("stream") and result is not None:
        events = _watch_async(result._iterator, answer, lambda: run(recorder.capture, turn, answer))  # noqa: SLF001
        _replace_events(result, events, "aclose")
    elif result is not None:
        answer.read(result)
        await run(recorder.capture, turn, answer)
    return response


def _unwrap(response: Any) -> Any:
    """Return what a raw response holds; None for one that the caller reads as a stream of bytes."""
    if (http := getattr(response, "http_response", None)) is None:
        return response
    is_unread = http.request.headers.get("X-Stainless-Raw-Response") == "stream"
    return None if is_unread else response.parse()


# Streams -----------------------------------------------------------------------------------------


def _watch(
    events: Iterator[object], answer: Answer, capture: Callable[[], object]
) -> Generator[object]:
    """Yield a stream's events, and capture the answer at its end or where the caller leaves it.

    A stream that fails is not captured: its caller gets the error, and will ask again.
    """
    try:
        for event in events:
            answer.read_event(event)
            yield event
    except GeneratorExit:
        capture()
        raise
    capture()


async def _watch_async(
    events: AsyncIterator[object], answer: Answer, capture: Callable[[], Awaitable[object]]
) -> AsyncGenerator[object]:
    """Yield a stream's events, as `_watch` does; a cancelled task has left the stream, too."""
    try:
        async for event in events:
            answer.read_event(event)
            yield event
    except (GeneratorExit, get_cancelled_exc_class()):
        # Shielded, or the cancelled task could not write.
        with CancelScope(shield=True):
            await capture()
        raise
    await capture()


def _replace_events(stream: Any, events: Any, method: str) -> None:
    """Let a stream yield these events, and end them when its response is closed early.

    Every way to leave a stream early closes its response: `close` and `with` of the streams and of
    the helpers around them. `method` is the one that closes a response.
    """
    stream._iterator = events  # noqa: SLF001 (the libraries have no public way)
    # Weak, or the response would be part of a circle, and a stream that is dropped would keep its
    # connection until the garbage collector comes by.
    original, watched = WeakMethod(getattr(stream.response, method)), ref(events)

    def close() -> None:
        if close_response := original():
            close_response()
        # At its end, a response also closes itself, from within the generator.
        with suppress(ValueError):
            if generator := watched():
                generator.close()

    async def aclose() -> None:
        if close_response := original():
            await close_response()
        with suppress(RuntimeError):
            if generator := watched():
                await generator.aclose()

    setattr(stream.response, method, close if method == "close" else aclose)


# Recording ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """A user's turn in one request, or in several with rounds of tool calls.

    Attributes:
        user_texts: The user's messages.
        context: What the memory knows of it.
        is_forced: Whether the model must call a certain tool, so that the call is the answer.
        is_stored: Whether the user's messages are stored.
    """

    user_texts: Sequence[str]
    context: str = ""
    is_forced: bool = False
    is_stored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorder:
    """Memory of one wrapped client; safe to share between threads."""

    memory: AdaptedMemory
    user_id: str
    session_id: str
    agent_id: str | None
    project: str | None
    max_tokens: int
    is_strict: bool
    turns: dict[str | int, _Turn] = field(default_factory=dict[str | int, _Turn])
    lock: Lock = field(default_factory=Lock)

    def begin(self, request: Request) -> _Turn:
        """Return the user's turn with its context; a round of tool calls has that of the first."""
        place = (
            hash((*request.earlier_texts, "", *request.user_texts)) if request.user_texts else None
        )
        if request.has_results:
            with self.lock:
                keys = (place, request.answers_to, request.conversation)
                turns = [self.turns[key] for key in keys if key is not None and key in self.turns]
            turn = turns[0] if turns else _Turn(request.user_texts)
        else:
            turn = _Turn(
                request.user_texts, self._find_context(request) if request.user_texts else ""
            )
        turn.is_forced = request.is_forced
        self._keep(turn, place, request.conversation)
        return turn

    def capture(self, turn: _Turn, answer: Answer) -> None:
        """Store a turn with its answer, once the answer is the last one."""
        self._keep(turn, answer.response_id)
        if answer.has_failed or not turn.user_texts or (answer.has_calls and not turn.is_forced):
            return
        questions = [] if turn.is_stored else [("user", text) for text in turn.user_texts]
        text = answer.text.strip()
        answers = [("assistant", text)] if text else []
        messages = [{"role": role, "content": text} for role, text in (*questions, *answers)]
        if not messages:
            return
        try:
            self._open().add(
                messages,
                session_id=self.session_id,
                agent_id=self.agent_id,
                project=self.project,
                redact=self.memory.redacts,
            )
        except MemSenseError as error:
            self._report("the exchange is not stored", error)
        else:
            turn.is_stored = True

    def _find_context(self, request: Request) -> str:
        question = request.user_texts[-1]
        try:
            memory = self._open()
            exclude = self._list_shown(memory, request.earlier_texts)
            return str(
                memory.context(
                    question, exclude=exclude, project=self.project, max_tokens=self.max_tokens
                )
            )
        except MemSenseError as error:
            self._report("the model gets no context", error)
            return ""

    def _list_shown(self, memory: UserMemory, earlier_texts: Sequence[str]) -> list[int]:
        """Return the ids of this session's exchanges that the model sees in the request anyway."""
        if not earlier_texts:
            return []
        texts = [" ".join(text.split()) for text in earlier_texts]
        ids: list[int] = []
        for chunk in memory.list(session_ids=[self.session_id], limit=LATEST):
            words = " ".join(chunk.user_text.split())
            # The first part of a long exchange is enough: it takes the others along.
            is_first = chunk.part_count > 1 and any(text.startswith(words) for text in texts)
            if words and (words in texts or is_first):
                ids.append(chunk.chunk_id)
        return ids

    def _open(self) -> UserMemory:
        return self.memory.whole.for_user(self.user_id)

    def _keep(self, turn: _Turn, *keys: str | int | None) -> None:
        """Keep a turn for the rounds of tool calls that may follow it."""
        with self.lock:
            self.turns.update((key, turn) for key in keys if key is not None)
            while len(self.turns) > TURNS:
                del self.turns[next(iter(self.turns))]

    def _report(self, outcome: str, error: MemSenseError) -> None:
        if self.is_strict:
            raise error
        logger.warning("%s: %s", outcome, error)
