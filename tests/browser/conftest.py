"""A served memory, and Chromium that looks at it; skipped, with the reason, where one is missing.

The browser is Debian's (`apt-get install chromium`), or what MEMSENSE_CHROMIUM names. Screenshots
go to MEMSENSE_SCREENSHOTS, else to a folder that is thrown away.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fastapi import Request
    from looking import Site
    from playwright.sync_api import Browser, Page

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "sql"), str(TESTS / "browser")]


@pytest.fixture(scope="module")
def chromium() -> Generator["Browser"]:
    """A browser for one module: while Playwright is open, no other test can run an event loop."""
    from looking import find_chromium, why_missing

    if missing := why_missing():
        if os.environ.get("MEMSENSE_BROWSER") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def site(chromium: "Browser", database_url: str) -> Generator["Site"]:  # noqa: ARG001 (skips first)
    """A server of this test's own, in a thread, whose tenant acme has said something."""
    import uvicorn
    from embedders import HashingEmbedder
    from looking import START, TALKS, Site

    from memsense import load_settings
    from memsense.client.tenants import Tenants
    from memsense.server.app import create_app
    from memsense.server.options import ServerOptions
    from memsense.store.access import SCOPES

    settings = load_settings(database_url=database_url)
    with Tenants.open(settings, embedder=HashingEmbedder()) as tenants:
        memory = tenants.memory("acme")
        chunks: dict[str, int] = {}
        for day, (session, said) in enumerate(TALKS.items()):
            at = START + timedelta(days=day)
            messages = [
                {"role": role, "content": text, "at": at + timedelta(minutes=number)}
                for number, sides in enumerate(said)
                for role, text in zip(("user", "assistant"), sides, strict=True)
            ]
            added = memory.add(messages, user_id="ada", session_id=session, tags=["home"])
            chunks |= {chunk.user_text: chunk.chunk_id for chunk in added}
        keys = {
            "admin": memory.access_keys.create(SCOPES, name="admin").text,
            "viewer": memory.access_keys.create(["read"], name="viewer").text,
        }
        app = create_app(tenants, ServerOptions(needs_key=True, rate=1e6, burst=1_000_000))
        delays: dict[str, float] = {}

        async def delay(request: "Request", call_next: Any) -> Any:
            for end, seconds in delays.items():
                if request.url.path.endswith(end):
                    await asyncio.sleep(seconds)
            return await call_next(request)

        app.middleware("http")(delay)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]

        def stop() -> None:
            server.should_exit = server.force_exit = True
            thread.join()

        try:
            address = f"http://127.0.0.1:{port}"
            yield Site(
                address=address, keys=keys, chunks=chunks, memory=memory, delays=delays, stop=stop
            )
        finally:
            stop()


@pytest.fixture
def page(chromium: "Browser", site: "Site") -> Generator["Page"]:
    """An administrator's browser; its pages may complain of nothing."""
    from looking import open_page

    found = open_page(chromium, site)
    yield found
    found.context.close()
    assert site.complaints == []


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where screenshots go."""
    path = Path(os.environ.get("MEMSENSE_SCREENSHOTS", tmp_path))
    path.mkdir(parents=True, exist_ok=True)
    return path
