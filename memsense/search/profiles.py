"""Recall profiles: named sets of every constant that shapes a ranking."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BeforeValidator, InstanceOf

from memsense.errors import ConfigurationError, NotFoundError
from memsense.inputs import find_id_fault, shorten, wrong_value
from memsense.text.nearest import did_you_mean
from memsense.types import Granularity

Route = Literal[
    "vec_full",
    "vec_user",
    "vec_assistant",
    "vec_next_user",
    "lexical",
    "facet_personal_info",
    "facet_preferences",
    "facet_events",
    "graph",
    "time",
]
ROUTES: tuple[Route, ...] = get_args(Route)
"""Every route, in the order of the numbers that recall.sql gives them (1-based)."""

VECTOR_ROUTES: tuple[Route, ...] = tuple(
    route for route in ROUTES if route.startswith(("vec_", "facet_"))
)

LARGEST_WEIGHT = 5.0
# Kinds of constants: a type, with the smallest and the largest value.
Weight = Annotated[float, (0, LARGEST_WEIGHT)]
Share = Annotated[float, (0, 1)]

TOKEN_WEIGHTS = (
    "tokens_weight",
    "tokens_speaker_weight",
    "tokens_around_weight",
    "tokens_session_weight",
    "tokens_whole_weight",
)
"""Weights of the terms that compare a question's tokens with those of candidates."""

SECOND_MODEL: Mapping[str, float] = MappingProxyType(
    {"rrf_weight": 0.0, "similarity_weight": 1.0, "coverage_weight": 0.6}
)
"""Weights of texts that the second model compares, in a profile whose words weigh as balanced's."""

