"""Advice about requests over HTTP that were repeated, or whose failure nobody noticed."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import HOUR_MS
from redrive.prove.calls.calls import HTTP_SERVICE, Call
from redrive.prove.calls.tokens import token_of
from redrive.prove.play.events import Called, Ended, Ending, Event

_KEYLESS = (
    "Send an idempotency key with the request, made of what the message says, where the API knows such keys (often the "
    "header Idempotency-Key); where it knows none, ask it for what is there before the request is sent again."
)
_OTHER_KEY = (
    "Each attempt sends another idempotency key, so the API cannot know the request again: make the key of what the "
    "message says, and not of the time, of chance, or of the message id."
)
_FORGOTTEN = (
    "The API knows the key again for {hours:g} h, and the request was sent again after that: record what is done in a "
    "table as well, under a key of the message's. If the API remembers longer, say so with key_memory_h in --given."
)
_UNCHECKED = (
    "A request was answered with {status}, and the run returned as if all had gone well. Check the status: requests, "
    "httpx and aiohttp raise for it only with raise_for_status(). Let the exception out, so that the "
    "work is tried again."
)


def advice_on_repeated_request(subject: str, events: Sequence[Event]) -> str:
    """Advice if the effect that was repeated is a request; otherwise empty."""
    calls = [event.call for event in events if isinstance(event, Called) and event.times and _is_request(event.call)]
    repeated = [call for call in calls if str(call) == subject] or calls
    if not repeated or "://" not in subject:
        return ""
    tokens = [token_of(call) for call in repeated]
    found = [token for token in tokens if token is not None]
    if len(found) < len(tokens):
        return _KEYLESS
    if len({token.text for token in found}) == len(found):
        return _OTHER_KEY
    return _FORGOTTEN.format(hours=found[-1].memory_ms / HOUR_MS)


def advice_on_unchecked_status(events: Sequence[Event]) -> str:
    """Advice if a run returned although its request was answered with an error; otherwise empty."""
    returned = {event.run for event in events if isinstance(event, Ended) and event.ending is Ending.RETURNED}
    for event in events:
        is_failed = isinstance(event, Called) and _is_request(event.call) and event.outcome.startswith("status ")
        if is_failed and isinstance(event, Called) and event.run in returned:
            return _UNCHECKED.format(status=event.outcome)
    return ""


def _is_request(call: Call) -> bool:
    return call.service == HTTP_SERVICE
