"""The page as people use it, in Chromium: by role and label, by keyboard, on a phone, at night."""

import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from looking import AXE, Site, name_changes, open_page, search_often

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

PAGES = ("/ui/", "/ui/?q=green+tea&why=1", "/ui/memories?user=ada", "/ui/traces", "/ui/health")
SESSION = "/ui/memories/session?user=ada&session=monday"


def ask(page: "Page", question: str = "green tea in Lisbon") -> None:
    page.goto("/ui/")
    page.get_by_label("Question", exact=True).fill(question)
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


def tune(page: "Page", question: str = "green tea in Lisbon") -> None:
    """Record a question by its button, and wait for the sliders."""
    ask(page, question)
    page.get_by_role("button", name="Record and try other weights").click()
    page.get_by_role("heading", name="Other weights").wait_for()


def hits_of(page: "Page") -> Any:
    return page.locator("ol.memories > li.memory").filter(has=page.get_by_role("img"))


def test_asking_shows_bars_whose_parts_add_up_and_why_not(
    page: "Page", site: Site, pictures: Path
) -> None:
    ask(page)
    hits = hits_of(page)
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
    first.get_by_text("The arithmetic").click()
    table = first.get_by_role("table")
    added = [float(cell) for cell in table.locator("tbody td.number").all_text_contents()]
    assert f"{sum(added):.4f}" == table.locator("tfoot td.number").text_content()
    page.screenshot(path=pictures / "ask.png", full_page=True)
    why = page.get_by_label("Words of the memory that should have been found")
    why.fill("Clara visits")
    page.get_by_role("button", name="Why not?").click()
    chunk_id = site.chunks["My sister Clara visits me in June."]
    assert f"#{chunk_id}" in (page.get_by_role("status").text_content() or "")
    why.fill("99999")
    page.get_by_role("button", name="Why not?").click()
    assert "no chunk 99999" in (page.get_by_role("alert").text_content() or "")
    assert hits_of(page).count() == len(shown), "a wrong number costs no answer"
    assert site.memory.traces.list() == []


def test_a_part_has_the_same_colour_on_every_page(page: "Page") -> None:
    tune(page)
    colours: dict[str, set[str]] = {}

    def collect() -> None:
        for name, colour in page.evaluate(
            "[...document.querySelectorAll('rect[data-part]')]"
            ".map(it => [it.dataset.part, getComputedStyle(it).fill])"
        ):
            colours.setdefault(name, set()).add(colour)
        legend = page.get_by_role("list", name="Parts of the scores")
        names = set(legend.first.get_by_role("listitem").all_text_contents())
        assert names <= colours.keys()

    collect()
    page.get_by_role("link", name="this trace").click()
    page.get_by_role("heading", name="Candidates").wait_for()
    collect()
    page.goto("/ui/traces/compare?one=balanced&other=lexical")
    collect()
    assert all(len(found) == 1 for found in colours.values()), colours
    assert len({*map(str, colours.values())}) == len(colours)


def test_filters_and_a_profile_change_the_answer(page: "Page") -> None:
    page.goto("/ui/")
    page.get_by_text("User, filters, profile").click()
    page.get_by_label("Question", exact=True).fill("tea")
    page.get_by_label("User").fill("ada")
    page.get_by_label("Session").fill("tuesday")
    page.get_by_label("Profile").select_option("lexical")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("Profile lexical").wait_for()
    assert set(page.locator("li .session").all_text_contents()) == {"tuesday"}
    page.get_by_label("Hits").fill("many")
    page.get_by_role("button", name="Search").click()
    assert "top_k must be" in (page.get_by_role("alert").text_content() or "")


def test_a_long_memory_is_cut_and_opens_on_the_spot(page: "Page") -> None:
    ask(page, "a plan with sencha for a week")
    hit = hits_of(page).filter(has_text="Sencha").first
    height: Any = hit.evaluate("it => it.getBoundingClientRect().height")
    assert height < 700
    assert hit.locator("strong", has_text="Sencha").count() > 1, "Markdown is rendered"
    assert "**" not in (hit.text_content() or "")
    hit.get_by_text("Show all of memory").click()
    # The first of its four parts.
    hit.locator("details.whole strong").nth(16).wait_for()


