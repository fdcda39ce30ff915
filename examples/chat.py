"""Chat with a memory: `python examples/chat.py ada`, with OPENAI_API_KEY set.

Any endpoint with OpenAI's protocol will do: set OPENAI_BASE_URL to its address, MODEL to its model.
"""

import os
import sys
from datetime import UTC, datetime

from openai import OpenAI

from memsense import MemSense

SYSTEM = "You are a helpful companion. What you remember of the person is in memsense-context."


def answer(memory: MemSense, model: OpenAI, user: str, session: str, text: str) -> str:
    """Return the model's answer, with the user's memory in its prompt; store both messages."""
    result = memory.search(text, user_id=user, top_k=10)
    completion = model.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"),
        messages=[
            {"role": "system", "content": f"{SYSTEM}\n{result.to_prompt(max_tokens=800)}"},
            {"role": "user", "content": text},
        ],
    )
    reply = completion.choices[0].message.content or ""
    # Stored after the search: a question must not find itself.
    memory.add(
        [{"role": "user", "content": text}, {"role": "assistant", "content": reply}],
        user_id=user,
        session_id=session,
    )
    return reply


def main() -> None:
    """Answer each line of the input, until it ends."""
    user = sys.argv[1] if len(sys.argv) > 1 else "me"
    session = f"chat-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    with MemSense.open() as memory, OpenAI() as model:
        for line in sys.stdin:
            if line.strip():
                print(answer(memory, model, user, session, line.strip()), flush=True)


if __name__ == "__main__":
    main()
