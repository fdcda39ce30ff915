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
        ("日本語を話す", "本日"),
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
