"""The page as people use it, in Chromium: by role and label, by keyboard, on a phone, at night."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from looking import AXE, Site, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = ("/ui/", "/ui/?q=green+tea&why=1", "/ui/memories?user=ada", "/ui/traces", "/ui/health")
SESSION = "/ui/memories/session?user=ada&session=monday"


def ask(page: "Page", question: str = "green tea in Lisbon") -> None:
    page.goto("/ui/")
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Search").click()
    page.get_by_role("heading", name=re.compile("hits")).wait_for()


def bars(page: "Page") -> list[tuple[str, list[float], list[str]]]:
    """Each bar's score, the values of its parts, and their names."""
    found: list[tuple[str, list[float], list[str]]] = []
    for bar in page.get_by_role("img", name=re.compile("^score ")).all():
        parts = bar.locator("rect")
        values = [float(part.get_attribute("data-value") or "x") for part in parts.all()]
        names = [title.text_content() or "" for title in bar.locator("title").all()]
        found.append((bar.get_attribute("data-total") or "", values, names))
    return found


def violations(page: "Page") -> list[str]:
    """What axe finds wrong with the page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: Any = page.evaluate("axe.run()")
    return [
        f"{page.url} {item['id']}: {[node['html'][:120] for node in item['nodes'][:3]]}"
        for item in found["violations"]
    ]


def test_asking_shows_bars_whose_parts_add_up_and_why_not(page: "Page", pictures: Path) -> None:
    ask(page)
    hits = page.get_by_role("listitem").filter(has=page.get_by_role("img"))
    assert hits.count() >= 3
    assert page.locator("mark").filter(has_text="tea").count() >= 1
    shown = bars(page)
    assert len(shown) == hits.count()
    for total, values, names in shown:
        assert values
        assert f"{sum(values):.4f}" == total
        assert all(re.fullmatch(r"\w+ [+-]\d\.\d{4}", name) for name in names)
    scores = [float(total) for total, _, _ in shown]
    assert scores[0] == max(scores)
    first = hits.first
    first.get_by_text("The arithmetic of").click()
    table = first.get_by_role("table")
    added = [float(cell) for cell in table.locator("tbody td.number").all_text_contents()]
    assert f"{sum(added):.4f}" == table.locator("tfoot td.number").text_content()
    page.screenshot(path=pictures / "ask.png", full_page=True)
    page.get_by_label("Memory that should have been found").fill("1")
    page.get_by_role("button", name="Why not?").click()
    assert "Memory 1" in (page.get_by_role("status").text_content() or "")


def test_filters_and_a_profile_change_the_answer(page: "Page") -> None:
    page.goto("/ui/")
    page.get_by_text("User, filters, profile").click()
    page.get_by_label("Question").fill("tea")
    page.get_by_label("User").fill("ada")
    page.get_by_label("Session").fill("tuesday")
    page.get_by_label("Profile").select_option("lexical")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("Profile lexical").wait_for()
    assert {"monday"} & set(page.locator("li .hint").all_text_contents()) == set()
    page.get_by_label("Hits").fill("many")
    page.get_by_role("button", name="Search").click()
    assert "top_k must be" in (page.get_by_role("alert").text_content() or "")


def test_sliders_replay_side_by_side_without_loading_the_page(page: "Page", pictures: Path) -> None:
    ask(page)
    page.evaluate("window.stayed = true")
    slider = page.get_by_role("slider", name="lexical")
    slider.focus()
    slider.press("Home")
    page.get_by_role("heading", name="Before").wait_for()
    assert page.get_by_role("heading", name="Now").is_visible()
    assert page.evaluate("window.stayed") is True
    replay = page.locator("#replayed")
    assert "lexical" in (replay.text_content() or "")
    replay.scroll_into_view_if_needed()
    page.screenshot(path=pictures / "replay.png")


def test_a_memory_is_found_in_its_session_forgotten_and_restored(page: "Page", site: Site) -> None:
    page.goto("/ui/")
    page.get_by_role("link", name="Memories").click()
    page.get_by_role("link", name="monday").click()
    texts = page.locator("li .text").all_text_contents()
    assert texts[0].startswith("user: I moved to Lisbon in March")
    chunk_id = site.chunks["I moved to Lisbon in March."]
    page.get_by_role("link", name=f"Memory {chunk_id}", exact=True).click()
    page.get_by_role("button", name="Forget").click()
    page.get_by_text("no search finds it").wait_for()
    assert site.memory.get(chunk_id).status == "deleted"
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("user: I moved to Lisbon").wait_for()
    before = site.memory.get(chunk_id).memory_score
    page.get_by_role("button", name="Promote").click()
    page.get_by_text("promoted").wait_for()
    assert site.memory.get(chunk_id).memory_score > before
    page.get_by_role("button", name="Demote").click()
    page.get_by_text("demoted").wait_for()
    page.get_by_role("button", name="It helped").click()
    history = page.get_by_role("region", name="History")
    assert history.get_by_role("row").count() == 7


def test_a_session_is_erased_with_its_receipt(page: "Page", site: Site) -> None:
    page.goto(SESSION)
    page.get_by_label("Type the session's id").fill("monday")
    page.get_by_role("button", name="Erase this session").click()
    page.get_by_role("heading", name="Erased").wait_for()
    [receipt] = site.memory.erasures.list()
    assert str(receipt.erasure_id) in (page.locator("dl").text_content() or "")
    page.get_by_role("link", name="Memories").click()
    assert page.get_by_role("link", name="monday").count() == 0


def test_traces_are_opened_replayed_and_compared(page: "Page", pictures: Path) -> None:
    ask(page, "green tea")
    page.get_by_role("link", name="Traces").click()
    page.get_by_role("link", name="green tea").first.click()
    page.get_by_role("heading", name="Candidates").wait_for()
    for total, values, _ in bars(page):
        assert f"{sum(values):.4f}" == total
    page.screenshot(path=pictures / "trace.png", full_page=True)
    page.get_by_label("Profile").select_option("lexical")
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("heading", name=re.compile("then lexical")).wait_for()
    page.get_by_role("link", name="Traces").click()
    page.get_by_label("Other profile").select_option("lexical")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="balanced and lexical").wait_for()
    assert " of " in (page.get_by_role("table").text_content() or "")
    page.get_by_role("link", name="Traces").click()
    page.get_by_label("Which").select_option("empty")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("No such search is recorded").wait_for()


def test_health_tells_findings_counts_and_growth(page: "Page", pictures: Path) -> None:
    page.goto("/ui/health")
    for name in ("Findings", "Searches", "Jobs", "Users", "Growth", "Sizes"):
        assert page.get_by_role("heading", name=name).is_visible()
    assert "shared_buffers" in (page.get_by_role("region", name="Findings").text_content() or "")
    users = page.get_by_role("region", name="Users")
    assert users.get_by_role("link", name="ada").is_visible()
    page.screenshot(path=pictures / "health.png", full_page=True)


def test_signing_in_and_out(chromium: "Browser", site: Site) -> None:
    page = open_page(chromium, site, key=None)
    page.goto("/ui/memories?user=ada")
    page.get_by_label("Key").fill("ms_1_0123456789ab_" + "a" * 43)
    page.get_by_role("button", name="Sign in").click()
    assert "wrong, expired or revoked" in (page.get_by_role("alert").text_content() or "")
    page.get_by_label("Key").fill(site.keys["viewer"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Memories").wait_for()
    assert page.url.endswith("/ui/memories?user=ada")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.context.close()
    assert [told for told in site.complaints if "401" not in told] == []


def test_a_viewer_is_offered_nothing_that_would_be_refused(chromium: "Browser", site: Site) -> None:
    page = open_page(chromium, site, key="viewer")
    for path in ("/ui/memories/1", SESSION, "/ui/memories?user=ada", "/ui/health"):
        page.goto(path)
        names = page.get_by_role("button").all_text_contents()
        assert set(names) <= {"Sign out", "Show"}, path
    page.context.close()
    assert site.complaints == []


def test_the_keyboard_alone_does(page: "Page") -> None:
    page.goto("/ui/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("green tea")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=re.compile("hits")).wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.startsWith('The arithmetic')"):
            break
    page.keyboard.press("Enter")
    assert page.locator("li details[open]").count() == 1


def test_without_javascript_everything_can_be_read_and_done(
    chromium: "Browser", site: Site
) -> None:
    page = open_page(chromium, site, java_script_enabled=False)
    ask(page)
    assert all(f"{sum(values):.4f}" == total for total, values, _ in bars(page))
    page.get_by_role("button", name="Replay with these").click()
    page.get_by_role("heading", name="Before").wait_for()
    page.goto("/ui/memories/1")
    page.get_by_role("button", name="Forget").click()
    page.get_by_text("no search finds it").wait_for()
    page.context.close()


def test_on_a_phone_nothing_is_wider_than_the_screen(chromium: "Browser", site: Site) -> None:
    long = [{"role": "user", "content": "w" * 20_000 + " tea"}]
    site.memory.add(long, user_id="x" * 400, session_id="y" * 400, tags=["z" * 400])
    phone = {"width": 360, "height": 740}
    page = open_page(chromium, site, viewport=phone, is_mobile=True, has_touch=True)
    ask(page, "tea")
    for path in (*PAGES, page.url, SESSION, "/ui/memories/1", "/ui/memories"):
        page.goto(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= phone["width"], (path, width)
    page.context.close()
    assert site.complaints == []


def test_what_a_memory_holds_is_text(page: "Page") -> None:
    ask(page, "bold tea")
    assert page.title().startswith("bold tea")
    shown = "".join(page.locator("li .text").all_text_contents())
    assert "<script>document.title = 'broken'</script>" in shown
    assert page.locator(".text b, .text script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_any_page(chromium: "Browser", site: Site, scheme: str) -> None:
    page = open_page(chromium, site, color_scheme=scheme)
    ask(page)
    page.get_by_text("The arithmetic of").first.click()
    found = violations(page)
    slider = page.get_by_role("slider", name="lexical")
    slider.focus()
    slider.press("Home")
    page.get_by_role("heading", name="Before").wait_for()
    found += violations(page)
    page.get_by_role("link", name="this trace").click()
    page.get_by_role("heading", name="Candidates").wait_for()
    found += violations(page)
    site.memory.forget(1)
    more = ("/ui/memories", SESSION, "/ui/memories/1", "/ui/memories/2", "/ui/memories/99",
            "/ui/traces/compare?one=balanced&other=lexical")  # fmt: skip
    for path in (*PAGES, *more):
        page.goto(path)
        found += violations(page)
    page.get_by_role("navigation").wait_for()
    page.context.clear_cookies()
    page.goto("/ui/")
    found += violations(page)
    page.context.close()
    assert found == []
    assert [told for told in site.complaints if "404" not in told] == []