ALL_ALIKE: Mapping[str, float] = MappingProxyType(
    {
        "request_words": 1.0,
        "request_tokens": 1.0,
        "request_similarity": 0.0,
    }
)
"""Constants with which a request is ranked as a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A complete set of constants for one way to rank.

    The page 'How recall ranks' has each formula.

        profile = PROFILES["balanced"].override(name="mine", lexical=1.5, mmr_lambda=0.9)

    Ranges are checked when a profile is made; a weight of 0 turns a term off.

    Args:
        name: Name of the profile.
        granularity: What a search returns that names none: exchanges ("turn") or stored sessions.
        weights: Weights of the routes, 0 to 5; a route of weight 0 is not run.
        rrf_k: Constant of reciprocal rank fusion: a route adds weight / (rrf_k + rank).
        list_depth: Number of hits up to which every top_k gives the beginning of one list.
        candidate_factor: Chunks that fusion keeps for each hit of top_k, or of list_depth.
        least_candidates: Minimum number of chunks that fusion keeps.
        route_factor: Chunks that a route keeps for each one that fusion keeps.
        least_route_limit: Minimum number of chunks that a route keeps.
        session_depth: Factor of the numbers of chunks, and of `tokens_depth`, for sessions.
        lexical_mode: "bm25f" scores any matching word, "ts_rank" needs all words.
        k1: Saturation of BM25F.
        b: Length normalisation of BM25F, 0 to 1.
        weight_user: Weight of the user's text in BM25F.
        weight_assistant: Weight of the assistant's text.
        weight_context: Weight of the ends of the exchanges before and after.
        weight_tag: Weight of the tags.
        postings_budget: Postings of the words that find chunks at most; other words only score.
        memory_alpha: Weight of the chunk's memory score.
        ranks: "apart" counts ranks over exchanges and over session chunks, "together" over both.
        session_chunks: "found" ranks the session chunks that a route found; "all" also the first of
            each session whose exchanges alone were found.
        session_scoring: "best_turns" scores a session by its best exchange, "support" by its
            session chunk and that exchange.
        turn_support_coefficient: Weight of the best exchange's rrf_score with "support".
        turn_support_cap: Maximum of that support.
        second_turn_weight: Weight of the second exchange's rrf_score with "best_turns".
        session_chunk_weight: Weight of the session chunk's rrf_score with "best_turns".
        mmr_lambda: Weight of relevance against redundancy in the choice of hits, 0 to 1.
        duplicate_threshold: Redundancy from which a candidate is a near-duplicate of a hit.
        duplicate_overlap: Share of common words that near-duplicates must have; 0 compares vectors
            alone.
        tag_redundancy: Redundancy of two candidates with the same tags.
        relevance: "normalised" takes scores as shares of their range, "raw" as they are.
        names_removed: Whether speakers' names are removed from the question.
        rrf_weight: Weight of the fused ranks.
        coverage_weight: Weight of the lexical score as a share of the question's largest one.
        similarity_weight: Weight of half the cosine of the whole and half that of the nearer side.
        date_weight: Weight of the nearness to dates that the question names.
        inside_weight: Weight of the confidence that a time of `inside_days` or more in the question
            holds the memory's day.
        inside_days: Number of days of the shortest such time.
        inside_alone_weight: The same for any time, where the question asks for nothing else.
        beside_weight: Share of the way by which the neighbours of what is asked about rise above
            all others; 0 looks for none.
        latest_weight: Share of the way by which memories that fit about as well rise, where the
            last or first time is asked for.
        latest_band: Score of such memories, as a share of the best one's.
        tokens_weight: Weight of the similarity of the tokens of question and exchange.
        tokens_speaker_weight: The same for the one speaker that is named, less the other side's.
        tokens_around_weight: The same for the exchange and its neighbours.
        tokens_session_weight: The same for the whole session, where sessions are returned.
        tokens_whole_weight: The same for the whole session, where exchanges are returned.
        tokens_depth: Best candidates that are compared token by token, more where top_k is larger
            than list_depth; others get an estimate.
        question_tokens: Maximum number of question tokens to compare, heaviest first.
        question_words: Maximum number of words of a question to search for, rarest first.
        current_weight: Share of the way by which the statement that the question's tense asks for
            rises above another about the same fact.
        current_depth: Best candidates above which another one may rise.
        current_pool: Best candidates that may rise.
        current_reach: Maximum difference of the scores of two such statements.
        current_margin: Distance of the wanted statement above the other.
        current_pair_threshold: Logit of the chance that one statement replaces the other, above
            which both are shown together.
        current_threshold: The same logit, above which the newer one rises, if nothing speaks
            against it.
        current_link_depth: Best candidates above which what superseded them may rise.
        current_link_threshold: The same logit, above which a memory is called superseded, if words
            prove it.
        words_alone_weight: Share of the way by which a chunk without vectors rises to the score
            that its place by words has among the others.
        words_alone_coverage: Share of the largest lexical score from which words alone decide that
            place; less raises by as much less.
        asker_known: Whether questions about the user ("she", a name) are searched for as "I".
        request_words: Share of the weights of words that counts for a request.
        request_tokens: Share of the weights of tokens that counts for a request.
        request_similarity: Weight added to `similarity_weight` for a request.
        reranker_weight: Weight of an optional reranker's score.
        reranker_depth: Number of best entries that the reranker reads.
        phrase_boost: Boost of texts that hold the question word for word.
        identifier_boost: Boost of texts that hold identifiers of the question (tickets, versions,
            file names), and their weight in the lexical route.
        quoted: "should" boosts texts that hold the question's quotations, "must" returns no others.
        quoted_boost: Boost of texts that hold the question's quotations.
        one_per_exchange: Whether only the best part of a long exchange may be a hit.
        max_per_session: Hits of one session at most; 0 for no limit.
        min_sessions: First hits that are of different sessions, if there are so many.

    Raises:
        ConfigurationError: If a constant is of the wrong kind or out of range; names it.
    """

    name: str
    granularity: Granularity = "turn"
    weights: Mapping[Route, float] = field(
        # 1 for every route except the optional ones.
        default_factory=lambda: {route: float(route not in {"graph", "time"}) for route in ROUTES}
    )
    rrf_k: Annotated[float, (0, 10_000)] = 15.0
    list_depth: Annotated[int, (1, 1000)] = 50
    candidate_factor: Annotated[int, (1, 1000)] = 4
    least_candidates: Annotated[int, (1, 10_000)] = 32
    route_factor: Annotated[int, (1, 100)] = 2
    least_route_limit: Annotated[int, (1, 10_000)] = 40
    session_depth: Annotated[int, (1, 100)] = 1
    lexical_mode: Literal["bm25f", "ts_rank"] = "bm25f"
    k1: Annotated[float, (0.01, 10)] = 1.2
    b: Share = 0.75
    weight_user: Weight = 1.0
    weight_assistant: Weight = 1.0
    weight_context: Weight = 0.4
    weight_tag: Weight = 1.0
    postings_budget: Annotated[int, (1, 10_000_000)] = 2000
    memory_alpha: Weight = 0.1
    ranks: Literal["apart", "together"] = "apart"
    session_chunks: Literal["found", "all"] = "found"
    session_scoring: Literal["support", "best_turns"] = "support"
    turn_support_coefficient: Weight = 0.6
    turn_support_cap: Weight = 0.12
    second_turn_weight: Weight = 0.0
    session_chunk_weight: Weight = 0.0
    mmr_lambda: Share = 0.78
    duplicate_threshold: Annotated[float, (0, 2)] = 0.94
    duplicate_overlap: Share = 0.0
    tag_redundancy: Share = 0.35
    relevance: Literal["normalised", "raw"] = "normalised"
    names_removed: bool = False
    rrf_weight: Weight = 1.0
    coverage_weight: Weight = 0.0
    similarity_weight: Weight = 0.0
    date_weight: Weight = 0.0
    inside_weight: Weight = 0.0
    inside_days: Annotated[int, (1, 1000)] = 80
    inside_alone_weight: Weight = 0.0
    beside_weight: Share = 0.0
    latest_weight: Share = 0.0
    latest_band: Share = 0.9
    tokens_weight: Weight = 0.0
    tokens_speaker_weight: Weight = 0.0
    tokens_around_weight: Weight = 0.0
    tokens_session_weight: Weight = 0.0
    tokens_whole_weight: Weight = 0.0
    tokens_depth: Annotated[int, (1, 1000)] = 48
    question_tokens: Annotated[int, (1, 1000)] = 1000
    question_words: Annotated[int, (1, 1000)] = 1000
    current_weight: Share = 0.0
    current_depth: Annotated[int, (1, 100)] = 2
    current_pool: Annotated[int, (2, 1000)] = 15
    current_reach: Annotated[float, (0, 10)] = 0.9
    current_margin: Share = 0.01
    current_pair_threshold: Annotated[float, (-20, 20)] = -1.0
    current_threshold: Annotated[float, (-20, 20)] = -0.5
    current_link_depth: Annotated[int, (1, 1000)] = 20
    current_link_threshold: Annotated[float, (-20, 20)] = 1.0
    words_alone_weight: Share = 0.0
    words_alone_coverage: Annotated[float, (0.01, 1)] = 0.3
    asker_known: bool = False
    request_words: Share = 1.0
    request_tokens: Share = 1.0
    request_similarity: Weight = 0.0
    reranker_weight: Weight = 1.0
    reranker_depth: Annotated[int, (1, 1000)] = 20
    phrase_boost: Weight = 0.0
    identifier_boost: Weight = 0.0
    quoted: Literal["off", "should", "must"] = "off"
    quoted_boost: Weight = 0.5
    one_per_exchange: bool = False
    max_per_session: Annotated[int, (0, 1000)] = 0
    min_sessions: Annotated[int, (0, 1000)] = 0

    def __post_init__(self) -> None:
        """Reject unknown routes, and constants of the wrong kind or out of range."""
        object.__setattr__(self, "weights", MappingProxyType(_complete(self.weights)))
        for name, kind in _KINDS.items():
            if type(value := getattr(self, name)) is not kind:
                expected = "true or false" if kind is bool else "a whole number"
                raise ConfigurationError(f"{name} must be {expected}, not {shorten(value)}")
        for name, (low, high) in _BOUNDS.items():
            _check_range(name, getattr(self, name), low, high)
        for name, choices in _CHOICES.items():
            _check_choice(name, getattr(self, name), choices)

    def candidate_limit(self, top_k: int, *, sessions: bool = False) -> int:
        """Return the number of fused candidates that one search keeps.

        Args:
            top_k: Maximum number of hits.
            sessions: Whether the search returns sessions, and so needs several turns of each.
        """
        depth = self.session_depth if sessions else 1
        hits = max(top_k, self.list_depth)
        return depth * max(self.candidate_factor * hits, self.least_candidates)

    def route_limit(self, top_k: int, *, sessions: bool = False) -> int:
        """Return the number of rows that one route keeps.

        Args:
            top_k: Maximum number of hits.
            sessions: Whether the search returns sessions, and so needs several turns of each.
        """
        depth = self.session_depth if sessions else 1
        rows = self.route_factor * self.candidate_limit(top_k, sessions=sessions)
        return max(rows, depth * self.least_route_limit)

    def token_limit(self, top_k: int, *, sessions: bool = False) -> int:
        """Return the number of candidates that are compared token by token; 0 if no term does.

        Args:
            top_k: Maximum number of hits.
            sessions: Whether the search returns sessions, and so needs several turns of each.
        """
        used = (
            self.tokens_weight,
            self.tokens_speaker_weight,
            self.tokens_around_weight,
            self.tokens_session_weight if sessions else self.tokens_whole_weight,
            self.current_weight,
        )
        if not any(used):
            return 0
        depth = self.session_depth if sessions else 1
        return depth * self.tokens_depth * max(top_k, self.list_depth) // self.list_depth

    def override(self, **changes: object) -> "Profile":
        """Return a copy with some constants or route weights changed.

            profile.override(lexical=1.5, name="more words")

        Args:
            changes: New values by the names of routes and constants.

        Raises:
            ConfigurationError: If a name is unknown or a value is out of range.
        """
        weights = {name: value for name, value in changes.items() if name in ROUTES}
        rest = {name: value for name, value in changes.items() if name not in ROUTES}
        unknown = rest.keys() - {item.name for item in fields(self)}
        if unknown:
            raise ConfigurationError(
                f"no constant or route named {', '.join(sorted(unknown))};"
                f" known: {', '.join(sorted({item.name for item in fields(self)} | set(ROUTES)))}"
            )
        return replace(self, **{"weights": {**self.weights, **weights}, **rest})  # pyright: ignore[reportArgumentType]

    def vary(self, changes: Mapping[str, object]) -> "Profile":
        """Return a copy with some constants changed and a name that lists the changes.

        Args:
            changes: New values by the names in `TUNABLE`.

        Raises:
            ConfigurationError: If a name is unknown or a value is out of range.
        """
        if not changes:
            return self
        if unknown := sorted(changes.keys() - set(TUNABLE)):
            raise ConfigurationError(
                f"no constant or route named {', '.join(unknown)}{did_you_mean(unknown, TUNABLE)}"
                " (memsense profile show lists them)"
            )
        varied = self.override(**changes)
        summary = ", ".join(f"{name}={value}" for name, value in changes.items())
        return replace(varied, name=f"{self.name} ({summary})")

    @property
    def has_requests(self) -> bool:
        """Return whether a request is ranked differently from a question."""
        return any(getattr(self, name) != value for name, value in ALL_ALIKE.items())

    def for_request(self, share: float) -> "Profile":
        """Return the profile that ranks a prompt which is a request to this share.

        The result ranks all prompts alike, by the constants in force.

        Args:
            share: 0 for a question, 1 for a request, or what is between.
        """

        def reduced(factor: float) -> float:
            return 1 - share * (1 - factor)

        words, tokens = reduced(self.request_words), reduced(self.request_tokens)
        weights = ("lexical", "coverage_weight")
        values = self.constants()
        changes: dict[str, object] = {name: words * values[name] for name in weights}
        for name in TOKEN_WEIGHTS:
            changes[name] = tokens * values[name]
        similarity = self.similarity_weight + share * self.request_similarity
        changes["similarity_weight"] = min(similarity, LARGEST_WEIGHT)
        return self.override(**changes, **ALL_ALIKE)

    def for_second_model(self) -> "Profile":
        """Return the profile that ranks what the second model compares.

        By raw scores, since ranks throw away how clear a cosine is, and without tokens, which that
        model doesn't have: `SECOND_MODEL` says what was measured. The balance of words against
        meaning is that of the profile. One that finds nothing by meaning stays as it is, and so
        does one that ranks by raw scores itself.
        """
        changes: dict[str, object] = dict.fromkeys((*TOKEN_WEIGHTS, "current_weight"), 0.0)
        meaning = sum(self.weights[route] for route in VECTOR_ROUTES)
        if meaning and self.rrf_weight and self.lexical_mode == "bm25f":
            balance = self.weights["lexical"] / meaning / _balance_of_words()
            coverage = self.coverage_weight + SECOND_MODEL["coverage_weight"] * balance
            similarity = self.similarity_weight + SECOND_MODEL["similarity_weight"]
            changes |= {
                "rrf_weight": SECOND_MODEL["rrf_weight"] * self.rrf_weight,
                "coverage_weight": min(coverage, LARGEST_WEIGHT),
                "similarity_weight": min(similarity, LARGEST_WEIGHT),
            }
        return self.override(**changes)

    def constants(self) -> dict[str, Any]:
        """Return every route's weight and every constant by its name."""
        values: dict[str, Any] = {**self.weights, **self.as_dict()}
        return {name: value for name, value in values.items() if name not in ("name", "weights")}

    def as_dict(self) -> dict[str, object]:
        """Return every constant, ready for JSON."""
        return {
            item.name: dict(self.weights) if item.name == "weights" else getattr(self, item.name)
            for item in fields(self)
        }


