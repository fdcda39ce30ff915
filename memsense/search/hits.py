"""The result of a search: hits, with notes on the answer as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, overload
from uuid import UUID

from memsense.search.excerpt import ELLIPSIS
from memsense.search.explanation import Explanation
from memsense.search.passages import Source, find_confidence
from memsense.search.prompt import Prompt, PromptFormat, PromptMessages, write_prompt
from memsense.search.question import Question
from memsense.search.silence import Judged, Relevance, judge
from memsense.text.tokens import Tokenizer
from memsense.types import Chunk, Note

DEFAULT_MAX_TOKENS = 2_000
"""Default token budget of `SearchResult.to_prompt`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """A chunk next to a hit in its session; context only, without influence on the ranking.

    Attributes:
        relation: "previous" or "next".
        chunk: The chunk.
    """

    relation: Literal["previous", "next"]
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class BestExchange:
    """An exchange that made its session a hit.

    Attributes:
        chunk: The exchange.
        score: Score of the exchange itself.
    """

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """The other memory of a fact that changed.

    Attributes:
        chunk_id: Chunk of the other memory.
        at: When the newer of the two was said; None if unknown.
        zone_known: Whether the zone of `at` is known; otherwise it is a wall clock, stored as UTC.
        reason: Words that prove it, such as "ended: “quit” acme", or why it was decided.
    """

    chunk_id: int
    at: datetime | None
    zone_known: bool = True
    reason: str = ""

    def describe(self) -> str:
        """Return it as words behind "superseded by": chunk, date and proof."""
        at = f" on {self.at:%Y-%m-%d}" if self.at else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"chunk {self.chunk_id}{at}{reason}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"chunk_id": self.chunk_id, "at": self.at, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory in the result of a search: an exchange or a session.

    Attributes:
        chunk: The stored chunk; for a session its shown text, under the id of the session chunk or,
            if none is stored, of the best exchange.
        score: Final score; higher is better, comparable within one search only.
        explain: Full computation of the score.
        content: Shown text, each side under its speaker's name, at most `content_budget`
            characters. A session shows what was said around its best exchanges.
        content_cut: Whether a part of the text is left out.
        neighbors: Chunks before and after the exchange in its session.
        parts: The other parts of a long exchange, at most about `content_budget` characters.
        best: Exchanges that made the session a hit, best first; empty for an exchange.
        superseded_by: The next memory that changed what this one says; None if none is known.
        supersedes: The memory whose fact this one changed; None if none is known.
        newer_statement: A newer memory that may say the same fact anew: read it with this one.
        earlier_statement: An earlier memory whose fact this one may say anew.
    """

    chunk: Chunk
    score: float
    explain: Explanation
    content: str
    content_cut: bool = False
    neighbors: Sequence[Neighbor] = ()
    parts: Sequence[Chunk] = ()
    best: Sequence[BestExchange] = ()
    superseded_by: Supersession | None = None
    supersedes: Supersession | None = None
    newer_statement: Supersession | None = None
    earlier_statement: Supersession | None = None

    @property
    def chunk_id(self) -> int:
        """Return the id of the chunk, for `get`, `forget`, `promote` and the like."""
        return self.chunk.chunk_id

    @property
    def score_kind(self) -> str:
        """Return the kind of `score`, a name in `memsense.scores.SCORE_KINDS`."""
        return "final"

    @property
    def message_ids(self) -> Sequence[str]:
        """Return the ids of the log's messages that the shown text was made from."""
        return self.chunk.message_ids

    @property
    def session_id(self) -> str:
        """Return the id of the session that the chunk belongs to."""
        return self.chunk.session_id

    def as_dict(self, *, matches: bool = True) -> dict[str, Any]:
        """Return the hit as plain values, ready for JSON.

        Args:
            matches: Whether its explanation has the word matches.
        """
        return {
            "chunk_id": self.chunk_id,
            "score": self.score,
            "score_kind": self.score_kind,
            "content": self.content,
            "content_cut": self.content_cut,
            "session_id": self.session_id,
            "user_id": self.chunk.user_id,
            "agent_id": self.chunk.agent_id,
            "granularity": self.chunk.granularity,
            "occurred_at": self.chunk.occurred_at,
            "message_ids": list(self.message_ids),
            "memory_kind": self.chunk.memory_kind,
            "tags": list(self.chunk.tags),
            "metadata": dict(self.chunk.metadata),
            "source": self.chunk.source,
            "project": self.chunk.project,
            "expires_at": self.chunk.expires_at,
            "personal_info": self.chunk.personal_info,
            "preferences": self.chunk.preferences,
            "events": self.chunk.events,
            "neighbors": [
                {
                    "relation": neighbor.relation,
                    "chunk_id": neighbor.chunk.chunk_id,
                    "content": neighbor.chunk.content,
                    "message_ids": list(neighbor.chunk.message_ids),
                }
                for neighbor in self.neighbors
            ],
            "best": [
                {
                    "chunk_id": item.chunk.chunk_id,
                    "score": item.score,
                    "content": item.chunk.content,
                    "message_ids": list(item.chunk.message_ids),
                }
                for item in self.best
            ],
            "superseded_by": self.superseded_by.as_dict() if self.superseded_by else None,
            "supersedes": self.supersedes.as_dict() if self.supersedes else None,
            "newer_statement": self.newer_statement.as_dict() if self.newer_statement else None,
            "earlier_statement": (
                self.earlier_statement.as_dict() if self.earlier_statement else None
            ),
            "explain": self.explain.as_dict(matches=matches),
        }


