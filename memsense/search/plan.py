"""The plan phase: analyses and embeds a question, and decides what recall reads for it.

Decisions that depend on the memory, such as whether session chunks are stored, are made by what
the last search reported of it. Recall reports it anew: if a decision turns out to be wrong, the
search is run again.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from memsense import telemetry
from memsense.embed import (
    LEAST_KNOWN,
    Embedder,
    QuestionTokens,
    Vectors,
    find_token_embedder,
    reads_whole,
    share_known,
)
from memsense.forking import renew_in_child
from memsense.search.profiles import VECTOR_ROUTES, Profile
from memsense.search.question import Question, Wording, analyse_question, find_phrase
from memsense.search.question.asking import find_asking
from memsense.search.question.kind import KindReading, read_kind
from memsense.search.question.time.calendar import DEFAULT_CALENDAR, Calendar
from memsense.search.recall.optional import ask_optional
from memsense.search.recall.run import OtherQuestion, RecallRequest, RecallState
from memsense.search.recall.statement import Indexed
from memsense.search.request import SearchRequest
from memsense.store.scopes import LEXEMES_VERSION, KnownScope, choose_default, choose_introduced
from memsense.text.configurations import AUTO, choose_language, list_former_lexemes
from memsense.text.language import SCRIPTS, read_stop_words
from memsense.text.lexemes import ask_lexemes, lexical_query, list_lexemes
from memsense.types import EmbeddingModel, Granularity

_WORD = re.compile(r"[^\W_]+")


EVERYONE = ""
"""Key of all users together among known scopes; no user has this id."""


class KnownScopes:
    """A bounded, thread-safe cache of scopes by user; the least recently used one is dropped."""

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._renew()
        renew_in_child(self._renew)
        self._scopes: OrderedDict[str, KnownScope] = OrderedDict()

    def _renew(self) -> None:
        self._lock = Lock()

    def get(self, user_id: str) -> KnownScope | None:
        """Return the scope as the last search saw it, None if none has."""
        with self._lock:
            if user_id in self._scopes:
                self._scopes.move_to_end(user_id)
            return self._scopes.get(user_id)

    def put(self, user_id: str, scope_state: KnownScope) -> None:
        """Store a scope as it is now."""
        with self._lock:
            self._scopes[user_id] = scope_state
            self._scopes.move_to_end(user_id)
            if len(self._scopes) > self._size:
                self._scopes.popitem(last=False)

    def drop(self, user_id: str) -> None:
        """Remove a scope if it is stored."""
        with self._lock:
            self._scopes.pop(user_id, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """A request with its tenant, model, profile and time, as its namespace determines them.

    `second` is the model for languages that `model` doesn't know, None if there is none.
    `language` is the one that the namespace says of all its texts, or "auto".
    `asked_at` is in the zone of `calendar`, whose days the question names.
    `unembedded` is the reason why the question is answered without a vector, "" if it has one.
    `recall_timeout` is in seconds, 0 for none.
    """

    request: SearchRequest
    tenant_id: int
    namespace: str
    model: EmbeddingModel | None
    profile: Profile
    asked_at: datetime
    second: EmbeddingModel | None = None
    language: str = AUTO
    calendar: Calendar = DEFAULT_CALENDAR
    unembedded: str = ""
    recall_timeout: float = 0.0

    @property
    def granularity(self) -> Granularity:
        """Return the granularity of the hits: the call's, else the profile's."""
        return self.request.granularity or self.profile.granularity


class PreparedSearch(NamedTuple):
    """A search that is ready for recall; `embed_ms` is the time that the preparation took.

    `tokens` are the question's, None if no term compares tokens or the embedder has none. `kind` is
    None without a vector, and where the profile ranks requests as it ranks questions.
    `recall_request.profile` has the constants in force. `share_known` is the share of the question
    that the model knows.
    """

    plan: SearchPlan
    question: Question
    tokens: QuestionTokens | None
    recall_request: RecallRequest
    embed_ms: float
    kind: KindReading | None = None
    share_known: float = 1.0


class ChosenModels(NamedTuple):
    """The model that a question is embedded with, and the other one if it is asked as well."""

    model: EmbeddingModel | None
    other: EmbeddingModel | None = None


def find_asked_language(plan: SearchPlan, scope_state: KnownScope | None) -> str:
    """Return the language of a question: the namespace's, else its own.

    A few names and nouns are taken for any language: without more of its function words than of
    English ones, a question in Latin letters counts as English, unless most of the memory is in
    its language.
    """
    query, usual = plan.request.query, choose_default(scope_state)
    language = choose_language(query, usual, plan.language)
    if language in SCRIPTS or language in (usual, plan.language):
        return language
    words = _WORD.findall(query.casefold())
    own, english = (
        sum(map(read_stop_words(code).__contains__, words)) for code in (language, "en")
    )
    return language if own > english else "en"


def choose_models(plan: SearchPlan, scope_state: KnownScope | None) -> ChosenModels:
    """Return the models for a question: the first for texts and questions of its languages."""
    first, second = plan.model, plan.second
    if first is None or second is None or plan.unembedded:
        return ChosenModels(first)
    language = find_asked_language(plan, scope_state)
    if not first.knows(language) and second.knows(language):
        return ChosenModels(second)
    if scope_state is None:
        return ChosenModels(first, second)
    stored = scope_state.languages
    others = [code for code in stored if not first.knows(code)]
    if not others:
        return ChosenModels(first)
    # Where the first model has no text to compare, nothing has to be brought on its scale.
    return ChosenModels(second) if len(others) == len(stored) else ChosenModels(first, second)


def prepare_search(
    plan: SearchPlan,
    scope_state: KnownScope | None,
    chosen: ChosenModels,
    find_embedder: Callable[[EmbeddingModel | None], Embedder],
) -> PreparedSearch:
    """Analyse and embed the question; no connection is held while the model works."""
    started = time.perf_counter()
    request, profile, model = plan.request, plan.profile, chosen.model
    embedder = find_embedder(model)
    if model is not None and model == plan.second:
        profile = profile.for_second_model()
    question = analyse(plan, scope_state)
    sessions = may_return_sessions(plan, scope_state)
    token_limit = profile.token_limit(request.top_k, sessions=sessions)
    vector: Vectors | None = None
    other: OtherQuestion | None = None
    tokens = kind = None
    share = 1.0
    if not plan.unembedded and profile.weights["lexical"]:
        # Words alone answer what the model doesn't know: measured on questions in Japanese, its
        # vector and tokens halved the share of those whose answer came first.
        share = share_known(embedder, question.search_text)
    if not plan.unembedded and share >= LEAST_KNOWN:
        is_routed = any(map(profile.weights.get, VECTOR_ROUTES))
        with telemetry.embedding(embedder.model):
            token_embedder = find_token_embedder(embedder) if token_limit > 0 else None
            if not reads_whole(embedder, question.search_text):
                # The model would read only the beginning of a long question.
                question = analyse(plan, scope_state, find_asking(request.query))
            if token_embedder is not None:
                # One run of the model gives both.
                vector, tokens = token_embedder.embed_question(question.search_text)
                tokens = tokens.heaviest(profile.question_tokens)
                if not tokens.weights.any():
                    tokens = None  # one unknown word, too long for the vocabulary
            elif is_routed:
                vector = embedder.embed_query(question.search_text)
        if vector is not None and profile.has_requests:
            stated = request.request_share
            if request.prompt_kind is not None:
                stated = float(request.prompt_kind == "request")
            kind = read_kind(question, vector, embedder.model, stated=stated)
            # A question's constants are the profile's own: a copy would cost each search 76 µs.
            if kind.share:
                profile = profile.for_request(kind.share)
        if not is_routed:
            vector = None
        if vector is not None and chosen.other is not None:
            other_embedder = find_embedder(chosen.other)
            with telemetry.embedding(other_embedder.model):
                other_vector = other_embedder.embed_query(question.search_text)
            other = OtherQuestion(chosen.other, other_vector)
    terms, query = ask_words(
        plan, scope_state, question, with_query=profile.lexical_mode == "ts_rank"
    )
    # HNSW indexes serve the vectors of one memory as it is; everything else is searched exactly.
    indexed = None
    is_indexed = scope_state is not None and scope_state.indexed and request.as_of is None
    if scope_state is not None and model is not None and is_indexed:
        second = (other.model.model_id, other.model.dimension) if other else None
        indexed = Indexed(scope_state.scope_id, model.model_id, model.dimension, second)
    recall_request = RecallRequest(
        tenant_id=plan.tenant_id,
        namespace=plan.namespace,
        user_id=request.user_id,
        # Session chunks are read only if they may be returned.
        granularities=("turn", "session") if plan.granularity == "session" else ("turn",),
        model_id=model.model_id if model else None,
        model=model.name if model else "",
        query_vector=vector,
        other=other,
        terms=terms,
        query=query,
        profile=profile,
        top_k=request.top_k,
        sessions=sessions,
        token_limit=token_limit if tokens else 0,
        filters=request.filters,
        indexed=indexed,
        optional=ask_optional(question, profile, is_past=request.as_of is not None),
        wording=choose_wording(question, profile, scope_state),
        may_have_expired=may_have_expired(plan, scope_state),
        timeout=plan.recall_timeout,
        as_of=request.as_of,
    )
    embed_ms = 1000 * (time.perf_counter() - started)
    return PreparedSearch(plan, question, tokens, recall_request, embed_ms, kind, share)


def analyse(plan: SearchPlan, scope_state: KnownScope | None, text: str = "") -> Question:
    """Return the analysed question, without speakers' names if the profile requires it."""
    # In a memory about two people their names distinguish nothing: without them in the question,
    # T@10 of vectors alone rose from 53 to 69 on LoCoMo, that of all routes by 0.9 to 2 points.
    speakers = scope_state.speakers if scope_state and plan.profile.names_removed else ()
    return analyse_question(
        text or plan.request.query,
        speakers=speakers,
        asked_at=plan.asked_at,
        calendar=plan.calendar,
        asker=plan.request.user_id,
        introduced=scope_state.introduced if scope_state else (),
        is_asker_known=plan.profile.asker_known,
        language=find_asked_language(plan, scope_state),
    )


