"""The page without a browser: what it shows, to whom, and what its forms do."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from serving import Serve, Served, add

from memsense.server.page.ask import list_words, mark_words
from memsense.server.page.bars import draw_bars

PAGES = ("/ui/", "/ui/memories", "/ui/traces", "/ui/health")
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


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/ui/\\evil", "/v1/x"])
def test_signing_in_leads_to_no_other_place(served: Served, path: str) -> None:
    browser = TestClient(served.app, base_url=BASE, follow_redirects=False)
    answer = browser.post("/ui/sign-in", data={"key": served.key("acme"), "next": path})
    assert answer.headers["location"] == "/ui/"


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
    for body, foot in tables:
        added = [float(x) for x in re.findall(r'class="number">([^<]+)<', body)]
        [total] = re.findall(r'class="number">([^<]+)<', foot)
        assert f"{sum(added):.4f}" == total
    assert "vec_full" in text
    shown = browser.get("/ui/", params={"q": "tea", "user": "ada", "why": "1"}).text
    assert "it is hit number" in unescape(shown)
    wrong = browser.get("/ui/", params={"q": "tea", "user": "ada", "hits": "many"})
    assert wrong.status_code == 200
    assert "top_k must be" in unescape(wrong.text)


def test_a_replay_shows_both_lists_whole_and_as_a_piece(served: Served) -> None:
    browser = sign_in(served)
    add(served.client())
    browser.get("/ui/", params={"q": "tea", "user": "ada"})
    [trace] = served.tenants.memory("acme").traces.list()
    path = f"/ui/traces/{trace.trace_id}"
    assert "Candidates" in browser.get(path).text
    whole = browser.get(f"{path}/replay", params={"lexical": "0"}).text
    piece = browser.get(f"{path}/replay", params={"lexical": "0"}, headers={"HX-Request": "true"})
    assert whole.startswith("<!doctype html>")
    assert piece.text.startswith("<div")
    assert piece.text.strip() in whole
    assert "Nothing moved." in browser.get(f"{path}/replay").text
    assert browser.get(f"{path}/replay", params={"lexical": "x"}).status_code == 422
    compared = browser.get("/ui/traces/compare", params={"one": "balanced", "other": "lexical"})
    assert "1 of 1" in compared.text


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
    assert browser.get("/ui/memories", params={"kind": "odd"}).status_code == 422
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
    assert [str(item.erasure_id) in receipt.text for item in memory.erasures.list()] == [True]


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
    writer = TestClient(served.app, base_url=BASE)
    writer.post("/ui/sign-in", data={"key": served.key("acme", "write")})
    assert writer.get("/ui/").status_code == 403


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


def test_a_megabyte_of_one_word_is_shown(served: Served) -> None:
    browser, client = sign_in(served), served.client()
    chunk_id = add(client, messages=[{"role": "user", "content": "x" * 1_000_000}])
    for path in (f"/ui/memories/{chunk_id}", "/ui/memories", "/ui/?q=xxx"):
        assert browser.get(path).status_code == 200, path
    parts = served.tenants.memory("acme").list(user_id="ada", limit=1000)
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
    assert bars[0].parts[0].colour == bars[1].parts[0].colour
    longest = max(part.start + part.width for bar in bars for part in bar.parts)
    assert longest <= 1000.1
    [minus] = [part for part in bars[1].parts if part.value < 0]
    assert minus.start + minus.width == pytest.approx(bars[1].zero, abs=0.05)


def test_marked_pieces_joined_are_the_text() -> None:
    text = "Tea's tea, <b>tea</b> and théâtre\u200f."
    words = list_words([text])
    assert words == ["Tea's", "tea", "b", "and", "théâtre"]
    pieces = mark_words(text, {"tea"})
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces if piece.is_marked] == ["tea", "tea"]
