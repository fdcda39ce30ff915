"""A chat that remembers: `python examples/chat.py ada`, with OPENAI_API_KEY set.

Any endpoint that speaks OpenAI's protocol does: OPENAI_BASE_URL names it, MODEL the model.
"""

import os
import sys
from datetime import UTC, datetime

from openai import OpenAI

from memsense import MemSense

SYSTEM = "You are a helpful companion. What you remember of the person is in memsense-context."


def answer(memory: MemSense, model: OpenAI, user: str, session: str, text: str) -> str:
    """What the model says, knowing what the user's memory holds of it; both are remembered."""
    found = memory.search(text, user_id=user, top_k=10)
    said = model.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"),
        messages=[
            {"role": "system", "content": f"{SYSTEM}\n{found.to_prompt(max_tokens=800)}"},
            {"role": "user", "content": text},
        ],
    )
    told = said.choices[0].message.content or ""
    memory.add(
        [{"role": "user", "content": text}, {"role": "assistant", "content": told}],
        user_id=user,
        session_id=session,
    )
    return told


def main() -> None:
    """Talk until the input ends."""
    user = sys.argv[1] if len(sys.argv) > 1 else "me"
    session = f"chat-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    with MemSense.open() as memory, OpenAI() as model:
        for line in sys.stdin:
            if line.strip():
                print(answer(memory, model, user, session, line.strip()), flush=True)


if __name__ == "__main__":
    main()
