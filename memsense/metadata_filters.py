"""Filters of metadata: an object that it contains, and conditions with operators.

    {"topic": "garden"}                                        contains the object
    {"priority": {"gte": 3}, "state": {"nin": ["done"]}}       conditions
    {"or": [{"priority": {"gt": 8}}, {"topic": "garden"}]}     and, or, not at the top

Operators and joins may begin with a dollar sign. An object without operators stands for nested
metadata, which may have conditions, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeGuard, cast

from memsense.inputs import read_metadata, shorten

OPERATORS: Final = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists", "contains")
JOINS: Final = ("and", "or", "not")
MOST_CONDITIONS: Final = 100
MOST_VALUES: Final = 1000
"""Values in the lists of "in" and "nin": each memory is compared with every one."""

_SIGNS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class ExpectedTypes(NamedTuple):
    """The types of JSON that a value at a path needs to satisfy a filter."""

    path: Sequence[str]
    types: Sequence[str]


@dataclass(slots=True)
class MetadataConditions:
    """A filter of metadata as SQL takes it.

    Attributes:
        contained: The object that metadata must contain.
        path: A condition in the language of SQL's jsonpath; None if there is none.
        values: The values that the path names.
        expected: The types that the filter asks for, except under "not" and of what may be absent.
    """

    contained: dict[str, Any] = field(default_factory=dict[str, Any])
    path: str | None = None
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    expected: list[ExpectedTypes] = field(default_factory=list[ExpectedTypes])


def read_filter(value: object) -> dict[str, Any]:
    """Return a copy of a filter; raise ValueError, with a text for its argument, if it is wrong."""
    copy = read_metadata(value)
    compile_filter(copy)
    return copy


def compile_filter(criteria: Mapping[str, Any]) -> MetadataConditions:
    """Return a filter as SQL takes it.

    Raises:
        ValueError: If it has an unknown operator, or an operand that its operator does not take.
    """
    compiler = _Compiler()
    conditions = compiler.result
    parts = compiler.read(criteria, (), into=conditions.contained)
    if parts:
        # In strict mode a list is one value: in lax mode, 3 would equal [1, 3].
        conditions.path = f"strict $ ? ({' && '.join(parts)})"
    return conditions


def _operator(name: str) -> str | None:
    bare = name.removeprefix("$")
    return bare if bare in OPERATORS else None


def _join(name: str, value: object) -> str | None:
    """Return the join that a key is; without a dollar sign its value decides, as a key may be "or".

    mem0 writes joins in capitals, and "not" with a list.
    """
    bare = name.removeprefix("$").lower()
    if bare not in JOINS:
        return None
    is_many = _is_list(value) and all(isinstance(it, Mapping) for it in value)
    if is_many or (bare == "not" and isinstance(value, Mapping)):
        return bare
    if name.startswith("$"):
        takes = "a filter" if bare == "not" else "a list of filters"
        raise ValueError(f"holds {name!r} with {shorten(cast('object', value))}; it takes {takes}")
    return None


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _type_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "string"


def _is_scalar(value: object) -> bool:
    return not isinstance(value, Mapping | list)


def _if(condition: str) -> str:
    """Return a condition that is false where the other one is unknown, as for a missing key."""
    return f"exists($ ? ({condition}))"


class _Compiler:
    """Translator of one filter; values get their numbers in its order."""

    def __init__(self) -> None:
        self.result = MetadataConditions()
        self._is_negated = False
        self._count = 0
        self._listed = 0

    def read(
        self, criteria: Mapping[str, Any], path: tuple[str, ...], *, into: dict[str, Any] | None
    ) -> list[str]:
        """Return the conditions of an object; plain values are put `into` what is contained.

        Without `into` plain values are conditions as well, as within "or".
        """
        parts: list[str] = []
        for key, value in criteria.items():
            place = (*path, key)
            if not path and (join := _join(key, value)):
                parts.append(self._combine(join, value))
            elif key.startswith("$"):
                self._refuse(key)
            elif isinstance(value, Mapping) and self._has_operators(
                fields := cast("Mapping[str, Any]", value)
            ):
                parts += [self._compare(place, name, it) for name, it in fields.items()]
            elif isinstance(value, Mapping):
                inner: dict[str, Any] | None = None if into is None else {}
                fields = cast("Mapping[str, Any]", value)
                conditions = self.read(fields, place, into=inner)
                self._expect(place, "object")
                if into is None:
                    parts += conditions or [_if(f'{_path(place)}.type() == "object"')]
                else:
                    parts += conditions
                    # An object of conditions alone may be absent, as `ne` is true of it.
                    if inner or not conditions:
                        into[key] = inner
            elif into is not None:
                self._check_list(value)
                into[key] = value
                self._expect(place, "array" if isinstance(value, list) else _type_of(value))
            else:
                parts.append(self._equal(place, value))
        return parts

    def _combine(self, join: str, value: Any) -> str:
        filters = cast("list[Mapping[str, Any]]", value if isinstance(value, list) else [value])
        if join == "not":
            self._is_negated = not self._is_negated
        each = [self.read(it, (), into=None) for it in filters]
        alternatives = [f"({' && '.join(parts)})" if parts else "(1 == 1)" for parts in each]
        if join == "and":
            return f"({' && '.join(alternatives)})" if alternatives else "(1 == 1)"
        either = f"({' || '.join(alternatives)})" if alternatives else "(1 == 0)"
        if join == "or":
            return either
        self._is_negated = not self._is_negated
        return f"(!{either})"

    @staticmethod
    def _has_operators(fields: Mapping[str, Any]) -> bool:
        """Return whether an object holds operators; raise ValueError if some keys are none."""
        others = [name for name in fields if _operator(name) is None]
        for name in others:
            if name.startswith("$"):
                _Compiler._refuse(name)
        signed = [name for name in fields if name.startswith("$")]
        if others and signed:
            raise ValueError(f"holds {others[0]!r} next to the operator {signed[0]!r}")
        return bool(fields) and not others

    @staticmethod
    def _refuse(name: str) -> None:
        raise ValueError(
            f"holds the unknown operator {shorten(name)}; known are"
            f" {', '.join(OPERATORS)}, and at the top {', '.join(JOINS)}, each with or without $"
        )

    def _check_list(self, value: object) -> None:
        """Raise ValueError for an operator within a list, where none has a meaning."""
        if isinstance(value, list):
            for item in cast("list[object]", value):
                self._check_list(item)
        elif isinstance(value, Mapping):
            for name, inner in cast("Mapping[str, object]", value).items():
                if name.startswith("$"):
                    self._refuse(name)
                self._check_list(inner)

    def _compare(self, place: tuple[str, ...], name: str, operand: Any) -> str:
        operator, target = _operator(name), _path(place)
        if operator == "exists":
            if not isinstance(operand, bool):
                raise ValueError(f"holds {name!r} with {shorten(operand)}; it takes true or false")
            self._spend()
            return f"{'' if operand else '!'}{_if(f'exists({target})')}"
        if operator in {"in", "nin"}:
            if not _is_list(operand) or not all(map(_is_scalar, operand)):
                raise ValueError(
                    f"holds {name!r} with {shorten(operand)}; it takes a list of texts, numbers,"
                    " true, false or null"
                )
            self._listed += len(operand)
            if self._listed > MOST_VALUES:
                raise ValueError(f"has more than {MOST_VALUES:,} values in lists")
            # A comparison with a value of another type is unknown, and would hide the others.
            types = dict.fromkeys(map(_type_of, operand))
            each = [
                _if(f"{target} == {self._name([it for it in operand if _type_of(it) == kind])}[*]")
                for kind in types
            ]
            either = f"({' || '.join(each)})" if each else "(1 == 0)"
            if operator == "nin":
                return f"(!{either})"
            self._expect(place, *types)
            return either
        if not _is_scalar(operand):
            raise ValueError(
                f"holds {name!r} with {shorten(operand)}; it takes a text, a number, true, false"
                " or null. For a nested object or a list, write it without an operator"
            )
        if operator in {"eq", "ne"}:
            if operator == "eq":
                return self._equal(place, operand)
            return f"(!{_if(f'{target} == {self._name(operand)}')})"
        if operator == "contains":
            return self._contain(place, operand)
        if _type_of(operand) not in {"number", "string"}:
            raise ValueError(f"holds {name!r} with {shorten(operand)}; it takes a number or a text")
        self._expect(place, _type_of(operand))
        return _if(f"{target} {_SIGNS[operator or '']} {self._name(operand)}")

    def _equal(self, place: tuple[str, ...], value: Any) -> str:
        """Return the condition that a value is there; a list contains each item, as with `@>`."""
        if isinstance(value, list):
            items = cast("list[Any]", value)
            if not all(map(_is_scalar, items)):
                raise ValueError(
                    f"holds the list {shorten(items)} within a join; there a list takes texts,"
                    " numbers, true, false and null"
                )
            parts = [_if(f'{_path(place)}.type() == "array"')]
            parts += [self._has_item(place, item) for item in items]
            self._expect(place, "array")
            return f"({' && '.join(parts)})"
        self._expect(place, _type_of(value))
        return _if(f"{_path(place)} == {self._name(value)}")

    def _contain(self, place: tuple[str, ...], value: Any) -> str:
        """Return the condition that a list has an item, or that a text holds a text."""
        has_item = self._has_item(place, value)
        if not isinstance(value, str):
            self._expect(place, "array")
            return has_item
        self._expect(place, "array", "string")
        # The pattern of like_regex has to be a constant; the flag "q" makes all of it literal.
        holds = _if(f'{_path(place)} like_regex {_quote(value)} flag "q"')
        return f"({has_item} || {holds})"

    def _has_item(self, place: tuple[str, ...], value: Any) -> str:
        return _if(f"exists({_path(place)}[*] ? (@ == {self._name(value)}))")

    def _name(self, value: Any) -> str:
        """Return the name under which a value is sent."""
        self._spend()
        name = f"v{len(self.result.values)}"
        self.result.values[name] = value
        return f"${name}"

    def _spend(self) -> None:
        self._count += 1
        if self._count > MOST_CONDITIONS:
            raise ValueError(f"has more than {MOST_CONDITIONS} conditions")

    def _expect(self, place: tuple[str, ...], *types: str) -> None:
        if types and not self._is_negated and "null" not in types:
            self.result.expected.append(ExpectedTypes(place, types))


def _quote(text: str) -> str:
    # A text of JSON is one of jsonpath.
    return json.dumps(text, ensure_ascii=False)


def _path(place: Sequence[str]) -> str:
    return "$" + "".join(f".{_quote(key)}" for key in place)
