"""Removal of what a memory or a hook put into a message: recalled text is never stored again.

Otherwise a memory would find its own answers, and store them once more at each session. One list of
wrappers serves every reader, because every message goes through the same builder.
"""

import re

from memsense.text.words import read_sections

WRAPPERS = tuple(read_sections("records")["wrappers"].split())
"""Tags that hooks and memories put around the text that they inject."""

_QUERY = re.compile(r"<user_query>((?:(?!<user_query>).)*?)</user_query>", re.DOTALL)
_TAGS = "|".join(read_sections("records")["context"].split())
_CONTEXT = re.compile(rf"\s*+<({_TAGS})>.*?</\1>\s*+", re.DOTALL)
_OPENING = re.compile(rf"<({'|'.join(WRAPPERS)})(?:\s[^<>\n]{{0,200}})?>")


def unwrap_query(text: str) -> str:
    """Return the person's words of a prompt to which a program has added its context in tags.

    That is the text in `<user_query>` if there is one, else the text after its leading tags of
    context.
    """
    queries = _QUERY.findall(text)
    if queries:
        return "\n\n".join(query.strip() for query in queries)
    # Matched in place: cutting off one tag after the other would copy the text for each.
    start = 0
    while match := _CONTEXT.match(text, start):
        start = match.end()
    return text[start:]


def cut_tagged(text: str, name: str) -> tuple[list[str], str]:
    """Return the pieces of text between the tags of that name, and the text without them."""
    inner: list[str] = []
    outer: list[str] = []
    opening, closing = f"<{name}>", f"</{name}>"
    end = 0
    while (start := text.find(opening, end)) >= 0:
        stop = text.find(closing, start)
        if stop < 0:
            break
        outer.append(text[end:start])
        inner.append(text[start + len(opening) : stop].strip())
        end = stop + len(closing)
    return inner, "".join([*outer, text[end:]])


def strip_injected(text: str, *, keep_lines: bool = False) -> tuple[str, int]:
    """Return the text without injected blocks, and how many there were.

    A tag that nothing closes is a person's own word and stays. `keep_lines` leaves the line ends
    of a block, so that the text after it keeps its line number.
    """
    if "<" not in text:
        return text, 0
    pieces: list[str] = []
    end = count = 0
    # Remembered, so that a text of many unclosed tags is not searched to its end for each of them.
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        name = opening[1]
        if opening.start() < end or name in unclosed:
            continue
        closing = text.find(f"</{name}>", opening.end())
        if closing < 0:
            unclosed.add(name)
            continue
        pieces.append(text[end : opening.start()])
        end = closing + len(name) + 3
        count += 1
        if keep_lines:
            pieces.append("\n" * text.count("\n", opening.start(), end))
    return ("".join([*pieces, text[end:]]), count) if count else (text, 0)
