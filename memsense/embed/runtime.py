"""Sessions of onnxruntime for model files with a known checksum."""

import hashlib
import importlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memsense.errors import ConfigurationError, EmbeddingError, MemSenseError

CPU = "cpu"
"""Short name of the provider that every onnxruntime has."""

BULK_NICENESS = 10
"""Niceness of threads that do bulk work: a ninth of the share that another thread gets."""

_PROVIDER = "ExecutionProvider"


class Session(Protocol):
    """The part of onnxruntime.InferenceSession that is used; the library has no types."""

    def run(
        self, output_names: None, input_feed: Mapping[str, NDArray[np.int64]]
    ) -> Sequence[NDArray[np.float32]]:
        """Return the model's outputs for one batch."""
        ...


def import_untyped(name: str) -> Any:
    """Import a package without types, at its first use: importing memsense.embed stays cheap."""
    return importlib.import_module(name)


def check_file(
    path: Path,
    sha256: str,
    *,
    model: str,
    package: str,
    failure: type[MemSenseError] = EmbeddingError,
) -> Path:
    """Return the path if the file's SHA-256 is the known one; else raise `failure`."""
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
    path: Path,
    threads: int | None = None,
    *,
    graph: Path | None = None,
    provider: str = CPU,
) -> Session:
    """Open the model of a file.

    Args:
        path: The model file.
        threads: Threads of each run; by default one for each usable core.
        graph: The same model without weights, which names their places in the model file.
        provider: Where it runs, by the first part of onnxruntime's name in any case: "cuda" is
            CUDAExecutionProvider.

    Raises:
        ConfigurationError: If onnxruntime has no such provider here.
    """
    # From 1.29 on, importing it starts a thread that sends telemetry, and a forked process waits
    # for that thread at its end: github.com/microsoft/onnxruntime/pull/29843.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    onnxruntime = import_untyped("onnxruntime")
    options = onnxruntime.SessionOptions()
    # Measured: BASIC turns weights that a graph casts to floats into these once and for all. The
    # further optimisations take longer and gain no speed.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 3
    # Measured: threads that spin while they wait double the processor time and gain nothing.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # An explicit number keeps onnxruntime from pinning threads, which containers refuse.
    options.intra_op_num_threads = threads or usable_cores()
    available = {
        name.removesuffix(_PROVIDER).lower(): name for name in onnxruntime.get_available_providers()
    }
    if provider.lower() not in available:
        raise ConfigurationError(
            f"onnxruntime has no provider {provider!r} here, but {', '.join(sorted(available))}; a"
            " graphics card needs a package of its own in its place, such as onnxruntime-gpu"
        )
    # The processor comes second, for operations that the provider lacks.
    providers = list(dict.fromkeys((available[provider.lower()], f"{CPU.upper()}{_PROVIDER}")))
    if graph is None:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    # The weights are mapped into memory from there.
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(path.parent)
    )
    return onnxruntime.InferenceSession(graph.read_bytes(), options, providers=providers)


def lower_priority() -> None:
    """Let the machine's other threads go before this one, on Linux; elsewhere this does nothing."""
    if sys.platform != "linux":
        return
    thread = threading.get_native_id()
    with suppress(OSError):  # refused in some containers
        os.setpriority(
            os.PRIO_PROCESS, thread, max(os.getpriority(os.PRIO_PROCESS, thread), BULK_NICENESS)
        )


def usable_cores() -> int:
    """Return how many cores this process may use, by its affinity where the system has one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
