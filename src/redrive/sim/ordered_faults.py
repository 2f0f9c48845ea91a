"""Faults that are sure to strike: a node that began its claim after one was ordered must let it strike."""

from __future__ import annotations

from collections.abc import Collection

from redrive.delivery.faults import all_faults, count_of_strikes
from redrive.delivery.invocation import Invocation
from redrive.delivery.worker import Attempt
from redrive.store.api import Transaction

FAULTS_STRIKE = "a fault strikes what was claimed after it was ordered"


def certain_faults(tx: Transaction) -> Collection[str]:
    """The ids of the faults that make each call that meets them fail."""
    return tuple([fault.id for fault in all_faults(tx).faults if fault.rate is None and fault.code])


def fault_that_strikes(tx: Transaction, attempt: Attempt, known: Collection[str]) -> str | None:
    """The fault that the run of an attempt is sure to meet now, if it is among those that were known at its claim."""
    if not known or not isinstance(attempt.errand, Invocation):
        return None
    arns = (attempt.errand.function_arn, attempt.errand.unqualified_arn)
    for fault in all_faults(tx).faults:
        if any(fault.is_aimed_at(arn) for arn in arns) and not fault.is_spent(count_of_strikes(tx, fault)):
            return fault.id if fault.id in known else None  # The oldest one goes first, whatever it does.
    return None
