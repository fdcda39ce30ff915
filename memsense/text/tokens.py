"""Counters of tokens: our own estimate, or the caller's tokenizer."""

from collections.abc import Callable, Sequence
from reprlib import repr as shorten
from typing import Any, cast

from memsense.errors import InvalidInputError

Tokenizer = Callable[[str], int] | Any
"""Counter of tokens: a function of a text, or an object with `encode`, as tiktoken, tokenizers and
transformers have them."""

# English has about four bytes a token: the estimate is rather too high, so that the text fits.
BYTES_PER_TOKEN = 3


def count_tokens(text: str) -> int:
    """Return an estimate that is rather too high: a token for every three bytes of UTF-8."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def make_counter(tokenizer: Tokenizer | None) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text: `count_tokens` without a tokenizer.

    The function raises InvalidInputError if the tokenizer returns something else than a count.
    """
    if tokenizer is None:
        return count_tokens
    # encode_ordinary is tiktoken's: its encode refuses texts that look like special tokens.
    for name in ("encode_ordinary", "encode"):
        if callable(encode := getattr(tokenizer, name, None)):
            return lambda text: len(cast("Sequence[object]", encode(text)))

    def count(text: str) -> int:
        tokens = tokenizer(text)
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise InvalidInputError(
                f"tokenizer must return how many tokens a text has, not {shorten(tokens)}"
            )
        return tokens

    return count
