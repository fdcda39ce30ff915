"""`memory.context`: from a prompt to the text to put before it, or to nothing.

One search, or a second one within the prompt's project; the decision whether anything known
concerns the prompt; then the card and the passages that matter, within a token budget.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Final

from memsense.client.listing import Listing
from memsense.client.searches import Searches
from memsense.errors import NotFoundError
from memsense.search.card import KINDS, make_card, make_rules
from memsense.search.hits import Hit, SearchResult, judged, source_of
from memsense.search.passages import Source
from memsense.search.prompt import CardLine, Prompt, TextFormat, write_prompt
from memsense.search.question import fold_blanks
from memsense.search.request import LONGEST_QUESTION, Filters, SearchRequest
from memsense.search.silence import is_small_talk, judge
from memsense.store.listing import Order
from memsense.text.prompts import make_queries
from memsense.text.tokens import Tokenizer, make_counter
from memsense.types import Chunk, Note

PARTNERS: Final = 10
"""Memories that are read for being the other statement of a hit, at most."""

NEEDED: Final = 2
FEWEST, MOST = 20, 200
"""A passage must be likelier than a memory that is drawn at random where a prompt needs two of all:
2%, or 1% of 200 memories and more. The chance of the least likely passage stays between 1% and 10%.
"""

BEHIND: Final = 8
MOST_BEHIND: Final = 0.15
"""A passage must be likelier than a share of the best one's chance: 8 / memories, at most 15%. A
prompt with a sure answer needs few others.
"""

NEAR: Final = 40
LEAST_NEAR: Final = 0.55
"""A passage must be near enough, as a share of the nearest one: 40 / memories, at most 55%. Few
memories have nothing nearer to the prompt than what is far from it."""

APART_CHANCE: Final = 0.9
"""Chance from which memories of other projects concern the prompt."""

CARD_SHARE: Final = 0.1
"""Share of the budget that the card may take."""

LARGEST_CARD: Final = 300
LEAST_FOR_CARD: Final = 800
"""Budget in tokens below which there is no card: all of it goes to what was asked."""

MOST_RULES: Final = 8
RULES_TOKENS: Final = 160
FEW_RULES: Final = 3
LEAST_FOR_ALL_RULES: Final = 400
"""Budget in tokens below which there are few rules."""

LATEST_RULES: Final = 200
"""Memories with standing rules that are read: those of all projects, the latest."""

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
    on_purpose: bool,
    rules: bool,
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
        on_purpose: Whether memory is asked on purpose, so that a single word is a question.
        rules: Whether the user's standing rules come first, also if nothing else is known.
        card: Whether lasting statements about the user come next.
        format: "markdown" or "xml".
        tokenizer: Counter of tokens; by default memsense's own.
        trace: Whether to record the search.
    """
    prompt = request.query
    # One search of all texts: on pairs of questions it found as much as a search for each.
    queries = [fold_blanks(query)[:LONGEST_QUESTION] for query in make_queries(prompt)]
    if silence and not on_purpose and is_small_talk(queries[0]):
        return Prompt(notes=[SMALL_TALK])
    request = replace(request, query=queries[0])
    query_of: dict[int, int] = {}

    def search(filters: Filters, *, again: bool = False) -> tuple[SearchResult, list[Hit]]:
        """Return the first query's result, and the hits of all queries in turn, each once."""
        requests = [replace(request, query=query, filters=filters) for query in queries]
        results = searches.answer(requests, trace=False if again else trace, counts=not again)
        hits: dict[int, Hit] = {}
        for row in zip_longest(*results):
            for number, hit in enumerate(row):
                if hit is not None:
                    hits.setdefault(hit.chunk_id, hit)
                    query_of.setdefault(hit.chunk_id, number)
        return results[0], list(hits.values())

    def make_source(hit: Hit) -> Source:
        # Memories of a project that the prompt names stand under its name, too.
        apart = "" if hit.chunk.project == project else hit.chunk.project or ""
        return replace(source_of(hit, apart=apart), query=query_of[hit.chunk_id])

    result, hits = search(request.filters)
    notes = list(result.notes)
    if result.trace_id is not None:
        notes.append(Note("trace", f"recorded: memsense://trace/{result.trace_id}"))
    if queries != [fold_blanks(prompt)]:
        notes.append(Note("prompt", f"searched for a part of the prompt: {queries[-1]}"))

    def is_own(chunk: Chunk) -> bool:
        # A project that the prompt names counts as its own.
        name = (chunk.project or "").rstrip("/").rpartition("/")[2].casefold()
        is_named = bool(name) and name in request.query.casefold()
        return project is None or chunk.project in {None, project} or is_named

    inside: Sequence[Hit] = ()
    if project is not None and not all(is_own(hit.chunk) for hit in hits):
        # Other projects took places of the list: look into this one alone, too.
        filters = replace(request.filters, project=project)
        # Of a new folder, nothing is stored yet.
        with suppress(NotFoundError):
            _, inside = search(filters, again=True)
    own, others = prefer_project(hits, inside, is_own)
    relevance = judge(
        request.query, judged(own, result.analysis), result.question, is_asked=on_purpose
    )
    sources: list[Source] = []
    if relevance.chance >= silence:
        sources = [make_source(hit) for hit in own]
    if others:
        apart = judge(request.query, judged(others), result.question, is_asked=on_purpose)
        # A fact of another project must be asked for: small resemblance is everywhere.
        if apart.chance >= max(APART_CHANCE, silence):
            sources += [make_source(hit) for hit in others]
            chance = f"chance {apart.chance:.0%}"
            notes.append(Note("projects", f"memories of other projects: {chance}"))
    chance = f"{relevance.kind}: chance {relevance.chance:.0%}"
    standing: list[CardLine] = []
    if rules and request.user_id is not None:
        is_small = max_tokens < LEAST_FOR_ALL_RULES
        standing = make_rules(
            _list(listing, request, "newest", LATEST_RULES, only_rules=True),
            project=project,
            max_tokens=min(RULES_TOKENS, max_tokens // 2),
            most=FEW_RULES if is_small else MOST_RULES,
            count=make_counter(tokenizer),
        )
    if sources:
        notes.append(Note("silence", f"something known concerns the prompt: {chance}"))
    else:
        notes.append(Note("silence", f"{NOTHING_KNOWN} ({chance})"))
        if not standing:
            return Prompt(notes=notes)
    lines: list[CardLine] = []
    if sources and card and request.user_id is not None and max_tokens >= LEAST_FOR_CARD:
        lines = make_card(
            [it for it in _lasting(listing, request) if is_own(it)],
            max_tokens=min(LARGEST_CARD, int(CARD_SHARE * max_tokens)),
            count=make_counter(tokenizer),
        )
    least_chance, least_share, least_near = _find_floors(result, silence)
    # What a chosen memory is to be read with may be no hit itself.
    known_ids = {chunk.chunk_id for source in sources for chunk in source.chunks}
    sources_of = {it: source for source in sources for it in (source.newer, source.older) if it}
    partner_ids = [it for it in sources_of if it not in known_ids][:PARTNERS]
    # Through all filters, and of the moment that is asked for.
    partners: Sequence[Chunk] = (
        _list(listing, request, "newest", len(partner_ids), chunk_ids=partner_ids)
        if partner_ids
        else ()
    )
    for chunk in partners:
        chunk_id = chunk.chunk_id
        source = sources_of[chunk_id]
        if chunk.project not in {None, source.chunks[0].project}:
            continue  # of another project, it neither replaces the hit nor is replaced
        is_newer = source.newer == chunk_id
        ends = (None, source.hit_id) if is_newer else (source.hit_id, None)
        partner = replace(
            source, hit_id=chunk_id, chunks=[chunk], until=None, newer=ends[0], older=ends[1]
        )
        sources.append(partner)
    return write_prompt(
        sources,
        words=result.question.get("lexemes", ()),
        question=result.analysis,
        max_tokens=max_tokens,
        format=format,
        tokenizer=tokenizer,
        rules=standing,
        card=lines,
        least_chance=least_chance,
        least_share=least_share,
        least_near=least_near,
        notes=notes,
    )


def prefer_project(
    hits: Sequence[Hit], inside: Sequence[Hit], is_own: Callable[[Chunk], bool]
) -> tuple[list[Hit], list[Hit]]:
    """Return the hits of a project, and those of other projects.

    Args:
        hits: Hits over all projects.
        inside: Hits of the project alone, whose pool may hold memories about others.
        is_own: Whether a memory counts as the project's.
    """
    own = [hit for hit in hits if is_own(hit.chunk)]
    own_ids = {hit.chunk_id for hit in own}
    own += [hit for hit in inside if hit.chunk_id not in own_ids]
    own_ids |= {hit.chunk_id for hit in inside}
    return own, [hit for hit in hits if hit.chunk_id not in own_ids]


def _lasting(listing: Listing, request: SearchRequest) -> list[Chunk]:
    """Return the memories with lasting statements that the request may show, each once."""
    kinds = KINDS if request.filters.kinds is None else request.filters.kinds
    filters = replace(request.filters, kinds=[kind for kind in KINDS if kind in kinds])
    request = replace(request, filters=filters)
    pages = (
        _list(listing, request, "newest", LATEST_STATEMENTS),
        _list(listing, request, "oldest", FIRST_STATEMENTS),
    )
    return list({chunk.chunk_id: chunk for chunk in chain(*pages)}.values())


def _find_floors(result: SearchResult, silence: float) -> tuple[float, float, float]:
    """Return the least chance, share of the best chance, and nearness of a passage; 0 for none."""
    if not silence:
        return 0.0, 0.0, 0.0
    if result.analysis is not None and result.analysis.is_dated_alone:
        return NEEDED / MOST, 0.0, 0.0  # what a time alone decides has other chances
    memories = max(result.question["memories"], 1)
    return (
        NEEDED / min(max(memories, FEWEST), MOST),
        min(BEHIND / memories, MOST_BEHIND),
        min(NEAR / memories, LEAST_NEAR),
    )


def _list(
    listing: Listing,
    request: SearchRequest,
    order: Order,
    limit: int,
    *,
    only_rules: bool = False,
    chunk_ids: Sequence[int] | None = None,
) -> Sequence[Chunk]:
    """Return memories that the request's filters let through, of the moment that it asks for."""
    return listing.chunks(
        request.user_id,
        request.filters,
        granularity="turn",
        statuses=("active",),
        order=order,
        limit=limit,
        cursor=None,
        as_of=request.as_of,
        only_rules=only_rules,
        chunk_ids=chunk_ids,
    )
