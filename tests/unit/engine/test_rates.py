"""When quotas for one second hold: in real time, or where the settings ask for them, and never without quotas."""

from __future__ import annotations

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.limits import Limits, Rates
from redrive.engine.build import bind_registry
from redrive.engine.settings import Settings
from redrive.store.sqlite import SqliteStore
from redrive.wire.model.files import Models


@pytest.mark.parametrize(
    ("settings", "real_time", "hold"),
    [
        (Settings(), True, True),
        (Settings(), False, False),
        (Settings(rates=Rates.ALWAYS), False, True),
        (Settings(limits=Limits.RELAXED), True, False),
        (Settings(limits=Limits.RELAXED, rates=Rates.ALWAYS), False, False),
    ],
)
def test_rates_hold_in_real_time_or_where_they_are_asked_for(settings, real_time, hold):
    store = SqliteStore(None, clock=VirtualClock(0), entropy=SeededEntropy(1))

    bind_registry(store, Models(), settings, real_time=real_time)

    assert store.run(lambda tx: tx.services.has_rates) is hold
    store.close()
