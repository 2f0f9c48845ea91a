"""External input that stacks wait for: the answers of custom resources, and the signals of wait conditions.

Both arrive as a PUT to a URL that a stack handed out. The URL is signed with the store's secret. The gateway's `admin`
verifies the URL, and the operation PutAnswer passes the body to `take`.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.core.sessions import Issuer
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.deployment.timers import STACK_TIMER, timer_name
from redrive.store.api import Transaction

ANSWERS_PATH = "/_redrive/answers/"
_SEPARATOR = "~"


@dataclass(frozen=True, slots=True)
class Awaited:
    """External input that a resource waits for, up to an instant; `answer` is the first answer.

    `operation` is the operation that waits: Create, Update or Delete.
    """

    KIND: ClassVar[str] = "cloudformation.awaited"

    stack: str
    stack_name: str
    logical_id: str
    request_id: str
    operation: str
    until: Instant
    answer: Document | None = None

    @property
    def name(self) -> str:
        return awaited_name(self.stack, self.logical_id)


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals to a wait condition handle, by their ids."""

    KIND: ClassVar[str] = "cloudformation.signals"

    stack: str
    stack_name: str
    logical_id: str
    by_id: Document = field(default_factory=dict)

    @property
    def name(self) -> str:
        return awaited_name(self.stack, self.logical_id)


def awaited_name(stack_uid: str, logical_id: str) -> str:
    """Return the name under which a stack stores the `Awaited` or `Signals` of a resource."""
    return f"{stack_uid}/{logical_id}"


def answer_url(
    tx: Transaction, host: str, scope: Scope, stack_uid: str, logical_id: str, request_id: str, until: Instant
) -> str:
    """Return the URL, valid until an instant, for the answer to a request, or for a signal (without a request id)."""
    parts = (scope.account, scope.region, stack_uid, logical_id, request_id)
    path = f"{ANSWERS_PATH}{quote(_SEPARATOR.join(parts))}"
    signature = Issuer(tx.facts.secret()).sign_path(path, until)
    return f"http://{host}{path}?Expires={until}&Signature={signature}"


def handle_of(url: str) -> tuple[Scope, str] | None:
    """Return the scope and name of the `Signals` to the handle with this URL; None if the URL is not of a handle."""
    _, found, rest = url.partition(ANSWERS_PATH)
    parts = rest.partition("?")[0].split(_SEPARATOR)
    if not found or len(parts) != 5 or parts[4]:
        return None
    return Scope(parts[0], parts[1]), awaited_name(parts[2], parts[3])


def take(tx: Transaction, token: str, body: bytes) -> None:
    """Take the body of a PUT to a URL that a stack handed out; a second answer to the same request changes nothing.

    Errors: ValueError (not a JSON object, or longer than AWS accepts).
    """
    parts = token.split(_SEPARATOR)
    if len(parts) != 5:
        raise ValueError("this is no URL that a stack gave")
    scope, name, request_id = Scope(parts[0], parts[1]), awaited_name(parts[2], parts[3]), parts[4]
    document = load_json(body) if len(body) <= limits.ANSWER_BYTES_MAX else _too_long(request_id)
    if not isinstance(document, dict):
        raise ValueError("the body is no JSON object")
    if not request_id:
        _signal(tx, scope, name, document)
        return
    awaited = tx.resources.get(Awaited, scope, name)
    if awaited is not None and awaited.request_id == request_id and awaited.answer is None:
        tx.resources.put(scope, dataclasses.replace(awaited, answer=document))
        wake(tx, scope, awaited.stack_name)


def _too_long(request_id: str) -> Document:
    if not request_id:
        raise ValueError(f"a signal may have {limits.ANSWER_BYTES_MAX} bytes")
    return {"Status": "FAILED", "Reason": "Response object is too long."}


def _signal(tx: Transaction, scope: Scope, name: str, document: Document) -> None:
    signals = tx.resources.get(Signals, scope, name)
    if signals is not None:
        unique_id = str(document.get("UniqueId", ""))
        tx.resources.put(scope, dataclasses.replace(signals, by_id={**signals.by_id, unique_id: document}))
        wake(tx, scope, signals.stack_name)


def wake(tx: Transaction, scope: Scope, stack_name: str) -> None:
    """Let the worker look at a stack now, because the stack may be able to continue."""
    tx.timers.set(STACK_TIMER, timer_name(scope, stack_name), tx.now)
    tx.notify("due")
