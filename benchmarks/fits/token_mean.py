"""Maker of memsense/data/minilm/token_mean.npy, the mean token vector of the shipped embedder.

    python -m benchmarks.fits.token_mean

It is made of the messages of the log that ships with memsense: 384 numbers of 15,000 tokens.
The file belongs to the model: a store's token vectors are signs of what is left
when this mean is taken away, and another mean would need another model name.
"""

import json

import numpy as np

from memsense.embed import OnnxEmbedder
from memsense.embed.onnx import DATA

LOG = DATA.parent / "sample_conversation.jsonl"


def main() -> None:
    with LOG.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["content"] for line in lines]
    np.save(DATA / "token_mean.npy", OnnxEmbedder().token_mean(texts))


if __name__ == "__main__":
    main()
