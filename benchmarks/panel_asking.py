"""Questions of the panel asked in several processes, each with a memory and models of its own."""

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.panel_scores import DEPTH, Hit, Ranking, rank_gold
from benchmarks.panel_sets import Memory, PanelSet, Question
from benchmarks.plain_rankings import LONGEST, PlainRankings
from benchmarks.statements import statement
from memsense import MemSense
from memsense.errors import EvaluationError
from memsense.search.profiles import Profile

OWN = "memsense"
BATCH = 20
"""Questions that a process takes at a time, so that all end together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Result of one question: a ranking of each system, and processor seconds where measured."""

    set: str
    memory: str
    question_id: str
    category: str
    text: str
    rankings: Mapping[str, Ranking]
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def key(self) -> tuple[str, str, str]:
        """Set, memory and question, by which two runs are paired."""
        return self.set, self.memory, self.question_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Characters that memory adds to a prompt for which nothing stored helps."""

    set: str
    memory: str
    question_id: str
    text: str
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Manner of every search.

    Attributes:
        url: The database.
        prefix: Beginning of the namespaces' names.
        profiles: Constants of each system's profile by the system's name: a profile itself can't be
            sent to another process.
        with_plain: Whether the plain rankings are computed too.
        prompt_tokens: Length of the prompts whose memories are ranked too; 0 for none.
        is_timed: Whether processor time is measured, after a search that is not.
    """

    url: str
    prefix: str
    profiles: Mapping[str, Mapping[str, Any]]
    with_plain: bool = False
    prompt_tokens: int = 0
    is_timed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Questions of one memory."""

    set: str
    namespace: str
    user_id: str
    questions: Sequence[Question]


def name_namespace(prefix: str, panel_set: PanelSet) -> str:
    """Return the namespace that holds a set."""
    return f"{prefix}-{panel_set.stored_as}"


def check_stored(url: str, prefix: str, sets: Sequence[tuple[PanelSet, Sequence[Memory]]]) -> None:
    """Raise EvaluationError if a memory is not stored, before hours of asking.

    An empty memory would be measured as one that finds nothing.
    """
    for panel_set, memories in sets:
        namespace = name_namespace(prefix, panel_set)
        with MemSense.open(url, namespace=namespace) as client:
            users = {scope.user_id for scope in client.stats()}
        if missing := [item.user_id for item in memories if item.user_id not in users]:
            raise EvaluationError(
                f"nothing is stored for {missing[0]} in namespace {namespace};"
                f" run 'python -m benchmarks.panel store {panel_set.name}' first"
            )


def make_tasks(
    sets: Sequence[tuple[PanelSet, Sequence[Memory]]],
    prefix: str,
    *,
    limit: int | None = None,
    with_silence: bool = True,
) -> list[Task]:
    """Return the questions of sets in batches; `limit` is the most questions of a memory."""
    tasks: list[Task] = []
    for panel_set, memories in sets:
        for memory in memories:
            questions = [item for item in memory.questions if not item.wants_silence]
            prompts = [item for item in memory.questions if item.wants_silence and with_silence]
            if limit is not None and len(questions) > limit:
                questions = random.Random(1).sample(questions, limit)
            tasks += [
                Task(
                    set=panel_set.name,
                    namespace=name_namespace(prefix, panel_set),
                    user_id=memory.user_id,
                    questions=batch,
                )
                for batch in _cut([*questions, *prompts[:limit]])
            ]
    return tasks


def _cut(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    for start in range(0, len(questions), BATCH):
        yield questions[start : start + BATCH]


def ask_all(
    way: Way, tasks: Sequence[Task], workers: int, on_question: Callable[[], object]
) -> list[Answer | Addition]:
    """Return the results of all tasks in any order, from as many processes as `workers`."""
    if workers == 1:
        with closing(Asker(way)) as asker:
            return _collect(map(asker.ask, tasks), on_question)
    # Each process has one core: threads of matrix products would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start, initargs=(way,)
    ) as pool:
        futures = [pool.submit(_ask, task) for task in tasks]
        try:
            return _collect((future.result() for future in as_completed(futures)), on_question)
        except BaseException:
            # Else the pool would work through all tasks that wait.
            pool.shutdown(cancel_futures=True)
            raise


def _collect(
    batches: Iterable[Sequence[Answer | Addition]], on_question: Callable[[], object]
) -> list[Answer | Addition]:
    results: list[Answer | Addition] = []
    for batch in batches:
        for result in batch:
            results.append(result)
            on_question()
    return results


_askers: list["Asker"] = []


def _start(way: Way) -> None:
    _askers.append(Asker(way))


def _ask(task: Task) -> list[Answer | Addition]:
    return _askers[0].ask(task)


class Asker:
    """Searches of one process, in one namespace after the other."""

    def __init__(self, way: Way) -> None:
        """Open nothing yet: a namespace is opened by its first task."""
        self._way = way
        self._profiles = {name: Profile(**values) for name, values in way.profiles.items()}
        self._url, self._application = name_connections(way.url)
        self._namespace = ""
        self._memory: MemSense | None = None
        self._plain: tuple[tuple[str, str], PlainRankings] | None = None

    def close(self) -> None:
        """Close the namespace that is open."""
        if self._memory is not None:
            self._memory.close()

    def ask(self, task: Task) -> list[Answer | Addition]:
        """Return the results of a task's questions, in their order."""
        if self._memory is None or self._namespace != task.namespace:
            if self._memory is not None:
                self._memory.close()
            self._memory = MemSense.open(self._url, namespace=task.namespace)
            self._namespace = task.namespace
        memory = self._memory
        return [
            self._add(memory, task, question)
            if question.wants_silence
            else self._answer(memory, task, question)
            for question in task.questions
        ]

    def _answer(self, memory: MemSense, task: Task, question: Question) -> Answer:
        rankings: dict[str, Ranking] = {}
        seconds: dict[str, float] = {}
        if self._way.is_timed:
            # This search embeds the question; the measured ones find it in the cache.
            first = next(iter(self._profiles.values()))
            _search(memory, task.user_id, question, first)
            files = find_server(self._way.url, self._application)
            for system, profile in self._profiles.items():
                before = processor_seconds(files)
                hits = _search(memory, task.user_id, question, profile)
                seconds[system] = processor_seconds(files) - before
                rankings[system] = rank_gold(hits, question)
        else:
            for system, profile in self._profiles.items():
                hits = _search(memory, task.user_id, question, profile)
                rankings[system] = rank_gold(hits, question)
        if self._way.prompt_tokens:
            hits = self._prompt(memory, task, question)
            rankings[f"prompt of {self._way.prompt_tokens}"] = rank_gold(hits, question)
        if self._way.with_plain:
            vector = memory.embedder.embed_query(question.text[:LONGEST])
            key = (task.namespace, task.user_id)
            if self._plain is None or self._plain[0] != key:
                plain = PlainRankings(self._way.url, *key, dimension=len(vector))
                self._plain = (key, plain)
            orders = self._plain[1].rank(
                question.text,
                vector,
                hidden_sessions=question.hidden_sessions,
                hidden_turns=question.hidden_turns,
            )
            rankings |= {system: rank_gold(hits, question) for system, hits in orders.items()}
        return Answer(
            set=task.set,
            memory=task.user_id,
            question_id=question.question_id,
            category=question.category,
            text=question.text,
            rankings=rankings,
            seconds=seconds,
        )

    def _prompt(self, memory: MemSense, task: Task, question: Question) -> list[Hit]:
        """Return the memories in the prompt of a question, in its order, as one hit."""
        prompt = memory.context(
            question.text,
            user_id=task.user_id,
            max_tokens=self._way.prompt_tokens,
            asked_at=question.asked_at,
            exclude_sessions=question.hidden_sessions,
            exclude=question.hidden_turns,
            profile=self._profiles[OWN],
        )
        turn_ids = {name for it in prompt.chunk_ids for name in memory.get(it).message_ids}
        return [Hit(turn_ids=frozenset(turn_ids), characters=len(prompt))]

    def _add(self, memory: MemSense, task: Task, prompt: Question) -> Addition:
        text = memory.context(
            prompt.text,
            user_id=task.user_id,
            asked_at=prompt.asked_at,
            profile=self._profiles[OWN],
        )
        return Addition(
            set=task.set,
            memory=task.user_id,
            question_id=prompt.question_id,
            text=prompt.text,
            characters=len(text),
        )


