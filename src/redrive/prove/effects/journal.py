"""The effects that a history has left behind, in a form that can be compared between two histories.

What is left counts, not the number of calls: a keyed write done twice leaves one item, a deduplicated message is one
message, a refused condition leaves nothing. What accumulates (a counter, a list, a message, a call without an
idempotency key) counts each time.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from redrive.core.clock import Instant
from redrive.languages.dynamo import Placeholders, parse_update
from redrive.languages.dynamo.expressions.tree import AddTo, Difference, ListAppend, SetTo, Sum
from redrive.prove.calls.batches import taken_of
from redrive.prove.calls.calls import EFFECT_SERVICE, SQL_SERVICE, Call, Params, mapping_of, members_of, parts_of
from redrive.prove.calls.repeats import sets_the_same
from redrive.prove.calls.sorting import Role, Sorting
from redrive.prove.calls.tokens import KEY_OF_REQUEST, MEMORY_OF_REQUEST, token_of
from redrive.prove.effects.contents import Facts, facts_of
from redrive.prove.effects.declared import Declared
from redrive.prove.effects.versions import versions_of

_IDS = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"  # A UUID,
    r"|\b[0-9a-f]{32}\b"  # or a nonce.
)
_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # A time as ISO 8601 has it,
    r"|\b1[67]\d{8}(?:\d{3})?(?:\.\d+)?\b"  # or a number since the epoch.
)
_VOLATILE = re.compile(f"{_IDS.pattern}|{_TIMES.pattern}")

_SAMPLES: Mapping[str, object] = {
    "N": {"N": "0"}, "SS": {"SS": ["a"]}, "NS": {"NS": ["0"]}, "BS": {"BS": [b"a"]}, "L": {"L": []}, "M": {"M": {}},
    "B": {"B": b"a"}, "BOOL": {"BOOL": True}, "NULL": {"NULL": True},
}  # fmt: skip
"""A value of each type: only the types of an update's values matter for what the update does."""

_ADDRESSES = frozenset({"QueueUrl", "TopicArn", "TableName", "Scheme", KEY_OF_REQUEST, MEMORY_OF_REQUEST})
"""Parameters that name the target of a call, or the call itself."""

_MAKING = ("PutObject", "CopyObject", "CompleteMultipartUpload")
"""The calls that make an object."""
_TEXT_BYTES_MAX = 4_096
_TEXTS_KEPT = 4_096
_OF_BYTES = frozenset(
    {"ChecksumAlgorithm", "ContentLength", "ContentMD5", "MpuObjectSize", "MultipartUpload", "UploadId"}
)

ITEM_IN = "item in "
ROW_IN = "row in "
RECORD_IN = "record in "
"""Prefixes of the kinds of effects on tables of DynamoDB and of SQL, and on the ledger's rows."""

KeyNames = Callable[[str], Sequence[str]]
"""The names of the key attributes of a table."""


@dataclass(frozen=True, slots=True, order=True)
class Trace:
    """One thing left behind. `kind` and `label` describe it in words that two histories share; `identity` is unique."""

    kind: str
    label: str
    identity: str
    role: Role = Role.EFFECT
    facts: Facts = field(default=(), compare=False)
    """Its contents. Those of items are read from their tables."""


