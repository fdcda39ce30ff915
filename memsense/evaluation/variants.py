"""Profiles made from one: a part left out (ablation), or constants tried in turn (sweep)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import get_type_hints

from pydantic import TypeAdapter, ValidationError

from memsense.errors import ConfigurationError, NotFoundError
from memsense.search.profiles import ROUTES, VECTOR_ROUTES, Profile
from memsense.text.nearest import did_you_mean

PARTS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        **{route: {route: 0.0} for route in ROUTES},
        "words": {"lexical": 0.0, "coverage_weight": 0.0},
        "vectors": {
            **dict.fromkeys(VECTOR_ROUTES, 0.0),
            "similarity_weight": 0.0,
            "event_weight": 0.0,
        },
        "facets": {
            **{route: 0.0 for route in ROUTES if route.startswith("facet_")},
            "event_weight": 0.0,
        },
        "names": {"names_removed": False, "speaker_bonus": 0.0},
        "speaker": {"speaker_bonus": 0.0},
        "dates": {"date_weight": 0.0},
        "coverage": {"coverage_weight": 0.0},
        "similarity": {"similarity_weight": 0.0},
        "events": {"event_weight": 0.0},
        "neighbours": {"neighbour_weight": 0.0},
        "tokens": {
            "tokens_weight": 0.0,
            "tokens_near_weight": 0.0,
            "tokens_session_weight": 0.0,
        },
        "tokens_near": {"tokens_near_weight": 0.0},
        "tokens_session": {"tokens_session_weight": 0.0},
        "asks": {"asks_weight": 0.0},
        "when_time": {"when_time_weight": 0.0},
        "reranker": {"reranker_weight": 0.0},
        "context": {"weight_context": 0.0},
        "tags": {"weight_tag": 0.0, "tag_redundancy": 0.0},
        "memory_score": {"memory_alpha": 0.0},
        "session_support": {
            "turn_support_coefficient": 0.0,
            "second_turn_weight": 0.0,
            "session_chunk_weight": 0.0,
            "session_weight": 0.0,
        },
        "one_per_exchange": {"one_per_exchange": False},
        "duplicate_texts": {"duplicate_overlap": 0.0},
        "mmr": {"mmr_lambda": 1.0, "duplicate_threshold": 2.0},
    }
)
"""Every route, group of routes and signal that can be left out, with the constants it takes."""


def without(profile: Profile, part: str) -> Profile:
    """The profile without a route or signal; raises NotFoundError listing the parts there are."""
    if part not in PARTS:
        raise NotFoundError(
            f"no route or signal named {part!r}; there are {', '.join(PARTS)}"
            f"{did_you_mean(part, PARTS)}"
        )
    return profile.override(name=f"{profile.name} without {part}", **PARTS[part])


def ablations(profile: Profile, parts: Sequence[str] | None = None) -> list[Profile]:
    """The profile without each of the parts, by default of all.

    Left out are those that would change nothing, and those without which no route is left.
    """
    variants = [without(profile, part) for part in parts or PARTS]
    return [variant for variant in variants if _differs(variant, profile) and _has_routes(variant)]


def _differs(variant: Profile, profile: Profile) -> bool:
    return variant.as_dict() | {"name": ""} != profile.as_dict() | {"name": ""}


def _has_routes(profile: Profile) -> bool:
    return any(profile.weights.values())


def parse_grid(settings: Iterable[str]) -> dict[str, list[object]]:
    """The values to try from texts such as `rrf_k=5,15,60`; several texts are combined.

    Raises ConfigurationError for an unknown constant or a value of the wrong type.
    """
    grid: dict[str, list[object]] = {}
    for setting in settings:
        name, equals, values = setting.partition("=")
        if not equals or not values:
            raise ConfigurationError(f"{setting!r} is no grid; write e.g. rrf_k=5,15,60")
        grid[name.strip()] = [_parse_value(name.strip(), text) for text in values.split(",")]
    return grid


def _parse_value(name: str, text: str) -> object:
    hints = {**get_type_hints(Profile), **dict.fromkeys(ROUTES, float)}
    if name in ("name", "weights") or name not in hints:
        raise ConfigurationError(f"no constant or route named {name!r} to try values of")
    value = text.strip()
    try:
        return TypeAdapter[object](hints[name]).validate_python(value)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        raise ConfigurationError(f"{name} can't be {value!r}: {message}") from error


def grid_profiles(base: Profile, grid: Mapping[str, Sequence[object]]) -> list[Profile]:
    """The base with every combination of the grid's values, each named after its values."""
    return [
        base.override(
            name=f"{base.name} {' '.join(f'{name}={value}' for name, value in pairs)}",
            **dict(pairs),
        )
        for pairs in (
            tuple(zip(grid, values, strict=True)) for values in product(*grid.values()) if grid
        )
    ]
