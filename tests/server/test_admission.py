"""Admission: slots are shared fairly between callers, and what does not fit is refused at once."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from fastapi.testclient import TestClient
from serving import Serve, Served
from waiting import let_tasks_run

from memsense.server.admission import Admission, TooBusyError


def admission(
    slots: int, *, queue: int = 100, queues: int = 400, patience: float = 30
) -> Admission:
    return Admission(slots, queue=queue, queues=queues, patience=patience)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    asyncio.run(main())


def test_a_flood_does_not_delay_another_caller_s_request() -> None:
    """Of 40 requests of one caller, the two that run already are served before another's first."""
    order: list[str] = []

    async def work() -> None:
        gate, all_wait = admission(2), asyncio.Event()

        async def request(name: str) -> None:
            await gate.enter(name)
            order.append(name)
            await all_wait.wait()
            gate.leave(name, 0.01)

        flood = [asyncio.create_task(request("flood")) for _ in range(40)]
        await let_tasks_run()
        calm = asyncio.create_task(request("calm"))
        await let_tasks_run()
        all_wait.set()
        await asyncio.gather(calm, *flood)

    run(work)
    assert len(order) == 41
    assert order.index("calm") == 2


def test_while_others_are_active_no_caller_has_more_than_its_share() -> None:
    async def work() -> None:
        gate = admission(4)
        await gate.enter("calm")
        gate.leave("calm", 0.01)
        running = 0
        for _ in range(4):
            try:
                await asyncio.wait_for(gate.enter("flood"), 0.05)
            except TimeoutError:
                break
            running += 1
        assert running == 2
        # Two slots are free for the caller that was here just now.
        await asyncio.wait_for(gate.enter("calm"), 1)
        await asyncio.wait_for(gate.enter("calm"), 1)

    run(work)


def test_alone_a_caller_has_every_slot() -> None:
    async def work() -> None:
        gate = admission(4)
        for _ in range(4):
            await asyncio.wait_for(gate.enter("one"), 1)

    run(work)


@pytest.mark.parametrize(
    ("limits", "is_own", "reason"),
    [
        ({"queue": 2, "queues": 100}, True, "2 requests of this key wait already"),
        ({"queue": 100, "queues": 2}, False, "the server is busy"),
        ({"patience": 0.02}, True, "has waited for 0.02 s"),
    ],
)
def test_what_does_not_fit_is_refused(limits: dict[str, int], is_own: bool, reason: str) -> None:
    async def work() -> None:
        gate = admission(1, **limits)
        await gate.enter("one")
        waiting = [asyncio.create_task(gate.enter("one")) for _ in range(2)]
        await let_tasks_run()
        with pytest.raises(TooBusyError, match=reason) as refusal:
            await gate.enter("one")
        assert refusal.value.is_own is is_own
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        # Those that gave up left nothing behind: the next one gets the slot.
        gate.leave("one", 0)
        await asyncio.wait_for(gate.enter("one"), 1)

    run(work)


def test_a_full_server_answers_429_with_retry_after_and_lives(served: Served, serve: Serve) -> None:
    key = served.key("acme")
    busy = serve(slots=1, queue=0)
    client = busy.client(key=key)
    assert client.get("/v1/traces").status_code == 200
    [name] = busy.app.state.server._valid_keys.values()
    run(lambda: busy.app.state.server.admission.enter(name))
    refused = client.get("/v1/traces")
    assert refused.status_code == 429, refused.text
    assert refused.headers["Retry-After"] == "1"
    assert refused.headers["content-type"] == "application/problem+json"
    assert client.get("/health/live").status_code == 200
    operator = busy.app.state.server.metrics.text().decode()
    assert 'memsense_http_refused_total{queue="key"} 1.0' in operator


def test_made_up_keys_share_one_place_in_the_queue(served: Served) -> None:
    state = served.app.state.server
    for number in range(3):
        TestClient(served.app).get("/v1/traces", headers={"Authorization": f"Bearer no{number}"})
    names = set(state.admission._callers)
    assert names == {"address testclient"}
