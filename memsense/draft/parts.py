"""Parts of a long exchange: each is stored, embedded and ranked by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memsense.draft.chunking import exchange_hash, find_opening, split_exchange
from memsense.draft.facets.model import FACETS, Facets, FacetSpan, FacetTagger
from memsense.types import Chunk, ChunkDraft, JsonValue

_CHOSEN = (*FACETS, "memory_kind")
_STORED_FIELDS = ("facet", "rule", "side", "start", "end")


def cut_exchange(
    whole: ChunkDraft, tagger: FacetTagger, chosen: Mapping[str, Any]
) -> list[ChunkDraft]:
    """Return the parts of an exchange in order; one if it is short.

    Args:
        whole: The exchange with its whole text and its own hash. The parts share all its other
            values.
        tagger: Finds the facets of each part; called for the parts in order.
        chosen: Facets and memory kind that a caller chose; each part has them.
    """
    texts = split_exchange(whole.user_text, whole.assistant_text)
    beginning = find_opening(whole.user_text) if len(texts) > 1 else ""
    parts: list[ChunkDraft] = []
    for part, (user_text, assistant_text) in enumerate(texts):
        # An answer alone often lacks what was asked, so each later part begins as the user
        # did (docs/guides/searching.md, "Long exchanges"). Facets are those of the part's own
        # text, so that none is found twice; their spans are moved behind the opening.
        opening = beginning if part else ""
        own = tagger.tag(user_text, assistant_text)
        spans: list[Mapping[str, JsonValue]] = []
        for span in own.spans:
            moved = _move(span, len(opening) if span.side == "user" else 0)
            spans.append({name: getattr(moved, name) for name in _STORED_FIELDS})
        values: dict[str, Any] = {name: getattr(own, name) for name in _CHOSEN}
        parts.append(
            replace(
                whole,
                part=part,
                part_count=len(texts),
                opening_length=len(opening),
                user_text=opening + user_text,
                assistant_text=assistant_text,
                facet_spans=spans,
                # The first part keeps the exchange's own hash: by it the ledger finds the exchange.
                content_hash=exchange_hash(whole.content_hash, part)
                if part
                else whole.content_hash,
                **{**values, **chosen},
            )
        )
    return parts


class StoredTexts:
    """The whole texts of a stored exchange, and a tagger that finds the facets it has already.

    Attributes:
        user_text: The user's side of all parts, without the openings that they repeat.
        assistant_text: The assistant's side of all parts.
        chosen: Facets and memory kind that a caller chose: those that the spans don't explain.
        spans: Where the stored facets stand in the whole texts.
    """

    name = "stored"

    def __init__(
        self, parts: Sequence[Chunk], replaced: Mapping[int, tuple[str, str, Facets]] | None = None
    ) -> None:
        """Join the parts of an exchange, with new texts and facets of some by chunk id."""
        self.user_text = self.assistant_text = ""
        self.chosen: dict[str, Any] = {}
        self.spans: list[FacetSpan] = []
        self._user_end = self._assistant_end = 0
        for part in parts:
            texts = part.own_user_text, part.assistant_text
            own = _read_facets(part)
            for name in _CHOSEN:
                if getattr(part, name) != getattr(own, name):
                    self.chosen.setdefault(name, getattr(part, name))
            if replaced and part.chunk_id in replaced:
                *texts, own = replaced[part.chunk_id]
            shifts = {"user": len(self.user_text), "assistant": len(self.assistant_text)}
            self.spans += [_move(span, shifts[span.side]) for span in own.spans]
            self.user_text += texts[0]
            self.assistant_text += texts[1]

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets that stand whole in the next part of the exchange."""
        starts = {"user": self._user_end, "assistant": self._assistant_end}
        self._user_end += len(user_text)
        self._assistant_end += len(assistant_text)
        ends = {"user": self._user_end, "assistant": self._assistant_end}
        return _join_spans(
            [
                _move(span, -starts[span.side])
                for span in self.spans
                if starts[span.side] <= span.start and span.end <= ends[span.side]
            ]
        )


def _move(span: FacetSpan, by: int) -> FacetSpan:
    return replace(span, start=span.start + by, end=span.end + by)


def _join_spans(spans: Sequence[FacetSpan]) -> Facets:
    # Imported here: the rules take 30 ms to load, and this is of few writes.
    from memsense.draft.facets.tagger import join_spans

    return join_spans(spans)


def _read_facets(part: Chunk) -> Facets:
    """Return the facets that the stored spans of a part state, by its own text."""
    texts = {"user": part.own_user_text, "assistant": part.assistant_text}
    spans: list[FacetSpan] = []
    for stored in part.facet_spans:
        values: dict[str, Any] = dict(stored)
        if values["side"] == "user":
            values["start"] -= part.opening_length
            values["end"] -= part.opening_length
        text = texts[values["side"]][values["start"] : values["end"]]
        spans.append(FacetSpan(text=text, **values))
    return _join_spans(spans)
