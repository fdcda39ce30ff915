"""`memory.context`: short, of this project, and nothing when nothing is known."""

import json
from typing import Any

import pytest

from memsense import MemSense, load_settings
from memsense.errors import InvalidInputError
from memsense.ingest.injected import strip_injected

LOOMS, MILLS = "github.com/ada/looms", "github.com/ada/mills"
SAID = [
    ("monday", "I'm Ada. I live in Lisbon with my two cats.", "Lovely.", None),
    ("tuesday", "I'm allergic to walnuts.", "I will keep that in mind.", None),
    ("wednesday", "The looms service talks to PostgreSQL 18 on port 5433.", "Noted.", LOOMS),
    ("thursday", "The mills service keeps its queue in Redis.", "Noted.", MILLS),
    ("friday", "Please always answer in short sentences.", "Yes.", None),
]
DIARY = [
    ("2026-05-03T23:30+09:00", "Fed the hens."),
    ("2026-05-03T08:00+09:00", "Oiled the gate."),
    ("2026-05-04T00:30+09:00", "Sharpened the scythe."),
    ("2026-07-01T12:00+09:00", "Picked cherries."),
]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def known(module_database_url: str) -> Any:
    """Return a memory with the default model: what is known is decided by its vectors."""
    settings = load_settings(database_url=module_database_url)
    with MemSense.open(settings=settings) as memory:
        for at, text in DIARY:
            note = {"role": "user", "content": text, "at": at}
            memory.add([note], user_id="eve", session_id=at)
        lunches = [f"Lunch {number} was soup with bread." for number in range(12)]
        for text in ("The ingress allows bodies up to 12 MB.", *lunches):
            memory.add([{"role": "user", "content": text}], user_id="ida", session_id=text)
        for session, text, answer, project in SAID:
            messages = [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
            memory.add(messages, user_id="ada", session_id=session, project=project)
        yield memory


def test_a_question_about_the_user_is_answered(known: MemSense) -> None:
    prompt = known.context("Which nuts can't I eat?", user_id="ada")
    assert "allergic to walnuts" in prompt
    assert strip_injected(prompt) == ("", 1)
    assert 0 < prompt.tokens <= 1_000
    for line in prompt.lines:
        assert line.text in prompt
        assert line.text in known.get(line.chunk_id).content
        assert line.because


@pytest.mark.parametrize(
    "prompt", ["thanks!", "ok", "Write a haiku about a frozen pond.", "What is 17 * 23?"]
)
def test_what_concerns_nothing_known_gets_nothing(known: MemSense, prompt: str) -> None:
    context = known.context(prompt, user_id="ada", rules=False)
    assert context == ""
    assert (context.tokens, context.chunk_ids, context.lines) == (0, (), ())
    assert context.notes
    # Without silence a search always finds something.
    assert known.context(prompt, user_id="ada", silence=0)


def test_small_talk_costs_no_search(known: MemSense) -> None:
    known.context("thanks!", user_id="ada", trace=True)
    known.context("Where do I live?", user_id="ada", trace=True)
    known.traces.flush()
    assert [trace.question for trace in known.traces.list(user_id="ada")] == ["Where do I live?"]


def test_the_card_has_the_users_name_health_and_diet_alone(known: MemSense) -> None:
    prompt = known.context("Which nuts can't I eat?", user_id="ada")
    card = [line.text for line in prompt.lines if line.chance is None]
    rule = "Please always answer in short sentences."
    assert card == [rule, "I'm Ada.", "I'm allergic to walnuts."]
    assert "About the user:" in prompt
    without = known.context("Which nuts can't I eat?", user_id="ada", rules=False, card=False)
    assert "About the user" not in without
    assert all(line.chance is not None for line in without.lines)


def test_what_a_rule_or_the_card_says_is_said_once(known: MemSense) -> None:
    texts = (
        "I am allergic to penicillin",
        "Never book a hotel without a kitchen.",
        "My name is Ivo.  Call me Ivo.",
    )
    for text in texts:
        said = [("user", text), ("assistant", "The clinic was told to write it down.")]
        known.add(said, user_id="ivo", session_id=text)
    for prompt in ("What must the clinic know?", "Which hotel can I book?", "Am I allergic?"):
        context = known.context(prompt, user_id="ivo", silence=0)
        for sentence in ("I am allergic to penicillin", "without a kitchen", "My name is Ivo."):
            assert context.count(sentence) == 1


def test_what_the_card_answers_brings_no_unlikely_passage(known: MemSense) -> None:
    for text in ("I am allergic to penicillin", "My sister Clara visits in June"):
        known.add([{"role": "user", "content": text}], user_id="zoe", session_id=text)
    context = known.context("Which medicine may I take?", user_id="zoe")
    assert [line.text for line in context.lines] == ["I am allergic to penicillin"]
    [reason] = context.omitted.values()
    assert reason.endswith("as near as the nearest")


def test_the_card_has_every_allergy_and_every_rule_and_a_repetition_once(known: MemSense) -> None:
    texts = (
        "I'm allergic to walnuts.",
        "I'm allergic to penicillin.",
        "I'm allergic to the penicillin.",
        "Never commit secrets to git.",
        "Never commit binaries to git.",
        "Never commit any binaries to git.",
    )
    for text in texts:
        known.add([{"role": "user", "content": text}], user_id="oda", session_id=text)
    context = known.context("What may you commit?", user_id="oda")
    card = [line.text for line in context.lines if line.chance is None]
    assert len(card) == 4
    for word in ("walnuts", "penicillin", "secrets", "binaries"):
        assert sum(word in text for text in card) == 1


def test_memories_of_another_project_must_be_asked_for(known: MemSense) -> None:
    here = known.context(
        "Which database does the looms service talk to?", user_id="ada", project=LOOMS
    )
    assert "PostgreSQL 18" in here
    assert "Redis" not in here
    asked = known.context("Where does mills keep its queue?", user_id="ada", project=LOOMS)
    assert "Redis" in asked
    # A project without memories takes none of the others' along.
    new = known.context(
        "Where does mills keep its queue?", user_id="ada", project="github.com/ada/x"
    )
    assert "Redis" in new
    assert known.context("Which nuts can't I eat?", user_id="ada", project="github.com/ada/x")
    # What was said in no project belongs to every project.
    assert "walnuts" in known.context("Which nuts can't I eat?", user_id="ada", project=LOOMS)


def test_a_newer_statement_of_another_project_replaces_nothing(known: MemSense) -> None:
    said = (
        ("retries", LOOMS, "Webhooks to the offices are retried seven times."),
        ("limit", LOOMS, "rate limit: 40 requests a minute per API key, offices get 200"),
        ("replicas", MILLS, "The API has three replicas in live and one in stage."),
    )
    for day, (session, project, text) in enumerate(said, 3):
        note = {"role": "user", "content": text, "at": f"2026-01-{day:02}T10:00Z"}
        known.add([note], user_id="max", session_id=session, project=project)
    limit = "Which limit do the webhooks have?"
    hits = known.search(limit, user_id="max")
    assert any(hit.newer_statement for hit in hits if hit.chunk.project == LOOMS)
    context = known.context(limit, user_id="max", project=LOOMS)
    assert "200" in context
    assert "replicas" not in context


@pytest.mark.parametrize(
    "options", [{"exclude": ["new"]}, {"exclude_sessions": ["new"]}, {"session_ids": ["old"]}]
)
def test_a_newer_statement_that_a_filter_leaves_out_is_not_read_with_the_older(
    known: MemSense, options: dict[str, Any]
) -> None:
    older, newer = (
        known.add(
            [{"role": "user", "content": text, "at": f"2026-01-{day}T10:00Z", "id": session}],
            user_id="pia",
            session_id=session,
        )[0].chunk_id
        for day, session, text in (
            ("03", "old", "Holds on a berth expire after 20 minutes."),
            ("07", "new", "The holds on a berth expire after 11 minutes from today."),
        )
    )
    known.decide_change(older, newer, decision="set")
    question = "How long until holds on a berth expire?"
    assert "11 minutes" in known.context(question, user_id="pia", top_k=1)
    context = known.context(question, user_id="pia", silence=0, top_k=1, **options)
    assert "20 minutes" in context
    assert "11 minutes" not in context


def test_a_newer_statement_of_a_moment_has_the_words_of_then(known: MemSense) -> None:
    known.settings.set(history="on")
    first, second = (
        known.add([{"role": "user", "content": text, "at": at}], user_id="ole", session_id=at)[0]
        for at, text in (
            ("2026-01-03T10:00Z", "Holds on a berth expire after 20 minutes."),
            ("2026-01-07T10:00Z", "The holds on a berth expire after 11 minutes from today."),
        )
    )
    known.decide_change(first.chunk_id, second.chunk_id, decision="set")
    moment = second.recorded_at
    known.update(
        second.chunk_id, content="The holds on a berth expire after 45 minutes from today."
    )
    question = "How long until holds on a berth expire after 20 minutes?"
    options: dict[str, Any] = {"user_id": "ole", "silence": 0, "top_k": 1, "max_tokens": 500}
    assert "45 minutes" in known.context(question, **options)
    then = known.context(question, as_of=moment, **options)
    assert ("11 minutes" in then, "45 minutes" in then) == (True, False)


def test_a_paste_that_the_prompt_refers_to_is_searched_for_too(known: MemSense) -> None:
    log = "\n".join(
        f"2026-03-16 10:{at:02}:11 ERROR ingress: too large body: {at} bytes" for at in range(20)
    )
    prompt = known.context(f"Is this bad?\n\n{log}", user_id="ida")
    assert "12 MB" in prompt
    [note] = [note for note in prompt.notes if note.kind == "prompt"]
    assert note.endswith("Is this bad?\nerror ingress too large body bytes")
    assert not known.context(f"What is the plural of octopus?\n\n{log}", user_id="ida")


def test_behind_the_first_line_few_memories_leave_out_the_unlikely(known: MemSense) -> None:
    # Of 13 memories a line needs a chance of 10%.
    for silence in (None, 0):
        lines = known.context("Which soup was for lunch?", user_id="ida", silence=silence).lines
        chances = [line.chance for line in lines if line.chance is not None]
        assert (min(sorted(chances)[:-1]) >= 0.1) == (silence is None)


def test_a_prompt_holds_no_more_than_its_budget(known: MemSense) -> None:
    for budget in (40, 80, 200, 900):
        prompt = known.context("Where do I live?", user_id="ada", max_tokens=budget, silence=0)
        assert prompt.tokens <= budget
    words = known.context("Where do I live?", user_id="ada", tokenizer=count_words)
    assert words.tokens == len(words.split())


def test_a_question_for_a_day_alone_gets_its_memories_in_order(known: MemSense) -> None:
    options: dict[str, Any] = {
        "user_id": "eve",
        "asked_at": "2026-11-27T01:00",
        "timezone": "Asia/Tokyo",
    }
    prompt = known.context("What did I do on 3 May 2026?", **options)
    assert [line.text for line in prompt.lines][:2] == ["Oiled the gate.", "Fed the hens."]
    assert " Asked on Friday, 2026-11-27." in prompt
    assert "\n2026-05-03 (Sunday, 6 months ago):\n" in prompt
    assert "\n2026-05-04 (Monday, 6 months ago), nearest:\n" in prompt
    assert "cherries" not in prompt
    # In UTC the hens were fed on the same day, and the scythe was sharpened then, too.
    in_utc: dict[str, Any] = {**options, "timezone": "UTC"}
    lines = known.context("What did I do on 3 May 2026?", **in_utc).lines
    of_day = [line.text for line in lines if line.chance == 1]
    assert of_day == ["Fed the hens.", "Sharpened the scythe."]
    # A small prompt holds the first ones of the day, and its ages.
    small = known.context(
        "What did I do on 3 May 2026?", max_tokens=38, tokenizer=count_words, **options
    )
    assert [line.text for line in small.lines] == ["Oiled the gate."]
    assert "months ago" in small


def test_a_question_within_a_paste_is_searched_alone(known: MemSense) -> None:
    log = "\n".join(f"2026-03-04 06:12:{at % 60:02} INFO took {at} ms" for at in range(400))
    question = "Which nuts can't I eat?"
    plain = known.context(question, user_id="ada")
    pasted = known.context(f"{log}\n\n{question}\n\n{log}", user_id="ada")
    assert str(pasted) == str(plain) != ""
    assert [it.kind for it in pasted.notes] == ["prompt", "silence"]
    assert question in pasted.notes[0]
    assert "question: chance" in pasted.notes[1]


def test_of_an_answer_pasted_parts_are_counted(known: MemSense) -> None:
    output = "\n".join(f"2026-03-04 06:12:{at:02} ERROR loader took {at} ms" for at in range(40))
    known.add(
        [
            ("user", "go on"),
            ("assistant", f"{output}\n\nThe loader now reads in chunks of 64 KB.\n\n{output}"),
        ],
        user_id="kim",
        session_id="agent",
    )
    prompt = known.context("What did we do about the loader's memory?", user_id="kim", silence=0)
    assert "[… 40 lines]\n" in prompt.lines[0].text
    assert "chunks of 64 KB" in prompt.lines[0].text
    assert [line.side for line in prompt.lines] == ["assistant"]


def test_what_the_prompt_has_already_is_left_out(known: MemSense) -> None:
    first = known.context("Where do I live?", user_id="ada", card=False, silence=0)
    [home, *_] = [line.chunk_id for line in first.lines if "Lisbon" in line.text]
    again = known.context("Where do I live?", user_id="ada", exclude=[home], silence=0)
    assert "Lisbon" not in again
    session = known.get(home).session_id
    again = known.context("Where do I live?", user_id="ada", exclude_sessions=[session], silence=0)
    assert "Lisbon" not in again


def test_the_answer_says_why_each_line_is_there_and_others_are_not(known: MemSense) -> None:
    prompt = known.context("Where do I live?", user_id="ada", max_tokens=70, silence=0)
    told = prompt.as_dict(explain=True)
    assert json.loads(json.dumps(told)) == told
    assert {line["chunk_id"] for line in told["lines"]} == set(prompt.chunk_ids)
    assert told["omitted"]
    assert set(map(int, told["omitted"])) == set(prompt.left_out)
    assert "lines" not in prompt.as_dict()


def test_a_user_without_memories_gets_nothing(known: MemSense) -> None:
    assert known.context("Where do I live?", user_id="nobody") == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"silence": 2}, "silence"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"format": "html"}, "format"),
        ({"prompt": " "}, "prompt"),
        ({"silense": 1}, "did you mean 'silence'"),
        ({"user_id": None}, "user_id"),
    ],
)
def test_wrong_arguments_are_named(known: MemSense, options: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"prompt": "tea", "user_id": "ada", **options}
    with pytest.raises(InvalidInputError, match=words):
        known.context(**arguments)


def test_the_setting_silence_is_the_default(module_database_url: str) -> None:
    settings = load_settings(database_url=module_database_url, silence=0.0)
    with MemSense.open(settings=settings) as memory:
        memory.add([{"role": "user", "content": "Tea."}], user_id="eve", session_id="s")
        assert memory.context("Write a haiku.", user_id="eve")
