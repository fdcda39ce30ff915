"""Modules of the package and their source texts."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import memsense


def modules() -> Iterator[ModuleType]:
    found = pkgutil.walk_packages(memsense.__path__, "memsense.")
    names = ["memsense", *(module.name for module in found)]
    return (import_module(name) for name in names if not name.endswith("__main__"))


def source_of(module: ModuleType) -> str:
    return Path(module.__file__ or "").read_text(encoding="utf-8")
