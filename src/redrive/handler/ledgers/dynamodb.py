"""A ledger in a DynamoDB table: the usual one on AWS. boto3 is imported at first use.

To begin is one conditional UpdateItem. Only when its condition fails is the old item looked at, which the refusal
brings along: a duplicate is noted with a second write, and what one expression cannot say (an expired record that time
to live has not deleted yet, a history that is full) is written as a whole item, if nobody came in between.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ConditionExpressions.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from redrive.handler import payloads, transitions
from redrive.handler.cells import Cell
from redrive.handler.clock import Clock, Instant, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledger import (
    ATTEMPTS_KEPT,
    KEEP_S_DEFAULT,
    LEASE_S_DEFAULT,
    MESSAGE_IDS_KEPT,
    Attempt,
    Began,
    EffectRecord,
    Fresh,
    Record,
    Status,
    Token,
)
from redrive.handler.ledgers.dynamodb_items import (
    NAMES,
    Item,
    attempt_values,
    effect_values,
    from_item,
    item_of,
    record_of,
    to_item,
)
from redrive.handler.signatures import DynamoDBClient, Operation
from redrive.handler.transitions import Claim

RACES_MAX = 10  # How often a whole item is written anew because somebody came in between.

_TAKE = (
    "SET #status = :running, #token = :token, #lease = :lease, #ttl = :ttl, #updated = :now,"
    " #first = if_not_exists(#first, :now), #effects = if_not_exists(#effects, :no_effects),"
    " #history = list_append(if_not_exists(#history, :no_history), :attempt)"
)
_TAKEABLE = (
    "(attribute_not_exists(#id) OR attribute_not_exists(#ttl) OR #ttl > :now_s)"
    " AND (attribute_not_exists(#status) OR #status = :failed"
    " OR (#status = :running AND (attribute_not_exists(#lease) OR #lease <= :now)))"
    " AND (attribute_not_exists(#history) OR size(#history) < :history_max)"
)
_ROOM_FOR_MESSAGE = (
    "(attribute_not_exists(#messages) OR contains(#messages, :message_id) OR size(#messages) < :messages_max)"
)
_FENCE = "#token = :token AND #status = :running"


@dataclass(frozen=True, slots=True)
class _Written:
    """The condition held. The attributes that were asked for."""

    attributes: Item


@dataclass(frozen=True, slots=True)
class _Refused:
    """The condition failed. The item as it is, empty if there is none."""

    item: Item


class DynamoDBLedger:
    """Executions in a table keyed by `execution_id`. `client` is a boto3 client; by default one is made at first use.

    The function's role needs `dynamodb:UpdateItem` on the table, and `PutItem` and `GetItem` for the rarer paths.
    """

    def __init__(
        self,
        table_name: str,
        *,
        client: DynamoDBClient | None = None,
        clock: Clock = now_ms,
        nonce: NewNonce = new_nonce,
    ) -> None:
        self._table_name = table_name
        self._given_client = client
        self._clock = clock
        self._nonce = nonce

    def begin(
        self,
        key: str,
        payload_hash: str | None = None,
        lease_s: float = LEASE_S_DEFAULT,
        *,
        keep_s: float = KEEP_S_DEFAULT,
        message_id: str | None = None,
        source: str | None = None,
    ) -> Began:
        """See `Ledger.begin`."""
        claim = Claim(key, payload_hash, lease_s, keep_s, message_id, source)
        now, nonce = self._clock(), self._nonce()
        for _ in range(RACES_MAX):
            match self._take(claim, now, nonce):
                case _Written(attributes):
                    return _fresh(record_of(attributes), nonce)
                case _Refused(item):
                    answer = self._begin_from(item, claim, now, nonce)
                    if answer is not None:
                        return answer
        raise RuntimeError(f"execution {key!r} changed {RACES_MAX} times while it was being begun")

    def finish(self, token: Token, result: object) -> bool:
        """See `Ledger.finish`."""
        return self._settle(token, Status.SUCCESS, self._finish_request(token, result))

    def finish_item(self, token: Token, result: object) -> dict[str, object]:
        """`finish` as a member of TransactItems, beside the user's own writes: all of them happen, or none.

            client.transact_write_items(TransactItems=[{"Put": {...}}, ledger.finish_item(token, result)])

        The transaction is refused (TransactionCanceledException) if the execution is no longer this run's.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return {"Update": {"TableName": self._table_name, **self._finish_request(token, result)}}

    def fail(self, token: Token, error: str) -> bool:
        """See `Ledger.fail`."""
        now = self._clock()
        ended = _end(token, Status.FAILED, now, {"error": error[: payloads.ERROR_CHARS_MAX]})
        return self._settle(token, Status.FAILED, ended)

    def note_effect(self, token: Token, effect: EffectRecord) -> bool:
        """See `Ledger.note_effect`."""
        values = {":effect": effect_values(effect), ":now": self._clock(), **_fence_values(token)}
        update = "SET #effects.#effect = :effect, #updated = :now"
        request = _request(token.key, update, _FENCE, values, {"#effect": effect.name})
        return isinstance(self._update(request), _Written)

    def read(self, key: str) -> Record | None:
        """See `Ledger.read`."""
        item = self._get(key)
        return record_of(item) if item else None

    def load_cell(self, name: str) -> Cell:
        """See `Cells.load_cell`."""
        values = from_item(self._get(_cell_id(name)))
        return Cell(int(str(values["version"])), str(values["text"])) if values else Cell()

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """See `Cells.swap_cell`."""
        condition = "#version = :version" if version else "attribute_not_exists(#version)"
        values: dict[str, object] = {":next": version + 1, ":text": text} | ({":version": version} if version else {})
        names = {"#version": "version", "#text": "text"}
        request = _request(_cell_id(name), "SET #version = :next, #text = :text", condition, values, names)
        return isinstance(self._update(request), _Written)

    def _take(self, claim: Claim, now: Instant, nonce: str) -> _Written | _Refused:
        """The one write of the common case."""
        update, add, conditions = _TAKE, "ADD #made :one", [_TAKEABLE]
        values: dict[str, object] = {
            ":running": Status.RUNNING, ":failed": Status.FAILED, ":token": nonce, ":lease": claim.lease_ends_at(now),
            ":ttl": claim.expires_at(now) // 1000, ":now": now, ":now_s": now // 1000, ":one": 1,
            ":no_effects": {}, ":no_history": [], ":history_max": ATTEMPTS_KEPT,
            ":attempt": [_without_none(attempt_values(Attempt(now, claim.source, claim.message_id)))],
        }  # fmt: skip
        if claim.payload_hash is not None:
            update += ", #hash = :hash"
            conditions.append("(attribute_not_exists(#hash) OR #hash = :hash)")
            values[":hash"] = claim.payload_hash
        if claim.message_id is not None:
            add += ", #messages :message"
            conditions.append(_ROOM_FOR_MESSAGE)
            values |= _message_values(claim.message_id)
        request = _request(claim.key, f"{update} {add}", " AND ".join(conditions), values)
        return self._update(request | {"ReturnValues": "ALL_NEW"})

    def _begin_from(self, item: Item, claim: Claim, now: Instant, nonce: str) -> Began | None:
        """Begin from the item as it is; None if somebody came in between."""
        old = record_of(item) if item else None
        if old is not None and old.token == nonce:  # botocore asked twice, because the first answer was lost.
            return _fresh(old, nonce)
        new, answer = transitions.begin(old, claim, now, nonce)
        if not isinstance(answer, Fresh):
            self._note_duplicate(claim)
            return answer
        kept = {} if old is None or old.has_expired(now) else dict(item)
        return answer if self._replace(item, kept | item_of(new)) else None

    def _replace(self, read: Item, item: Item) -> bool:
        """Write a whole item in the place of the one that was read, if that has no new holder."""
        condition, values = "attribute_not_exists(#id)", {}
        if read:
            condition = " AND ".join(_unchanged(read, name) for name in ("token", "status"))
            values = {f":{name}": read[name] for name in ("token", "status") if name in read}
        request = {"Item": item, "ConditionExpression": condition, "ExpressionAttributeNames": _names_in(condition)}
        return isinstance(self._write(self._client.put_item, request | _values_if_any(values)), _Written)

    def _note_duplicate(self, claim: Claim) -> None:
        update, values = "ADD #duplicates :one", cast("dict[str, object]", {":one": 1})
        if claim.message_id is not None:
            with_message = values | _message_values(claim.message_id)
            condition = f"attribute_exists(#id) AND {_ROOM_FOR_MESSAGE}"
            request = _request(claim.key, f"{update}, #messages :message", condition, with_message)
            if isinstance(self._update(request), _Written):
                return
        self._update(_request(claim.key, update, "attribute_exists(#id)", values))

    def _finish_request(self, token: Token, result: object) -> dict[str, object]:
        return _end(token, Status.SUCCESS, self._clock(), {"result": payloads.encode(result)})

    def _settle(self, token: Token, status: Status, request: dict[str, object]) -> bool:
        match self._update(request):
            case _Written():
                return True
            case _Refused(item):  # Said again by the run that said it first: the first answer was lost on its way.
                old = record_of(item) if item else None
                return old is not None and old.token == token.nonce and old.status is status

    def _update(self, request: dict[str, object]) -> _Written | _Refused:
        return self._write(self._client.update_item, request)

    def _write(self, operation: Operation, request: dict[str, object]) -> _Written | _Refused:
        from botocore.exceptions import ClientError

        try:
            answer = operation(TableName=self._table_name, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return _Refused(error.response.get("Item", {}))
        return _Written(cast("Item", answer.get("Attributes", {})))

    def _get(self, key: str) -> Item:
        sought = to_item({"execution_id": key})
        answer = self._client.get_item(TableName=self._table_name, Key=sought, ConsistentRead=True)
        return cast("Item", answer.get("Item", {}))

    @property
    def _client(self) -> DynamoDBClient:
        if self._given_client is None:
            import boto3

            self._given_client = cast("DynamoDBClient", boto3.client("dynamodb"))
        return self._given_client


def _end(token: Token, status: Status, now: Instant, detail: dict[str, str]) -> dict[str, object]:
    """The update that ends a run, in its place of the history; `detail` is its result or its error."""
    ((name, text),) = detail.items()
    attempt = f"#history[{token.place}]"
    detail_path = "#result" if name == "result" else f"{attempt}.#error"
    return _request(
        token.key,
        f"SET #status = :status, #updated = :now, {detail_path} = :detail, {attempt}.#outcome = :status,"
        f" {attempt}.#ended = :now REMOVE #lease",
        _FENCE,
        {":status": status, ":now": now, ":detail": text, **_fence_values(token)},
    )


def _request(
    key: str, update: str, condition: str, values: Mapping[str, object], names: Mapping[str, str] | None = None
) -> dict[str, object]:
    return {
        "Key": to_item({"execution_id": key}),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": _names_in(f"{update} {condition}") | dict(names or {}),
        "ExpressionAttributeValues": to_item(values),
    }


def _names_in(expression: str) -> dict[str, str]:
    """The names that an expression uses: DynamoDB refuses others."""
    words = set("".join(letter if letter.isalpha() or letter == "#" else " " for letter in expression).split())
    return {placeholder: name for placeholder, name in NAMES.items() if placeholder in words}


def _unchanged(item: Item, name: str) -> str:
    return f"#{name} = :{name}" if name in item else f"attribute_not_exists(#{name})"


def _values_if_any(values: Mapping[str, object]) -> dict[str, object]:
    return {"ExpressionAttributeValues": values} if values else {}


def _fence_values(token: Token) -> dict[str, object]:
    return {":token": token.nonce, ":running": Status.RUNNING}


def _message_values(message_id: str) -> dict[str, object]:
    return {":message": frozenset([message_id]), ":message_id": message_id, ":messages_max": MESSAGE_IDS_KEPT}


def _without_none(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _fresh(record: Record, nonce: str) -> Fresh:
    token = Token(record.key, nonce, attempt=record.attempts_made, place=len(record.attempts) - 1)
    return Fresh(token, {effect.name: effect for effect in record.effects})


def _cell_id(name: str) -> str:
    return f"redrive:{name}"