def _search(memory: MemSense, user_id: str, question: Question, profile: Profile) -> list[Hit]:
    hits = memory.search(
        question.text,
        user_id=user_id,
        top_k=DEPTH,
        asked_at=question.asked_at,
        exclude_sessions=question.hidden_sessions,
        exclude=question.hidden_turns,
        profile=profile,
    )
    return [Hit(turn_ids=frozenset(hit.message_ids), characters=len(hit.content)) for hit in hits]


def name_connections(url: str) -> tuple[str, str]:
    """Return the URL whose connections name this process, and that name."""
    application = f"panel-{os.getpid()}"
    return make_conninfo(url, application_name=application), application


def find_server(url: str, application: str) -> list[Path]:
    """Return the files that count the time of the server's processes for an application."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            statement("stores.sql", "find_backends"), {"application": application}
        ).fetchall()
    return [Path(f"/proc/{pid}/schedstat") for (pid,) in rows]


def processor_seconds(server: Sequence[Path]) -> float:
    """Return the processor time of this process, and of the server's processes for it on Linux."""
    # schedstat counts nanoseconds; the ticks of /proc/PID/stat are too coarse for one search.
    nanoseconds = sum(int(file.read_text().split()[0]) for file in server if file.exists())
    return time.process_time() + nanoseconds / 1e9
