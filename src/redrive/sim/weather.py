"""Bad weather: the hazards of a run, and how often they strike.

Hazards are in the ports and between beats, never in the services. Each seed selects some of them and draws their rates,
so that every run has its own weather.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import TypeVar

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from redrive.core.entropy import Entropy
from redrive.sim.dice import Dice

T = TypeVar("T")

CROWDING_MAX = 0.8
"""The highest probability that another event happens while a step waits for its answer."""

ARMED_SHARE = 0.6
"""The share of all hazards that a seed selects."""

SKEW_MS_MAX = 2 * SECOND_MS
"""How far the clocks of machines with time synchronisation are wrong."""
WRONG_MS_MAX = 2 * MINUTE_MS
"""How far the other machines' clocks are wrong. Two of them differ by less than a FIFO queue's deduplication time."""
TIMEKEEPING_SHARE = 0.75
"""The share of the skewed seeds whose machines have time synchronisation."""


class Hazard(enum.Enum):
    """What may go wrong."""

    CONFLICT = "conflict"
    """A batch of steps does not commit."""
    ANSWER_LOST = "answer lost"
    """A step is committed, and its caller gets no answer."""
    ANSWERS_LOST = "answers lost"
    """A batch of steps is committed, and no caller gets an answer."""
    CRASH_IN_COMMIT = "crash in commit"
    """A process crashes before its group commit runs a batch, commits it, or answers it."""
    UNDONE = "undone"
    """Another request joins, writes, and then fails: all steps of its batch run again."""
    WAKEUP_LOST = "wake-up lost"
    """A node gets no wake-up for due work."""
    LATE = "late poll"
    """A node polls late."""
    SKEW = "skew"
    """The clocks of nodes disagree and drift; sometimes one is set forwards or backwards."""
    SLOW = "slow"
    """A run takes most of the function's timeout."""
    HUNG = "hung"
    """A run does its work and then hangs until the timeout ends it."""
    DUPLICATE = "duplicate"
    """An attempt is performed twice."""
    THROTTLED = "throttled"
    """A run is refused because of the concurrency limit."""
    FLAKY = "flaky"
    """A handler, or a consumer, fails at a piece of work that it can do."""
    DAWDLE = "dawdle"
    """A consumer deletes a message only after its visibility timeout."""
    CRASH = "crash"
    """A node loses all attempts under way, and starts again."""
    PAUSE = "pause"
    """A node is paused, perhaps for longer than its leases, and continues as if nothing had happened."""
    CRASH_AT_WORK = "crash at work"
    """A node crashes between two beats of an attempt."""
    PAUSE_AT_WORK = "pause at work"
    """A node is paused between two beats of an attempt."""
    SLEEP = "sleep"
    """All nodes are paused at once."""


# The highest rate of each hazard: per occasion, or per hour for those that strike by themselves.
RATES_MAX: Mapping[Hazard, float] = {
    Hazard.CONFLICT: 0.1, Hazard.ANSWER_LOST: 0.1, Hazard.WAKEUP_LOST: 1.0, Hazard.LATE: 0.3, Hazard.SLOW: 0.2,
    Hazard.HUNG: 0.1, Hazard.DUPLICATE: 0.2, Hazard.THROTTLED: 0.2, Hazard.FLAKY: 0.3, Hazard.DAWDLE: 0.2,
    Hazard.CRASH_AT_WORK: 0.05, Hazard.PAUSE_AT_WORK: 0.05, Hazard.CRASH: 2.0, Hazard.PAUSE: 2.0, Hazard.SLEEP: 0.5,
    Hazard.SKEW: 6.0, Hazard.ANSWERS_LOST: 0.1, Hazard.CRASH_IN_COMMIT: 0.004, Hazard.UNDONE: 0.1,
}  # fmt: skip


class Weather:
    """How often each hazard strikes. A hazard without a rate never strikes."""

    def __init__(
        self, entropy: Entropy, rates: Mapping[Hazard, float], *, skew_ms: int = 0, crowding: float = 0.0
    ) -> None:  # fmt: skip
        """`skew_ms`: how far any node's clock is wrong at most.

        `crowding`: the probability that another event happens while a step waits. It is no hazard, and `clear` keeps
        it.
        """
        words = [f"{fault.value} {rate:.2f}" for fault, rate in rates.items()]
        if skew_ms:
            words.append(f"clocks off by up to {skew_ms} ms")
        self.forecast = ", ".join(words) or "calm"
        self.rates = dict(rates)
        self.skew_ms = skew_ms
        self._crowding = crowding
        self.dice = Dice(entropy)

    @classmethod
    def drawn(cls, entropy: Entropy) -> Weather:
        """Random weather from this source of randomness."""
        dice = Dice(entropy)
        rates = {fault: dice.share(rate_max) for fault, rate_max in RATES_MAX.items() if dice.chance(ARMED_SHARE)}
        skew_ms = 0
        if Hazard.SKEW in rates:
            skew_ms = dice.between(1, SKEW_MS_MAX if dice.chance(TIMEKEEPING_SHARE) else WRONG_MS_MAX)
        return cls(entropy, rates, skew_ms=skew_ms, crowding=dice.share(CROWDING_MAX))

    @classmethod
    def calm(cls, entropy: Entropy) -> Weather:
        """Weather without hazards."""
        return cls(entropy, {})

    @property
    def disagreement_ms(self) -> int:
        """How far the clocks of two nodes may differ, or those of one node before and after it is set."""
        return 2 * self.skew_ms

    def clear(self) -> None:
        """Remove all hazards."""
        self.rates.clear()

    def strikes(self, fault: Hazard) -> bool:
        """Whether the hazard strikes on this occasion."""
        rate = self.rates.get(fault)
        return rate is not None and self.dice.chance(rate)

    def crowds(self) -> bool:
        """Whether another event happens now, while a step waits for its answer."""
        return self._crowding > 0 and self.dice.chance(self._crowding)

    def gap_ms(self, fault: Hazard) -> int | None:
        """How long until a hazard that strikes by itself strikes next; None if it never does."""
        rate = self.rates.get(fault)
        if not rate:
            return None
        return 1 + round(-math.log(1 - self.dice.share(0.999)) * HOUR_MS / rate)


class AnswerLost(BaseException):
    """The step was committed, but its caller does not know. No Exception, because the engine catches those."""
