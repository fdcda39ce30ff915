"""Every flow of the page by the keyboard alone: Tab, Space, Enter, arrows and letters."""

import re
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from looking import Site, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

MOST_TABS = 250
"""Presses of Tab within which every part of a page is reached."""

HAS_RING = """it => {
    const style = getComputedStyle(it);
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
}"""


class Keyboard:
    """Person without a mouse: goes on by Tab until a part of the page has the focus."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self._keys = page.keyboard
        self.unseen: set[str] = set()

    def reach(self, target: "Locator", *, backwards: bool = False) -> None:
        """Press Tab until the target has the focus, and see where it is."""
        target.wait_for()
        for _ in range(MOST_TABS):
            if target.evaluate("it => it === document.activeElement"):
                # The focus is shown: a person without a mouse looks for it.
                if not target.evaluate(HAS_RING):
                    self.unseen.add(target.evaluate("it => it.outerHTML.slice(0, 100)"))
                return
            self._keys.press("Shift+Tab" if backwards else "Tab")
        raise AssertionError(f"Tab never reaches {target}")

    def press(self, target: "Locator", key: str = "Enter", *, backwards: bool = False) -> None:
        """Reach a button, a link or a summary, and press it."""
        self.reach(target, backwards=backwards)
        self._keys.press(key)

    def button(self, name: str, **options: Any) -> None:
        """Press a button by its name."""
        self.press(self.page.get_by_role("button", name=name).first, **options)

    def link(self, name: str, **options: Any) -> None:
        """Follow a link by its name."""
        self.press(self.page.get_by_role("link", name=name, exact=True).first, **options)

    def fill(self, label: str, text: str, **options: Any) -> None:
        """Reach a field by its label, and type over what stands there."""
        self.reach(self._field(label), **options)
        self._keys.press("ControlOrMeta+a")
        self._keys.type(text)

    def _field(self, label: str) -> "Locator":
        # The text of a label around a list or a text area goes on with what stands in that.
        labelled = self.page.get_by_label(re.compile(rf"^\s*{re.escape(label)}(\s|$)"))
        return labelled.and_(self.page.locator("input, select, textarea")).first

    def choose(self, label: str, option: str) -> None:
        """Reach a list by its label, and type the beginning of an option."""
        field = self._field(label)
        self.reach(field)
        self._keys.type(option)
        chosen = field.evaluate("it => it.selectedOptions[0].textContent")
        assert chosen == option


@pytest.fixture
def keyboard(chromium: "Browser", site: Site) -> Generator[Keyboard]:
    """A signed-in browser whose mouse is broken; its pages may complain of nothing."""
    page = open_page(chromium, site)
    page.add_init_script(
        "for (const kind of ['pointerdown', 'mousedown']) addEventListener(kind, it => {"
        " it.preventDefault(); it.stopPropagation(); console.error('a mouse was used'); }, true)"
    )
    page.reload()
    person = Keyboard(page)
    yield person
    page.context.close()
    assert site.complaints == []
    assert person.unseen == set()


@pytest.fixture
def page(keyboard: Keyboard) -> "Page":
    """The page that the keyboard works on."""
    return keyboard.page


def ask(keyboard: Keyboard, page: "Page", question: str) -> None:
    keyboard.link("Ask")
    keyboard.fill("Question", question)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=re.compile("hits")).wait_for()


def test_ask_with_filters_arithmetic_why_not_and_a_whole_text(
    keyboard: Keyboard, page: "Page"
) -> None:
    keyboard.fill("Question", "a plan with sencha tea")
    keyboard.press(page.get_by_text("User, filters, profile"))
    keyboard.fill("User", "ada")
    keyboard.choose("Profile", "lexical")
    keyboard.button("Search", backwards=True)
    page.get_by_text("Profile lexical").wait_for()
    keyboard.press(page.locator("summary", has_text="Show all of memory").first)
    page.locator("details.whole strong").nth(16).wait_for()
    keyboard.press(page.locator("summary", has_text="The arithmetic").first)
    table = page.get_by_role("region", name=re.compile("^Arithmetic of memory")).first
    keyboard.reach(table)
    why = "Words of the memory that should have been found, or its number"
    keyboard.fill(why, "Clara visits")
    page.keyboard.press("Enter")
    page.get_by_role("status").wait_for()


def test_record_replay_by_sliders_and_save_a_profile(
    keyboard: Keyboard, page: "Page", site: Site
) -> None:
    ask(keyboard, page, "green tea in Lisbon")
    keyboard.button("Record and try other weights")
    page.get_by_role("heading", name="Other weights").wait_for()
    keyboard.reach(page.get_by_role("slider", name="lexical", exact=True))
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.get_by_role("region", name="As recorded").wait_for()
    page.locator('#replayed [data-constant="lexical"]').wait_for()
    keyboard.fill("Save these weights as a profile", "more_words")
    page.keyboard.press("Enter")
    page.get_by_text("Profile more_words is stored").wait_for()
    stored = site.memory.profiles.get("more_words")
    assert stored.weights["lexical"] > site.memory.profiles.get("balanced").weights["lexical"]
    keyboard.button("Delete profile more_words")
    page.get_by_role("button", name="Delete profile more_words").wait_for(state="detached")


def test_traces_are_opened_replayed_and_compared(keyboard: Keyboard, page: "Page") -> None:
    ask(keyboard, page, "green tea")
    keyboard.button("Record and try other weights")
    page.get_by_role("heading", name="Other weights").wait_for()
    keyboard.link("Traces", backwards=True)
    keyboard.link("green tea")
    page.get_by_role("heading", name="Candidates").wait_for()
    keyboard.press(page.locator("summary", has_text="How the question was read"))
    keyboard.choose("Profile", "lexical")
    keyboard.button("Replay")
    page.get_by_role("region", name="Now").wait_for()
    keyboard.link("Traces", backwards=True)
    keyboard.choose("Which", "without hits")
    keyboard.button("Show")
    page.get_by_text("No such search is recorded").wait_for()
    keyboard.choose("Other profile", "lexical")
    keyboard.button("Compare the last searches")
    page.get_by_role("heading", name="balanced and lexical").wait_for()
    pair = page.locator("details.pair summary").first
    if pair.count():
        keyboard.press(pair)


def test_memories_are_added_found_edited_tagged_forgotten_and_restored(
    keyboard: Keyboard, page: "Page", site: Site
) -> None:
    keyboard.link("Add")
    keyboard.fill("User", "ada")
    keyboard.fill("What the user said", "I play the oboe.")
    keyboard.button("Store")
    page.get_by_text("oboe").first.wait_for()
    keyboard.press(page.get_by_text("Edit text and tags"))
    keyboard.fill("Text of user", "I play the viola.")
    keyboard.button("Save changes")
    page.get_by_text("I play the viola.").first.wait_for()
    keyboard.button("It helped")
    keyboard.button("Promote")
    page.locator("td", has_text="promoted").wait_for()
    keyboard.link("Memories", backwards=True)
    keyboard.fill("Text in the memories", "viola")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="1 memory with this text").wait_for()
    [hit] = site.memory.search("viola", user_id="ada", top_k=1)
    box = page.get_by_label(f"Choose memory {hit.chunk_id}")
    keyboard.press(box, "Space")
    keyboard.fill("New tag", "music", backwards=True)
    page.keyboard.press("Enter")
    page.get_by_text("1 memory tagged.").wait_for()
    assert "music" in site.memory.get(hit.chunk_id).tags
    keyboard.press(page.get_by_label("All", exact=True), "Space")
    keyboard.button("Forget the chosen")
    page.get_by_text("1 memory forgotten").wait_for()
    assert site.memory.get(hit.chunk_id).status == "deleted"
    page.goto(f"/ui/memories/{hit.chunk_id}")
    keyboard.button("Restore")
    page.get_by_role("button", name="Forget", exact=True).wait_for()
    assert site.memory.get(hit.chunk_id).status == "active"


def test_a_conversation_is_read_exported_and_erased_with_its_receipt(
    keyboard: Keyboard, page: "Page", site: Site
) -> None:
    keyboard.link("Memories")
    with page.expect_download() as download:
        keyboard.link("Export all")
    assert "I moved to Lisbon" in download.value.path().read_text(encoding="utf-8")
    keyboard.link("monday")
    page.get_by_role("heading", name="monday").wait_for()
    keyboard.press(page.get_by_label("All", exact=True), "Space")
    assert page.locator("input[name=chunk]:checked").count() == 3
    keyboard.link("home")
    page.get_by_text("with the tag home").wait_for()
    keyboard.fill("Type the session's id to confirm", "monday")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Erased").wait_for()
    [receipt] = site.memory.erasures.list()
    keyboard.link("Erasures", backwards=True)
    keyboard.fill("Id of a user, session, message or memory", "monday")
    page.keyboard.press("Enter")
    keyboard.link(str(receipt.erasure_id))
    page.get_by_role("heading", name="Erased").wait_for()


def test_hits_are_labelled_and_a_set_is_asked_with_other_weights(
    keyboard: Keyboard, page: "Page", site: Site
) -> None:
    chunk_id = site.chunks["I drink green tea every morning instead of coffee."]
    ask(keyboard, page, "green tea in the morning")
    keyboard.button(f"Right memory {chunk_id}")
    page.get_by_role("button", name=f"Right memory {chunk_id}", pressed=True).wait_for()
    keyboard.link("Questions")
    keyboard.link("Try other weights on questions")
    keyboard.press(page.locator("summary", has_text="Similar meaning"))
    keyboard.press(page.get_by_role("slider", name="tokens", exact=True), "Home")
    keyboard.button("Ask all questions with both")
    page.get_by_text("mean reciprocal rank").wait_for()
    keyboard.press(page.locator("summary", has_text="green tea in the morning"))
    page.get_by_role("region", name="Changed").wait_for()
    keyboard.link("Questions", backwards=True)
    keyboard.button("Remove green tea in the morning")
    page.get_by_text("No question is labelled").wait_for()


def test_a_context_is_shown(keyboard: Keyboard, page: "Page") -> None:
    keyboard.link("Context")
    keyboard.fill("Prompt", "Which tea do I drink in the morning?")
    keyboard.fill("User", "ada")
    keyboard.fill("Silence, 0 to 1", "0")
    keyboard.choose("Layout", "xml")
    page.get_by_label("Prompt").wait_for()
    keyboard.button("Show context", backwards=True)
    text = page.get_by_role("region", name="Context")
    keyboard.reach(text)
    assert "green tea" in text.inner_text()


def fail_jobs(site: Site, database_url: str, count: int) -> None:
    """Leave jobs that have failed for good."""
    for number in range(count):
        site.memory.add(f"I like tea {number}", user_id="ada", session_id="later", embed="later")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE memsense.jobs SET dead_at = now(), last_error = 'no model'")


def test_keys_settings_jobs_and_users(
    keyboard: Keyboard, page: "Page", site: Site, database_url: str
) -> None:
    keyboard.link("Keys")
    keyboard.fill("Name", "robot")
    keyboard.press(page.get_by_label("write", exact=True), "Space")
    keyboard.button("Create key")
    page.locator("code.secret").wait_for()
    [key] = [key for key in site.memory.access_keys.list() if key.name == "robot"]
    assert [*key.scopes] == ["read", "write"]
    keyboard.button(f"Revoke key {key.key_id}")
    page.get_by_text("revoked").wait_for()
    keyboard.link("Settings", backwards=True)
    keyboard.fill("Setting", "profile")
    keyboard.fill("Value, empty for its default", "semantic")
    page.keyboard.press("Enter")
    page.get_by_role("region", name="Changes").get_by_text("semantic").wait_for()
    fail_jobs(site, database_url, 2)
    keyboard.link("Health", backwards=True)
    dead = page.get_by_role("region", name="Dead jobs").locator("tbody tr")
    dead.nth(1).wait_for()
    keyboard.button("Retry job")
    dead.nth(1).wait_for(state="detached")
    keyboard.button("Drop job")
    dead.first.wait_for(state="detached")
    keyboard.link("ada")
    page.get_by_role("heading", name="Facts that changed").wait_for()
    keyboard.link("All memories")
    page.get_by_role("heading", name="Memories").wait_for()
    keyboard.fill("Type the user's id to confirm", "ada")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Erased").wait_for()
    assert site.memory.stats(user_id="ada") == []
