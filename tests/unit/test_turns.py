"""Turns of writers: one at a time for a user, without end for nobody."""

import threading
from concurrent.futures import ThreadPoolExecutor

from memsense.db.turns import Turns
from memsense.deadline import ending_within

WRITERS = 8


def test_one_writer_of_a_memory_works_at_a_time() -> None:
    turns, counting, all_there = Turns(), threading.Lock(), threading.Event()
    there, working, most = 0, 0, 0

    def write(_: int) -> None:
        nonlocal there, working, most
        with counting:
            there += 1
            if there == WRITERS:
                all_there.set()
        with turns.of({"ada"}, 60):
            with counting:
                working += 1
                most = max(most, working)
            # The first one stays until every other one has come to its turn.
            assert all_there.wait(60)
            with counting:
                working -= 1

    with ThreadPoolExecutor(WRITERS) as clients:
        list(clients.map(write, range(5 * WRITERS)))
    assert most == 1


def test_writers_of_several_memories_do_not_block_each_other() -> None:
    turns, both = Turns(), threading.Barrier(2)

    def write(users: set[str]) -> None:
        for _ in range(200):
            with turns.of(users, 60):
                pass
        both.wait(30)

    with ThreadPoolExecutor(2) as clients:
        for each in [clients.submit(write, {"ada", "ben"}), clients.submit(write, {"ben", "ada"})]:
            each.result()


def test_a_writer_goes_on_without_its_turn_after_its_time_or_at_the_deadline() -> None:
    turns = Turns()
    with turns.of({"ada"}, 60):
        with turns.of({"ada"}, 0.05):
            pass
        with ending_within(0.05), turns.of({"ada"}, 60):
            pass
    # Neither has released a turn that it did not have.
    with turns.of({"ada"}, 60):
        pass


def test_locks_of_memories_without_writers_are_forgotten() -> None:
    turns = Turns()
    for number in range(100):
        with turns.of({f"user {number}"}, 60):
            pass
    assert len(turns._locks) == 0  # pyright: ignore[reportPrivateUsage]
