"""The effects that a history has left behind, as far as two histories can be compared by them.

What counts is what is left, not how often it was asked for: a keyed write done twice leaves one item, a deduplicated
message is one message, a refused condition leaves nothing. What adds up (a counter, a list, a message, a call without
an idempotency key) counts each time.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.languages.dynamo import Placeholders, parse_update
from redrive.languages.dynamo.tree import AddTo, Difference, ListAppend, SetTo, Sum
from redrive.prove.calls import Call, Params, mapping_of

_IDEMPOTENCY_KEYS = ("ClientToken", "ClientRequestToken", "IdempotencyToken", "MessageDeduplicationId")
_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"  # A UUID,
    r"|\b[0-9a-f]{32}\b"  # a nonce,
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # a time as ISO 8601 has it,
    r"|\b1[67]\d{8}(?:\d{3})?(?:\.\d+)?\b"  # or as a number since the epoch.
)

_SAMPLES: Mapping[str, object] = {
    "N": {"N": "0"}, "SS": {"SS": ["a"]}, "NS": {"NS": ["0"]}, "BS": {"BS": [b"a"]}, "L": {"L": []}, "M": {"M": {}},
    "B": {"B": b"a"}, "BOOL": {"BOOL": True}, "NULL": {"NULL": True},
}  # fmt: skip
"""A value of each type: an update is read for what it does, not for what it does it with."""

KeyNames = Callable[[str], Sequence[str]]
"""The names of the key attributes of a table."""


@dataclass(frozen=True, slots=True, order=True)
class Trace:
    """One thing left behind. `kind` and `label` say what, in words that two histories share; `identity` which."""

    kind: str
    label: str
    identity: str


class Journal:
    """The traces of one history so far."""

    def __init__(self, texts: Iterable[str], key_names: KeyNames) -> None:
        """`texts` are the bodies of the messages: an id that stands in one of them is no accident of a run."""
        self.traces: frozenset[Trace] = frozenset()
        self._texts = tuple(texts)
        self._key_names = key_names

    def clear(self) -> None:
        """Forget everything."""
        self.traces = frozenset()

    def note(self, call: Call, answer: Params) -> None:
        """Take in a call that succeeded."""
        match call.service, call.operation:
            case "dynamodb", "PutItem" | "UpdateItem":
                self._note_write(call)
            case "dynamodb", "DeleteItem":
                item = self._item(call)
                self.traces -= {item}
                self._add(Trace("deleted item", item.label, item.identity))
            case "sqs", "SendMessage":
                self._note_message(call, call.params, answer)
            case "sqs", "SendMessageBatch":
                self._note_batch(call, answer)
            case "s3", "PutObject" | "CopyObject" | "DeleteObject":
                key = f"{call.target}/{call.params.get('Key')}"
                self._add(Trace(f"{call.operation} on {call.target}", self._stable(key), key))
            case "scheduler", _:
                self._add(Trace(str(call), str(call), call.target))
            case _:
                self._note_call(call)

    def note_declared(self, name: str, key: str, memory_ms: int | None, now: Instant) -> None:
        """Take in an effect that was declared, whose downstream knows the key again for so long (None: for ever)."""
        kind, label = f"effect {name}", self._stable(key)
        times = [int(trace.identity.rpartition("@")[2]) for trace in self.traces if trace.kind == kind]
        known = [at for at in times if memory_ms is None or now < at + memory_ms]
        if not any(Trace(kind, label, f"{key}@{at}") in self.traces for at in known):
            serial = sum(trace.kind == kind for trace in self.traces)
            self._add(Trace(kind, label, f"{serial}:{key}@{now}" if memory_ms == 0 else f"{key}@{now}"))

    def key_of(self, call: Call) -> str:
        """The key of the item that a call to a table is about."""
        return self._item(call).identity

    def counts(self) -> Counter[tuple[str, str]]:
        """How many traces there are of each kind and label."""
        return Counter((trace.kind, trace.label) for trace in self.traces)

    def stable(self, text: str) -> str:
        """A text without the ids and times that differ from run to run."""
        return self._stable(text)

    def _note_write(self, call: Call) -> None:
        item = self._item(call)
        self.traces -= {Trace("deleted item", item.label, item.identity)}
        self._add(item)
        for path in _accumulated(call.params):
            label = f"{path} of the item {item.label} in {call.target}"
            self._add_each(Trace(f"increase of {call.target}", label, ""))

    def _note_message(self, call: Call, message: Params, answer: Params) -> None:
        label = self._stable(str(message.get("MessageBody")))
        self._add(Trace(f"message to {call.target}", label, str(answer.get("MessageId"))))

    def _note_batch(self, call: Call, answer: Params) -> None:
        entries = {str(mapping_of(entry).get("Id")): mapping_of(entry) for entry in _members(call.params, "Entries")}
        for sent in _members(answer, "Successful"):
            done = mapping_of(sent)
            self._note_message(call, entries.get(str(done.get("Id")), {}), done)

    def _note_call(self, call: Call) -> None:
        label = self._stable(", ".join(f"{name}={value!r}" for name, value in sorted(call.params.items())))
        token = next((str(call.params[name]) for name in _IDEMPOTENCY_KEYS if name in call.params), None)
        trace = Trace(str(call), label if token is None else str(call), token or "")
        if token is None:
            self._add_each(trace)
        else:
            self._add(trace)

    def _item(self, call: Call) -> Trace:
        values = mapping_of(call.params.get("Key")) or mapping_of(call.params.get("Item"))
        key = ", ".join(f"{name}={_plain(values.get(name))}" for name in self._key_names(call.target))
        return Trace(f"item in {call.target}", self._stable(key), key)

    def _add(self, trace: Trace) -> None:
        self.traces |= {trace}

    def _add_each(self, trace: Trace) -> None:
        """A trace that is one more each time."""
        again = sum(one.kind == trace.kind and one.label == trace.label for one in self.traces)
        self._add(Trace(trace.kind, trace.label, str(again)))

    def _stable(self, text: str) -> str:
        return _VOLATILE.sub(lambda found: found[0] if self._is_given(found[0]) else "<id or time>", text)

    def _is_given(self, text: str) -> bool:
        return any(text in given for given in self._texts)


def _plain(value: object) -> object:
    """A key attribute's value without DynamoDB's type around it."""
    return next(iter(mapping_of(value).values()), None)


def _members(params: Params, name: str) -> Sequence[object]:
    value = params.get(name)
    return value if isinstance(value, list) else ()


def _accumulated(params: Params) -> list[str]:
    """The attributes to which an update adds something, so that doing it twice adds twice."""
    legacy = mapping_of(params.get("AttributeUpdates"))
    found = [name for name, change in legacy.items() if _adds_a_number(mapping_of(change))]
    text = params.get("UpdateExpression")
    if isinstance(text, str):
        names = mapping_of(params.get("ExpressionAttributeNames"))
        types = {key: _type_of(value) for key, value in mapping_of(params.get("ExpressionAttributeValues")).items()}
        found += _accumulating(text, tuple(sorted(names.items(), key=str)), tuple(sorted(types.items())))
    return found


@functools.cache
def _accumulating(text: str, names: tuple[tuple[str, object], ...], types: tuple[tuple[str, str], ...]) -> list[str]:
    """The paths to which an update expression adds; only the types of its values matter."""
    values: dict[str, object] = {key: _SAMPLES.get(kind, {"S": ""}) for key, kind in types}
    update = parse_update(text, Placeholders({key: str(name) for key, name in names} or None, values or None))
    found = []
    for action in update.actions:
        match action:
            case AddTo(path, {"N": _}) | SetTo(path, Sum() | Difference() | ListAppend()):
                found.append(".".join(str(element) for element in path.elements))
            case _:
                pass
    return found


def _adds_a_number(change: Params) -> bool:
    return change.get("Action") == "ADD" and bool({"N", "L"} & mapping_of(change.get("Value")).keys())


def _type_of(value: object) -> str:
    return next(iter(mapping_of(value)), "")
