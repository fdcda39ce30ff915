"""A word is found however it is spelt, in any script, and PostgreSQL takes the literals."""

import json
import os
import unicodedata
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.text.language import STEMMERS, detect
from memsense.text.lexemes import (
    ask_lexemes,
    clean,
    fold,
    index_lexemes,
    lexical_query,
    list_lexemes,
)

SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", Path(__file__).parents[2].parent / "shared"))
FORMS = SHARED / "samples" / "logs3" / "unicode_forms.json"

LETTERS = (
    "aeouyßäöüéøłæıİﬁＡ①Ⅷ²ŉ ΑάςΣ ЙёЁй́ї אבִּ اأإآىةٱـَؤ ٤४ กินที่ ລາວ ខ្មែរ မြန်မာ किताबें। বাংলা தமிழ் "
    "中国人臺台 きょうガｶﾞカー 한국어ㅋ 𠮷 🇩🇪❤️🤷🏽‍♀️👨‍👩‍👧☕ Հայ გზა አማ བོད "
    "AZaz09 -._/'\\\"’ʼ\u00ad\u200b\u200d\u2011\u2013\u0301\u0308\u064e\u0000\n\t:,*&|!()=#"
)
TEXTS = st.one_of(st.text(LETTERS, max_size=80), st.text(max_size=80))
LANGUAGES = st.sampled_from([*STEMMERS, "ja", "zh", "ko", "th", "he", "xx"])


@pytest.fixture(scope="module")
def connection(shared_database_url: str) -> Generator[psycopg.Connection]:
    """Yield one connection for the examples of all tests: they write nothing."""
    with psycopg.connect(shared_database_url, autocommit=True) as connection:
        yield connection


def read_places(literal: str) -> dict[str, list[int]]:
    """Return the lexemes of a literal with their places."""
    pairs = (item.rsplit(":", 1) for item in literal.split(" ") if item)
    return {
        lexeme[1:-1]: [int(place.rstrip("A")) for place in places.split(",")]
        for lexeme, places in pairs
    }


def unmet_words(memory: str, question: str, languages: list[str] | None = None) -> set[int]:
    """Return the numbers of the question's words that no lexeme of the memory meets."""
    of_memory, of_question = detect(memory, "en"), detect(question, "en")
    stored = set(list_lexemes(memory, of_memory))
    terms = read_places(ask_lexemes(question, of_question, languages or [of_memory]))
    words = {place for [place] in terms.values()}
    assert words, "a question without words meets anything"
    return words - {place for lexeme, [place] in terms.items() if lexeme in stored}


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("The café is closed.", "cafe"),
        ("The cafe is closed.", "cafe\u0301"),
        ("Der Schlüssel liegt hier.", "SCHLÜSSEL"),
        ("Der Schlu\u0308ssel liegt hier.", "schluessel"),
        ("Frau Mueller hat den Termin verschoben.", "Müller"),
        ("Herr Müller hat den Termin verschoben.", "Mueller"),
        ("Der Fußboden ist neu.", "FUSSBODEN"),
        ("Wir fahren nach Ærø.", "aeroe aero"),
        ("The ﬂoor is wet.", "floor"),
        ("Order ＡＢ１２ arrived.", "ab12"),
        ("The gate is BA0117.", "BA 117"),
        ("The gate is BA 117.", "ba 0117"),
        ("We use nightly-sync for backups.", "nightlysync"),
        ("We use nightlySync for backups.", "nightly_sync"),
        ("Call segment_scripts first.", "segmentScripts"),
        ("My iPhone fell.", "iphone"),
        ("co\u2011operate with them", "co-operate"),
        ("Ship­ment eleven", "shipment"),
        ("pa\u200bper weight", "paper"),
        ("L\u2019aéroport est fermé aujourd\u2019hui.", "aeroport"),
        ("İstanbul toplantısı cuma günü.", "istanbul"),
        ("ёлка стоит в углу", "ЕЛКА"),
        ("Дома\u0301 стоят у реки", "дома"),
        ("Ο γιατρός λέγεται Παππάς.", "ΠΑΠΠΑΣ"),
        ("اسم الطبيب أحمد", "احمد"),
        ("مَدْرَسَة جديدة", "مدرسه"),
        ("الغرفة رقم ٤٧", "47"),
        ("कमरा ४७ है", "47"),
        ("मेरी किताबें घर पर हैं।", "किताबें"),
        ("שָׁלוֹם לכולם", "שלום"),
        ("我住在台北的公寓。", "台北"),
        ("我家有一只猫。", "猫"),
        ("りんごを買いました。", "リンゴ"),
        ("ｶﾒﾗを買う", "カメラ"),
        ("도서관에서 책을 읽었다", "도서관"),
        ("집에 갔다", "집"),
        ("회의는 3월에 있다", "3월"),
        ("ฉันกินข้าวที่บ้าน", "กินข้าว"),
        ("Trip 🇩🇪 in May", "🇩🇪"),
        ("I love ❤️ this", "❤"),
        ("Wave 👋🏽 at him", "👋"),
        ("Version 3.5 is out", "3.5"),
    ],
)
def test_spellings_of_a_word_meet(memory: str, question: str) -> None:
    assert not unmet_words(memory, question)


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("Дом стоит у моря, мой", "мои"),
        ("かきを食べる", "がぎ"),
        ("The pot is hot and clean", "poet"),
        ("Version 3.15 is out now", "31.5"),
        ("Trip 🇫🇷 in May", "🇩🇪"),
    ],
)
def test_different_words_stay_apart(memory: str, question: str) -> None:
    assert unmet_words(memory, question)


