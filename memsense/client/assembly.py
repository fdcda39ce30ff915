"""`memory.context`: from a prompt to the text to put before it, or to nothing.

One search, or a second one within the prompt's project; the decision whether anything known
concerns the prompt; then the card and the passages that matter, within a token budget.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from memsense.client.listing import Listing
from memsense.client.searches import Searches
from memsense.errors import NotFoundError
from memsense.search.card import KINDS, make_card
from memsense.search.hits import judged, source_of
from memsense.search.prompt import CardLine, Prompt, TextFormat, write_prompt
from memsense.search.question import fold_blanks
from memsense.search.request import LONGEST_QUESTION, SearchRequest
from memsense.search.silence import is_small_talk, judge
from memsense.store.listing import Order
from memsense.text.prompts import searched
from memsense.text.tokens import Tokenizer, make_counter
from memsense.types import Chunk, Note

HITS: Final = 30
"""Hits that passages are chosen from: more bring less than a point of the gold at 2,000 tokens."""

LEAST_CHANCE: Final = 0.01
"""Chance of the least likely passage. At 1,000 tokens it costs 0.9 points of the gold of
conversations between people, with a fifth of their tokens, and none of others."""

APART_CHANCE: Final = 0.9
"""Chance from which memories of other projects concern the prompt."""

CARD_SHARE: Final = 0.1
"""Share of the budget that the card may take."""

LARGEST_CARD: Final = 300
LEAST_FOR_CARD: Final = 800
"""Budget in tokens below which there is no card: all of it goes to what was asked."""

LATEST_STATEMENTS: Final = 200
FIRST_STATEMENTS: Final = 50
"""Memories with lasting statements that a card is made from: the latest, and the first, because
people introduce themselves at the beginning."""

SMALL_TALK: Final = Note("silence", "small talk: memory was not searched")
NOTHING_KNOWN: Final = "nothing known concerns the prompt"


def assemble(
    searches: Searches,
    listing: Listing,
    request: SearchRequest,
    *,
    project: str | None,
    max_tokens: int,
    silence: float,
    card: bool,
    format: TextFormat,  # noqa: A002 (the name that it has in `context`)
    tokenizer: Tokenizer | None,
    trace: bool | None,
) -> Prompt:
    """Return the context of a prompt.

    Args:
        searches: Searches of the memory.
        listing: Lists of the memory.
        request: The search for the prompt, over all projects.
        project: The prompt's project; None for none.
        max_tokens: Maximum length of the text.
        silence: Return no text if the chance that a memory concerns the prompt is below this.
        card: Whether lasting statements about the user come first.
        format: "markdown" or "xml".
        tokenizer: Counter of tokens; by default memsense's own.
        trace: Whether to record the search.
    """
    prompt = request.query
    # One search of all texts: on pairs of questions it found as much as a search for each.
    query = fold_blanks("\n".join(searched(prompt)))[:LONGEST_QUESTION]
    if silence and is_small_talk(query):
        return Prompt(notes=[SMALL_TALK])
    request = replace(request, query=query, top_k=HITS)
    [result] = searches.answer([request], trace=trace)
    notes = list(result.notes)
    if query != fold_blanks(prompt):
        notes.append(Note("prompt", f"searched for a part of the prompt: {query}"))

    def is_own(chunk: Chunk) -> bool:
        # A project that the prompt names counts as its own.
        name = (chunk.project or "").rstrip("/").rpartition("/")[2].casefold()
        is_named = bool(name) and name in request.query.casefold()
        return project is None or chunk.project in {None, project} or is_named

    own = [hit for hit in result if is_own(hit.chunk)]
    others = [hit for hit in result if not is_own(hit.chunk)]
    if others and project is not None:
        # Other projects took places of the list: look into this one alone, too.
        filters = replace(request.filters, project=project)
        try:
            [inside] = searches.answer([replace(request, filters=filters)], trace=False)
            in_project = list(inside)
        except NotFoundError:
            in_project = []  # nothing is stored about this project yet, as in a new folder
        own_ids = {hit.chunk_id for hit in own}
        own += [hit for hit in in_project if hit.chunk_id not in own_ids]
        reached = {hit.chunk_id for hit in own}  # a pool of the project holds some of others
        others = [hit for hit in others if hit.chunk_id not in reached]
    relevance = judge(request.query, judged(own, result.analysis), result.question)
    sources = [source_of(hit) for hit in own] if relevance.chance >= silence else []
    if others:
        apart = judge(request.query, judged(others), result.question)
        # A fact of another project must be asked for: small resemblance is everywhere.
        if apart.chance >= max(APART_CHANCE, silence):
            sources += [source_of(hit, apart=hit.chunk.project or "") for hit in others]
            chance = f"chance {apart.chance:.0%}"
            notes.append(Note("projects", f"memories of other projects: {chance}"))
    chance = f"{relevance.kind}: chance {relevance.chance:.0%}"
    if not sources:
        return Prompt(notes=[*notes, Note("silence", f"{NOTHING_KNOWN} ({chance})")])
    notes.append(Note("silence", f"something known concerns the prompt: {chance}"))
    lines: list[CardLine] = []
    if card and request.user_id is not None and max_tokens >= LEAST_FOR_CARD:
        lines = make_card(
            [it for it in _lasting(listing, request) if is_own(it)],
            max_tokens=min(LARGEST_CARD, int(CARD_SHARE * max_tokens)),
            count=make_counter(tokenizer),
        )
    return write_prompt(
        sources,
        words=result.question.get("lexemes", ()),
        question=result.analysis,
        max_tokens=max_tokens,
        format=format,
        tokenizer=tokenizer,
        card=lines,
        least_chance=LEAST_CHANCE if silence else 0.0,
        notes=notes,
    )


def _lasting(listing: Listing, request: SearchRequest) -> list[Chunk]:
    """Return the memories with lasting statements that the request may show, each once."""
    kinds = KINDS if request.filters.kinds is None else request.filters.kinds
    filters = replace(request.filters, kinds=[kind for kind in KINDS if kind in kinds])
    ends: Sequence[tuple[Order, int]] = (
        ("newest", LATEST_STATEMENTS),
        ("oldest", FIRST_STATEMENTS),
    )
    pages = [
        listing.chunks(
            request.user_id,
            filters,
            granularity="turn",
            statuses=("active",),
            order=order,
            limit=limit,
            cursor=None,
            as_of=request.as_of,
        )
        for order, limit in ends
    ]
    return list({chunk.chunk_id: chunk for chunk in chain(*pages)}.values())