def ask_words(
    plan: SearchPlan, scope_state: KnownScope | None, question: Question, *, with_query: bool
) -> tuple[str, str]:
    """Return the question's lexemes as a tsvector, and if need be the question as a tsquery."""
    text, language = question.search_text, question.language
    languages = scope_state.languages if scope_state else ()
    terms = ask_lexemes(text, language, languages)
    query = lexical_query(text, language, languages) if with_query else ""
    if scope_state is None or scope_state.lexemes_version >= LEXEMES_VERSION:
        return terms, query
    # A memory whose index is being made anew has entries of both versions. A word that they spell
    # alike, as most of English, is one word; others count as two.
    former = [f"'{lexeme}'" for lexeme in list_former_lexemes(text, plan.language)]
    number = terms.count("':")
    added = [
        f"{lexeme}:{number + at}"
        for at, lexeme in enumerate(former, 1)
        if f"{lexeme}:" not in terms
    ]
    if with_query and former:
        query = f"({query}) | ({' & '.join(former)})" if query else " & ".join(former)
    return " ".join([terms, *added]), query


def choose_wording(
    question: Question, profile: Profile, scope_state: KnownScope | None = None
) -> Wording:
    """Return the texts to look for word for word, as far as the profile gives them weight."""
    required = question.quoted if profile.quoted == "must" else ()
    return Wording(
        required_lexemes=list_required(required, question.language, scope_state),
        phrase=find_phrase(question.text) if profile.phrase_boost else "",
        quoted=question.quoted if profile.quoted == "should" and profile.quoted_boost else (),
        required=required,
        identifiers=question.identifiers if profile.identifier_boost else (),
    )