_KINDS: Mapping[str, type] = MappingProxyType(
    {item.name: type(item.default) for item in fields(Profile) if isinstance(item.default, int)}
)
"""The constants that are whole numbers or switches; the other numbers may have fractions."""


SCORE_WEIGHTS: tuple[str, ...] = (
    *ROUTES,
    *(item.name for item in fields(Profile) if item.name.endswith(("_weight", "_boost"))),
    "memory_alpha",
    "turn_support_coefficient",
)
"""Names of all constants that weigh a part of a score."""

_BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        item.name: get_args(item.type)[1]
        for item in fields(Profile)
        if get_origin(item.type) is Annotated
    }
)
"""The smallest and the largest value of each constant that is a number."""

_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {item.name: get_args(item.type) for item in fields(Profile) if get_origin(item.type) is Literal}
)
"""The words of each constant that is one of several."""


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} must be {' or '.join(choices)}, not {shorten(value)}")


def _check_range(name: str, value: object, low: float, high: float) -> None:
    usable = isinstance(value, int | float) and low <= value <= high
    if not usable or isinstance(value, bool):
        raise ConfigurationError(
            f"{name} must be between {low:g} and {high:g}, not {shorten(value)}"
        )


def _complete(weights: Mapping[Route, float]) -> dict[Route, float]:
    unknown = weights.keys() - set(ROUTES)
    if unknown:
        raise ConfigurationError(f"no route named {', '.join(sorted(unknown))}")
    for route, weight in weights.items():
        _check_range(f"weight of {route}", weight, 0, LARGEST_WEIGHT)
    return {route: float(weights.get(route, 0.0)) for route in ROUTES}