class Journal:
    """The traces of one history so far."""

    def __init__(self, texts: Iterable[str], key_names: KeyNames) -> None:
        """`texts` are the bodies of the messages: an id in one of them belongs to the work, not to a run."""
        self.traces: frozenset[Trace] = frozenset()
        self.sorting = Sorting()
        self._texts = tuple(texts)
        self._stable: dict[str, str] = {}
        self.key_names = key_names

    def note(self, call: Call, answer: Params, now: Instant) -> None:
        """Record a call that succeeded."""
        if call.service == SQL_SERVICE:
            self._note_rows(call, answer)
            return
        call = taken_of(call, answer)
        token = token_of(call)
        parts = parts_of(call)
        if token is not None and (len(parts) > 1 or parts[0] is not call):
            trace = Trace(f"token of {call}", str(call), token.text, Role.TOKEN)
            if not self._is_new(trace, token.memory_ms, now):
                return
        for part in parts:
            role = self.sorting.role(part, self.label_of(part))
            if role is not None:
                self._note_part(part, answer, role, now)

    def note_declared(self, declared: Declared, now: Instant) -> None:
        """Record a declared effect, whose downstream remembers its key for this time (None: for ever)."""
        if self.is_effect(Call(EFFECT_SERVICE, declared.name, declared.key)):
            facts = self._stable_facts(tuple(facts_of(declared.arguments)))
            trace = Trace(f"effect {declared.name}", self.stable(declared.key), declared.key, facts=facts)
            self._is_new(trace, declared.memory_ms, now)

    def is_effect(self, call: Call) -> bool:
        """Whether any part of a call counts as an effect."""
        return any(self.sorting.role(part, self.label_of(part)) is Role.EFFECT for part in parts_of(call))

    def key_of(self, call: Call) -> str:
        """The key of the item of a call to a table."""
        values = mapping_of(call.params.get("Key")) or mapping_of(call.params.get("Item"))
        return key_told(values, self.key_names(call.target)) if values else ""

    def label_of(self, call: Call) -> str:
        """The key of a call's item, without what differs between two histories; empty if the call has no item."""
        return self.stable(self.key_of(call)) if call.service == "dynamodb" and call.target else ""

    def counts(self, role: Role = Role.EFFECT) -> Counter[tuple[str, str]]:
        """The number of traces of each kind and label."""
        return Counter((trace.kind, trace.label) for trace in self.traces if trace.role is role)

    def facts_of_item(self, table: str, item: Params) -> Facts:
        """The contents of an item besides its key, without what differs between two histories."""
        writes = [Call("dynamodb", operation, table) for operation in ("PutItem", "UpdateItem")]
        attributes = {name: value for name, value in item.items() if name not in self.key_names(table)}
        found = [
            fact for fact in facts_of(attributes) if not any(self.sorting.is_ignored(one, fact[0]) for one in writes)
        ]
        return self._stable_facts(tuple(found))

    def _note_part(self, call: Call, answer: Params, role: Role, now: Instant) -> None:
        match call.service, call.operation:
            case "dynamodb", "PutItem" | "UpdateItem":
                self._note_write(call, role)
            case "dynamodb", "DeleteItem":
                self._note_delete(call, role)
            case "sqs", "SendMessage":
                self._note_message(call, call.params, answer)
            case "sqs", "SendMessageBatch":
                self._note_batch(call, answer)
            case "s3", _ if "Key" in call.params:
                self._note_object(call, answer)
            case "scheduler", _:
                self._set(Trace(str(call), str(call), call.target, facts=self._facts(call)))
            case "http", _:
                self._note_request(call, now)
            case _:
                self._note_call(call, now, str(call))

    def _note_rows(self, call: Call, answer: Params) -> None:
        """The rows that a statement or a COMMIT has left: one trace for each, with what stands in the row now."""
        for change in map(mapping_of, members_of(answer, "Changes")):
            table, key, kind = str(change.get("Table")), str(change.get("Key")), change.get("Kind")
            words = {"made": "INSERT", "deleted": "DELETE"}
            part = next(
                (one for one in parts_of(call) if one.target == table),
                Call(SQL_SERVICE, words.get(str(kind), "UPDATE"), table),
            )
            role = self.sorting.role(part, self.stable(key))
            if role is None:
                continue
            found = [
                one for one in facts_of(mapping_of(change.get("Row"))) if not self.sorting.is_ignored(part, one[0])
            ]
            row = Trace(f"{ROW_IN}{table}", self.stable(key), key, role, self._stable_facts(tuple(found)))
            gone = Trace(_deleted_row(table), self.stable(key), key, role)
            if kind != "deleted":
                self.traces -= {gone}
                self._set(row)
            elif row in self.traces:
                self.traces -= {row}
            else:
                self._set(gone)

    def _note_write(self, call: Call, role: Role) -> None:
        item = self._item(call, role)
        self.traces -= {Trace(_deleted(call.target), item.label, item.identity, role)}
        self._set(item)
        versions = versions_of(call)
        for path in _accumulated(call.params):
            if path not in versions and not self.sorting.is_ignored(call, path):
                label = f"{path} of the item {item.label} in {call.target}"
                self._add_each(Trace(f"increase of {call.target}", label, "", role))

    def _note_delete(self, call: Call, role: Role) -> None:
        """An item that the handler made itself and deletes again leaves nothing behind."""
        item = self._item(call, role)
        if item in self.traces:
            self.traces -= {item}
        else:
            self._set(Trace(_deleted(call.target), item.label, item.identity, role))

    def _note_object(self, call: Call, answer: Params) -> None:
        """An object that the handler made itself and deletes again leaves nothing behind."""
        key = f"{call.target}/{call.params['Key']}"
        trace = Trace(
            f"{call.operation} on {call.target}", self.stable(key), key, facts=self._object_facts(call, answer)
        )
        of_key = {one for one in self.traces if one.identity == key and one.kind.endswith(f" on {call.target}")}
        if call.operation == "DeleteObject":
            made = {one for one in of_key if one.kind.startswith(_MAKING)}
            self.traces -= of_key - {trace}
            if made:
                return
        elif call.operation in _MAKING:
            self.traces -= {one for one in of_key if one.kind.startswith("DeleteObject ")}
        self._set(trace)

    def _object_facts(self, call: Call, answer: Params) -> Facts:
        """What a call writes: its parameters without those about its own bytes. Long contents are shown by a hash.

        Of an object that is made of parts, or of another object, the entity tag is the hash of its content.
        """
        params = {name: value for name, value in call.params.items() if name not in _OF_BYTES}
        body = params.get("Body")
        if isinstance(body, bytes | bytearray | str):
            params["Body"] = _content_told(body.encode() if isinstance(body, str) else bytes(body))
        made = mapping_of(answer.get("CopyObjectResult")) or answer
        if call.operation in {"CompleteMultipartUpload", "CopyObject"} and isinstance(made.get("ETag"), str):
            digest = hashlib.sha256(str(made["ETag"]).encode()).hexdigest()
            params["Content"] = f"hash {digest[:16]}"  # Shorter than what is taken for an id.
        return self._facts(Call(call.service, call.operation, call.target, params))

    def _note_message(self, call: Call, message: Params, answer: Params) -> None:
        kind, identity = f"message to {call.target}", str(answer.get("MessageId"))
        if not any(trace.kind == kind and trace.identity == identity for trace in self.traces):
            facts = self._facts(Call(call.service, "SendMessage", call.target, message))
            self._set(Trace(kind, self.stable(str(message.get("MessageBody"))), identity, facts=facts))

    def _note_batch(self, call: Call, answer: Params) -> None:
        entries = {str(mapping_of(entry).get("Id")): mapping_of(entry) for entry in members_of(call.params, "Entries")}
        for sent in members_of(answer, "Successful"):
            done = mapping_of(sent)
            self._note_message(call, entries.get(str(done.get("Id")), {}), done)

    def _note_request(self, call: Call, now: Instant) -> None:
        """A request that sets something sets the same again; any other counts each time, unless it has a key."""
        kind = self.kind_of_request(call)
        if token_of(call) is None and _sets_the_same(call):
            query = ", ".join(f"{path}={text!r}" for path, text in facts_of(call.params.get("Query") or {}))
            self._set(Trace(kind, self.stable(query), f"{call.target} {query}", facts=self._facts(call)))
        else:
            self._note_call(call, now, kind)

    def kind_of_request(self, call: Call) -> str:
        """The kind of effect of a request: its method and its URL, without what differs between two histories."""
        return self.stable(str(call))

    def _note_call(self, call: Call, now: Instant, kind: str) -> None:
        token, facts = token_of(call), self._facts(call)
        if sets_the_same(call):
            label = ", ".join(f"{path}={text!r}" for path, text in facts)
            named = ", ".join(_TIMES.sub("<time>", f"{path}={text!r}") for path, text in facts_of(call.params))
            self._set(Trace(kind, label, named, facts=facts))
        elif token is None:
            label = ", ".join(f"{path}={text!r}" for path, text in facts)
            self._add_each(Trace(kind, label, "", facts=facts))
        else:
            self._is_new(Trace(kind, kind, token.text, facts=facts), token.memory_ms, now)

    def _item(self, call: Call, role: Role) -> Trace:
        kind = ITEM_IN if role is Role.EFFECT else RECORD_IN
        key = self.key_of(call)
        return Trace(f"{kind}{call.target}", self.stable(key), key, role)

    def _facts(self, call: Call) -> Facts:
        found = tuple(facts_of({name: value for name, value in call.params.items() if name not in _ADDRESSES}))
        return self._stable_facts(tuple(fact for fact in found if not self.sorting.is_ignored(call, fact[0])))

    def _stable_facts(self, facts: Facts) -> Facts:
        return tuple(dict.fromkeys((path, self.stable(text)) for path, text in facts))

    def _is_new(self, trace: Trace, memory_ms: int | None, now: Instant) -> bool:
        """Record an identity that is remembered for this time (None: for ever); returns whether the identity is new."""
        before = [one for one in self.traces if one.kind == trace.kind]
        for one in before:
            key, _, at = one.identity.rpartition("@")
            if key == trace.identity and (memory_ms is None or now < int(at) + memory_ms):
                return False
        identity = f"{trace.identity}@{now}"
        self._set(replace(trace, identity=f"{len(before)}:{identity}" if memory_ms == 0 else identity))
        return True

    def _set(self, trace: Trace) -> None:
        """A trace that exists once, however often it is written; the last write counts."""
        self.traces = self.traces - {trace} | {trace}

    def _add_each(self, trace: Trace) -> None:
        """A trace that is added each time."""
        again = sum(one.kind == trace.kind and one.label == trace.label for one in self.traces)
        self._set(replace(trace, identity=str(again)))

    def stable(self, text: str) -> str:
        """A text without the ids and times that differ between runs."""
        known = self._stable.get(text)
        if known is None:
            if len(self._stable) >= _TEXTS_KEPT:
                self._stable.clear()
            known = _VOLATILE.sub(lambda found: found[0] if self._is_given(found[0]) else "<id or time>", text)
            self._stable[text] = known
        return known

    def _is_given(self, text: str) -> bool:
        return any(text in given for given in self._texts)


