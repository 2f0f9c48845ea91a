"""Who is woken by commits, and how often."""

from __future__ import annotations

import asyncio

from redrive.gateway.waiters import Paced, Waiters


def test_parked_is_woken_by_any_of_its_topics_and_by_no_other() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        parked = waiters.park(("queue:a", "queue:b"))

        waiters.wake(("queue:c",))
        assert not parked.done()
        waiters.wake(("queue:b",))
        assert parked.done()

    asyncio.run(scenario())


def test_paced_call_comes_at_once_and_then_once_for_all_that_asked_meanwhile() -> None:
    async def scenario() -> None:
        calls: list[int] = []
        again = asyncio.Event()

        def call() -> None:
            calls.append(len(calls))
            if len(calls) == 2:
                again.set()

        paced = Paced(call, pause_s=0.001)
        for _ in range(5):
            paced()
        assert calls == [0]

        await asyncio.wait_for(again.wait(), 5)
        assert calls == [0, 1]

    asyncio.run(scenario())
