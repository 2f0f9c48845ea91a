"""For how long a client is waited for: each row is what is seen at one tick after the other, and the end of it."""

from __future__ import annotations

import pytest

from redrive.gateway.http.limits import HttpLimits
from redrive.gateway.http.patience import Loss, Patience, Seen, Stage

LIMITS = HttpLimits(idle_ticks=4, head_ticks=3, silent_ticks=2, body_ticks=5, bytes_per_tick=100, unread_ticks=2)
ONE, TWO = object(), object()


def idle(message: object = ONE, *, is_busy: bool = False, unsent: int = 0) -> Seen:
    return Seen(Stage.BETWEEN, message, 0, is_busy, unsent)


def head(message: object = ONE, size: int = 1) -> Seen:
    return Seen(Stage.HEAD, message, size, False, 0)


def body(size: int, message: object = ONE) -> Seen:
    return Seen(Stage.BODY, message, size, False, 0)


def losses(ticks: list[Seen]) -> list[Loss]:
    patience = Patience(LIMITS)
    return [patience.tick(seen) for seen in ticks]


@pytest.mark.parametrize(
    ("ticks", "loss"),
    [
        ([idle()] * 5, Loss.CLOSED),
        ([head()] * 4, Loss.TIMED_OUT),
        ([head(size=n) for n in range(4)], Loss.TIMED_OUT),
        ([body(7)] * 3, Loss.TIMED_OUT),
        ([body(n) for n in range(6)], Loss.TIMED_OUT),
        ([body(200 * n) for n in range(2)] + [body(200)] * 2, Loss.TIMED_OUT),
        ([idle(unsent=9)] * 3, Loss.CLOSED),
        ([idle(is_busy=True, unsent=9)] * 3, Loss.CLOSED),
    ],
)
def test_client_is_given_up_at_its_limit_and_not_before(ticks: list[Seen], loss: Loss) -> None:
    assert losses(ticks) == [Loss.NONE] * (len(ticks) - 1) + [loss]


@pytest.mark.parametrize(
    "ticks",
    [
        [idle(is_busy=True)] * 50,
        [idle(message) for _ in range(20) for message in (ONE, TWO)],
        [head(message) for _ in range(20) for message in (ONE, TWO)],
        [body(100 * n) for n in range(50)],
        [body(100, message) for _ in range(20) for message in (ONE, TWO)],
        [idle(unsent=1_000 - n) for n in range(50)],
        [*[idle()] * 4, idle(is_busy=True), *[idle()] * 3],
    ],
)
def test_client_that_goes_on_is_waited_for(ticks: list[Seen]) -> None:
    assert set(losses(ticks)) == {Loss.NONE}
