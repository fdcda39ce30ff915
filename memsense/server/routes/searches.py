"""Operations of searches: questions, contexts, why-not, recorded searches, sets of questions."""

from fastapi import APIRouter

from memsense.server import answers
from memsense.server.answers import list_of, value_of
from memsense.server.operations import Operation
from memsense.server.requests import (
    CompareBody,
    CompareSetBody,
    ContextBody,
    LabelBody,
    QuestionBody,
    RecordBody,
    ReplayBody,
    SearchBody,
    SearchesBody,
    UnlabelBody,
    WhyNotBody,
)

OPERATIONS = (
    Operation(
        method="POST", path="/search", verb="search", scope="read", answer=answers.SearchAnswer,
        body=SearchBody, problems=[404, 504],
    ),
    Operation(
        method="POST", path="/search/many", verb="search_many", scope="read", body=SearchesBody,
        problems=[404, 504],
        answer=list_of(
            answers.SearchAnswer, "answers", "SearchAnswers",
            "The answers to several questions, in the request's order.",
        ),
    ),
    Operation(
        method="POST", path="/context", verb="context", scope="read",
        answer=answers.ContextAnswer, body=ContextBody, problems=[404, 504],
    ),
    Operation(
        method="POST", path="/why-not", verb="why_not", scope="read", answer=answers.Verdict,
        body=WhyNotBody, problems=[404, 504],
    ),
    Operation(
        method="POST", path="/matching-words", verb="matching_words", scope="read",
        answer=value_of("words", "Words", "Words that a text search matches.", kind=list[str]),
    ),
    # Recorded searches
    Operation(
        method="POST", path="/traces", verb="search", name="traces_record", scope="read",
        status=201, answer=answers.SearchAnswer, body=RecordBody, fixed={"trace": True},
        location="/traces/{trace_id}", problems=[404, 504],
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
        answer=answers.ComparisonAnswer, body=CompareBody, problems=[404, 504],
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
        answer=answers.ReplayAnswer, body=ReplayBody, problems=[404, 504],
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
        method="POST", path="/questions/label", verb="questions.label", scope="write",
        status=204, answer=None, body=LabelBody, problems=[404],
    ),
    Operation(
        method="POST", path="/questions/unlabel", verb="questions.unlabel", scope="write",
        status=204, answer=None, body=UnlabelBody,
    ),
    Operation(
        method="POST", path="/questions/remove", verb="questions.remove", scope="write",
        answer=value_of("labels", "RemovedLabels", "The number of labels that were removed."),
        body=QuestionBody,
    ),
    Operation(
        method="POST", path="/questions/compare", verb="questions.compare", scope="read",
        answer=answers.SetCompared, body=CompareSetBody, problems=[404, 504],
    ),
)  # fmt: skip

router = APIRouter(prefix="/v1", tags=["searches"])
for operation in OPERATIONS:
    operation.add_to(router)
