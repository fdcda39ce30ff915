"""Print what an installation of memsense weighs: `make size`.

    python tools/size.py             sizes of the packages of this environment that memsense needs
    python tools/size.py EXTRA ...   what each extra adds to them

A package's size is that of its files, with byte code, in MB of 1,000,000 bytes. Exit 1 if the
packages without extras weigh more than LIMIT.
"""

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

LIMIT = 400
LARGEST = 12


def list_needed(requirement: Requirement, seen: dict[str, set[str]]) -> None:
    """Add to `seen` what a requirement needs in this environment: packages with their extras."""
    name, extras = canonicalize_name(requirement.name), {"", *requirement.extras}
    new = extras - seen.setdefault(name, set())
    seen[name] |= new
    for text in distribution(name).requires or [] if new else []:
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": it}) for it in new):
            list_needed(needed, seen)


def megabytes(package: Distribution) -> float:
    """Return the size of a package's files."""
    places = [Path(file.locate()) for file in package.files or []]
    return sum(place.stat().st_size for place in places if place.is_file()) / 1e6


def measure(*extras: str) -> dict[str, float]:
    """Return the sizes of what memsense needs, by package, largest first."""
    seen: dict[str, set[str]] = {}
    list_needed(Requirement(f"memsense[{','.join(extras)}]" if extras else "memsense"), seen)
    sizes = {name: megabytes(distribution(name)) for name in seen}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def main(*extras: str) -> int:
    """Print the table; return the exit code."""
    core = measure()
    for name, size in list(core.items())[:LARGEST]:
        print(f"{name:30} {size:6.0f} MB")
    rest = [*core.values()][LARGEST:]
    total = sum(core.values())
    print(f"{f'{len(rest)} others':30} {sum(rest):6.0f} MB")
    print(f"{'all of them':30} {total:6.0f} MB")
    for extra in extras:
        try:
            added = {name: size for name, size in measure(extra).items() if name not in core}
        except PackageNotFoundError as error:
            print(f"[{extra}] is not installed: {error}")
            continue
        print(f"{f'[{extra}]':30} {sum(added.values()):+6.0f} MB in {len(added)} packages")
    if total > LIMIT:
        print(f"more than {LIMIT} MB", file=sys.stderr)
    return int(total > LIMIT)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