# The default: the only place of its weights. docs/how/constants.md says how they were found.
BALANCED = Profile(
    name="balanced",
    weights={
        "vec_full": 0.7,
        "vec_user": 1.0,
        "vec_assistant": 0.15,
        "lexical": 2.6,
        "time": 0.5,
    },
    candidate_factor=2,
    least_candidates=100,
    route_factor=1,
    least_route_limit=100,
    session_depth=2,
    session_scoring="best_turns",
    names_removed=True,
    date_weight=0.6,
    inside_weight=0.3,
    inside_alone_weight=0.3,
    beside_weight=1.0,
    latest_weight=1.0,
    one_per_exchange=True,
    mmr_lambda=0.95,
    duplicate_overlap=0.8,
    tokens_weight=0.7,
    tokens_speaker_weight=0.25,
    tokens_around_weight=0.7,
    tokens_session_weight=1.5,
    tokens_whole_weight=0.6,
    tokens_depth=96,
    current_weight=1.0,
    words_alone_weight=1.0,
    asker_known=True,
    question_tokens=64,
    question_words=32,
    request_words=0.5,
    request_tokens=0.0,
    request_similarity=1.0,
)

# Score fusion: the same candidates, ranked by raw scores on a scale of their own.
CALIBRATED = BALANCED.override(
    name="calibrated",
    rrf_weight=0.0,
    coverage_weight=1.25,
    similarity_weight=1.0,
    date_weight=0.5,
)


