"""Decision to say nothing: small talk by its words, everything else by its hits."""

from dataclasses import replace

import pytest

from memsense.evaluation.context import read_unrelated
from memsense.search.explanation import Explanation, WordMatch
from memsense.search.silence import Judged, is_small_talk, judge, judge_features

EXPLAIN = Explanation(
    chunk_id=1, routes=(), rrf_score=0.1, rrf_k=15, terms=(), session=None, final_score=0.1
)


@pytest.mark.parametrize(
    "prompt",
    [
        *("ok", "Thanks!", "thank you so much", "LGTM", "👍", "...", "yes please", "Got it."),
        *(
            "Sounds good, go ahead",
            "never mind",
            "Danke, das war's",
            "Merci !",
            "¡Gracias!",
            "好的",
        ),
        *("Спасибо большое!", "Привет, как дела?", "ありがとうございます！", "はい、お願いします"),
        *("감사합니다", "안녕하세요!", "Obrigado, valeu!", "Dank je wel", "Dzięki, dobranoc"),
        *("İyi günler", "Hayır, teşekkürler", "شكراً جزيلاً", "السلام عليكم"),
        *("hey, how's it going?", "What's up?", "good night, see you tomorrow"),
    ],
)
def test_acknowledgements_greetings_and_farewells_are_small_talk(prompt: str) -> None:
    assert is_small_talk(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        *(
            "Where do I live?",
            "What's my name?",
            "tea",
            "Thanks! Which tea do I like?",
            "run the tests",
        ),
        *(
            "what's on tomorrow?",
            "ok, now book the table that we talked about",
            "no peanuts for me",
        ),
        *("have I been there?", "Yes, Lisbon", "the garden"),
        *(
            "Где я живу?",
            "私の犬の名前は？",
            "はいしゃはどこ",
            "내 개 이름이 뭐야?",
            "Nerede yaşıyorum?",
        ),
    ],
)
def test_what_may_need_a_memory_is_no_small_talk(prompt: str) -> None:
    assert not is_small_talk(prompt)


def test_most_acknowledgements_of_the_unrelated_prompts_cost_no_search() -> None:
    prompts = [it.prompt for it in read_unrelated() if it.kind == "acknowledgement"]
    assert sum(map(is_small_talk, prompts)) >= 0.8 * len(prompts)
    others = [it.prompt for it in read_unrelated() if it.kind in {"code", "knowledge", "maths"}]
    assert not any(map(is_small_talk, others))


def hit(tokens: float, similarity: float, share: float, text: str = "") -> Judged:
    """Return a hit whose matches add up to a similarity of tokens; a request has no such term."""
    others = (tokens - 0.9 * share) / (1 - share)
    matches = [
        WordMatch(asked="dog", met="dog", similarity=0.9, share=share),
        WordMatch(asked="breed", met="walk", similarity=others, share=1 - share),
    ]
    return Judged(
        explain=replace(EXPLAIN, similarity=similarity, matches=matches), text=text, user_id="ada"
    )


def test_the_chance_adds_up_from_its_terms() -> None:
    from math import exp, fsum

    relevance = judge("What is my dog called?", [hit(0.6, 0.6, 0.5)], {})
    total = fsum(term.contribution for term in relevance.terms)
    values = {term.name: term.value for term in relevance.terms}
    assert (values["tokens"], values["similarity"], values["met"]) == pytest.approx((0.6, 0.6, 0.5))
    assert relevance.chance == pytest.approx(1 / (1 + exp(-total)))
    assert set(relevance.as_dict()["terms"]) == {term.name for term in relevance.terms}


