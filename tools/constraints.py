"""Write constraints.txt from what is installed: `make constraints`.

Every package of the environment at its exact version, but memsense itself and what installs it.
`make setup` and `make setup-dev` install by it, so that a new release of a dependency breaks no run
of CI; users install by the lower bounds in pyproject.toml.
"""

from importlib.metadata import distributions
from pathlib import Path

from packaging.utils import canonicalize_name

PATH = Path(__file__).parents[1] / "constraints.txt"
LEFT_OUT = {"memsense", "pip", "setuptools", "wheel"}


def main() -> None:
    """Write the file."""
    versions = {canonicalize_name(it.name): it.version for it in distributions()}
    lines = [f"{name}=={versions[name]}" for name in sorted(versions) if name not in LEFT_OUT]
    PATH.write_text("\n".join(["# Written by `make constraints`.", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
