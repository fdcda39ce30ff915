"""`python -m benchmarks`: the whole benchmark, on a server of its own or on the one of --url."""

import argparse
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import page, plot, report, run, searching
from benchmarks.corpus import load_corpus
from memsense.db.embedded import EmbeddedServer
from memsense.embed import OnnxEmbedder

HERE = Path(__file__).parent
LATEST = HERE / "results" / "latest.json"
PAGE = HERE.parent / "docs" / "beside" / "benchmarks.md"
QUICK, FULL = (1_000, 10_000), (1_000, 10_000, 100_000)
USERS, CHUNKS_EACH = 1_000, 1_000


def main() -> None:
    """Measure, print the tables, write results and plot."""
    options = _read_options()
    embedder = OnnxEmbedder()
    with _server(options.url) as server_url:
        machine = report.describe_machine(server_url)
        corpus = load_corpus(embedder)
        running = run.Run(server_url, corpus)
        running.print_progress(f"{len(corpus.messages)} base messages of {corpus.source} embedded")
        running.ingest |= searching.time_embedding(embedder, corpus)
        run.measure_ingest(running)
        for chunks in options.chunks:
            run.measure_user(running, chunks)
            report.write_results(_results(running, machine), options.results)
        if options.users > 1:
            run.measure_users(running, options.users, CHUNKS_EACH)
    results = _results(running, machine)
    report.print_tables(results)
    report.write_results(results, options.results)
    plot_path = options.results.with_suffix(".png")
    plot.plot_latency(results, plot_path)
    if options.results == LATEST:
        page.update_page(results, plot_path, PAGE)
    running.print_progress(f"written to {options.results} and {plot_path}")


def _results(running: run.Run, machine: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the results file so far: it is written after every store."""
    contents: dict[str, Any] = {
        "machine": machine,
        "corpus": running.corpus.source,
        "search": running.search,
        "add": running.add,
        "ingest": running.ingest,
        "disk": running.disk,
        "ann": running.ann,
    }
    return {**contents, "growth": report.fit_growth(contents)}


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1k and 10k chunks only")
    parser.add_argument("--chunks", type=int, nargs="*", help="sizes of the one-user stores")
    parser.add_argument("--users", type=int, help="users of the store of many users; 0: none")
    parser.add_argument("--url", help="a server on which databases may be created; default: own")
    parser.add_argument("--results", type=Path, help="the JSON file; the plot goes beside it")
    options = parser.parse_args()
    quick = LATEST.with_name("quick.json")
    options.results = options.results or (quick if options.quick else LATEST)
    if options.chunks is None:
        options.chunks = QUICK if options.quick else FULL
    if options.users is None:
        options.users = 0 if options.quick else USERS
    return options


@contextmanager
def _server(url: str | None) -> Generator[str]:
    """Yield the server of --url, or an embedded one in a directory that is deleted afterwards."""
    if url is not None:
        yield url
        return
    with (
        tempfile.TemporaryDirectory(prefix="memsense-bench-") as directory,
        EmbeddedServer(Path(directory)) as server,
    ):
        yield server.url


if __name__ == "__main__":
    main()
