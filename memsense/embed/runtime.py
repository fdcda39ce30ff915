"""Runs models of a known file on this machine, by onnxruntime."""

import hashlib
import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memsense.errors import ConfigurationError, EmbeddingError, MemSenseError

CPU = "cpu"
"""The provider that is always there."""

_PROVIDER = "ExecutionProvider"


class Session(Protocol):
    """What is used of onnxruntime.InferenceSession, which has no types."""

    def run(
        self, output_names: None, input_feed: Mapping[str, NDArray[np.int64]]
    ) -> Sequence[NDArray[np.float32]]:
        """The model's outputs for one batch."""
        ...


def import_untyped(name: str) -> Any:
    """A package without types, loaded only now: importing memsense.embed stays cheap."""
    return importlib.import_module(name)


def check_file(
    path: Path,
    sha256: str,
    *,
    model: str,
    package: str,
    failure: type[MemSenseError] = EmbeddingError,
) -> Path:
    """The path, if the file is the known model; hashing 23 MB takes about 20 ms.

    Raises `failure`, which names the package to install anew.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise failure(f"the model {model} can't be read: {error}; reinstall {package}") from error
    if digest != sha256:
        raise failure(
            f"{path} is not the model {model}: its SHA-256 is {digest}, not {sha256}; "
            f"reinstall {package}"
        )
    return path


def open_session(
    path: Path, threads: int | None = None, *, for_few: bool = False, provider: str = CPU
) -> Session:
    """The model of the file, to be run by `threads` (default: one a usable core).

    `for_few` runs loads in a sixth of the time and takes 50 ms more for each. `provider` is what
    runs it, by the first part of onnxruntime's name for it, in any case: "cuda" is
    CUDAExecutionProvider. Raises ConfigurationError for one that is not there.
    """
    onnxruntime = import_untyped("onnxruntime")
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    # Measured: BASIC takes 240 ms to turn the int8 weights into floats once and for all; else each
    # run does it again (50 ms). The further optimisations take longer and gain no speed.
    options.graph_optimization_level = (
        levels.ORT_DISABLE_ALL if for_few else levels.ORT_ENABLE_BASIC
    )
    options.log_severity_level = 3
    # Measured: threads that spin while they wait double the processor time and gain nothing.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A number of its own keeps onnxruntime from pinning threads, which containers refuse.
    options.intra_op_num_threads = threads or usable_cores()
    chosen = _find_provider(onnxruntime.get_available_providers(), provider)
    providers = list(dict.fromkeys((chosen, f"{CPU.upper()}{_PROVIDER}")))
    return onnxruntime.InferenceSession(str(path), options, providers=providers)


def _find_provider(available: Sequence[str], wanted: str) -> str:
    """onnxruntime's name of a provider; raises ConfigurationError if it has none such."""
    known = {name.removesuffix(_PROVIDER).lower(): name for name in available}
    if wanted.lower() not in known:
        raise ConfigurationError(
            f"onnxruntime has no provider {wanted!r} here, but {', '.join(sorted(known))}; a"
            " graphics card needs a package of its own in its place, such as onnxruntime-gpu"
        )
    return known[wanted.lower()]


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