def _balance_of_words() -> float:
    """Return the weight of words for each unit of meaning in the default profile."""
    weights = BALANCED.weights
    return weights["lexical"] / sum(weights[route] for route in VECTOR_ROUTES)


# More weight than balanced for what reads meaning, less for what reads words.
VECTOR_HEAVY = BALANCED.override(
    name="vector_heavy",
    vec_full=2.2,
    vec_user=1.3,
    vec_assistant=0.4,
    lexical=1.0,
    coverage_weight=0.04,
    similarity_weight=0.1,
)

# The reverse.
KEYWORD_FOCUSED = BALANCED.override(
    name="keyword_focused",
    vec_full=0.55,
    vec_user=0.325,
    vec_assistant=0.1,
    lexical=4.0,
    coverage_weight=0.16,
    similarity_weight=0.025,
)

# The original's algorithm: docs/how/constants.md, "The original's algorithm", has its figures.
MEMSENSE = Profile(
    name="memsense",
    granularity="session",
    list_depth=1,
    lexical_mode="ts_rank",
    ranks="together",
    session_chunks="all",
    relevance="raw",
)

LEXICAL = BALANCED.override(
    name="lexical",
    **dict.fromkeys(VECTOR_ROUTES, 0.0),
    coverage_weight=0.15,  # by ranks alone, every best hit would score the same
    similarity_weight=0.0,
    **dict.fromkeys(TOKEN_WEIGHTS, 0.0),
    current_weight=0.0,
    **ALL_ALIKE,
)