def judged(hits: Sequence[Hit], question: Question | None = None) -> list[Judged]:
    """Return hits as the decision to say nothing looks at them.

    Args:
        hits: The hits, best first.
        question: The analysed question; None if the hits' times don't answer it.
    """
    return [
        Judged(
            explain=hit.explain,
            text=hit.content,
            user_id=hit.chunk.user_id,
            is_of_time=find_confidence(hit.chunk, question) > 0,
        )
        for hit in hits
    ]


def join_parts(chunk: Chunk, others: Sequence[Chunk]) -> Chunk:
    """Return a part of a long exchange with the texts of other parts, under its own id.

    Args:
        chunk: The part.
        others: Other parts of the exchange. An ellipsis stands for parts that lie between.
    """
    if not others:
        return chunk
    user_text = assistant_text = ""
    before = -1
    for part in sorted([chunk, *others], key=lambda it: it.part):
        gap = f"\n{ELLIPSIS}\n" if part.part > before + 1 else ""
        before = part.part
        if part.own_user_text:
            user_text += gap + part.own_user_text
        if part.assistant_text:
            assistant_text += gap + part.assistant_text
    return replace(chunk, user_text=user_text, assistant_text=assistant_text, opening_length=0)


def source_of(hit: Hit, *, apart: str = "") -> Source:
    """Return a hit as prompts take it.

    Args:
        hit: The hit.
        apart: Name of another project that it is about; empty if the prompt's own or none.
    """
    # The user's words are often in another part than the one that the question finds.
    return Source(
        hit_id=hit.chunk_id,
        chunks=[one.chunk for one in hit.best] or [join_parts(hit.chunk, hit.parts)],
        score=hit.score,
        explain=hit.explain,
        until=hit.superseded_by.at if hit.superseded_by else None,
        until_zone_known=hit.superseded_by.zone_known if hit.superseded_by else True,
        newer=newer.chunk_id if (newer := hit.superseded_by or hit.newer_statement) else None,
        older=older.chunk_id if (older := hit.supersedes or hit.earlier_statement) else None,
        apart=apart,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(Sequence[Hit]):
    """The hits of a search, best first, as a sequence, with notes on how it was answered.

        for hit in memory.search("Where does Anna live?", user_id="ada"):
            print(hit.score, hit.content)

    Attributes:
        hits: The hits, best first.
        notes: Sentences on the answer as a whole, such as why it is empty.
        question: Result of the question's analysis: names, dates, quotations, kind.
        analysis: The analysed question itself, with the time of asking and the asker's calendar;
            None if nothing was searched.
        profile: Name of the profile that ranked.
        timings_ms: Milliseconds of each phase: embed, recall, rerank, fetch, total.
        trace_id: Id of the recorded trace, None if the search is not recorded.
    """

    hits: Sequence[Hit] = ()
    notes: Sequence[Note] = ()
    question: Mapping[str, Any] = field(default_factory=dict[str, Any])
    analysis: Question | None = field(default=None, repr=False)
    profile: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: UUID | None = None

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    @property
    def relevance(self) -> Relevance:
        """Return the estimated chance that the hits hold something about the question.

        A search always finds something. Below the setting `silence`, MCP's recall returns nothing.
        """
        question = str(self.question.get("text", ""))
        hits = judged(self.hits, self.analysis)
        return judge(question, hits, self.question, is_asked=True)

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def to_prompt(
        self,
        *,
        max_tokens: int = ...,
        format: Literal["markdown", "xml"] = ...,
        with_dates: bool = ...,
        tokenizer: Tokenizer | None = ...,
        exclude: Sequence[int | str] = ...,
    ) -> Prompt: ...
    @overload
    def to_prompt(
        self,
        *,
        max_tokens: int = ...,
        format: Literal["messages"],
        with_dates: bool = ...,
        tokenizer: Tokenizer | None = ...,
        exclude: Sequence[int | str] = ...,
    ) -> PromptMessages: ...
    def to_prompt(
        self,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        format: PromptFormat = "markdown",  # noqa: A002 (the word that one would guess)
        with_dates: bool = True,
        tokenizer: Tokenizer | None = None,
        exclude: Sequence[int | str] = (),
    ) -> Prompt | PromptMessages:
        """Return what matters most of the hits as text for a prompt, ordered by time.

            question = f"{result.to_prompt(max_tokens=800)}\\n\\n{question}"

        Each side of an exchange is chosen by itself, by its own estimated chance: the user's
        text up to 540 characters, and of an answer the stretch that meets the question. Texts are
        shown at greater length while there is room. A session is represented by its `best`
        exchanges. Readers of logs remove the whole text again, so that it is never stored as a
        memory, and nothing in a memory can break out of its frame.

        Args:
            max_tokens: Maximum length in tokens; nothing is returned if no memory fits.
            format: "markdown" or "xml" for a text, "messages" for messages of a chat.
            with_dates: Whether each memory has its date.
            tokenizer: Counter of tokens: a function of a text, or an object with `encode`.
                Without one, tokens of OpenAI's o200k_base are estimated, within about 5% in
                English, code and Chinese; leave some room if a limit is hard.
            exclude: Memories that the prompt has already: chunk ids (int) or message ids (str).

        Returns:
            The text, or the list of messages, with `chunk_ids`, `left_out` (chunks that did not
            fit), `tokens`, and `lines`, which say what each quotation is from and why.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
        """
        return write_prompt(
            [source_of(hit) for hit in self.hits],
            words=self.question.get("lexemes", ()),
            question=self.analysis,
            max_tokens=max_tokens,
            format=format,
            with_dates=with_dates,
            tokenizer=tokenizer,
            exclude=exclude,
        )

    def as_dict(self, *, matches: bool = True) -> dict[str, Any]:
        """Return the whole result as plain values, ready for JSON.

        Args:
            matches: Whether the explanations have the word matches.
        """
        return {
            "profile": self.profile,
            "question": dict(self.question),
            "notes": list(self.notes),
            "timings_ms": dict(self.timings_ms),
            "trace_id": str(self.trace_id) if self.trace_id else None,
            "hits": [hit.as_dict(matches=matches) for hit in self.hits],
        }