def test_nearer_hits_names_and_personal_questions_raise_the_chance() -> None:
    far, near = hit(0.1, 0.1, 0.0), hit(0.6, 0.6, 0.6)
    prompt = "Which breed is the dog?"
    assert judge(prompt, [near], {}).chance > judge(prompt, [far], {}).chance
    assert judge("Which breed is my dog?", [far], {}).chance > judge(prompt, [far], {}).chance
    assert judge("Which dog has Ada?", [far], {}).chance > judge(prompt, [far], {}).chance
    assert judge(prompt, [far], {"names": ["Nate"]}).chance > judge(prompt, [far], {}).chance
    assert judge("How do I read a file in Go?", [far], {}).chance < 0.2
    assert judge(prompt, [], {}).chance == 0.0


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        ("question", "Which breed did I buy in May?", "Which breed did I say in May?"),
        ("request", "Suggest what did I like.", "Suggest what did I say."),
        ("question", "Fix the grammar: the dog run.", "Fix the grammar of the dog run."),
        ("request", "Fix the grammar: the dog run.", "Fix the grammar of the dog run."),
        ("request", "How do I bake bread?", "How do I bake my bread?"),
        ("request", "Write me a poem about dogs.", "Write us a poem about dogs."),
    ],
)
def test_prompts_that_refer_to_what_was_said_or_to_their_writer_need_less(
    kind: str, less: str, more: str
) -> None:
    near, question = [hit(0.4, 0.4, 0.3)], {"kind": kind}
    chances = [judge(prompt, near, question).chance for prompt in (less, more)]
    assert chances[0] < chances[1]


def test_of_few_memories_the_best_needs_less() -> None:
    chances = [
        judge("Which breed is it?", [hit(0.4, 0.4, 0.3)], {"memories": count}).chance
        for count in (1, 10, 40, 4_000)
    ]
    assert chances[0] > chances[1] > chances[2] == chances[3]


def test_without_tokens_words_alone_decide() -> None:
    def lexical(coverage: float) -> Judged:
        return Judged(explain=replace(EXPLAIN, coverage=coverage), text="")

    chances = [judge("Which tea do I like best?", [lexical(it)], {}).chance for it in (0.0, 0.6)]
    assert chances[0] < chances[1]
    asked = judge("tea", [lexical(0.4)], {}, is_asked=True).chance
    assert asked > 0.5 > judge("tea", [lexical(0.4)], {}).chance


def test_coverage_decides_about_a_prompt_that_the_model_does_not_know() -> None:
    def chance(coverage: float, *, is_asked: bool = False) -> float:
        hit = Judged(explain=replace(EXPLAIN, coverage=coverage), text="")
        question = {"share_known": 0.1}
        return judge("Как зовут собаку?", [hit], question, is_asked=is_asked).chance

    assert chance(0.03) < 0.5 < chance(0.05)
    assert chance(0.03, is_asked=True) > 0.5 > chance(0.0, is_asked=True)


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("Wo steht der Router?", 1.0),
        ("路由器在哪儿？", 1.0),
        ("ルーターはどこですか。", 1.0),
        ("أين الموجه؟", 1.0),
        ("Schreib einen Brief.", 0.0),
        ("秋についての短い詩を書いて", 0.0),
    ],
)
def test_a_prompt_that_ends_as_a_question_does_asks(prompt: str, asks: float) -> None:
    assert judge_features(prompt, [hit(0.4, 0.5, 0.3)], {})["asks"] == asks


def test_a_model_without_tokens_has_weights_of_its_own() -> None:
    def chance(similarity: float, model: str) -> float:
        explain = replace(EXPLAIN, similarity=similarity, coverage=0.1, model=model)
        return judge("Wie heißt der Hund?", [Judged(explain=explain, text="")], {}).chance

    assert chance(0.17, "use-multilingual-3") < 0.5 < chance(0.23, "use-multilingual-3")
    assert chance(0.25, "another") == chance(0.31, "another")


def test_the_hits_that_the_model_of_the_best_one_compared_decide() -> None:
    one = Judged(explain=replace(EXPLAIN, similarity=0.2, model="use-multilingual-3"), text="")
    other = Judged(explain=replace(EXPLAIN, similarity=0.9, model="another"), text="")
    assert judge("Hund?", [one, other], {}) == judge("Hund?", [one], {})


def test_a_prompt_in_another_language_than_english_needs_nearer_hits() -> None:
    relevance = [judge("Wie", [hit(0.4, 0.5, 0.3)], {"language": it}) for it in ("en", "de")]
    assert relevance[0].chance > relevance[1].chance
    assert relevance[0] == judge("Wie", [hit(0.4, 0.5, 0.3)], {})