SEMANTIC = BALANCED.override(name="semantic", lexical=0.0, coverage_weight=0.0)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            BALANCED,
            CALIBRATED,
            MEMSENSE,
            VECTOR_HEAVY,
            KEYWORD_FOCUSED,
            LEXICAL,
            SEMANTIC,
        )
    }
)


def _read_profile_option(value: object) -> object:
    if not isinstance(value, str | Profile):
        raise wrong_value("must be a profile or its name", value)
    if isinstance(value, str) and (fault := find_id_fault(value)):
        raise ValueError(f"{fault}: {shorten(value)}")
    return value


GivenProfile = Annotated[str | InstanceOf[Profile], BeforeValidator(_read_profile_option)]
"""A profile, or the name of one."""

LARGEST_VALUES: Mapping[str, float] = {name: high for name, (_, high) in _BOUNDS.items()}
"""The largest value of each constant that has a range."""

TUNABLE: tuple[str, ...] = tuple(BALANCED.constants())
"""The names of all weights and constants that a setting or a search may change."""


def read_profile(stored: Mapping[str, Any]) -> Profile:
    """Return the profile whose `as_dict` was stored, without constants of other versions."""
    names = {item.name for item in fields(Profile)}
    return Profile(**{name: value for name, value in stored.items() if name in names})


def get_profile(name: str) -> Profile:
    """Return the shipped profile of that name; raise NotFoundError with all names if unknown."""
    try:
        return PROFILES[name]
    except KeyError:
        raise NotFoundError(
            f"no profile named {name!r}; there are {', '.join(PROFILES)}"
            f"{did_you_mean(name, PROFILES)}"
        ) from None