@pytest.mark.skipif(not FORMS.is_file(), reason="the shared samples are not here")
def test_seventeen_of_the_eighteen_shared_spellings_meet() -> None:
    """Traditional and simplified Chinese stay apart."""
    pairs = json.loads(FORMS.read_text("utf-8"))
    apart = [it["kind"] for it in pairs if unmet_words(it["memory"], it["query"])]
    assert apart == ["trad/simp chinese"]


@given(TEXTS)
def test_cleaning_and_folding_twice_change_nothing_more(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    folded = fold(text)
    assert fold(folded) == folded


@given(TEXTS, LANGUAGES, st.lists(LANGUAGES, max_size=3))
def test_a_text_finds_itself(text: str, language: str, languages: list[str]) -> None:
    """Ask for every word of it: the memory may hold other languages too."""
    stored = set(list_lexemes(text, language))
    terms = read_places(ask_lexemes(text, language, languages))
    met = {place for lexeme, [place] in terms.items() if lexeme in stored}
    assert met == {place for [place] in terms.values()}


@given(TEXTS, LANGUAGES)
def test_forms_of_unicode_make_no_difference(text: str, language: str) -> None:
    literal = index_lexemes(text, language)
    for form in ("NFC", "NFD"):
        assert index_lexemes(unicodedata.normalize(form, text), language) == literal


@given(TEXTS, LANGUAGES)
def test_the_list_has_the_lexemes_of_the_literal(text: str, language: str) -> None:
    assert list(read_places(index_lexemes(text, language))) == list_lexemes(text, language)


@settings(max_examples=200)
@given(TEXTS, LANGUAGES)
def test_postgresql_takes_the_literals_of_any_text(
    connection: psycopg.Connection, text: str, language: str
) -> None:
    stored = index_lexemes(text, language)
    terms = ask_lexemes(text, language, ["en", "de"])
    query = lexical_query(text, language, ["en", "de"])
    row = connection.execute(
        "SELECT tsvector_to_array(%s::tsvector), tsvector_to_array(%s::tsvector),"
        " %s::tsvector @@ %s::tsquery",
        (stored, terms, stored, query),
    ).fetchone()
    assert row is not None
    assert sorted(row[0]) == sorted(read_places(stored))
    assert sorted(row[1]) == sorted(read_places(terms))
    assert row[2] is bool(query)


def test_places_count_the_words_of_a_text() -> None:
    places = read_places(index_lexemes("The keys of room B-12 are in BA0117, the keys.", "en"))
    assert places == {
        "key": [1, 7],
        "room": [2],
        "b": [3],
        "12": [4],
        "b12": [4],
        "ba": [5],
        "0117": [6],
        "117": [6],
        "ba0117": [6],
    }


def test_single_characters_of_a_run_have_no_place_of_their_own() -> None:
    places = read_places(index_lexemes("東京の人 집에서 カメラ", "ja"))
    assert len({place for numbers in places.values() for place in numbers}) == 7
    assert places["東"] == places["東京"]
    assert places["人"] == places["の人"]
    assert places["집"] == places["집에서"] == places["에서"]
    assert "カ" not in places
    assert "か" not in places


def test_a_chinese_character_of_a_question_is_another_spelling_of_its_pair() -> None:
    places = read_places(ask_lexemes("東京の人", "ja", []))
    assert places == {"東京": [1], "東": [1], "京の": [2], "京": [2], "の人": [3], "人": [3]}
    assert set(read_places(ask_lexemes("人 は", "ja", []))) == {"人", "は"}


def test_a_question_leaves_out_single_characters_of_grammar_and_syllables() -> None:
    assert set(read_places(ask_lexemes("我的药", "zh", []))) == {"我的", "的药", "药"}
    assert set(read_places(ask_lexemes("집에서", "ko", []))) == {"집에서", "집에", "에서"}


def test_only_the_first_spelling_of_a_longer_word_may_be_looked_up_among_near_ones() -> None:
    literal = ask_lexemes(
        "Where is Müllerstraße 4471, cat, B-12, getUser 도서관에서 กินข้าว?", "en", ["de"]
    )
    marked = {item.split("'")[1] for item in literal.split() if item.endswith("A")}
    assert marked == {"mullerstrass", "user"}


def test_spellings_of_one_word_have_its_number() -> None:
    places = read_places(ask_lexemes("Is Sofia in the café near Frau Jäger?", "en", ["es", "de"]))
    assert places["sofia"] == places["sofi"] == [1]
    assert places["jager"] == places["jaeger"] == places["jag"]
    assert "in" not in places


def test_a_word_keeps_its_first_spelling_from_the_others_of_an_earlier_word() -> None:
    """Number "keys" and "key" apart: "key" is also what English makes of "keys"."""
    places = read_places(ask_lexemes("keys key", "de", ["en"]))
    assert places == {"keys": [1], "key": [2]}


def test_stop_words_of_the_question_alone_are_left_out() -> None:
    assert ask_lexemes("die", "de", ["en"]) == ""
    assert read_places(ask_lexemes("die", "en", ["de"])) == {"die": [1]}
    assert index_lexemes("the of and", "en") == lexical_query("the of and", "en", []) == ""


def test_a_query_is_met_by_any_spelling_of_each_word(connection: psycopg.Connection) -> None:
    query = lexical_query("Müller in BA0117", "en", ["de"])

    def meets(memory: str) -> bool:
        stored = index_lexemes(memory, "en")
        row = connection.execute("SELECT %s::tsvector @@ %s::tsquery", (stored, query)).fetchone()
        return row == (True,)

    assert meets("mueller ba 117")
    assert meets("BA0117, Müller")
    assert not meets("mueller ba 118")
    assert not meets("ba 117")


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{number}x" for number in range(60_000)),
        " ".join(3 * chr(0x10400 + number) * 400 for number in range(40)),
        "word " * 100_000,
        "ab" * 400_000,
        "e" + "\u0301\u0327" * 300_000,
        "가" * 100_000,
        "中" * 100_000,
        "b-" * 100_000,
    ],
    ids=["many", "wide", "repeated", "long", "marks", "hangul", "han", "signs"],
)
def test_a_long_text_loses_its_last_lexemes_and_never_fails(
    connection: psycopg.Connection, text: str
) -> None:
    stored = index_lexemes(text, "en")
    places = read_places(stored)
    assert max(map(len, places)) <= 500
    row = connection.execute("SELECT tsvector_to_array(%s::tsvector)", (stored,)).fetchone()
    assert row is not None
    assert set(row[0]) == places.keys()
    first, *_ = list_lexemes(text[:5_000], "en")
    assert first in places


def test_four_fields_of_the_largest_size_and_identifiers_are_one_tsvector(
    connection: psycopg.Connection,
) -> None:
    fields = [
        index_lexemes(" ".join(f"{field}{'x' * 300}{number}" for number in range(1_000)), "en")
        for field in ("bc", "cd", "de", "ef")
    ]
    assert all(len(field) > 230_000 for field in fields)
    identifiers = [f"={number}" + "\U0001f389" * 195 for number in range(64)]
    row = connection.execute(
        "SELECT length(%s::tsvector || %s::tsvector || %s::tsvector || %s::tsvector"
        " || array_to_tsvector(%s::text[]))",
        (*fields, identifiers),
    ).fetchone()
    assert row == (sum(field.count(":") for field in fields) + 64,)


def test_the_longest_question_is_taken(connection: psycopg.Connection) -> None:
    text = " ".join(f"wordNumber{number}" for number in range(500))[:8_000]
    row = connection.execute(
        "SELECT %s::tsvector @@ %s::tsquery",
        (index_lexemes(text, "en"), lexical_query(text, "en", ["de", "fr", "es"])),
    ).fetchone()
    assert row == (True,)