def test_sliders_replay_side_by_side_without_loading_the_page(page: "Page", pictures: Path) -> None:
    tune(page)
    page.evaluate("window.stayed = true")
    slider = page.get_by_role("slider", name="lexical", exact=True)
    slider.focus()
    slider.press("Home")
    page.get_by_role("region", name="As recorded").wait_for()
    assert page.get_by_role("region", name="Now").is_visible()
    assert page.evaluate("window.stayed") is True
    replay = page.locator("#replayed")
    assert "lexical" in (replay.text_content() or "")
    assert not re.search(r"\b(\d+) → \1\b", replay.locator(".moves").inner_text())
    replay.scroll_into_view_if_needed()
    page.screenshot(path=pictures / "replay.png", full_page=True)
    page.get_by_label("Save these weights as a profile").fill("without_words")
    page.get_by_role("button", name="Save profile").click()
    page.get_by_text("Profile without_words is stored").wait_for()


def drag(page: "Page", slider: "Locator", random: Random) -> None:
    """Drag a slider's knob to some places, and let go."""
    box = slider.bounding_box()
    assert box
    x, y = box["x"] + box["width"] * random.random(), box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for _ in range(random.randint(1, 4)):
        x = box["x"] + box["width"] * random.random()
        page.mouse.move(x, y, steps=random.randint(1, 3))
        page.wait_for_timeout(random.choice((0, 50, 150, 300)))
    page.mouse.up()


def check_drags(page: "Page", site: Site, count: int) -> None:
    """Each replay that is shown after a drag is that of the slider's value."""
    tune(page)
    slider = page.get_by_role("slider", name="lexical", exact=True)
    slider.scroll_into_view_if_needed()
    site.delays["/replay"] = 0.8
    random = Random(20)
    for number in range(count):
        # Every other drag begins while the answer to the one before is on its way.
        for _ in range(random.randint(1, 2)):
            drag(page, slider, random)
        page.wait_for_timeout(500)
        page.locator(".htmx-request").wait_for(state="detached")
        value = float(slider.input_value())
        changed = page.locator('#replayed [data-constant="lexical"]')
        shown = float(changed.get_attribute("data-value") or "x") if changed.count() else 2.0
        assert shown == value, number
        output = page.locator("output[for=w-lexical]").text_content()
        assert output == f"{value:.2f}", number


def test_a_replay_shows_the_weight_that_the_slider_has(page: "Page", site: Site) -> None:
    check_drags(page, site, 5)


@pytest.mark.full
def test_a_replay_shows_the_weight_that_the_slider_has_200_times(page: "Page", site: Site) -> None:
    check_drags(page, site, 200)


def test_a_server_that_stops_while_sliding_is_told_within_a_second(
    page: "Page", site: Site
) -> None:
    tune(page)
    slider = page.get_by_role("slider", name="lexical", exact=True)
    slider.focus()
    slider.press("Home")
    page.get_by_role("region", name="As recorded").wait_for()
    site.delays["/replay"] = 5.0
    slider.press("End")
    page.locator("#replayed.waiting").wait_for(timeout=1500)
    site.stop()
    band = page.get_by_role("alert").filter(has_text="The server does not answer")
    band.wait_for(timeout=1000)
    assert re.search(r"picture of \d\d:\d\d:\d\d\.", band.text_content() or "")
    assert band.get_by_role("button", name="Try again").is_visible()
    greyed = page.locator("#replayed.lost")
    assert greyed.evaluate("it => getComputedStyle(it).filter") == "grayscale(1)"
    assert page.get_by_role("region", name="Now").is_visible(), "the picture stays"
    site.complaints.clear()


