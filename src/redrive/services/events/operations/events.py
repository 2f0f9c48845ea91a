"""PutEvents: accept events on buses; each entry succeeds or fails on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.entropy import new_row_id
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.events.at_once import deliver_or_promise
from redrive.services.events.bus_logs import log_ingested, log_of
from redrive.services.events.limits import ENTRIES_BYTES_END
from redrive.services.events.model import metrics
from redrive.services.events.model.bus import BusReference, reference_of
from redrive.services.events.model.entries import entry_bytes, fault_of
from redrive.services.events.model.event import Event, envelope
from redrive.services.events.model.requests import invalid, unsupported
from redrive.services.events.operations.buses import find_bus
from redrive.services.events.publish import publish
from redrive.store.api import Transaction


@operation("PutEvents")
def put_events(
    tx: Transaction, caller: Caller, *, entries: Sequence[Document], endpoint_id: str | None = None
) -> Document:
    """Accept up to ten events. An event for a bus that does not exist is accepted and vanishes, as on AWS.

    Errors: ValidationException (the entries together are too large); AccessDeniedException. Entry by entry:
    InvalidArgument, MalformedDetail, NotAuthorizedForSourceException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
    """
    if endpoint_id is not None:
        raise unsupported("global endpoints (EndpointId)")
    size = sum(map(entry_bytes, entries))
    if size >= ENTRIES_BYTES_END:
        raise invalid("Total size of the entries in the request is over the limit.")
    answers: list[Document] = []
    accepted: dict[BusReference, list[Event]] = {}
    is_open: dict[BusReference, bool] = {}
    # Deliveries that are due at one instant go out in the order of their events' ids: here, that of the entries.
    ids = sorted([new_row_id(tx.entropy, tx.now) for _ in entries])
    for entry, event_id in zip(entries, ids, strict=True):
        bus = reference_of(caller.scope, entry.get("EventBusName"))
        found = is_open.get(bus) or _authorized_bus(tx, caller, bus, entry, is_open)
        fault = fault_of(entry)
        if fault is None:
            try:
                detail = load_json(entry["Detail"])
            except ValueError:
                detail = None
            if isinstance(detail, dict):
                event = _event(tx, caller, entry, detail, event_id)
                answers.append({"EventId": event.id})
                if found:
                    accepted.setdefault(bus, []).append(event)
                continue
            fault = {"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."}
        answers.append(fault)
    failed = sum("ErrorCode" in answer for answer in answers)
    if failed or any(log_of(tx, bus) is not None for bus in accepted):
        _log(tx, caller, entries, answers, accepted)
    for bus, events in accepted.items():
        publish(tx, bus, events, promise=deliver_or_promise)
    _count(tx, caller, answers, failed, size)
    return {"FailedEntryCount": failed, "Entries": answers}


def _log(
    tx: Transaction, caller: Caller, entries: Sequence[Document], answers: Sequence[Document],
    accepted: Mapping[BusReference, Sequence[Event]],
) -> None:  # fmt: skip
    """Write into the logs of the buses what became of the entries."""
    of_bus: dict[BusReference, list[tuple[Document, Document]]] = {}
    for entry, answer in zip(entries, answers, strict=True):
        bus = reference_of(caller.scope, entry.get("EventBusName"))
        of_bus.setdefault(bus, []).append((entry, answer))
    for bus, told in of_bus.items():
        log_ingested(tx, bus, told, accepted.get(bus, ()), caller.request_id)


def _authorized_bus(
    tx: Transaction, caller: Caller, bus: BusReference, entry: Mapping[str, object], is_open: dict[BusReference, bool]
) -> bool:
    """Whether the bus exists. Notes in `is_open` that it takes all entries of this caller.

    Errors: AccessDeniedException.
    """
    found = find_bus(tx, bus)
    if found is None:
        # Nobody has given another account permission on a bus that does not exist.
        tx.services.authorize(tx, caller, "events:PutEvents", bus.arn)
        return False
    if not caller.is_account or found.policy or bus.scope.account != caller.account:
        context = {"events:source": (str(entry.get("Source", "")),)}
        if "DetailType" in entry:
            context["events:detail-type"] = (str(entry["DetailType"]),)
        tx.services.authorize(tx, caller, "events:PutEvents", bus.arn, context=context, policy=found.policy)
    else:
        is_open[bus] = True
    return True


def _event(
    tx: Transaction, caller: Caller, entry: Mapping[str, object], detail: Document, event_id: str
) -> Event:  # fmt: skip
    at, resources = entry.get("Time"), entry.get("Resources")
    document = envelope(
        id=event_id, detail_type=str(entry["DetailType"]), source=str(entry["Source"]), scope=caller.scope,
        at=at if isinstance(at, Instant) else tx.now, resources=list(resources) if isinstance(resources, list) else [],
        detail=detail,
    )  # fmt: skip
    return Event(event_id, document, trace=str(entry.get("TraceHeader", caller.trace_header)))


def _count(tx: Transaction, caller: Caller, answers: Sequence[Document], failed: int, size: int) -> None:
    outcome = metrics.CALLS_FAILED if failed == len(answers) else metrics.CALLS_SUCCEEDED
    tx.metrics.count(metrics.of_account(caller.scope, metrics.CALLS, outcome), tx.now)
    tx.metrics.count(metrics.of_account(caller.scope, metrics.ENTRIES), tx.now, len(answers))
    tx.metrics.count(metrics.of_account(caller.scope, metrics.REQUEST_BYTES), tx.now, size)
    if failed:
        tx.metrics.count(metrics.of_account(caller.scope, metrics.ENTRIES_FAILED), tx.now, failed)
