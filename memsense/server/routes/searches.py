"""Operations of searches: questions, contexts, why-not, recorded searches, sets of questions."""

from fastapi import APIRouter

from memsense.server import answers
from memsense.server.answers import list_of, value_of
from memsense.server.operations import Operation
from memsense.server.requests import BodySpec, ContextBody, WithMatches

OPERATIONS = (
    Operation(
        method="POST", path="/search", verb="search", scope="read", answer=answers.SearchAnswer,
        problems=[404, 504],
        body=BodySpec(
            "SearchBody", "A question, whose memory to search, filters, and how to rank.",
            {"query": "Where does Ada live?", "user_id": "ada", "top_k": 4}, base=WithMatches,
        ),
    ),
    Operation(
        method="POST", path="/search/many", verb="search_many", scope="read", problems=[404, 504],
        answer=list_of(
            answers.SearchAnswer, "answers", "SearchAnswers",
            "The answers to several questions, in the request's order.",
        ),
        body=BodySpec(
            "SearchesBody", "Several questions with the same filters.",
            {"queries": ["Where does Ada live?", "What tea?"], "user_id": "ada"}, base=WithMatches,
        ),
    ),
    Operation(
        method="POST", path="/context", verb="context", scope="read",
        answer=answers.ContextAnswer, body=ContextBody, problems=[404, 504],
    ),
    Operation(
        method="POST", path="/why-not", verb="why_not", scope="read", answer=answers.Verdict,
        problems=[404, 504],
        body=BodySpec(
            "WhyNotBody", "A question, and the memory that it should have returned.",
            {"query": "Where does Ada live?", "user_id": "ada", "chunk_id": 42},
        ),
    ),
    Operation(
        method="POST", path="/matching-words", verb="matching_words", scope="read",
        answer=value_of("words", "Words", "Words that a text search matches.", kind=list[str]),
    ),
    # Recorded searches
    Operation(
        method="POST", path="/traces", verb="search", name="traces_record", scope="read",
        status=201, answer=answers.SearchAnswer, fixed={"trace": True},
        location="/traces/{trace_id}", problems=[404, 504],
        body=BodySpec(
            "RecordBody", "A search that is recorded.",
            {"query": "Where does Ada live?", "user_id": "ada"}, base=WithMatches,
        ),
    ),
    Operation(
        method="GET", path="/traces", verb="traces.list", scope="read",
        answer=list_of(
            answers.TraceLine, "traces", "TracePage", "A page of recorded searches, latest first.",
            is_page=True,
        ),
    ),
    Operation(
        method="GET", path="/traces/statistics", verb="traces.statistics", scope="read",
        answer=answers.SearchStatistics,
    ),
    Operation(
        method="POST", path="/traces/compare", verb="traces.compare", scope="read",
        answer=answers.ComparisonAnswer, problems=[404, 504],
        body=BodySpec(
            "CompareBody", "Constants with which to run the latest recorded searches again.",
            {"count": 5, "profile": "lexical"},
        ),
    ),
    Operation(
        method="POST", path="/traces/prune", verb="traces.prune", scope="admin",
        answer=value_of("traces", "Pruned", "The number of recorded searches that were deleted."),
        problems=[404],
    ),
    Operation(
        method="GET", path="/traces/{trace_id}", verb="traces.get", scope="read",
        answer=answers.RecordedSearch, problems=[404],
    ),
    Operation(
        method="POST", path="/traces/{trace_id}/replay", verb="traces.replay", scope="read",
        answer=answers.ReplayAnswer, problems=[404, 504],
        body=BodySpec(
            "ReplayBody",
            "Constants with which to run a recorded search again; by default the recorded ones.",
            {"overrides": {"lexical": 1.5, "mmr_lambda": 1.0}},
        ),
    ),
    # Questions with labelled memories
    Operation(
        method="GET", path="/question-sets", verb="questions.sets", scope="read",
        answer=list_of(answers.SetLine, "sets", "Sets", "The sets of questions by name."),
    ),
    Operation(
        method="GET", path="/questions", verb="questions.list", scope="read",
        answer=list_of(
            answers.Question, "questions", "Questions",
            "The questions of a set, the earliest label first.",
        ),
    ),
    Operation(
        method="GET", path="/questions/labels", verb="questions.labels", scope="read",
        answer=answers.Labels,
    ),
    Operation(
        method="POST", path="/questions/label", verb="questions.label", scope="write", status=204,
        answer=None, problems=[404],
        body=BodySpec(
            "LabelBody", "A label of a memory: whether it is right for a question.",
            {"question": "Where does Ada live?", "chunk_id": 42, "right": True, "user_id": "ada"},
        ),
    ),
    Operation(
        method="POST", path="/questions/unlabel", verb="questions.unlabel", scope="write",
        status=204, answer=None,
        body=BodySpec(
            "UnlabelBody", "A label to remove.",
            {"question": "Where does Ada live?", "chunk_id": 42, "user_id": "ada"},
        ),
    ),
    Operation(
        method="POST", path="/questions/remove", verb="questions.remove", scope="write",
        answer=value_of("labels", "RemovedLabels", "The number of labels that were removed."),
        body=BodySpec(
            "QuestionBody", "A question to remove from its set.",
            {"question": "Where does Ada live?", "user_id": "ada"},
        ),
    ),
    Operation(
        method="POST", path="/questions/compare", verb="questions.compare", scope="read",
        answer=answers.SetCompared, problems=[404, 504],
        body=BodySpec(
            "CompareSetBody", "Two rankings with which to ask all questions of a set.",
            {"set_name": "questions", "overrides": {"lexical": 1.5}},
        ),
    ),
)  # fmt: skip

router = APIRouter(prefix="/v1", tags=["searches"])
for operation in OPERATIONS:
    operation.add_to(router)
