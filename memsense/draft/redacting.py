"""Redaction of chunks that are there already: in an export, or stored by an earlier version."""

from collections import Counter
from typing import Any

from memsense.draft.exported import ExportedChunk
from memsense.draft.facets import FACETS, FacetTagger
from memsense.text.secrets import clean
from memsense.types import Chunk


def clean_chunk(
    chunk: Chunk | ExportedChunk, tagger: FacetTagger
) -> tuple[dict[str, Any], Counter[str]]:
    """Return the fields of a chunk that may not be stored as they are, and counts by kind.

    Facets that the tagger finds in the text are found again, in the text without secrets.
    """
    # The repeated beginning of a later part is cleaned apart: its length counts.
    opening, counts = clean(chunk.user_text[: chunk.opening_length], secrets=True)
    names = ("assistant_text", "session_text", "task_tag", "tags", "metadata", *FACETS)
    values = {name: getattr(chunk, name) for name in names}
    values["user_text"] = own_text = chunk.user_text[chunk.opening_length :]
    cleaned, more = clean(values, secrets=True)
    counts += more
    changes = {name: value for name, value in cleaned.items() if value is not values[name]}
    if not counts:
        return {}, counts
    changes["user_text"] = opening + cleaned["user_text"]
    changes["opening_length"] = len(opening)
    if chunk.granularity == "session":
        return changes, counts
    old = tagger.tag(own_text, chunk.assistant_text)
    new = tagger.tag(cleaned["user_text"], cleaned["assistant_text"])
    for name in FACETS:
        if getattr(chunk, name) == getattr(old, name):
            changes[name] = getattr(new, name)
    changes["facet_spans"] = [
        {
            "facet": span.facet,
            "rule": span.rule,
            "side": span.side,
            "start": span.start + (len(opening) if span.side == "user" else 0),
            "end": span.end + (len(opening) if span.side == "user" else 0),
        }
        for span in new.spans
    ]
    return changes, counts
