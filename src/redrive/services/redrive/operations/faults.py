"""The operations on faults: add, list, clear."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery import faults
from redrive.delivery.surface import MISSING, own_operation, refusal
from redrive.services.redrive.model.faults import fault_document, fault_of
from redrive.store.api import Transaction


@own_operation("ListFaults")
def list_faults(tx: Transaction, caller: Caller) -> Document:
    """List the faults, oldest first. Errors: AccessDeniedException."""
    known = faults.all_faults(tx).faults
    return {"faults": [fault_document(fault, faults.count_of_strikes(tx, fault)) for fault in known]}


@own_operation("AddFault")
def add_fault(
    tx: Transaction, caller: Caller, *, target: str, error: str = "", message: str = "", times: int | None = None,
    rate: float | None = None, latency_s: float = 0, s3: str = "", event: str = "",
) -> Document:  # fmt: skip
    """Let calls to a target fail or be slow from now on; or double, reorder or delay what S3 tells of objects.

    Errors: AccessDeniedException; ValidationException (an incomplete description).
    """
    fault = fault_of(
        target, error=error, message=message, times=times, rate=rate, latency_s=latency_s, s3=s3, event=event
    )
    return fault_document(faults.add_fault(tx, fault), struck=0)


@own_operation("ClearFaults")
def clear_faults(tx: Transaction, caller: Caller) -> Document:
    """Delete all faults. Errors: AccessDeniedException."""
    return {"cleared": faults.clear_faults(tx)}


@own_operation("ClearFault")
def clear_fault(tx: Transaction, caller: Caller, *, id: str) -> Document:
    """Delete one fault. Errors: AccessDeniedException; ResourceNotFoundException."""
    cleared = faults.clear_faults(tx, id)
    if not cleared:
        raise refusal(f"There is no fault {id[:100]}.", "See which there are: redrive fault list", MISSING)
    return {"cleared": cleared}
