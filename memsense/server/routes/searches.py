"""Operations of searches: questions, contexts, why-not, recorded searches, sets of questions."""

from fastapi import APIRouter

from memsense.server import answers
from memsense.server.answers import list_of, value_of
from memsense.server.operations import Operation
from memsense.server.requests import BodySpec, ContextBody, WithMatches

OPERATIONS = (
    Operation(
        "POST", "/search", "search", "read", answers.SearchAnswer, problems=[404, 504],
        body=BodySpec(
            "SearchBody", "A question, whose memory to search, filters, and how to rank.",
            {"query": "Where does Ada live?", "user_id": "ada", "top_k": 4}, base=WithMatches,
        ),
    ),
    Operation(
        "POST", "/search/many", "search_many", "read",
        list_of(
            answers.SearchAnswer, "answers", "SearchAnswers",
            "The answers to several questions, in the request's order.",
        ),
        problems=[404, 504],
        body=BodySpec(
            "SearchesBody", "Several questions with the same filters.",
            {"queries": ["Where does Ada live?", "What tea?"], "user_id": "ada"}, base=WithMatches,
        ),
    ),
    Operation(
        "POST", "/context", "context", "read", answers.ContextAnswer, body=ContextBody,
        problems=[404, 504],
    ),
    Operation(
        "POST", "/why-not", "why_not", "read", answers.Verdict, problems=[404, 504],
        body=BodySpec(
            "WhyNotBody", "A question, and the memory that it should have returned.",
            {"query": "Where does Ada live?", "user_id": "ada", "chunk_id": 42},
        ),
    ),
    Operation(
        "POST", "/matching-words", "matching_words", "read",
        value_of("words", "Words", "Words that a text search matches.", kind=list[str]),
    ),
    # Recorded searches
    Operation(
        "POST", "/traces", "search", "read", answers.SearchAnswer, name="traces_record", status=201,
        fixed={"trace": True}, location="/traces/{trace_id}", problems=[404, 504],
        body=BodySpec(
            "RecordBody", "A search that is recorded.",
            {"query": "Where does Ada live?", "user_id": "ada"}, base=WithMatches,
        ),
    ),
    Operation(
        "GET", "/traces", "traces.list", "read",
        list_of(
            answers.TraceLine, "traces", "TracePage", "A page of recorded searches, latest first.",
            is_page=True,
        ),
    ),
    Operation("GET", "/traces/statistics", "traces.statistics", "read", answers.SearchStatistics),
    Operation(
        "POST", "/traces/compare", "traces.compare", "read", answers.ComparisonAnswer,
        problems=[404, 504],
        body=BodySpec(
            "CompareBody", "Constants with which to run the latest recorded searches again.",
            {"count": 5, "profile": "lexical"},
        ),
    ),
    Operation(
        "POST", "/traces/prune", "traces.prune", "admin",
        value_of("traces", "Pruned", "The number of recorded searches that were deleted."),
        problems=[404],
    ),
    Operation(
        "GET", "/traces/{trace_id}", "traces.get", "read", answers.RecordedSearch, problems=[404],
    ),
    Operation(
        "POST", "/traces/{trace_id}/replay", "traces.replay", "read", answers.ReplayAnswer,
        problems=[404, 504],
        body=BodySpec(
            "ReplayBody",
            "Constants with which to run a recorded search again; by default the recorded ones.",
            {"overrides": {"lexical": 1.5, "mmr_lambda": 1.0}},
        ),
    ),
    # Questions with labelled memories
    Operation(
        "GET", "/question-sets", "questions.sets", "read",
        list_of(answers.SetLine, "sets", "Sets", "The sets of questions by name."),
    ),
    Operation(
        "GET", "/questions", "questions.list", "read",
        list_of(
            answers.Question, "questions", "Questions",
            "The questions of a set, the earliest label first.",
        ),
    ),
    Operation("GET", "/questions/labels", "questions.labels", "read", answers.Labels),
    Operation(
        "POST", "/questions/label", "questions.label", "write", status=204, answer=None,
        problems=[404],
        body=BodySpec(
            "LabelBody", "A label of a memory: whether it is right for a question.",
            {"question": "Where does Ada live?", "chunk_id": 42, "right": True, "user_id": "ada"},
        ),
    ),
    Operation(
        "POST", "/questions/unlabel", "questions.unlabel", "write", status=204, answer=None,
        body=BodySpec(
            "UnlabelBody", "A label to remove.",
            {"question": "Where does Ada live?", "chunk_id": 42, "user_id": "ada"},
        ),
    ),
    Operation(
        "POST", "/questions/remove", "questions.remove", "write",
        value_of("labels", "RemovedLabels", "The number of labels that were removed."),
        body=BodySpec(
            "QuestionBody", "A question to remove from its set.",
            {"question": "Where does Ada live?", "user_id": "ada"},
        ),
    ),
    Operation(
        "POST", "/questions/compare", "questions.compare", "read", answers.SetCompared,
        problems=[404, 504],
        body=BodySpec(
            "CompareSetBody", "Two rankings with which to ask all questions of a set.",
            {"set_name": "questions", "overrides": {"lexical": 1.5}},
        ),
    ),
)  # fmt: skip

router = APIRouter(prefix="/v1", tags=["searches"])
for operation in OPERATIONS:
    operation.add_to(router)
