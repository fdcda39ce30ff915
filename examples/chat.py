"""Chat with a memory: `python examples/chat.py ada`, with OPENAI_API_KEY set.

Any endpoint with OpenAI's protocol will do: set OPENAI_BASE_URL to its address, MODEL to its model.
"""

import os
import sys

from openai import OpenAI

from memsense import MemSense, remember

SYSTEM = "You are a helpful companion. What you remember of the person is in memsense-context."


def answer(model: OpenAI, text: str) -> str:
    """Return the model's answer."""
    completion = model.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"),
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}],
    )
    return completion.choices[0].message.content or ""


def main() -> None:
    """Answer each line of the input, until it ends."""
    user = sys.argv[1] if len(sys.argv) > 1 else "me"
    with MemSense.open() as memory, OpenAI() as client:
        # Puts what the memory knows into each request, and stores the exchange.
        model = remember(client, memory, user_id=user)
        for line in sys.stdin:
            if line.strip():
                print(answer(model, line.strip()), flush=True)


if __name__ == "__main__":
    main()
