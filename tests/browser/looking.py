"""What tests of the page share: the browser, what it looks at, and what was complained of."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TESTS = Path(__file__).parents[1]
AXE = TESTS.parent / ".npm-tools" / "page" / "node_modules" / "axe-core" / "axe.min.js"
START = datetime(2026, 5, 4, 9, tzinfo=UTC)
TALKS = {
    "monday": [
        ("I moved to Lisbon in March.", "How do you like the city?"),
        ("I drink green tea every morning instead of coffee.", "Noted, green tea it is."),
        ("My sister Clara visits me in June.", "A good time for Lisbon."),
    ],
    "tuesday": [
        ("Which tea shops do you know?", "There is one near the river in Lisbon."),
        ("<b>Bold</b> <script>document.title = 'broken'</script> tea", "\u202eediH\u202c"),
        (
            "Make me a plan for a week of tea.",
            "## Plan\n\n" + "1. **Sencha** on every other day, brewed at 70 degrees.\n" * 60,
        ),
    ],
}


def find_chromium() -> str | None:
    """The browser's program."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("MEMSENSE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def why_missing() -> str | None:
    """Why no browser can be driven; None if one can."""
    if find_spec("playwright") is None:
        return "no Playwright: `pip install -e '.[dev]'`"
    if find_chromium() is None:
        return "no Chromium: `apt-get install chromium`, or MEMSENSE_CHROMIUM names one"
    if not AXE.exists():
        return "axe-core is not installed: `make npm-page`"
    return None


@dataclass(kw_only=True)
class Site:
    """A server with its keys by name, and what its pages complained of.

    `delays` are seconds by which it delays its answers, by the end of their path.
    `stop` ends the server.
    """

    address: str
    keys: dict[str, str]
    chunks: dict[str, int]
    memory: Any
    delays: dict[str, float]
    stop: Callable[[], None]
    complaints: list[str] = field(default_factory=list[str])


def open_page(browser: "Browser", site: Site, key: str | None = "admin", **options: Any) -> "Page":
    """A browser of its own that is signed in; what its pages complain of goes to the site."""
    page = browser.new_context(base_url=site.address, **options).new_page()
    page.set_default_timeout(10_000)
    complain = site.complaints.append
    page.on("console", lambda it: complain(it.text) if it.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complain(str(error)))
    page.on("dialog", lambda dialog: complain(f"a dialog: {dialog.message}"))
    page.on(
        "request",
        lambda it: (
            complain(f"elsewhere: {it.url}") if not it.url.startswith(site.address) else None
        ),
    )
    if key is not None:
        page.goto("/ui/")
        page.get_by_label("Key").fill(site.keys[key])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Ask").wait_for()
    return page


def name_changes(site: Site) -> None:
    """Let some of Ada's statements replace earlier ones."""
    homes = ["I moved to Porto for work.", "I moved to Faro, near the sea."]
    said = [site.chunks["I moved to Lisbon in March."]]
    for number, text in enumerate(homes):
        at = START + timedelta(days=20 + 30 * number)
        messages = [{"role": "user", "content": text, "at": at}]
        [chunk] = site.memory.add(messages, user_id="ada", session_id=f"move-{number}")
        said.append(chunk.chunk_id)
    for older, newer in pairwise(said):
        site.memory.decide_change(older, newer, decision="set", reason="she has moved")


def search_often(site: Site) -> None:
    """Search for a while, so that there are statistics."""
    for question in ("Which tea?", "Where does Clara live?", "Lisbon"):
        for _ in range(4):
            site.memory.search(question, user_id="ada", trace=False)
    site.memory.search("tea", user_id="ada", tags=["absent"])