def list_required(
    texts: Sequence[str], language: str, scope_state: KnownScope | None
) -> Sequence[str]:
    """Return lexemes that a memory has of each text that holds these texts word for word.

    The index finds the few texts with all of them. Words that languages of the memory stem
    differently, or leave out, are none, and without its languages nothing is.
    """
    if scope_state is None or scope_state.lexemes_version < LEXEMES_VERSION:
        return ()
    # A text may spell a word in other capitals, and add a sign and more letters to it.
    words = [word for text in texts for word in _WORD.findall(text.casefold())]
    lexemes: list[str] = []
    for word in words:
        each = [list_lexemes(word, it) for it in {language, *scope_state.languages}]
        lexemes += [it for it in each[0] if all(it in others for others in each)]
    return list(dict.fromkeys(lexemes))


def may_have_expired(plan: SearchPlan, scope_state: KnownScope | None) -> bool:
    """Return whether anything stored may have expired, as far as is known before recall."""
    return scope_state is None or scope_state.has_lapsed or plan.request.as_of is not None


def may_return_sessions(plan: SearchPlan, scope_state: KnownScope | None) -> bool:
    """Return whether sessions may come back, as far as is known before recall."""
    if plan.granularity != "session":
        return False
    # A call's granularity holds even if no session chunk is stored; a profile's is a default.
    is_requested = plan.request.granularity is not None
    return is_requested or scope_state is None or scope_state.has_sessions


def returns_sessions(plan: SearchPlan, state: RecallState) -> bool:
    """Return whether sessions come back: as the call says, or the profile if any exist."""
    if plan.granularity != "session":
        return False
    return plan.request.granularity is not None or bool(state.counts.get("session"))


def update_scope(scope_state: KnownScope, state: RecallState) -> KnownScope:
    """Return what is known of the scope after a recall."""
    if not scope_state.scope_id:
        # Of all users, a search knows no more than the languages.
        return replace(
            scope_state, languages=state.languages, lexemes_version=state.lexemes_version
        )
    return replace(
        scope_state,
        speakers=state.speakers,
        introduced=choose_introduced(state.introduced),
        languages=state.languages,
        lexemes_version=state.lexemes_version,
        indexed=state.indexed,
        has_sessions=bool(state.counts.get("session")),
        has_lapsed=state.has_expired,
    )


def has_same_plan(plan: SearchPlan, before: KnownScope, after: KnownScope) -> bool:
    """Return whether a search planned by `before` finds what one planned by `after` would find."""
    return (
        # Leaving out what has expired costs time and changes nothing if nothing has.
        may_have_expired(plan, before) >= after.has_lapsed
        and may_return_sessions(plan, before) == may_return_sessions(plan, after)
        and before.languages == after.languages
        and before.lexemes_version == after.lexemes_version
        and analyse(plan, before) == analyse(plan, after)
    )