def test_an_error_leaves_the_picture_and_another_try_mends_it(page: "Page", site: Site) -> None:
    tune(page)
    slider = page.get_by_role("slider", name="lexical", exact=True)
    slider.fill("0")
    page.get_by_role("region", name="As recorded").wait_for()
    field = page.locator("#w-lexical")
    field.evaluate("it => { it.type = 'text'; it.value = 'x'; }")
    page.locator(".sliders").first.evaluate("it => it.requestSubmit()")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("region", name="Now").is_visible()
    field.evaluate("it => { it.value = '1'; }")
    page.get_by_role("button", name="Try again").click()
    page.locator(".lost-band").wait_for(state="detached")
    assert page.locator("#replayed.lost").count() == 0
    assert all("422" in told for told in site.complaints)
    site.complaints.clear()


def test_a_form_sent_after_the_session_has_ended_loses_nothing(page: "Page", site: Site) -> None:
    page.goto("/ui/memories/2")
    page.get_by_text("Edit text and tags").click()
    text = "I drink green tea\nand water."
    page.get_by_label("Text of user").fill(text)
    page.get_by_label("Reason, for the history").fill("more")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_label("Key").fill(site.keys["admin"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Nothing was sent").wait_for()
    assert page.get_by_label("Text of user").input_value() == text
    assert page.get_by_label("Reason, for the history").input_value() == "more"
    assert site.keys["admin"] not in page.evaluate("JSON.stringify(sessionStorage)")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_text("and water").first.wait_for()
    assert site.memory.get(2).user_text == text
    assert page.evaluate("sessionStorage.length") == 0


def test_a_key_revoked_while_sliding_leads_to_the_sign_in(page: "Page", site: Site) -> None:
    tune(page)
    for key in site.memory.access_keys.list():
        site.memory.access_keys.revoke(key.key_id)
    slider = page.get_by_role("slider", name="lexical", exact=True)
    slider.focus()
    slider.press("Home")
    page.get_by_role("heading", name="Sign in").wait_for()
    assert "/ui/sign-in?next=" in page.url
    assert page.locator("#replayed").count() == 0


def test_a_memory_is_found_in_its_session_forgotten_and_restored(page: "Page", site: Site) -> None:
    page.goto("/ui/")
    page.get_by_role("link", name="Memories").click()
    page.get_by_role("link", name="monday").click()
    assert "I moved to Lisbon in March" in page.locator(".bubble").first.inner_text()
    chunk_id = site.chunks["I moved to Lisbon in March."]
    page.get_by_role("link", name=f"Memory {chunk_id}", exact=False).first.click()
    page.get_by_role("button", name="Forget").click()
    page.get_by_text("no search finds it").wait_for()
    assert site.memory.get(chunk_id).status == "deleted"
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("I moved to Lisbon").first.wait_for()
    before = site.memory.get(chunk_id).memory_score
    page.get_by_role("button", name="Promote").click()
    page.get_by_text("promoted").wait_for()
    assert site.memory.get(chunk_id).memory_score > before
    page.get_by_role("button", name="Demote").click()
    page.get_by_text("demoted").wait_for()
    page.get_by_role("button", name="It helped").click()
    history = page.get_by_role("region", name="History")
    assert history.get_by_role("row").count() == 7


def test_memories_are_found_by_words_and_changed_together(page: "Page", site: Site) -> None:
    page.goto("/ui/memories")
    page.get_by_label("Text in the memories").fill("green tea")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_role("heading", name="with this text").wait_for()
    chunk_id = site.chunks["I drink green tea every morning instead of coffee."]
    page.get_by_label(f"Choose memory {chunk_id}", exact=True).check()
    page.get_by_label("New tag").fill("drinks")
    page.keyboard.press("Enter")
    page.get_by_text("1 memory tagged.").wait_for()
    assert "drinks" in site.memory.get(chunk_id).tags
    assert site.memory.get(chunk_id).status == "active", "Enter in the field only tags"
    page.get_by_label("All").check()
    count = page.locator("input[name=chunk]:checked").count()
    page.get_by_role("button", name="Forget the chosen").click()
    page.get_by_text(f"{count} memor").first.wait_for()
    assert site.memory.get(chunk_id).status == "deleted"


def test_a_memory_is_added_and_edited(page: "Page", site: Site) -> None:
    page.get_by_role("link", name="Add", exact=True).click()
    page.get_by_label("User", exact=True).fill("ada")
    page.get_by_label("What the user said").fill("I play the **oboe**.")
    page.get_by_role("button", name="Store").click()
    page.get_by_text("oboe").first.wait_for()
    assert page.locator(".text strong").text_content() == "oboe"
    page.get_by_text("Edit text and tags").click()
    page.get_by_label("Text of user").fill("I play the viola.")
    page.get_by_label("Tags").fill("music")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_text("I play the viola.").first.wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(".text strong", has_text="oboe").first.wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("I play the viola.").first.wait_for()
    [hit] = site.memory.search("viola", user_id="ada", top_k=1)
    assert list(hit.chunk.tags) == ["music"]


def test_hits_are_labelled_and_a_set_shows_what_weights_do(page: "Page", site: Site) -> None:
    ask(page, "green tea in the morning")
    chunk_id = site.chunks["I drink green tea every morning instead of coffee."]
    other = site.chunks["Which tea shops do you know?"]
    page.get_by_role("button", name=f"Right memory {chunk_id}", exact=False).click()
    pressed = page.get_by_role("button", name=f"Right memory {chunk_id}", pressed=True)
    pressed.wait_for()
    page.get_by_role("button", name=f"Wrong memory {other}", exact=False).click()
    page.get_by_role("button", name=f"Wrong memory {other}", pressed=True).wait_for()
    page.get_by_role("link", name="Questions", exact=True).click()
    assert page.get_by_role("link", name="green tea in the morning").is_visible()
    page.get_by_role("link", name="Try other weights").click()
    page.get_by_label("From profile").select_option("semantic")
    page.locator("#was-lexical", has_text="semantic 0.00").wait_for()
    page.get_by_label("From profile").select_option("in force")
    page.locator("#was-lexical", has_text="in force").wait_for()
    page.get_by_text("Similar meaning").click()
    slider = page.get_by_role("slider", name="tokens", exact=True)
    slider.focus()
    slider.press("Home")
    page.get_by_role("button", name="Ask all questions with both").click()
    page.get_by_text("mean reciprocal rank").wait_for()
    page.get_by_text("green tea in the morning").first.click()
    assert page.get_by_role("region", name="Changed").is_visible()
    assert violations(page) == []


def test_memory_is_exported(page: "Page") -> None:
    page.goto("/ui/memories?user=ada")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    assert "I moved to Lisbon" in download.value.path().read_text(encoding="utf-8")


def test_context_shows_what_a_model_would_get(page: "Page", pictures: Path) -> None:
    page.get_by_role("link", name="Context").click()
    page.get_by_label("Prompt").fill("Which tea do I drink in the morning?")
    page.get_by_label("User").fill("ada")
    page.get_by_label("Silence").fill("0")
    page.get_by_role("button", name="Show context").click()
    text = page.get_by_role("region", name="Context")
    assert "green tea" in text.inner_text()
    assert page.get_by_text("of 1000 tokens").is_visible()
    page.screenshot(path=pictures / "context.png", full_page=True)


def test_a_key_is_created_shown_once_and_revoked(page: "Page", site: Site) -> None:
    page.get_by_role("link", name="Keys").click()
    page.get_by_label("Name", exact=True).fill("robot")
    page.get_by_label("write").check()
    page.get_by_role("button", name="Create key").click()
    assert page.locator("code.secret").inner_text().startswith("ms_")
    [key] = [key for key in site.memory.access_keys.list() if key.name == "robot"]
    assert [*key.scopes] == ["read", "write"]
    page.get_by_role("button", name=f"Revoke key {key.key_id}").click()
    page.get_by_text("revoked").wait_for()
    assert page.locator("code.secret").count() == 0


def test_a_setting_is_changed_and_its_change_is_listed(page: "Page", site: Site) -> None:
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Setting", exact=True).fill("profile")
    page.get_by_label("Value, empty for its default").fill("semantic")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_role("region", name="Changes").wait_for()
    assert "semantic" in page.get_by_role("region", name="Changes").inner_text()
    assert site.memory.settings.show()["profile"].value == "semantic"


def test_a_session_is_erased_with_its_receipt(page: "Page", site: Site) -> None:
    page.goto(SESSION)
    page.get_by_label("Type the session's id").fill("monday")
    page.get_by_role("button", name="Erase this session").click()
    page.get_by_role("heading", name="Erased").wait_for()
    [receipt] = site.memory.erasures.list()
    assert str(receipt.erasure_id) in (page.locator("dl").text_content() or "")
    page.reload()
    page.get_by_role("heading", name="Erased").wait_for()
    page.get_by_role("link", name="Erasures").click()
    page.get_by_label("Id of a user").fill("monday")
    page.get_by_role("button", name="Find its receipts").click()
    assert page.get_by_role("link", name=str(receipt.erasure_id)).is_visible()
    page.get_by_role("link", name="Memories").click()
    assert page.get_by_role("link", name="monday").count() == 0


def test_traces_are_opened_replayed_and_compared(page: "Page", pictures: Path) -> None:
    tune(page, "green tea")
    page.get_by_role("link", name="Traces").click()
    page.get_by_role("link", name="green tea").first.click()
    page.get_by_role("heading", name="Candidates").wait_for()
    for total, values, _ in bars(page):
        assert f"{sum(values):.4f}" == total
    assert "I drink green tea every morning" in page.locator("main").inner_text()
    page.screenshot(path=pictures / "trace.png", full_page=True)
    page.get_by_label("Profile").select_option("lexical")
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("heading", name=re.compile("then lexical")).wait_for()
    page.get_by_role("link", name="Traces").click()
    page.get_by_label("Other profile").select_option("lexical")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="balanced and lexical").wait_for()
    assert page.get_by_role("region", name="lexical").is_visible()
    assert "I drink green tea every morning" in page.locator("main").inner_text()
    page.screenshot(path=pictures / "compare.png", full_page=True)
    page.get_by_role("link", name="Traces").click()
    page.get_by_label("Which").select_option("empty")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("No such search is recorded").wait_for()


def test_health_tells_findings_jobs_users_and_sizes(page: "Page", pictures: Path) -> None:
    page.goto("/ui/health")
    for name in ("Findings", "Jobs", "Users", "Sizes"):
        assert page.get_by_role("heading", name=name).is_visible()
    assert "shared_buffers" in (page.get_by_role("region", name="Findings").text_content() or "")
    users = page.get_by_role("region", name="Users")
    assert users.get_by_role("link", name="ada").is_visible()
    page.screenshot(path=pictures / "health.png", full_page=True)


def test_the_pulse_shows_searches_and_the_slowest(page: "Page", site: Site) -> None:
    search_often(site)
    page.goto("/ui/")
    tile = page.locator(".tile", has_text="Searches")
    assert "13" in tile.inner_text()
    assert tile.locator("rect").count() >= 1
    page.get_by_role("link", name="hour").click()
    page.locator("[aria-current=true]", has_text="hour").wait_for()
    assert page.get_by_role("region", name="Slowest searches").get_by_role("row").count() == 11


def test_arrows_go_along_a_lane_and_a_click_opens_the_memory(page: "Page", site: Site) -> None:
    name_changes(site)
    page.goto("/ui/users/ada")
    lane = page.get_by_role("group", name="moved")
    bars = lane.get_by_role("link")
    assert bars.count() == 3
    bars.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert "Porto" in str(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    bars.last.click()
    page.get_by_text("Faro, near the sea").first.wait_for()
    assert "/ui/memories/" in page.url


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


def test_the_keyboard_skips_the_navigation(page: "Page") -> None:
    page.goto("/ui/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "q"


def test_without_javascript_everything_can_be_read_and_done(
    chromium: "Browser", site: Site
) -> None:
    page = open_page(chromium, site, java_script_enabled=False)
    tune(page)
    assert all(f"{sum(values):.4f}" == total for total, values, _ in bars(page))
    page.get_by_role("slider", name="lexical", exact=True).fill("0")
    page.get_by_role("button", name="Replay with these").click()
    page.get_by_role("region", name="As recorded").wait_for()
    assert page.get_by_role("slider", name="lexical", exact=True).input_value() == "0"
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
        # The way to every page is seen without scrolling sideways.
        right: Any = page.get_by_role("navigation").first.evaluate(
            "it => Math.max(...[...it.children].map(link => link.getBoundingClientRect().right))"
        )
        assert right <= phone["width"], path
    page.context.close()
    assert site.complaints == []


def test_what_a_memory_holds_is_text(page: "Page") -> None:
    ask(page, "bold tea")
    assert page.title().startswith("bold tea")
    shown = "".join(page.locator("li .text").all_text_contents())
    assert "<script>document.title = 'broken'</script>" in shown
    assert page.locator(".text b, .text script").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_no_word_of_a_table_is_broken(chromium: "Browser", site: Site, width: int) -> None:
    page = open_page(chromium, site, viewport={"width": width, "height": 900})
    tune(page)
    page.get_by_text("The arithmetic").first.click()
    paths = (page.url, "/ui/traces", "/ui/health", "/ui/keys", "/ui/settings", "/ui/memories/1")
    for path in paths:
        page.goto(path)
        # A name in one word stands on one line.
        broken: Any = page.evaluate("""[...document.querySelectorAll('table')]
            .filter(it => it.offsetParent).flatMap(it => [...it.querySelectorAll('th, td')])
            .filter(cell => cell.textContent.trim() && !/\\s/.test(cell.textContent.trim()))
            .filter(cell => cell.textContent.length < 20)
            .filter(cell => {
              const range = document.createRange(); range.selectNodeContents(cell);
              const lines = [...range.getClientRects()].map(it => Math.round(it.bottom / 9));
              return new Set(lines).size > 2;
            }).map(cell => cell.textContent)""")
        assert broken == [], path
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_any_page(
    chromium: "Browser", site: Site, scheme: str, pictures: Path
) -> None:
    page = open_page(chromium, site, color_scheme=scheme)
    tune(page)
    page.get_by_text("The arithmetic").first.click()
    found = violations(page)
    slider = page.get_by_role("slider", name="lexical", exact=True)
    slider.focus()
    slider.press("Home")
    page.get_by_role("region", name="As recorded").wait_for()
    found += violations(page)
    page.get_by_role("link", name="this trace").click()
    page.get_by_role("heading", name="Candidates").wait_for()
    found += violations(page)
    page.get_by_role("link", name=re.compile("^Why ")).first.click()
    page.get_by_role("heading", name="What decided").wait_for()
    found += violations(page)
    page.goto("/ui/?q=tea")
    page.get_by_role("button", name="Right memory").first.click()
    page.locator("[aria-pressed=true]").wait_for()
    site.memory.forget(1)
    site.memory.settings.set(lexical=1.5)
    search_often(site)
    name_changes(site)
    page.goto("/ui/users/ada")
    page.get_by_role("group", name="moved").wait_for()
    found += violations(page)
    site.memory.erase(user_id="ada", session_id="monday")
    [receipt] = site.memory.erasures.list()
    more = ("/ui/memories", "/ui/memories?q=tea", "/ui/users/bo", "/ui/users/ada",
            SESSION.replace("monday", "tuesday"), SESSION,
            "/ui/memories/4", "/ui/memories/99", "/ui/add", "/ui/keys", "/ui/erasures",
            f"/ui/erasures/{receipt.erasure_id}", "/ui/settings", "/ui/nowhere", "/ui/questions",
            "/ui/questions/set?name=questions&lexical=0", "/ui/context",
            "/ui/context?q=Which+tea%3F&user=ada&silence=0",
            "/ui/traces/compare?one=balanced&other=lexical")  # fmt: skip
    for width in (1280, 375):
        page.set_viewport_size({"width": width, "height": 844})
        for number, path in enumerate((*PAGES, *more)):
            page.goto(path)
            found += violations(page)
            page.screenshot(path=pictures / f"{number:02}-{width}-{scheme}.png", full_page=True)
    page.get_by_role("navigation").first.wait_for()
    page.context.clear_cookies()
    page.goto("/ui/")
    found += violations(page)
    page.context.close()
    assert found == []
    assert [told for told in site.complaints if "404" not in told] == []
