"""The page without a browser: what it shows, to whom, and what its forms do."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from itertools import product
from pathlib import Path
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from serving import Serve, Served, add
from steering import PLANTED, REAL, find_steering

from memsense.explain.replay import ListedHit, ListReasons, join_moves
from memsense.search.hits import Supersession
from memsense.search.profiles import PROFILES, ROUTES
from memsense.search.rank import score
from memsense.server.page.ask import SLIDERS, list_sliders
from memsense.server.page.bars import PARTS, draw_bars
from memsense.server.page.markup import list_words, render_excerpt, render_markdown
from memsense.server.page.render import STATIC
from memsense.server.page.traces import compare_rankings

PAGES = ("/ui/", "/ui/context", "/ui/memories", "/ui/add", "/ui/traces", "/ui/questions",
         "/ui/settings", "/ui/keys", "/ui/erasures", "/ui/health")  # fmt: skip
BASE = "http://localhost:8321"


def sign_in(served: Served, *scopes: str, tenant: str = "acme") -> TestClient:
    """A browser that is signed in."""
    browser = TestClient(served.app, base_url=BASE, raise_server_exceptions=False)
    key = served.key(tenant, *scopes)  # pyright: ignore[reportArgumentType]
    answer = browser.post("/ui/sign-in", data={"key": key})
    assert answer.status_code == 200, answer.text
    return browser


def token_of(browser: TestClient, path: str = "/ui/memories/1") -> str:
    found = re.search(r'name="token" value="([^"]+)"', browser.get(path).text)
    assert found
    return found[1]


def record(browser: TestClient, **fields: str) -> str:
    """Record a search by the form of Ask; the id of its trace."""
    answer = browser.post("/ui/record", data={"token": token_of(browser, "/ui/"), **fields})
    found = re.search(r'href="/ui/traces/([^"]+)">this trace', answer.text)
    assert found, answer.text
    return found[1]


def test_each_page_asks_for_a_key_and_comes_back(served: Served) -> None:
    stranger = TestClient(served.app, base_url=BASE, follow_redirects=False)
    for path in (*PAGES, "/ui/memories/1", "/ui/memories?user=a%26b"):
        answer = stranger.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui/sign-in?next=%2Fui")
    key = served.key("acme")
    data = {"key": key, "next": "/ui/memories?user=a%26b"}
    answer = stranger.post("/ui/sign-in", data=data)
    assert (answer.status_code, answer.headers["location"]) == (303, data["next"])
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert key not in cookie
    assert stranger.get("/ui/").status_code == 200


def test_the_pulse_shows_every_search_and_the_slowest(served: Served) -> None:
    browser = sign_in(served)
    for _ in range(20):
        browser.get("/ui/?q=tea&tag=home")
    for span in ("hour", "day", "week", "month", "quarter"):
        text = browser.get(f"/ui/?span={span}").text
        assert re.search(r"<dt>Searches</dt><dd>20\b", text), span
        assert re.search(r"<dt>Median</dt><dd>[\d,]+ ms\b", text), span
        assert text.count("<td>tags</td>") == 10
        assert text.count("<rect ") > 4
    assert browser.get("/ui/?span=year").status_code == 422


def test_memories_with_a_text_come_by_pages_and_months(served: Served) -> None:
    memory = served.tenants.memory("acme")
    for number in range(60):
        at = datetime(2026, 4 + number // 30, 1 + number % 30, 12, tzinfo=UTC)
        said = [{"role": "user", "content": f"The teapot number {number}.", "at": at}]
        memory.add(said, user_id="ada", session_id=f"s{number}")
    browser = sign_in(served)
    text = browser.get("/ui/memories?q=the+TEAPOT").text
    assert "50 memories with this text, and earlier ones" in text
    assert re.findall(r'class="month">([^<]+)', text) == ["May 2026", "April 2026"]
    assert "<mark>teapot</mark>" in text
    following = re.search(r'href="([^"]+)">Earlier memories', text)
    assert following
    text = browser.get(unescape(following[1])).text
    assert "10 more memories with this text" in text
    assert "Earlier memories" not in text
    assert browser.get("/ui/memories?q=tea&cursor=x").status_code == 400
    text = browser.get("/ui/memories").text
    assert re.findall(r'class="month">([^<]+)', text) == ["May 2026"]


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/ui/\\evil", "/v1/x"])
def test_signing_in_leads_to_no_other_place(served: Served, path: str) -> None:
    browser = TestClient(served.app, base_url=BASE, follow_redirects=False)
    answer = browser.post("/ui/sign-in", data={"key": served.key("acme"), "next": path})
    assert answer.headers["location"] == "/ui/"


def test_a_form_whose_session_has_ended_leads_back_to_its_page(served: Served) -> None:
    browser = TestClient(served.app, base_url=BASE, follow_redirects=False)
    page = "/ui/memories?user=a%26b"
    for referer, path in ((BASE + page, page), ("https://evil.example/v1", "/ui/"), ("", "/ui/")):
        answer = browser.post("/ui/memories/1/edit", headers={"Referer": referer})
        assert answer.headers["location"] == f"/ui/sign-in?next={quote(path, safe='')}"


def test_the_page_names_its_namespace(served: Served) -> None:
    text = sign_in(served).get("/ui/memories").text
    assert text.count("namespace <bdi>default</bdi>") == 2


def test_a_wrong_key_is_told_and_starts_no_session(served: Served) -> None:
    browser = TestClient(served.app, base_url=BASE, follow_redirects=False)
    answer = browser.post("/ui/sign-in", data={"key": "ms_1_0123456789ab_" + "a" * 43})
    assert answer.status_code == 401
    assert "This key is wrong, expired or revoked." in answer.text
    assert "set-cookie" not in answer.headers
    assert browser.get("/ui/").status_code == 303


def test_signing_out_and_revoking_end_the_session(served: Served) -> None:
    browser = sign_in(served)
    token = token_of(browser, "/ui/")
    assert browser.post("/ui/sign-out", data={"token": "x"}).status_code == 403
    assert browser.get("/ui/").url.path == "/ui/"
    browser.post("/ui/sign-out", data={"token": token})
    assert browser.get("/ui/").url.path == "/ui/sign-in"
    browser = sign_in(served)
    for key in served.tenants.memory("acme").access_keys.list():
        served.tenants.memory("acme").access_keys.revoke(key.key_id)
    assert browser.get("/ui/").url.path == "/ui/sign-in"


def test_an_answer_shows_hits_with_marked_words_and_bars_that_add_up(served: Served) -> None:
    browser = sign_in(served)
    add(served.client(), tags=["home"])
    others = [{"role": "user", "content": "Green trees stand in Porto."}]
    add(served.client(), "ada", "b", messages=others)
    text = browser.get("/ui/", params={"q": "green teas", "user": "ada"}).text
    assert "<h2>2 hits</h2>" in text
    assert "<mark>tea</mark>" in text
    assert "<mark>green</mark>" in text
    bars = re.findall(r'<svg class="bar".*?data-total="([^"]+)">(.*?)</svg>', text, re.DOTALL)
    assert len(bars) == 2
    for total, rects in bars:
        values = [float(value) for value in re.findall(r'data-value="([^"]+)"', rects)]
        assert values
        assert f"{sum(values):.4f}" == total
    tables = re.findall(r"<tbody>(.*?)</tbody>\s*<tfoot>(.*?)</tfoot>", text, re.DOTALL)
    assert len(tables) == 2
    for body, foot in tables:
        added = [float(x) for x in re.findall(r'class="number">([^<]+)<', body)]
        [total] = re.findall(r'class="number">([^<]+)<', foot)
        assert f"{sum(added):.4f}" == total
    assert '<span class="swatch p-vec_full" aria-hidden="true"></span>vec_full' in text
    shown = browser.get("/ui/", params={"q": "tea", "user": "ada", "why": "1"}).text
    assert "it is hit number" in unescape(shown)
    wrong = browser.get("/ui/", params={"q": "tea", "user": "ada", "hits": "many"})
    assert wrong.status_code == 200
    assert "top_k must be" in unescape(wrong.text)


def test_a_replay_shows_both_lists_whole_and_as_a_piece(served: Served) -> None:
    browser = sign_in(served)
    add(served.client())
    path = f"/ui/traces/{record(browser, q='tea', user='ada')}"
    assert "Candidates" in browser.get(path).text
    whole = browser.get(f"{path}/replay", params={"lexical": "0"}).text
    piece = browser.get(f"{path}/replay", params={"lexical": "0"}, headers={"HX-Request": "true"})
    assert whole.startswith("<!doctype html>")
    assert piece.text.strip().startswith("<div")
    assert piece.text.strip() in whole
    assert 'data-constant="lexical" data-value="0.0"' in piece.text
    unchanged = browser.get(f"{path}/replay").text
    assert "Nothing moved." in unchanged
    assert "What moved" not in unchanged
    assert browser.get(f"{path}/replay", params={"lexical": "x"}).status_code == 422
    compared = browser.get("/ui/traces/compare", params={"one": "balanced", "other": "lexical"})
    assert "1 of 1 shared" in compared.text
    for text in (browser.get(path).text, whole, compared.text):
        assert "I moved to Lisbon in March" in unescape(text), "a list of memories has their texts"


def test_sessions_are_filtered(served: Served) -> None:
    browser = sign_in(served)
    memory = served.tenants.memory("acme")
    for tag in ("work", "home"):
        said = [{"role": "user", "content": f"All about {tag}."}]
        memory.add(said, user_id="ada", session_id=f"at-{tag}", tags=[tag], memory_kind="stable")
    memory.projects.create("house", ["at-home"])
    shown = {
        name: {tag for tag in ("work", "home") if f"at-{tag}" in page.text}
        for name, page in (
            (str(asked), browser.get("/ui/memories", params=asked))
            for asked in ({"tag": "work"}, {"project": "house"}, {"kind": "stable"}, {"kind": ""})
        )
    }
    assert list(shown.values()) == [{"work"}, {"home"}, {"work", "home"}, {"work", "home"}]
    odd = browser.get("/ui/memories", params={"kind": "odd"})
    assert (odd.status_code, "kinds" in odd.text, 'name="kind"' in odd.text) == (200, True, True)
    assert browser.get("/ui/memories", params={"project": "none"}).status_code == 200


def test_buttons_do_what_they_say(served: Served) -> None:
    browser = sign_in(served)
    chunk_id = add(served.client())
    memory = served.tenants.memory("acme")
    token = token_of(browser, f"/ui/memories/{chunk_id}")
    for action in ("promote", "demote", "helpful", "unhelpful", "forget", "restore"):
        answer = browser.post(f"/ui/memories/{chunk_id}/{action}", data={"token": token})
        assert answer.status_code == 200, answer.text
        assert answer.url.path == f"/ui/memories/{chunk_id}"
        expected = "deleted" if action == "forget" else "active"
        assert memory.get(chunk_id).status == expected
    assert len(memory.history(chunk_id)) == 7
    wrong = {"token": token, "user": "ada", "confirmed": "bob"}
    assert browser.post("/ui/memories/erase", data=wrong).status_code == 422
    assert memory.get(chunk_id)
    receipt = browser.post("/ui/memories/erase", data={**wrong, "confirmed": "ada"})
    assert "Erased" in receipt.text
    [erasure] = memory.erasures.list()
    assert receipt.url.path == f"/ui/erasures/{erasure.erasure_id}"
    assert str(erasure.erasure_id) in receipt.text
    for about, is_listed in (("", True), ("ada", True), ("bob", False)):
        page = browser.get("/ui/erasures", params={"about": about})
        assert (f"/ui/erasures/{erasure.erasure_id}" in page.text) is is_listed
    assert browser.get(f"/ui/erasures/{uuid4()}").status_code == 404


def test_a_form_without_its_token_does_nothing(served: Served) -> None:
    browser = sign_in(served)
    chunk_id = add(served.client())
    other = token_of(sign_in(served), f"/ui/memories/{chunk_id}")
    for token in ("", "x", other):
        for path in (
            f"/ui/memories/{chunk_id}/forget",
            "/ui/memories/erase",
            "/ui/health/jobs/drop",
        ):
            data = {"token": token, "user": "ada", "confirmed": "ada"}
            answer = browser.post(path, data=data)
            assert answer.status_code == 403, path
            assert "out of date, or came from another site" in answer.text
    assert served.tenants.memory("acme").get(chunk_id).status == "active"


def test_a_viewer_sees_no_button_that_would_be_refused(served: Served) -> None:
    chunk_id = add(served.client())
    paths = (f"/ui/memories/{chunk_id}", "/ui/memories?user=ada", "/ui/health",
             "/ui/memories/session?user=ada&session=monday")  # fmt: skip
    viewer, admin = sign_in(served, "read"), sign_in(served)
    for path in paths:
        actions = re.findall(r'method="post" action="([^"]+)"', viewer.get(path).text)
        # Recording a search, and looking into settings, are a reader's.
        assert actions == ["/ui/sign-out"], path
        assert "<h2>Findings</h2>" not in viewer.get(path).text
    everything = "".join(admin.get(path).text for path in paths)
    for action in ("forget", "promote", "helpful", "memories/erase"):
        assert re.search(rf'action="/ui/[^"]*{action}"', everything), action
    token = token_of(viewer, "/ui/")
    for action in ("forget", "promote"):
        answer = viewer.post(f"/ui/memories/{chunk_id}/{action}", data={"token": token})
        assert answer.status_code == 403
        assert "needs the scope" in answer.text


HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "{{ 7 * 7 }}",
    "</div></main><h1>mine</h1>",
    "\u202egnirts desrever\u202c and \u2066isolated\u2069",
    "&lt;b&gt;",
)


def test_whatever_a_memory_holds_is_shown_as_text(served: Served) -> None:
    browser, client = sign_in(served), served.client()
    for number, text in enumerate(HOSTILE):
        said = [{"role": "user", "content": f"{text} tea"}]
        add(client, text, f"{text} {number}", messages=said, tags=[text])
    paths = [
        *PAGES,
        *(f"/ui/memories/{number}" for number in range(1, len(HOSTILE) + 1)),
        *("/ui/?q=tea", "/ui/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/ui/traces"),
    ]
    every = ""
    for path in paths:
        page = browser.get(path)
        assert page.status_code == 200, (path, page.text)
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "<h1>mine" not in page.text
        assert "49 tea" not in page.text
        assert not re.search(r'<[^>]* onmouseover="', page.text)
        every += page.text
    for text in HOSTILE:
        assert text in unescape(every)


def test_no_planted_text_steers_who_reads_the_page(served: Served) -> None:
    browser, client = sign_in(served), served.client()
    for number, text in enumerate((*PLANTED.values(), *REAL)):
        said = [{"role": "user", "content": f"{number} tea: {text}"}]
        add(client, "ada", f"session {number}", messages=said, tags=[f"tag {number}"])
    every = ""
    for path in (
        "/ui/memories",
        "/ui/?q=tea&hits=99",
        *map("/ui/memories/{}".format, range(1, 66)),
    ):
        page = browser.get(path)
        assert page.status_code == 200, (path, page.text)
        # What a form holds comes back as it is stored.
        shown = re.sub("<textarea.*?</textarea>", "", page.text, flags=re.DOTALL)
        assert not find_steering(shown), path
        every += unescape(page.text)
    for text in (*REAL, *(it for it in PLANTED.values() if "\r" not in it)):
        assert text in every  # the planted ones in the form that changes a memory


def test_a_megabyte_of_one_word_is_shown(served: Served) -> None:
    browser, client = sign_in(served), served.client()
    chunk_id = add(client, messages=[{"role": "user", "content": "x" * 1_000_000}])
    for path in (f"/ui/memories/{chunk_id}", "/ui/memories", "/ui/?q=xxx"):
        assert browser.get(path).status_code == 200, path
    memory = served.tenants.memory("acme")
    parts = memory.list(user_id="ada", limit=1000)
    parts += memory.list(user_id="ada", limit=1000, cursor=parts.next_cursor)
    assert sum(part.own_user_text.count("x") for part in parts) == 1_000_000


def test_pages_load_nothing_from_elsewhere_and_run_nothing_inline(served: Served) -> None:
    browser = sign_in(served)
    add(served.client())
    for path in (*PAGES, "/ui/?q=tea", "/ui/memories/1", "/ui/sign-in"):
        page = browser.get(path)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for address in re.findall(r'(?:src|href|action)="([^"]*)"', page.text):
            assert address.startswith(("/", "#")), address
        assert not re.search(r"<script(?![^>]*src=)|\sstyle=|\son\w+=", page.text), path
    for name in ("htmx.min.js", "style.css", "favicon.svg"):
        assert browser.get(f"/ui/static/{name}").status_code == 200
    for name in ("nothing.js", "..%2frender.py", "htmx.LICENSE"):
        assert browser.get(f"/ui/static/{name}").status_code == 404


def test_without_keys_the_page_is_open_and_its_forms_still_have_tokens(serve: Serve) -> None:
    served = serve(needs_key=False)
    browser = TestClient(served.app, base_url=BASE)
    chunk_id = add(browser)
    token = token_of(browser, f"/ui/memories/{chunk_id}")
    refused = browser.post(f"/ui/memories/{chunk_id}/forget", data={"token": "x"})
    assert refused.status_code == 403
    done = browser.post(f"/ui/memories/{chunk_id}/forget", data={"token": token})
    assert "no search finds it" in done.text
    assert browser.get("/ui/sign-in").url.path == "/ui/"


def test_two_tenants_pages_stay_apart(served: Served) -> None:
    chunk_id = add(served.client("a"), "user-of-a")
    stranger = sign_in(served, tenant="b")
    others = [{"role": "user", "content": "I drink mate."}]
    add(served.client("b"), "user-of-b", messages=others)
    for path in (*PAGES, "/ui/?q=tea", "/ui/memories?user=user-of-a"):
        text = unescape(stranger.get(path).text)
        assert "Lisbon" not in text, path
    assert 'value="user-of-a"' not in stranger.get("/ui/memories").text
    assert stranger.get(f"/ui/memories/{chunk_id}").status_code == 404
    token = token_of(stranger, "/ui/")
    answer = stranger.post(f"/ui/memories/{chunk_id}/forget", data={"token": token})
    assert answer.status_code == 404


def test_bars_share_one_scale_and_their_parts_add_up() -> None:
    one = (0.30004, [("a", 0.1, ""), ("b", 0.2, ""), ("c", 0.00004, "")])
    other = (0.05, [("a", 0.15, ""), ("d", -0.1, "")])
    bars = draw_bars([one, other])
    for bar in bars:
        assert f"{sum(part.value for part in bar.parts):.4f}" == bar.total
    longest = max(part.start + part.width for bar in bars for part in bar.parts)
    assert longest <= 1000.1
    [minus] = [part for part in bars[1].parts if part.value < 0]
    assert minus.start + minus.width == pytest.approx(bars[1].zero, abs=0.05)


def test_marks_and_markdown_change_no_word_and_let_nothing_through() -> None:
    text = "Tea's tea, <b>tea</b> and théâtre\u200f & amp."
    assert list_words([text]) == ["Tea's", "tea", "b", "and", "théâtre", "amp"]
    for source in (text, f"**Bold** {text}"):
        html = render_markdown(source, {"tea", "amp"})
        words = unescape(re.sub(r"<[^<>]*>", "", html)).strip()
        assert words == source.replace("**", "")
        assert re.findall("<mark>(.*?)</mark>", html) == ["tea", "tea", "amp"]
    html = render_markdown(
        "# Title\n\n- `code` [good](https://a.example/b) [bad](javascript:alert(1))\n"
        "- ![pixel](https://a.example/p.png) <img src=x> &lt;i&gt;\n\n[gone]: https://a.example\n"
    )
    assert set(re.findall(r"<(\w+)", html)) == {"p", "ul", "li", "code", "a"}
    assert re.findall('href="([^"]+)"', html) == ["https://a.example/b", "https://a.example/p.png"]
    for literal in ("javascript:alert(1)", "<img src=x>", "&lt;i&gt;", "[gone]: https://a.example"):
        assert literal in unescape(html)


def test_a_long_text_is_cut_around_the_words_that_matched() -> None:
    text = "Nothing of interest. " * 400 + "She drinks green tea. " + "Nothing more. " * 400
    html, is_cut = render_excerpt(text, {"green", "tea"})
    assert is_cut
    assert len(html) < 600
    assert "<mark>green</mark> <mark>tea</mark>" in html
    assert render_excerpt("Short.", {"tea"}) == ('<p dir="auto">Short.</p>', False)


def test_a_cut_leaves_no_number_of_an_item_alone() -> None:
    items = "1. **Sencha** on every other day, brewed at 70 degrees.\n" * 60
    for length in range(1, 60):
        html, is_cut = render_excerpt(f"{'P' * length}\n\n{items}", ())
        assert is_cut
        assert re.search(r"[\s>]1\.…", html) is None, length


def test_each_part_of_a_score_has_one_colour_of_its_own() -> None:
    source = Path(score.__file__).read_text(encoding="utf-8")
    terms = set(re.findall(r'(?:_make_signal|signal_of_turns)\(\s*"(\w+)"', source))
    assert {"coverage", "tokens", "date"} <= terms
    assert {*ROUTES, *terms, "memory_score", "turn_support"} <= PARTS.keys()
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"\.p-(\w+) { --part: (#\w+); }", style))
    assert PARTS.keys() < colours.keys()
    assert len(set(colours.values())) == len(colours)


def test_a_search_is_recorded_by_its_button_alone_and_its_id_is_reused(served: Served) -> None:
    browser = sign_in(served)
    add(served.client())
    traces = served.tenants.memory("acme").traces
    for why in ("", "1", "tea"):
        browser.get("/ui/", params={"q": "tea", "user": "ada", "why": why})
    assert traces.list() == []
    trace_id = record(browser, q="tea", user="ada")
    shown = browser.get("/ui/", params={"q": "tea", "user": "ada", "trace": trace_id})
    assert 'type="range"' in shown.text
    assert 'action="/ui/record"' not in shown.text
    assert [str(trace.trace_id) for trace in traces.list()] == [trace_id]
    other = browser.get("/ui/", params={"q": "tea", "user": "ada", "trace": str(uuid4())})
    assert 'type="range"' not in other.text
    assert browser.post("/ui/record", data={"token": "x", "q": "tea"}).status_code == 403


def test_why_not_keeps_the_answer_and_finds_memories_by_their_words(served: Served) -> None:
    browser, client = sign_in(served), served.client()
    add(client)
    said = [{"role": "user", "content": "The rowing boat is blue."}]
    other = add(client, session_id="boats", messages=said)
    ask = {"q": "green tea", "user": "ada", "hits": "1"}
    for why, expected in (
        ("999999", "no chunk 999999"),
        ("zeppelin", "no memory holds the words"),
        ("rowing", "The <mark>rowing"),
        (f"#{other}", "The rowing boat is blue."),
    ):
        text = browser.get("/ui/", params={**ask, "why": why}).text
        assert "<h2>1 hit</h2>" in text, why
        assert expected.replace("<mark>", "") in unescape(text).replace("<mark>", ""), why


@pytest.mark.parametrize(
    ("scopes", "opens"),
    [
        (["read"], {"/ui/", "/ui/context", "/ui/memories", "/ui/traces", "/ui/questions",
                    "/ui/settings", "/ui/health"}),
        (["write"], {"/ui/add"}),
        (["forget"], set[str]()),
        (["admin"], {"/ui/keys", "/ui/erasures"}),
    ],
)  # fmt: skip
def test_a_key_is_offered_the_pages_it_opens_and_can_always_sign_out(
    served: Served, scopes: list[str], opens: set[str]
) -> None:
    browser = sign_in_anyhow(served, *scopes)
    for path in PAGES:
        page = browser.get(path)
        assert page.status_code == (200 if path in opens else 403), path
        menu = re.findall(r'<a href="([^"]+)"[^>]*><svg class="icon"', page.text)
        assert set(menu) == opens, path
        assert 'action="/ui/sign-out"' in page.text, path
    token = token_of(browser, "/ui/")
    browser.post("/ui/sign-out", data={"token": token})
    assert browser.get("/ui/add").url.path == "/ui/sign-in"


def sign_in_anyhow(served: Served, *scopes: str) -> TestClient:
    """A browser that is signed in, whether its key opens the first page or not."""
    browser = TestClient(served.app, base_url=BASE, raise_server_exceptions=False)
    key = served.key("acme", *scopes)  # pyright: ignore[reportArgumentType]
    browser.post("/ui/sign-in", data={"key": key})
    return browser


def test_a_page_that_fails_keeps_its_navigation_and_its_form(served: Served) -> None:
    browser = sign_in(served)
    for path in ("/ui/nowhere", "/ui/memories/99", "/ui/memories/x", "/ui/traces/x",
                 f"/ui/traces/{uuid4()}"):  # fmt: skip
        page = browser.get(path)
        assert page.status_code in {404, 422}, path
        assert 'aria-label="Pages"' in page.text, path
        assert 'action="/ui/sign-out"' in page.text, path
    for path, value in (
        ("/ui/memories?since=soon", 'value="soon"'),
        ("/ui/?q=tea&since=soon", 'value="soon"'),
        ("/ui/context?q=tea&tokens=many", 'value="many"'),
    ):
        page = browser.get(path)
        assert 'role="alert"' in page.text, path
        assert value in page.text, path


def test_a_revoked_key_sends_a_replay_to_the_sign_in_as_a_page(served: Served) -> None:
    browser = sign_in(served)
    add(served.client())
    path = f"/ui/traces/{record(browser, q='tea', user='ada')}"
    keys = served.tenants.memory("acme").access_keys
    for key in keys.list():
        keys.revoke(key.key_id)
    headers = {"HX-Request": "true", "HX-Current-URL": f"{BASE}{path}"}
    answer = browser.get(f"{path}/replay", headers=headers)
    assert answer.headers["hx-redirect"] == f"/ui/sign-in?next={quote(path, safe='')}"
    assert answer.text == ""


def test_memories_are_found_by_words_tagged_forgotten_and_restored_together(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    texts = ("Green tea in the morning.", "Black tea at noon.", "A rowing boat.")
    ids = [
        add(served.client(), session_id=f"s{number}", messages=[{"role": "user", "content": text}])
        for number, text in enumerate(texts)
    ]
    found = browser.get("/ui/memories", params={"q": "tea"}).text
    assert {int(it) for it in re.findall(r'data-memory="(\d+)"', found)} == set(ids[:2])
    token = token_of(browser, "/ui/memories?q=tea")
    back = "/ui/memories?q=tea"
    data = {"token": token, "back": back, "chunk": [str(it) for it in ids[:2]], "tag": "drinks"}
    for action, report in (
        ("tag", "2 memories tagged."), ("tag", "0 memories tagged."),
        ("forget", "2 memories forgotten."), ("restore", "2 memories restored."),
    ):  # fmt: skip
        answer = browser.post(f"/ui/memories/bulk/{action}", data=data)
        assert report in answer.text, action
        statuses = {memory.get(it).status for it in ids[:2]}
        assert statuses == {"deleted" if action == "forget" else "active"}
    assert [tuple(memory.get(it).tags) for it in ids] == [("drinks",), ("drinks",), ()]
    assert browser.post("/ui/memories/bulk/forget", data={"token": token}).status_code == 422
    assert browser.post("/ui/memories/bulk/x", data=data).status_code == 404
    refused = browser.post("/ui/memories/bulk/forget", data={**data, "token": "x"})
    assert refused.status_code == 403
    away = browser.post("/ui/memories/bulk/tag", data={**data, "back": "//evil.example/"})
    assert away.url.path == "/ui/"


def test_the_edit_form_of_each_part_sent_unchanged_changes_nothing(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    parts = memory.add(
        [
            {"role": "user", "content": "\n\nWhat grows <here>?\r\nAnd there?\r" * 50},
            {"role": "assistant", "content": "\n\n\nOlives & figs.\r\n" * 100},
        ],
        user_id="ada", session_id="notes",
    )  # fmt: skip
    assert len(parts) > 3
    for part in parts:
        form = browser.get(f"/ui/memories/{part.chunk_id}").text
        texts = re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
        # A browser sends each line end as CRLF.
        edit = {name: re.sub(r"\r\n?|\n", "\r\n", unescape(text)) for name, text in texts}
        assert edit
        edit["token"] = token_of(browser, "/ui/")
        answer = browser.post(f"/ui/memories/{part.chunk_id}/edit", data={**edit, "tags": ""})
        assert answer.status_code == 200
        assert memory.get(part.chunk_id) == part
        assert [event.kind for event in memory.history(part.chunk_id)] == ["added"]


def test_a_memory_is_added_edited_and_exported(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    form = browser.get("/ui/add").text
    [key] = re.findall(r'name="key" value="([^"]+)"', form)
    data = {
        "token": token_of(browser, "/ui/add"), "key": key, "user": "ada", "session": "notes",
        "user_text": "I like **tea**.\r\nMuch.", "assistant_text": "Noted.", "tags": "home, tea",
        "at": "2026-05-01 09:00",
    }  # fmt: skip
    added = [browser.post("/ui/add", data=data) for _ in range(2)]
    assert {answer.url.path for answer in added} == {"/ui/memories/1"}
    assert "<strong>tea</strong>" in added[0].text
    chunk = memory.get(1)
    assert (chunk.user_text, chunk.session_id) == ("I like **tea**.\nMuch.", "notes")
    assert [*chunk.tags] == ["home", "tea"]
    wrong = browser.post("/ui/add", data={**data, "at": "soon", "key": "other"})
    assert "soon" in wrong.text
    assert "I like **tea**" in wrong.text, "the form keeps what was typed"
    edit = {"token": data["token"], "user": "I like coffee.", "assistant": "Noted.", "tags": "home"}
    assert "I like coffee." in browser.post("/ui/memories/1/edit", data=edit).text
    assert [*memory.get(1).tags] == ["home"]
    empty = browser.post("/ui/memories/1/edit", data={**edit, "user": "", "assistant": ""})
    assert (empty.status_code, 'role="alert"' in empty.text) == (422, True)
    for params in ({}, {"user": "ada"}):
        exported = browser.get("/ui/memories/export", params=params)
        assert "attachment" in exported.headers["content-disposition"]
        assert "I like coffee." in exported.text
    reader = sign_in(served, "read")
    data["token"] = token_of(reader, "/ui/")
    for path in ("/ui/add", "/ui/memories/1/edit", "/ui/memories/bulk/tag"):
        assert reader.post(path, data=data).status_code == 403, path


def test_an_edit_is_undone_by_its_button(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    chunk_id = add(served.client(), tags=["home"])
    stored = memory.get(chunk_id)
    path = f"/ui/memories/{chunk_id}"
    token = token_of(browser, path)
    edited = browser.post(f"{path}/edit", data={"token": token, "user": "I left.", "tags": "x"})
    assert "kept for 30 days" in edited.text
    assert ">Undo</button>" in edited.text
    assert memory.get(chunk_id).user_text == "I left."
    undone = browser.post(f"{path}/undo", data={"token": token, "version": "1"})
    assert ">Undo</button>" in undone.text
    again = memory.get(chunk_id)
    assert (again.user_text, again.assistant_text, again.tags) == (
        stored.user_text, stored.assistant_text, stored.tags,
    )  # fmt: skip
    assert browser.post(f"{path}/undo", data={"token": token, "version": "9"}).status_code == 404
    # The button that was drawn before undoes nothing that it did not show.
    drawn = re.search(r'name="if_version" value="(\w+)"', edited.text)
    assert drawn is not None
    data = {"token": token, "version": "2", "if_version": drawn[1]}
    late = browser.post(f"{path}/undo", data=data)
    assert "read it again" in late.text
    assert memory.get(chunk_id).user_text == stored.user_text
    viewer = sign_in(served, "read")
    data = {"token": token_of(viewer, "/ui/"), "version": "2"}
    assert viewer.post(f"{path}/undo", data=data).status_code == 403
    assert "/undo" not in viewer.get(path).text


def test_keys_are_created_shown_once_and_revoked(served: Served) -> None:
    browser = sign_in(served)
    data = {"token": token_of(browser, "/ui/keys"), "name": "chat", "scope-read": "1", "days": "9"}
    answer = browser.post("/ui/keys", data={**data, "user": "ada"})
    [text] = re.findall(r'<code class="secret">(ms_[^<]+)</code>', answer.text)
    key = served.tenants.verify(text)
    assert key is not None
    assert (key.name, [*key.scopes], key.user_id) == ("chat", ["read"], "ada")
    assert text not in browser.get("/ui/keys").text
    wrong = browser.post("/ui/keys", data={**data, "user": "ada", "scope-admin": "1"})
    assert "can't have the scope admin" in unescape(wrong.text)
    none = browser.post("/ui/keys", data={"token": data["token"], "name": "none"})
    assert 'role="alert"' in none.text
    browser.post("/ui/keys/revoke", data={"token": data["token"], "key": key.key_id})
    assert served.tenants.verify(text) is None
    for path in ("/ui/keys", "/ui/keys/revoke"):
        viewer = sign_in(served, "read", "write")
        token = token_of(viewer, "/ui/")
        assert viewer.post(path, data={**data, "token": token}).status_code == 403


def test_sliders_become_a_profile_and_settings_change_by_a_form(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    add(served.client())
    trace_id = record(browser, q="tea", user="ada")
    token = token_of(browser, "/ui/")
    data = {"token": token, "trace": trace_id, "name": "mine", "lexical": "3.25"}
    assert "Profile mine is stored" in browser.post("/ui/settings/profiles", data=data).text
    assert memory.profiles.get("mine").weights["lexical"] == 3.25
    assert browser.post("/ui/settings/profiles", data={**data, "lexical": "x"}).status_code == 422
    for name, value, expected in (("profile", "mine", "mine"), ("profile", "", "balanced")):
        browser.post("/ui/settings", data={"token": token, "name": name, "value": value})
        assert memory.settings.show()["profile"].value == expected
    wrong = browser.post("/ui/settings", data={"token": token, "name": "lexical", "value": "99"})
    assert 'role="alert"' in wrong.text
    assert "mine" in browser.get("/ui/settings").text
    browser.post("/ui/settings/profiles/delete", data={"token": token, "name": "mine"})
    assert "mine" not in [item.profile.name for item in memory.profiles.list()]
    viewer = sign_in(served, "read")
    data["token"] = token_of(viewer, "/ui/")
    for path in ("/ui/settings", "/ui/settings/profiles", "/ui/settings/profiles/delete"):
        assert viewer.post(path, data=data).status_code == 403


def test_context_shows_the_prompt_its_tokens_and_what_is_left_out(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    add(served.client())
    for number in range(12):
        said = [{"role": "user", "content": f"Green tea number {number} is from Japan. " * 8}]
        add(served.client(), session_id=f"s{number}", messages=said)
    asked = {"q": "Which green tea do I drink?", "user": "ada", "tokens": "200", "silence": "0"}
    text = unescape(browser.get("/ui/context", params=asked).text)
    prompt = memory.context(asked["q"], user_id="ada", max_tokens=200, silence=0.0, trace=False)
    assert f"<strong>{prompt.tokens}</strong><span>of 200 tokens" in text
    assert str(prompt) in text
    assert prompt.omitted
    for chunk_id, why in prompt.omitted.items():
        assert f'data-memory="{chunk_id}"' in text
        assert why in text
    assert memory.traces.list() == []


def test_a_part_of_a_long_exchange_says_which_one_it_is(served: Served) -> None:
    browser = sign_in(served)
    said = [{"role": "user", "content": "Tea and biscuits are ready. " * 2000}]
    chunk_id = add(served.client(), messages=said)
    chunk = served.tenants.memory("acme").get(chunk_id)
    assert chunk.part_count > 1
    expected = f"part {chunk.part + 1} of {chunk.part_count}"
    session = "/ui/memories/session?user=ada&session=monday"
    for path in (f"/ui/memories/{chunk_id}", session, "/ui/?q=biscuits"):
        text = browser.get(path).text
        assert f"of {chunk.part_count}" in text
        assert len(text) < 150_000, "a list shows excerpts"
    assert expected in browser.get(session).text
    piece = browser.get(f"/ui/memories/{chunk_id}/text", params={"marks": "Tea"})
    assert "<mark>Tea</mark>" in piece.text
    assert "<html" not in piece.text


def test_a_text_from_right_to_left_keeps_its_direction(served: Served) -> None:
    browser = sign_in(served)
    said = [{"role": "user", "content": "אני שותה תה"}]
    chunk_id = add(served.client(), messages=said)
    text = browser.get(f"/ui/memories/{chunk_id}").text
    # The speaker stands outside: in front of the text, it would decide the direction.
    assert '<div class="text" dir="auto"><p dir="auto">אני שותה תה</p></div>' in text


def test_labels_make_a_set_of_questions_that_shows_what_weights_do(served: Served) -> None:
    browser, memory, client = sign_in(served), served.tenants.memory("acme"), served.client()
    texts = ("Tea tea tea.", "A cup of green tea, please.", "Green trees.", "A rowing boat.")
    ids = [
        add(client, session_id=f"s{number}", messages=[{"role": "user", "content": text}])
        for number, text in enumerate(texts)
    ]
    question = {"q": "green tea", "user": "ada"}
    ask = f"/ui/?{urlencode(question)}"
    data = {"token": token_of(browser, ask), **question, "back": ask}
    for chunk_id, value in ((ids[1], "right"), (ids[2], "wrong"), (ids[3], "wrong")):
        page = browser.post(
            "/ui/questions/label", data={**data, "chunk": str(chunk_id), "label": value}
        )
        assert page.url.path == "/ui/"
    assert page.text.count('aria-pressed="true"') == len(
        {ids[1], ids[2], ids[3]}
        & {hit.chunk_id for hit in memory.search("green tea", user_id="ada")}
    )
    browser.post("/ui/questions/label", data={**data, "chunk": str(ids[3]), "label": "none"})
    listed = browser.get("/ui/questions").text
    assert "green tea" in listed
    assert re.findall(r'<td class="number">(\d+)</td>', listed) == ["1", "1"]
    assert "→" not in browser.get("/ui/questions/set", params={"name": "questions"}).text

    found = {
        name: [hit.chunk_id for hit in memory.search("green tea", user_id="ada", top_k=10,
                                                     overrides=overrides, trace=False)]
        for name, overrides in (("before", None), ("after", {"lexical": 0.0, "coverage_weight": 0}))
    }  # fmt: skip
    params = {"name": "questions", "lexical": "0", "coverage_weight": "0"}
    compared = browser.get("/ui/questions/set", params=params).text
    places = [found[name].index(ids[1]) + 1 for name in ("before", "after")]
    assert f"first right {places[0]} → {places[1]}" in compared
    mean = [f"{1 / place:.3f}" for place in places]
    assert f">{mean[0]} → {mean[1]} " in compared
    assert "A cup of green tea" in compared
    assert memory.traces.list() == []

    other = sign_in(served, "read", tenant="b")
    assert "green tea" not in other.get("/ui/questions").text
    viewer = sign_in(served, "read")
    data["token"] = token_of(viewer, "/ui/")
    assert viewer.post("/ui/questions/label", data={**data, "chunk": "1"}).status_code == 403
    # A label goes with its session, and the others with their user.
    memory.erase(user_id="ada", session_id="s2")
    listed = browser.get("/ui/questions").text
    assert re.findall(r'<td class="number">(\d+)</td>', listed) == ["1", "0"]
    memory.erase(user_id="ada")
    assert "green tea" not in browser.get("/ui/questions").text


def read_form(html: str, action: str) -> dict[str, str]:
    """What a browser would send of a form whose fields nobody touched."""
    [form] = re.findall(rf'<form[^>]* action="{action}".*?</form>', html, re.DOTALL)
    fields: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        values = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        fields[values["name"]] = unescape(values["value"])
    return fields


def test_a_comparison_shows_what_the_api_computes_for_each_pair_of_profiles(
    served: Served,
) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    texts = ["I drink green tea at home.", "A tea shop opened near the river.",
             "My sister drinks black coffee.", "Green paint for the garden door."]  # fmt: skip
    ids = [
        add(served.client(), session_id=f"s{n}", messages=[{"role": "user", "content": text}])
        for n, text in enumerate(texts)
    ]
    for question, right in (("Which tea is green?", 1), ("Who drinks coffee?", 0), ("door", 2)):
        memory.questions.label(question, ids[right], right=True, user_id="ada")
    drawn = read_form(
        browser.get("/ui/questions/set", params={"name": "questions"}).text, "/ui/questions/set"
    )
    assert {f"was_{name}" for name in SLIDERS} < drawn.keys()
    names = ["", *PROFILES]
    for base, other in product(names, names):
        # The sliders are still those of the profile in force; one of them is moved.
        for moved in ({}, {"coverage_weight": "1.25"}):
            if not other and not moved:
                continue
            fields = {**drawn, "base": base, "other": other, **moved}
            page = browser.get("/ui/questions/set", params=fields).text
            expected = memory.questions.compare(
                "questions",
                before=base or None,
                after=other or None,
                overrides={name: float(value) for name, value in moved.items()} or None,
            )
            for name in ("recall", "reciprocal_rank", "ndcg"):
                one, two = (getattr(it, name) for it in (expected.before, expected.after))
                assert f'data-{name}="{one!r} {two!r}"' in page, (base, other, moved, name)
                assert f"{one:.3f} → {two:.3f} " in page
    redrawn = browser.get("/ui/questions/set", params={**drawn, "base": "semantic"},
                          headers={"HX-Request": "true"}).text  # fmt: skip
    assert read_form(redrawn, "/ui/questions/set")["lexical"] == "0.0"
    assert "mean reciprocal rank" not in redrawn


def test_each_weight_of_a_score_has_a_slider_with_the_colour_of_its_part() -> None:
    profile = PROFILES["balanced"]
    sliders = [item for items in list_sliders(profile.constants()).values() for item in items]
    assert sorted(item.name for item in sliders) == sorted(SLIDERS)
    assert len({item.label for item in sliders}) == len(sliders)
    weights = {name for name in profile.constants() if name.endswith(("_weight", "_boost"))}
    assert {*ROUTES, *weights, "memory_alpha", "turn_support_coefficient", "mmr_lambda"} == {
        *SLIDERS
    }
    # The second model's part takes the place of the others on their scale: no weight is its own.
    assert PARTS.keys() - {"second_model"} == {item.part for item in sliders} - {"other"}
    for item in sliders:
        profile.override(**{item.name: item.largest})


def test_why_this_not_that_names_changes_that_turn_the_order(served: Served) -> None:
    browser, memory = sign_in(served), served.tenants.memory("acme")
    texts = ["Tea, tea, tea: which tea do I drink, tea drinker?", "I drink green tea at home.",
             "Green paint for the garden door.", "Which tea is green, I ask?"]  # fmt: skip
    for number, text in enumerate(texts):
        said = [{"role": "user", "content": text}]
        add(served.client(), session_id=f"s{number}", messages=said)
    trace_id = record(browser, q="Which green tea do I drink?", user="ada")
    trace = memory.traces.get(trace_id)
    first, *others = sorted(
        (it for it in trace.candidates if it.hit_rank), key=lambda it: it.hit_rank or 0
    )
    listed = unescape(browser.get(f"/ui/traces/{trace_id}").text)
    turned = 0
    for other in others:
        path = f"/ui/traces/{trace_id}/difference?a={first.chunk_id}&b={other.chunk_id}"
        assert path in listed
        text = browser.get(path).text
        lead = first.final_score - other.final_score
        assert f'<td class="number">{lead:+.4f}</td><td></td>' in text
        parts = first.parts().keys() | other.parts().keys()
        gaps = {it: first.parts().get(it, 0.0) - other.parts().get(it, 0.0) for it in parts}
        largest = max(gaps, key=lambda it: abs(gaps[it]))
        shown = re.findall(r"</span>(\w+)</th><td class=\"number\">([+-][0-9.]+)</td>", text)
        decisive = [(name, value) for name, value in shown if name in gaps and value in text]
        assert (largest, f"{gaps[largest]:+.4f}") in decisive
        for name, value in re.findall(r'data-constant="(\w+)" data-value="([0-9.]+)"', text):
            replay = memory.traces.replay(trace_id, overrides={name: float(value)})
            ranks = {hit.chunk_id: hit.rank for hit in replay.new}
            assert ranks[other.chunk_id] < ranks.get(first.chunk_id, 99), (name, value)
            turned += 1
    assert turned >= len(others)
    for wrong in (f"a={first.chunk_id}&b={first.chunk_id}", "a=1&b=999999"):
        assert browser.get(f"/ui/traces/{trace_id}/difference?{wrong}").status_code == 404


def test_a_question_is_removed_from_its_set(served: Served) -> None:
    browser = sign_in(served)
    chunk_id = add(served.client())
    token = token_of(browser, "/ui/")
    label = {"token": token, "q": "tea?", "chunk": str(chunk_id), "label": "right", "set": "mine"}
    browser.post("/ui/questions/label", data=label)
    listed = browser.get("/ui/questions").text
    assert "Remove tea?" in listed
    removed = browser.post(
        "/ui/questions/remove", data={"token": token, "set": "mine", "q": "tea?"}
    )
    assert "No question is labelled" in removed.text
    for wrong in ({"q": ""}, {"chunk": "x"}, {"token": "x"}):
        answer = browser.post("/ui/questions/label", data={**label, **wrong})
        assert answer.status_code in {403, 422}, wrong
    odd = browser.get("/ui/questions/set", params={"name": "mine", "lexical": "x"})
    assert odd.status_code in {200, 422}


def test_two_rankings_mark_a_superseded_memory_on_both_sides() -> None:
    link = Supersession(chunk_id=2, at=None, reason="quit")
    old = [ListedHit(rank=1, chunk_id=1, candidate_id=1, score=0.5, parts={"lexical": 0.5})]
    new = [replace(old[0], superseded_by=link)]
    moves = join_moves(old, new, reasons=ListReasons())
    pair = compare_rankings(("As recorded", "Now"), (old, new), moves, {})
    assert [item.superseded_by for item in (*pair.old, *pair.new)] == [link, link]
    assert pair.moves == []


def test_a_changed_fact_is_marked_wherever_its_memories_are_listed(served: Served) -> None:
    browser, client = sign_in(served), served.client()
    old, _, new = (
        add(client, session_id=f"s{year}", messages=[{"role": "user", "content": text,
                                                      "at": f"{year}-03-01T09:00:00Z"}])
        for year, text in (
            (2024, "I drive a red Volvo to the office."),
            (2025, "The soup was too salty."),
            (2026, "I sold the red Volvo, now I drive a Skoda to the office."),
        )
    )  # fmt: skip
    asked = {"chunk_ids": [old, new]}
    assert client.get("/v1/memories/superseded-facts", params=asked).json()["facts"] == []
    answer = client.get("/v1/changes", params={"user_id": "ada"})
    assert answer.status_code == 200, answer.text
    (change,) = answer.json()["changes"]
    assert (change["older_id"], change["newer_id"], change["state"]) == (old, new, "found")
    client.put(f"/v1/changes/{old}/{new}", json={"decision": "confirmed"})
    facts = client.get("/v1/memories/superseded-facts", params=asked).json()
    assert [(it["older_id"], it["newer_id"]) for it in facts["facts"]] == [(old, new)]
    trace_id = record(browser, q="volvo", user="ada", profile="lexical")
    pages = {
        "/ui/memories?q=volvo": {old, new},
        "/ui/memories/session?user=ada&session=s2024": {old},
        "/ui/memories/session?user=ada&session=s2026": {new},
        f"/ui/memories/{old}": {old},
        f"/ui/memories/{new}": {new},
        f"/ui/traces/{trace_id}": {old, new},
    }
    for path, shown in pages.items():
        text = browser.get(path).text
        links = set(re.findall(r'href="/ui/memories/(\d+)">(superseded by|supersedes) #', text))
        expected = {(str(new), "superseded by")} if old in shown else set[tuple[str, str]]()
        if new in shown:
            expected.add((str(old), "supersedes"))
        assert links == expected, path
        # The date of either mark is the day of the newer memory.
        days = re.findall(r"(?:superseded by|supersedes) #\d+ since ([0-9-]+)", text)
        assert days == ["2026-03-01"] * len(expected), path
    token = re.search(r'name="token" value="([^"]+)"', browser.get(f"/ui/memories/{old}").text)
    assert token is not None
    form = {"token": token[1], "older": str(old), "newer": str(new)}
    browser.post(f"/ui/memories/{old}/not-a-change", data=form)
    assert "superseded by" not in browser.get(f"/ui/memories/{old}").text
    (change,) = client.get("/v1/changes", params={"state": "rejected"}).json()["changes"]
    assert (change["older_id"], change["newer_id"]) == (old, new)