def key_told(values: Params, names: Sequence[str]) -> str:
    """The key of an item for the user: `id=order-1, part=2`."""
    return ", ".join(f"{name}={_plain(values.get(name))}" for name in names)


def _sets_the_same(call: Call) -> bool:
    """Whether a request that is made twice leaves what one leaves: PATCH does if its body names members and values.

    Source: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2 and https://www.rfc-editor.org/rfc/rfc7396
    """
    is_merge = call.operation == "PATCH" and isinstance(call.params.get("Body"), Mapping)
    return call.operation in {"PUT", "DELETE"} or is_merge


def _content_told(body: bytes) -> str:
    """The content of an object as text; of a long one, or one that is no text, its length and hash."""
    if len(body) <= _TEXT_BYTES_MAX:
        try:
            return body.decode()
        except UnicodeDecodeError:
            pass
    return f"{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()}"


def _deleted(table: str) -> str:
    return f"deleted item in {table}"


def _deleted_row(table: str) -> str:
    return f"deleted row in {table}"


def _plain(value: object) -> object:
    """The value of a key attribute, without DynamoDB's type."""
    return next(iter(mapping_of(value).values()), None)


def _accumulated(params: Params) -> list[str]:
    """The attributes to which an update adds, so that a repeated update adds twice."""
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
