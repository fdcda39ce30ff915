"""Embeds each distinct text once, before the transaction that needs the vectors."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memsense.embed import Embedder, TokenEmbedder, Tokens, find_token_embedder
from memsense.errors import EmbeddingError
from memsense.types import ChunkDraft, SessionDraft

T = TypeVar("T")

logger = logging.getLogger("memsense.vectors")


class TokenText(NamedTuple):
    """An exchange whose tokens are wanted: its text, where the user's side of it ends, and what
    was said right before it."""

    text: str
    user_end: int
    context: str

    @classmethod
    def of(cls, text: str, assistant_text: str, context: str) -> "TokenText":
        """An exchange whose text ends with what the assistant said."""
        return cls(text, len(text) - len(assistant_text), context)


def in_a_row(chunks: Iterable[ChunkDraft], before: str) -> list[TokenText]:
    """The exchanges of one session that follow each other; `before` was said before the first."""
    found: list[TokenText] = []
    for chunk in chunks:
        found.append(TokenText.of(chunk.texts()["full"], chunk.assistant_text, before))
        before = found[-1].text
    return found


class UnembeddedError(Exception):
    """A transaction came upon texts or exchanges that are not embedded yet; it is rolled back."""

    def __init__(self, texts: Sequence[str] = (), exchanges: Sequence[TokenText] = ()) -> None:
        super().__init__(f"{len(texts) + len(exchanges)} texts are not embedded yet")
        self.texts = texts
        self.exchanges = exchanges


class BatchVectors:
    """Vectors of the texts of one batch of writes: embedded beforehand, looked up while writing.

        vectors = BatchVectors(embedder)
        vectors.prepare(texts_of(drafts))
        vectors.complete(lambda: run_transaction(pool, write))

    No model works while a transaction holds its locks. `gives_tokens`: whether exchanges get token
    vectors, which takes an embedder that has them.
    """

    def __init__(self, embedder: Embedder, *, tokens: bool = True) -> None:
        self._embedder = embedder
        self._token_embedder = find_token_embedder(embedder) if tokens else None
        self._known: dict[str, NDArray[np.float32]] = {}
        self._tokens: dict[TokenText, Tokens] = {}
        self._may_lack = False

    @property
    def gives_tokens(self) -> bool:
        """Whether `tokens` may be asked."""
        return self._token_embedder is not None

    def prepare(self, texts: Iterable[str], exchanges: Iterable[TokenText] = ()) -> None:
        """Embed those of the texts that are not known yet; of exchanges, their tokens too.

        An exchange's text and its tokens take one call, so that the model reads it once for both
        where it can.
        """
        if self._token_embedder is not None:
            self._prepare_tokens(self._token_embedder, exchanges)
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, self._embedder.embed(missing), strict=True))

    def _prepare_tokens(self, embedder: TokenEmbedder, exchanges: Iterable[TokenText]) -> None:
        missing = [item for item in dict.fromkeys(exchanges) if item not in self._tokens]
        if missing:
            texts = [item.text for item in missing]
            vectors, tokens = embedder.embed_with_tokens(texts, [item.context for item in missing])
            self._known.update(zip(texts, vectors, strict=True))
            self._tokens.update(zip(missing, tokens, strict=True))

    def __call__(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vector of each text, (dimension,) float32; raises UnembeddedError where one lacks."""
        missing = [text for text in texts if text not in self._known]
        if missing and not self._may_lack:
            raise UnembeddedError(missing)
        return [self._known.get(text) for text in texts]

    def tokens(self, exchanges: Sequence[TokenText]) -> list[Tokens | None]:
        """The tokens of the exchanges; raises UnembeddedError where one lacks them."""
        missing = [item for item in exchanges if item not in self._tokens]
        if missing and not self._may_lack:
            raise UnembeddedError(exchanges=missing)
        return [self._tokens.get(item) for item in exchanges]

    def complete(self, write: Callable[[], T]) -> T:
        """What a transaction gives, run again with what it lacked embedded after it ended.

        It sees then what others have stored meanwhile, and may lack something else: one of them
        has come to its end each time.
        """
        while True:
            try:
                return write()
            except UnembeddedError as missing:
                self.prepare(missing.texts, missing.exchanges)

    def complete_if_possible(self, write: Callable[[], T]) -> T:
        """As `complete`, but without the vectors of what the embedder fails to embed."""
        try:
            return self.complete(write)
        except EmbeddingError as error:
            logger.warning("a write goes without vectors that its texts call for: %s", error)
        self._may_lack = True
        return write()


def texts_of(drafts: Iterable[SessionDraft]) -> Iterable[str]:
    """Every text of the drafts' turn chunks that will be embedded."""
    for draft in drafts:
        if draft.mode == "session":
            continue
        for exchange in draft.exchanges:
            for chunk in exchange.chunks:
                yield from chunk.texts().values()


def exchanges_of(draft: SessionDraft, before: str) -> list[TokenText]:
    """Every exchange of a draft whose tokens will be made, if `before` is what the session holds
    last, empty for nothing."""
    if draft.mode == "session":
        return []
    return in_a_row((chunk for item in draft.exchanges for chunk in item.chunks), before)
