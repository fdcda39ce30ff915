"""Full text in the namespace's language, and in scripts written without spaces."""

import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.errors import InvalidInputError

SCRIPTS = {
    "chinese": ("我上个月在杭州买了一辆自行车。", "今天早上喝了一杯咖啡。", "自行车是在哪里买的？"),
    "japanese": ("先週、京都で抹茶を飲みました。", "新しい机を注文しました。", "抹茶はどこで？"),
    "thai": ("เมื่อวานฉันซื้อจักรยานใหม่", "วันนี้ฝนตกหนักมาก", "ซื้อจักรยานเมื่อไหร่"),
}


def remember(memory: MemSense, *texts: str) -> None:
    for number, text in enumerate(texts):
        message = {"role": "user", "content": text}
        memory.add([message], user_id="ada", session_id=f"s{number}", mode="turn")


@pytest.mark.parametrize("script", SCRIPTS)
def test_words_are_found_in_a_script_without_spaces(database_url: str, script: str) -> None:
    wanted, other, question = SCRIPTS[script]
    with MemSense.open(database_url, embedder=HashingEmbedder(), profile="lexical") as memory:
        remember(memory, other, wanted)
        hits = memory.search(question, user_id="ada")
    assert hits[0].content == f"user: {wanted}"
    assert [route.route for route in hits[0].explain.routes] == ["lexical"]


def test_a_namespace_stems_words_in_its_own_language(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_LANGUAGE", "german")
    with MemSense.open(database_url, embedder=HashingEmbedder(), profile="lexical") as memory:
        remember(memory, "Die Katzen schliefen auf dem Sofa.", "Der Hund bellte laut.")
        hits = memory.search("Wo schläft die Katze?", user_id="ada")
        assert "katz" in hits.question["lexemes"]
    assert "Katzen" in hits[0].content


def test_an_unknown_language_is_refused_and_nothing_is_stored(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_LANGUAGE", "klingon")
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        with pytest.raises(InvalidInputError, match="klingon.*auto, ar, .*zh"):
            remember(memory, "nuqneH")
        assert memory.stats() == []
