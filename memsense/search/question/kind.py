"""The kind of a prompt: a question about what is stored, or a request that it should shape."""

import math
import re
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense.embed.onnx import DATA, MODEL
from memsense.search.question import Question
from memsense.text.prompts import ORDER
from memsense.types import PromptKind

# For embedders without weights of their own, with the orders of ORDER. Measured by
# benchmarks/fits/prompt_kind.py.
_ADVICE = re.compile(
    r"\b(?:recommend(?:ations?)?|suggest(?:ions?)?|advice|advise|ideas?|tips?|best way|help me"
    r"|(?:can|could|would|will) you (?!remind|tell|remember|recall)|how (?:should|can|do) i"
    r"|what should|should i|any good|what(?: are|'s| is) (?:some|a good|good|the best))\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were|had|said|told|when|which|who|whose)\b", re.IGNORECASE)


_FIRST_OTHER_LETTER = "\u0370"  # Greek, behind all Latin letters of everyday text


class KindReading(NamedTuple):
    """The kind that a prompt was read as.

    Attributes:
        kind: "question" if stored text is the answer, "request" if it should shape one.
        chance: Chance that it is a request, 0 to 1.
        share: Share of the constants for requests that the search takes, 0 to 1. It grows evenly
            with the logit, from a chance of 50% to one of 73%, so that no word flips a ranking.
            By words it is 0 or 1.
        source: What it was read from: the prompt's "vector", its "words", the "names" of people in
            it, or the "caller".
    """

    kind: PromptKind
    chance: float
    share: float
    source: Literal["vector", "words", "names", "caller"]


def read_kind(
    prompt: Question,
    vector: NDArray[np.float32] | None = None,
    model: str = "",
    *,
    stated: float | None = None,
) -> KindReading:
    """Return the kind of a prompt.

        read_kind(analyse_question("Any ideas for a rainy Sunday?"))  # a request, by its words

    A prompt that names a speaker of the memory, or speaks of its user as "she", asks about that
    person: it is a question. The words decide without a vector of the built-in model, which alone
    has weights for kinds, and for letters that it does not know.

    Args:
        prompt: The analysed prompt.
        vector: The unit vector of its search text, (d,).
        model: The model of the vector.
        stated: Share of a request, as the caller or a trace states it: 0 for a question.
    """
    if stated is not None:
        return KindReading("request" if stated > 0 else "question", stated, stated, "caller")
    if prompt.named_speakers or prompt.search_text != prompt.text:
        return KindReading("question", 0.0, 0.0, "names")
    text = prompt.text
    if vector is not None and model == MODEL and not _has_other_letters(text):
        weights = _weights()
        logit = float(weights[:-1] @ vector + weights[-1])
        share = min(1.0, max(0.0, logit))
        kind = "request" if logit > 0 else "question"
        return KindReading(kind, 1 / (1 + math.exp(-logit)), share, "vector")
    is_request = bool(ORDER.search(text) or _ADVICE.search(text)) and not _PAST.search(text)
    kind = "request" if is_request else "question"
    return KindReading(kind, 0.8 if is_request else 0.2, float(is_request), "words")


def _has_other_letters(text: str) -> bool:
    """Return whether most letters of a text are not Latin: of such text the model knows little."""
    letters = [character for character in text if character.isalpha()]
    return sum(character < _FIRST_OTHER_LETTER for character in letters) < len(letters) / 2


@cache
def _weights() -> NDArray[np.float32]:
    """Return the weights of a logistic regression, (385,), its bias last (benchmarks/fits)."""
    return np.load(DATA / "prompt_kind.npy")
