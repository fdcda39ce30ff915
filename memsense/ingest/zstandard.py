"""Zstandard: the standard library's module from Python 3.14 on, else its backport."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    # Of `backports` itself, which other packages share, there are no types.
    import backports.zstd as zstd  # noqa: PLR0402

__all__ = ["zstd"]
