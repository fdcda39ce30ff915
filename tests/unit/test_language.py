"""The language of a text: by its letters, its function words, or a model."""

import os
import subprocess
import sys

import pytest

from memsense.errors import InvalidInputError
from memsense.text.configurations import read_language
from memsense.text.language import COMMON, RARE, STEMMERS, detect, read_stop_words

SENTENCES = {
    "en": "The dentist moved my appointment to Thursday afternoon.",
    "de": "Der Zahnarzt hat meinen Termin auf Donnerstag verschoben.",
    "fr": "Le dentiste a déplacé mon rendez-vous à jeudi après-midi.",
    "es": "El dentista cambió mi cita al jueves por la tarde.",
    "it": "Il dentista ha spostato il mio appuntamento a giovedì.",
    "pt": "O dentista mudou a minha consulta para quinta-feira à tarde.",
    "nl": "De tandarts heeft mijn afspraak naar donderdag verplaatst.",
    "sv": "Tandläkaren flyttade min tid till torsdag eftermiddag.",
    "fi": "Hammaslääkäri siirsi aikani torstai-iltapäivään.",
    "hu": "A fogorvos csütörtök délutánra tette át az időpontomat.",
    "pl": "Dentysta przełożył moją wizytę na czwartek po południu.",
    "ro": "Dentistul a mutat programarea mea joi după-amiază.",
    "tr": "Diş hekimi randevumu perşembe öğleden sonraya aldı.",
    "cs": "Zubař přesunul můj termín na čtvrtek odpoledne.",
    "ru": "Стоматолог перенёс мой приём на четверг.",
    "el": "Ο οδοντίατρος μετέφερε το ραντεβού μου στην Πέμπτη.",
    "ar": "نقل طبيب الأسنان موعدي إلى يوم الخميس.",
    "he": "רופא השיניים העביר את התור שלי ליום חמישי.",
    "hi": "दंत चिकित्सक ने मेरी मुलाकात गुरुवार को कर दी।",
    "th": "หมอฟันเลื่อนนัดของฉันไปวันพฤหัสบดี",
    "zh": "牙医把我的预约改到了星期四下午。",
    "ja": "歯医者の予約が木曜日の午後に変わりました。",
    "ko": "치과 예약이 목요일 오후로 바뀌었어요.",
}


@pytest.mark.parametrize(("language", "text"), SENTENCES.items())
def test_a_sentence_tells_its_language(language: str, text: str) -> None:
    assert detect(text, "xx") == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Docker を使って PostgreSQL を動かす方法", "ja"),
        ("我在用Python写代码", "zh"),
        ("We met 王小明 at the new office last week", "en"),
        ("Was heißt 東京 auf Deutsch, weißt du das?", "de"),
    ],
)
def test_of_two_scripts_the_one_with_more_letters_decides(text: str, language: str) -> None:
    assert detect(text, "xx") == language


@pytest.mark.parametrize("text", ["", "Sofia", "12.05.2024, 14:30 - 17:45", 12 * "\U0001f389"])
def test_a_text_without_words_or_with_few_letters_is_of_the_default(text: str) -> None:
    assert detect(text, "xx") == "xx"


@pytest.mark.parametrize(
    ("text", "language", "other"),
    [
        ("Jeg bor i Bergen nå.", "no", "da"),
        ("Emma es del 1984.", "es", "ca"),
        ("Cooked ramen for Tobias.", "en", "da"),
    ],
)
def test_a_short_text_that_may_be_of_two_languages_is_of_the_default(
    text: str, language: str, other: str
) -> None:
    assert detect(text, language) == language
    assert detect(text, other) in {language, other}


def test_the_default_is_no_answer_for_a_text_of_another_language() -> None:
    for language, text in SENTENCES.items():
        assert {detect(text, default) for default in ("en", "de", "ja")} == {language}


def test_only_the_beginning_of_a_text_is_read() -> None:
    assert detect(SENTENCES["de"] * 10 + SENTENCES["ru"] * 100, "xx") == "de"


def test_threads_that_come_first_together_get_the_answer_of_one() -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from memsense.text.language import detect\n"
        f"texts = {[SENTENCES[it] for it in ('de', 'fr', 'es', 'it')] * 4!r}\n"
        "with Pool(8) as pool: print(*pool.map(lambda text: detect(text, 'xx'), texts))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["de", "fr", "es", "it"] * 4
    assert not done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_process_forked_while_the_model_loads_has_its_own() -> None:
    code = (
        # logging complains of a fork that begins before it is imported and ends after it.
        "import logging, os, threading\n"
        "from memsense.text.language import detect\n"
        f"text = {SENTENCES['de']!r}\n"
        "threading.Thread(target=detect, args=(text, 'xx')).start()\n"
        "child = os.fork()\n"
        "language = detect(text, 'xx')\n"
        "if not child: os._exit(language != 'de')\n"
        "print(language, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["de", "0"]
    assert not done.stderr


@pytest.mark.parametrize("text", [SENTENCES["en"], *map(SENTENCES.get, ("ru", "zh", "ar"))])
def test_plain_english_and_other_scripts_need_no_model(text: str) -> None:
    code = (
        "import sys; from memsense.text.language import detect; from memsense.text import lexemes\n"
        f"detect({text!r}, 'xx'); lexemes.index_lexemes({text!r}, 'en')\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "py3langid"} & set(done.stdout.split())


def test_sixteen_languages_have_stop_words_and_all_of_latin_letters_a_stemmer() -> None:
    assert sum(map(bool, map(read_stop_words, STEMMERS))) == 16
    assert "że" in read_stop_words("pl")
    assert STEMMERS.keys() >= COMMON | RARE


@pytest.mark.parametrize(
    ("name", "code"),
    [("german", "de"), ("de", "de"), ("armenian", "hy"), ("hy", "hy"), ("simple", "auto")],
)
def test_a_language_has_a_code_and_the_name_of_its_configuration(name: str, code: str) -> None:
    assert read_language(name) == code


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInputError, match="unknown language 'klingon'; there are auto, ar,"):
        read_language("klingon")
