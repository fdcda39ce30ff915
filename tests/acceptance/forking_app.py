"""WSGI application whose memory opens in gunicorn's master, before its workers are forked."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from embedders import HashingEmbedder

from memsense import MemSense

memory = MemSense.open(os.environ["MEMSENSE_DATABASE_URL"], embedder=HashingEmbedder())


def serve(user_id: str, number: int) -> list[str]:
    """Store or search, in turns; the texts found, which must all be the user's."""
    if number % 5 == 0:
        said = [{"role": "user", "content": f"{user_id} drinks tea number {number}."}]
        memory.add(said, user_id=user_id, session_id=f"s{number}")
    return [hit.chunk.user_text for hit in memory.search("Who drinks tea?", user_id=user_id)]


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer `?user=NAME&n=NUMBER` with the texts found and the process that found them."""
    query = parse_qs(environ["QUERY_STRING"])
    texts = serve(query["user"][0], int(query["n"][0]))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"pid": os.getpid(), "texts": texts}).encode()]
