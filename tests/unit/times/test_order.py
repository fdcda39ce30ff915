import pytest

from memsense.search.question import analyse_question
from memsense.search.question.quotations import find_quotations
from memsense.search.question.time.order import Order, find_order


def order_of(text: str) -> Order | None:
    return find_order(text, list(find_quotations(text)))


@pytest.mark.parametrize(
    ("question", "kind", "anchor", "days"),
    [
        ('What did I note before this: "Swam 40 lengths"?', "before", "Swam 40 lengths", 0),
        ('What came right after "the storm"?', "after", "the storm", 0),
        ("What happened right after I swam 40 lengths?", "after", "I swam 40 lengths", 0),
        ("What did I do the week after the move?", "after", "the move", 7),
        ("What did we do the day before the wedding?", "before", "the wedding", 1),
        ("What did I do two weeks after the move?", "after", "the move", 14),
        ("Was habe ich notiert, bevor das kam: „Skat gespielt“?", "before", "Skat gespielt", 0),
        ("Was war in der Woche nach dem Umzug?", "after", "Umzug", 7),
        ("Qu'ai-je noté avant ceci : « Perdu aux cartes » ?", "before", "Perdu aux cartes", 0),
        ("Qu'ai-je fait juste après le déménagement ?", "after", "déménagement", 0),
        ("¿Qué anoté antes de esto: «Perdí al mus»?", "before", "Perdí al mus", 0),
        ("¿Qué hice justo antes de la mudanza?", "before", "la mudanza", 0),
        ("在这件事之前我最后记下的是什么：“修好了锅炉”？", "before", "修好了锅炉", 0),
        ("就在搬家之前我做了什么？", "before", "搬家", 0),
        ("搬家后的那一周我做了什么？", "after", "搬家", 7),
        ("これの前に書き留めたことは何？「堤防を走った」", "before", "堤防を走った", 0),
        ("引っ越しの直後に何をした？", "after", "引っ越し", 0),
        ("Что я записала перед этим: «Готовила плов»?", "before", "Готовила плов", 0),
        ("Что перед этим: «Ели в кафе «Ласточка»»?", "before", "Ели в кафе «Ласточка»", 0),
        ("Что было сразу после переезда?", "after", "переезда", 0),
    ],
)
def test_a_question_may_ask_for_what_came_before_or_after(
    question: str, kind: str, anchor: str, days: int
) -> None:
    order = order_of(question)
    assert order is not None
    assert (order.kind, order.anchor, order.days) == (kind, anchor, days)
    assert order.anchor in question[slice(*order.span)]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did I last see Ann?", "last"),
        ("When was the last time I went swimming?", "last"),
        ("What did I order most recently?", "last"),
        ("What caused the slow query last time?", "last"),
        ("When did I first meet Bob?", "first"),
        ("Where did I go for the first time?", "first"),
        ("Wann war ich zuletzt beim Zahnarzt?", "last"),
        ("Wann war ich zum ersten Mal in Rom?", "first"),
        ("Quand ai-je vu Paul pour la dernière fois ?", "last"),
        ("¿Cuándo fue la última vez que vi a Ana?", "last"),
        ("Когда я в последний раз видела Анну?", "last"),
        ("我最后一次见到小周是什么时候？", "last"),
        ("最後に恵子に会ったのはいつ？", "last"),
        ("初めて恵子に会ったのはいつ？", "first"),
    ],
)
def test_a_question_may_ask_for_the_last_or_first_time(question: str, kind: str) -> None:
    order = order_of(question)
    assert order is not None
    assert (order.kind, order.anchor) == (kind, "")


@pytest.mark.parametrize(
    "question",
    [
        "What is the last name of Bob?",
        "Where did I live before?",
        "What did I do the week after next?",
        "What did I do the week before 9 June 2023?",
        "How many days after the reunion did this happen?",
        "Regarding the tool from last time, what do you need from me?",
        'After the move I read "The Tin Drum", but who recommended it?',
        'Who read "The Tin Drum"?',
        f'{300 * "x"} What came before "the storm"?',
        "前回の会議はどこだった？"[2:],
    ],
)
def test_other_questions_ask_for_no_order(question: str) -> None:
    assert order_of(question) is None


@pytest.mark.parametrize(
    ("question", "is_alone"),
    [
        ("What did I do on 3 March 2024?", True),
        ("What happened in the week of 6 May 2024?", True),
        ("What sport did I do in May 2024?", False),
        ('What did I write on 3 March 2024 about "plans"?', False),
        ("What did I do?", False),
        ("Was war am 3. März los?", True),
        ("Was habe ich am 3. März gekocht?", False),
        ("Que s'est-il passé hier ?", True),
        ("Qu'ai-je cuisiné hier ?", False),
        ("¿Qué hice el martes pasado?", True),
        ("¿Qué deporte hice el martes pasado?", False),
        ("Что я делала вчера?", True),
        ("Что я готовила вчера?", False),
        ("昨天我做了什么？", True),
        ("昨天我吃了什么菜？", False),
        ("昨日何をした？", True),
        ("昨日どんな運動をした？", False),
    ],
)
def test_a_question_may_ask_for_nothing_but_a_time(question: str, is_alone: bool) -> None:
    from time_readings import NOW

    assert analyse_question(question, asked_at=NOW).is_dated_alone is is_alone
