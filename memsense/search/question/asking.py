"""Sentences of a long question that ask, or its ends if none does.

A long question is one that the embedder's model does not read to its end: most of it is a pasted
text or a story, which would hide the sentence that asks.
"""

from memsense.text.lexemes import list_lexemes
from memsense.text.prompts import (
    END_LENGTH,
    LONGEST_ASKING,
    MOST_ASKING,
    QUESTION_MARKS,
    begins_as_question,
    split_sentences,
)
from memsense.text.words import OPENERS

LEAST_WORDS = 2
"""Words, without function words, from which on asking sentences say what they are about."""


def find_asking(text: str) -> str:
    """Return the sentences of a long question that ask, a line each, or its ends if none does.

        find_asking(f"{log}\\nWhich team owns the checkout service?")  # its last line

    A sentence asks if it ends in a question mark, or if it is one of the first or last two and
    begins with a question word or an order. Of more than four, the first and the last two count.
    "Any ideas?" says too little: the rest says what it asks about, so that both ends count.
    """
    sentences = split_sentences(text)
    last = len(sentences) - 2
    asking = [
        sentence
        for place, sentence in enumerate(sentences)
        if len(sentence) <= LONGEST_ASKING
        and (
            sentence.endswith(QUESTION_MARKS)
            # Lines of code and sentences of a story begin with such words, too.
            or ((place < 2 or place >= last) and begins_as_question(sentence))  # noqa: PLR2004
        )
    ]
    if len(asking) > MOST_ASKING:
        asking = asking[: MOST_ASKING // 2] + asking[-MOST_ASKING // 2 :]
    words = {lexeme for lexeme in list_lexemes(" ".join(asking), "") if len(lexeme) > 1}
    if len(words - OPENERS) < LEAST_WORDS:
        asking = [text[:END_LENGTH], text[-END_LENGTH:]]
    return "\n".join(asking)
