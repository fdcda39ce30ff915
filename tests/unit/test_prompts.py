"""Parts of prompts: what is said, and what is pasted."""

import pytest

from memsense.text.prompts import READ_AT_EACH_END, cut_prompt, make_queries, searched

LOG = "\n".join(f"2026-03-04 06:12:{at:02} INFO worker took {at} ms" for at in range(12))
JSON = '{\n  "name": "berth",\n  "size": 14,\n  "free": true\n}'
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "app/main.py", line 12, in <module>\n'
    "    run()\n"
    "ValueError: no such berth"
)
CODE = "def load(path):\n    with open(path) as file:\n        return json.load(file)\n"
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-x = 1\n+x = 2"
CSV = "day,town,lamp,price\n2026-01-18,north,lamp,24.50\n2026-01-20,south,kettle,39.00"
FENCE = f"```\n{LOG}\n```"
QUESTION = "Who should I call when the importer fails?"
PASTES = {"log": LOG, "json": JSON, "trace": TRACE, "code": CODE, "diff": DIFF, "csv": CSV}


@pytest.mark.parametrize("paste", [*PASTES.values(), FENCE], ids=[*PASTES, "fence"])
def test_a_question_beside_a_paste_is_searched_alone(paste: str) -> None:
    for prompt in (f"{QUESTION}\n\n{paste}", f"{paste}\n\n{QUESTION}", f"{QUESTION}\n{paste}"):
        assert searched(prompt) == [QUESTION]


def test_a_question_between_two_fences_is_said() -> None:
    assert searched(f"{FENCE}\n{QUESTION}\n{FENCE}") == [QUESTION]


def test_a_sentence_within_a_log_is_said() -> None:
    assert searched(f"{LOG}\n{QUESTION}\n{LOG}") == [QUESTION]


@pytest.mark.parametrize(
    "prompt",
    [
        "What does `x = 1` mean in this book?",
        "I get this:\nValueError: no such berth\nWhat now?",
        "Shopping: milk, eggs, bread.\n- two lemons\n- a jar of honey\n- flour for the cake",
        "Dear Ms Vogt,\n\nthank you for your order. The shelves come on Monday.\n\nKind regards",
        "我们什么时候搬家？\n我把合同放在哪里了？",
    ],
)
def test_prose_and_quoted_errors_stay_whole(prompt: str) -> None:
    assert searched(prompt) == [prompt]
    assert all(part.kind != "pasted" for part in cut_prompt(prompt))


def test_parts_have_kinds_and_offsets() -> None:
    prompt = f"The nightly import failed again. {QUESTION} Write a reply to Kofi.\n\n{LOG}"
    parts = cut_prompt(prompt)
    assert [part.kind for part in parts] == ["told", "question", "task", "pasted"]
    assert prompt[parts[1].start : parts[1].end] == QUESTION
    assert prompt[parts[3].start : parts[3].end] == LOG


def test_of_a_paste_alone_its_first_error_and_its_last_line_are_searched() -> None:
    assert searched(f"{LOG}\n{TRACE}\n2026-03-04 07:00:00 INFO stopped") == [
        "ValueError: no such berth\n2026-03-04 07:00:00 INFO stopped"
    ]


def test_a_paste_that_the_prompt_refers_to_has_a_query_of_its_different_words() -> None:
    refers = "Is this fine to merge?"
    assert make_queries(f"{refers}\n\n{LOG}") == [refers, f"{refers}\ninfo worker took"]
    assert make_queries(f"{refers}\n\n{CODE}") == [
        refers,
        f"{refers}\ndef load path with open file return json",
    ]
    long = "\n".join(f"{name}_{name}: {{}}" for name in ("abc", "bcd", "cde", "def") * 9)
    assert len(make_queries(f"{refers}\n```\n{long * 9}{CODE * 9}\n```")[1]) <= 223
    assert make_queries(f"{QUESTION}\n\n{LOG}") == [QUESTION]
    assert make_queries(LOG) == ["\n".join(searched(LOG))]
    assert make_queries(refers) == [refers]


def test_of_long_prose_the_sentences_that_ask_are_searched() -> None:
    prose = "The plan stays as it is, and nobody has to guess. " * 20
    assert searched(f"{prose}\n{QUESTION}\n{prose}")[0].endswith(QUESTION)
    assert len(searched(f"{prose}\n{QUESTION}\n{prose}")[0]) < 200


def test_of_long_prose_without_a_question_both_ends_are_searched() -> None:
    prose = "The plan stays as it was told. " * 40
    first, last = searched(f"Kofi came first. {prose} Lena came last.")
    assert first.startswith("Kofi came first.")
    assert last.endswith("Lena came last.")


def test_of_the_middle_of_a_very_long_prompt_questions_alone_are_read() -> None:
    filler = f"{LOG}\n" * (2 * READ_AT_EACH_END // len(LOG))
    assert searched(f"{filler}\n{QUESTION}\n\n{filler}") == [QUESTION]
    assert searched(f"{filler}\nThe end of it was lost here.\n\n{filler}\n{QUESTION}") == [QUESTION]
