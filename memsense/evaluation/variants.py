"""Profiles to evaluate: plain baselines, one without a part (ablation), constants tried (sweep)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from memsense.errors import ConfigurationError, NotFoundError
from memsense.search.profiles import ALL_ALIKE, ROUTES, TOKEN_WEIGHTS, VECTOR_ROUTES, Profile
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.text.nearest import did_you_mean

# Plain rankings: one list as it is, or two fused ------------------------------------------------

# Plain fusion reads 400 of each list (docs/guides/evaluation.md), so that a baseline does not lose
# by short lists.
PLAIN: Mapping[str, Any] = {
    "least_candidates": 200,
    "least_route_limit": 200,
    "session_scoring": "best_turns",
    "memory_alpha": 0.0,
    "weight_context": 0.0,
    "weight_tag": 0.0,
    "tag_redundancy": 0.0,
    "mmr_lambda": 1.0,
    "duplicate_threshold": 2.0,
}
"""Constants of a plain ranking: no blend, no context, no diversity."""

COSINE = Profile(name="cosine", weights={"vec_full": 1.0}, **PLAIN)
BM25 = Profile(name="bm25", weights={"lexical": 1.0}, **PLAIN)

FUSION = Profile(
    name="plain fusion", weights={"vec_full": 1.0, "lexical": 1.0}, rrf_k=60.0, **PLAIN
)
"""Reciprocal rank fusion of BM25 and cosine, with the constant of Cormack et al. (2009)."""

# The further parts of a long exchange take the places of other exchanges, so the baseline is also
# measured without them.
FUSION_OF_EXCHANGES = FUSION.override(name="plain fusion, one an exchange", one_per_exchange=True)

BASELINES: Sequence[Profile] = (FUSION, FUSION_OF_EXCHANGES)
"""The profiles that another profile has to beat."""


# Variants of a profile ---------------------------------------------------------------------------

PARTS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        **{route: {route: 0.0} for route in ROUTES},
        "words": {"lexical": 0.0, "coverage_weight": 0.0},
        "vectors": {
            **dict.fromkeys(VECTOR_ROUTES, 0.0),
            "similarity_weight": 0.0,
        },
        "facets": {route: 0.0 for route in ROUTES if route.startswith("facet_")},
        "names": {"names_removed": False},
        "dates": {
            "time": 0.0,
            "date_weight": 0.0,
            "inside_weight": 0.0,
            "inside_alone_weight": 0.0,
        },
        "inside": {"inside_weight": 0.0, "inside_alone_weight": 0.0},
        "order": {"beside_weight": 0.0, "latest_weight": 0.0},
        "coverage": {"coverage_weight": 0.0},
        "similarity": {"similarity_weight": 0.0},
        "requests": ALL_ALIKE,
        "tokens": dict.fromkeys(TOKEN_WEIGHTS, 0.0),
        "tokens_speaker": {"tokens_speaker_weight": 0.0},
        "tokens_around": {"tokens_around_weight": 0.0},
        "tokens_session": {"tokens_session_weight": 0.0, "tokens_whole_weight": 0.0},
        "words_alone": {"words_alone_weight": 0.0},
        "current": {"current_weight": 0.0},
        "asker": {"asker_known": False},
        "reranker": {"reranker_weight": 0.0},
        "context": {"weight_context": 0.0},
        "tags": {"weight_tag": 0.0, "tag_redundancy": 0.0},
        "memory_score": {"memory_alpha": 0.0},
        "session_support": {
            "turn_support_coefficient": 0.0,
            "second_turn_weight": 0.0,
            "session_chunk_weight": 0.0,
        },
        "one_per_exchange": {"one_per_exchange": False},
        "duplicate_texts": {"duplicate_overlap": 0.0},
        "mmr": {"mmr_lambda": 1.0, "duplicate_threshold": 2.0},
    }
)
"""Routes, groups of routes and signals that can be left out, with the constants that do so."""


def without(profile: Profile, part: str) -> Profile:
    """Return the profile without a route or a signal.

    Args:
        profile: The profile to change.
        part: A key of `PARTS`.

    Raises:
        NotFoundError: If there is no such part; lists all parts.
    """
    if part not in PARTS:
        raise NotFoundError(
            f"no route or signal named {part!r}; there are {', '.join(PARTS)}"
            f"{did_you_mean(part, PARTS)}"
        )
    return profile.override(name=f"{profile.name} without {part}", **PARTS[part])


def ablations(profile: Profile, parts: Sequence[str] | None = None) -> list[Profile]:
    """Return the profile without each of the parts in turn.

    Args:
        profile: The profile to change.
        parts: Keys of `PARTS`; by default all.

    Returns:
        One profile for each part. Parts that the profile doesn't use, and parts without which no
        route remains that every search reads, are skipped.
    """
    own = profile.as_dict() | {"name": ""}
    variants = [without(profile, part) for part in parts or PARTS]
    return [
        variant
        for variant in variants
        if variant.as_dict() | {"name": ""} != own
        and any(weight for route, weight in variant.weights.items() if route not in OPTIONAL_ROUTES)
    ]


def parse_grid(settings: Iterable[str]) -> dict[str, list[object]]:
    """Read the values to try from texts such as `rrf_k=5,15,60`.

    Args:
        settings: A text for each constant or route weight.

    Raises:
        ConfigurationError: If a constant is unknown, or a value has the wrong type.
    """
    hints = {**get_type_hints(Profile), **dict.fromkeys(ROUTES, float)}
    grid: dict[str, list[object]] = {}
    for setting in settings:
        name, equals, values = setting.partition("=")
        if not equals or not values:
            raise ConfigurationError(f"{setting!r} is no grid; write e.g. rrf_k=5,15,60")
        name = name.strip()
        # `weights` holds all routes together; a grid names a route by itself.
        if name in ("name", "weights") or name not in hints:
            raise ConfigurationError(f"no constant or route named {name!r} to try values of")
        grid[name] = []
        for text in values.split(","):
            value = text.strip()
            try:
                grid[name].append(TypeAdapter[object](hints[name]).validate_python(value))
            except ValidationError as error:
                message = error.errors(include_url=False)[0]["msg"]
                raise ConfigurationError(f"{name} can't be {value!r}: {message}") from error
    return grid


def grid_profiles(base: Profile, grid: Mapping[str, Sequence[object]]) -> list[Profile]:
    """Return the base with every combination of the grid's values, each named after its values.

    Args:
        base: The profile to change.
        grid: Values to try, by constant or route.
    """
    return [
        base.override(
            name=f"{base.name} {' '.join(f'{name}={value}' for name, value in pairs)}",
            **dict(pairs),
        )
        for pairs in (
            tuple(zip(grid, values, strict=True)) for values in product(*grid.values()) if grid
        )
    ]
