"""How an engine differs from AWS on purpose."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits, Rates
from redrive.services.scheduler.model.executions import ExecutionIds


@dataclass(frozen=True, slots=True)
class Settings:
    """How an engine differs from AWS on purpose.

    `limits`: whether quotas apply. `strict_templates`: whether an unknown property of a resource type fails the stack,
    as on AWS; if False, it is left out with a warning in the stack's events (docs/decisions/0009). `on_unknown`: how
    stacks handle resource types and properties that AWS has and redrive does not serve (0013). `execution_ids`: whether
    a schedule's execution has one id, or each of its attempts has its own. `called_hosts`: the hosts beyond this
    machine that API destinations, and the authorization endpoints of connections, may call. `rates`: whether requests
    per second are also limited in virtual time.
    """

    limits: Limits = Limits.STRICT
    strict_templates: bool = False
    execution_ids: ExecutionIds = ExecutionIds.PER_OCCURRENCE
    on_unknown: OnUnknown = OnUnknown.REFUSE
    called_hosts: frozenset[str] = frozenset()
    rates: Rates = Rates.REAL_TIME


DEFAULTS = Settings()
