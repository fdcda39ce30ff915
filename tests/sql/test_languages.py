"""Full text in the namespace's language, and in scripts written without spaces."""

import random

import psycopg
import pytest
from embedders import HashingEmbedder, TokenHashingEmbedder

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


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who mended the lantren?", "I mended the lantern."),
        ("Where is my boathouse?", "The boat is at the lake."),
        ("Was ist mit der Rinne?", "Die Dachrinne tropft seit Montag."),
        ("Wer hat die Schokolde gegessen?", "Die Schokolade ist im Schrank."),
        ("Какой велосипд?", "Мы купили велосипед вчера вечером."),
    ],
)
def test_a_word_that_the_memory_lacks_finds_its_near_words(
    database_url: str, question: str, text: str
) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder(), profile="lexical") as memory:
        remember(memory, text, "Something else was said here.")
        hits = memory.search(question, user_id="ada")
    assert hits[0].chunk.user_text == text


def misspell(word: str) -> set[str]:
    """Return what one letter less, more or another one makes of a word, and a swap of two."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    swapped = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    fewer = {a + b[1:] for a, b in cuts if b}
    more = {a + letter + b for a, b in cuts for letter in LETTERS}
    return swapped | fewer | more | {a + letter + b[1:] for a, b in cuts if b for letter in LETTERS}


def find_near(word: str, lexemes: set[str]) -> set[str]:
    """Return the eight best near lexemes of a word, by the rules of docs/how/words.md."""
    shares: dict[str, float] = {}
    misspelt = misspell(word) if len(word) >= 6 else set[str]()
    for lexeme in lexemes:
        more = len(lexeme) - len(word)
        longer = lexeme.startswith(word) or (lexeme.endswith(word) and more >= 3)
        part = word.startswith(lexeme) or word.endswith(lexeme)
        if longer or lexeme in misspelt:
            shares[lexeme] = 0.8
        elif part and len(lexeme) >= 4 and more <= -3:
            shares[lexeme] = 0.6
    return set(sorted(shares, key=lambda it: (-shares[it], it))[:8])


LETTERS = "בגדהוז"  # no language stems these


def test_near_lexemes_are_those_that_their_rules_name(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_LANGUAGE", "he")
    source = random.Random(5)
    asked = ["".join(source.choices(LETTERS, k=length)) for length in range(4, 14) for _ in "ab"]
    vocabulary = set[str]()
    for word in asked:
        vocabulary.update(source.sample(sorted(misspell(word)), 6))
        vocabulary.update((word + "בג", word + "בגד", "ב" + word, "בגד" + word))
        vocabulary.update(part for i in range(3, 9) for part in (word[:i], word[-i:]))
    vocabulary -= set(asked)
    with MemSense.open(database_url, embedder=HashingEmbedder(), profile="lexical") as memory:
        remember(memory, " ".join(sorted(vocabulary)))
        for word in asked:
            found = memory.search(word, user_id="ada").question["lexemes"]
            assert {*found} - {word} == find_near(word, vocabulary), word


def test_a_texts_language_is_stored_and_counted(database_url: str) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        remember(memory, "Die Katze schlief auf dem Sofa.", "My sister keeps bees in Wales.", "OK")
        stored = {chunk.user_text: chunk.language for chunk in memory.recent(user_id="ada")}
    assert stored == {
        "Die Katze schlief auf dem Sofa.": "de",
        "My sister keeps bees in Wales.": "en",
        "OK": "en",  # too short to tell: as the exchange before
    }
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT languages FROM memsense.scopes").fetchone()
    assert row == ({"de": 1, "en": 2},)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wo hat die Katze gestern geschlafen?", "de"),
        ("Where did the cat sleep yesterday?", "en"),
        ("Где вчера спала кошка?", "ru"),
        ("Katze?", "de"),  # too short to tell: as most of the memory
    ],
)
def test_an_answer_names_the_questions_language_which_silence_weighs(
    database_url: str, question: str, language: str
) -> None:
    with MemSense.open(database_url, embedder=TokenHashingEmbedder()) as memory:
        remember(memory, "Die Katze schlief auf dem Sofa.", "Der Hund bellte sehr laut.")
        result = memory.search(question, user_id="ada")
        assert result.question["language"] == language
        foreign = [term.weight for term in result.relevance.terms if term.name == "foreign"]
    assert foreign == ([] if language == "en" else [-1.43])


def test_an_unknown_language_is_refused_and_nothing_is_stored(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_LANGUAGE", "klingon")
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        with pytest.raises(InvalidInputError, match="klingon.*auto, ar, .*zh"):
            remember(memory, "nuqneH")
        assert memory.stats() == []
