"""TestEventPattern: does a pattern match an event?"""

from __future__ import annotations

from redrive.core.documents import Document, load_json
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.event_pattern import matches
from redrive.services.events.model.patterns import check_pattern
from redrive.services.events.model.requests import invalid
from redrive.store.api import Transaction


@operation("TestEventPattern")
def test_event_pattern(tx: Transaction, caller: Caller, *, event_pattern: str, event: str) -> Document:
    """Tell whether a pattern matches an event.

    Errors: InvalidEventPatternException; ValidationException (the event is not a JSON object).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_TestEventPattern.html
    """
    tx.services.authorize(tx, caller, "events:TestEventPattern", "*")
    pattern = check_pattern(event_pattern)
    try:
        document = load_json(event)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise invalid("Parameter Event is not valid.")
    return {"Result": matches(pattern, document)}
