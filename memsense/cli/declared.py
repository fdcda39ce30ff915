"""Parameters of the verbs that the command line calls, without importing MemSense.

That import takes 0.6 s of processor time, more than all of `memsense search --help`. They are in
declared.json, which `make generate` writes from the public signatures.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

Declared = tuple[Any, Any, str]
"""A parameter's type, default and text; a required parameter has the default `...`."""

_PLAIN_TYPES: Mapping[str, Any] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, datetime, timedelta)},
    "dict": dict[str, Any],
    "ids": list[int | str],
}


def _read_declared(fields: Mapping[str, Any]) -> Declared:
    kind: Any = _PLAIN_TYPES.get(fields.get("type", "")) or Literal[tuple(fields["choices"])]
    kind = list[kind] if fields.get("is_list") else kind
    default: Any = fields.get("default", ...)
    if isinstance(default, list):
        default = tuple(cast("list[str]", default))
    return kind, default, fields["text"]


_declared = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_parameters = {key: _read_declared(fields) for key, fields in _declared["parameters"].items()}

VERBS: dict[str, dict[str, Declared]] = {
    verb: {key.partition(" ")[0]: _parameters[key] for key in keys}
    for verb, keys in _declared["verbs"].items()
}
"""Parameters by verb and name. In the file each declaration is once: by name, with a number where
verbs declare a name differently."""
