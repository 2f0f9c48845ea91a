"""A ledger in a DynamoDB table: the usual ledger on AWS. boto3 is imported at first use.

`begin` is one UpdateItem with two exclusive results: it writes a new execution, or counts a duplicate of an execution
that runs or is done. Each attribute is set only if it does not exist; the token in the answer shows which result it
was. In all other cases (a failure, a lease that has ended, an expired record that is not yet deleted) the condition
fails. The refusal returns the item, the transitions compute its new form, and the difference is written on the
condition that no other run has changed the item.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ConditionExpressions.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from redrive.handler import payloads, transitions
from redrive.handler.cells import RESERVED, Cell
from redrive.handler.clock import Clock, Instant, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledger import (
    KEEP_S_DEFAULT,
    LEASE_S_DEFAULT,
    Began,
    EffectRecord,
    Fresh,
    Record,
    Status,
    Token,
)
from redrive.handler.ledgers import dynamodb_requests as requests
from redrive.handler.ledgers.dynamodb_items import (
    Item,
    attempts_in,
    effects_in,
    from_item,
    item_of,
    number_in,
    record_of,
    status_in,
    text_in,
)
from redrive.handler.transitions import Claim, refusal

if TYPE_CHECKING:
    from redrive.handler.signatures import DynamoDBClient

_REFUSED = "ConditionalCheckFailedException"
RACES_MAX = 10  # How often `begin` is retried because another run changed the item.


class DynamoDBLedger:
    """Executions in a table keyed by `execution_id`. `client` is a boto3 client; by default one is made at first use.

    The function's role needs `dynamodb:UpdateItem` on the table, and `GetItem` for runs that were taken over and for
    shared breakers.
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
        function_name: str | None = None,
    ) -> Began:
        """See `Ledger.begin`."""
        claim = Claim(key, payload_hash, lease_s, keep_s, message_id, source, function_name).checked()
        now, nonce = self._clock(), self._nonce()
        for _ in range(RACES_MAX):
            is_written, item = self._update(requests.begin(claim, now, nonce))
            if is_written:
                return _begun(item, claim, now, nonce)
            answer = self._begin_from(item, claim, now, nonce)
            if answer is not None:
                return answer
        raise RuntimeError(f"execution {key!r} changed {RACES_MAX} times while it was being begun")

    def finish(self, token: Token, result: object) -> bool:
        """See `Ledger.finish`."""
        return self._settle(token, Status.SUCCESS, self._finish_request(token, result))

    def finish_item(self, token: Token, result: object) -> dict[str, object]:
        """`finish` as a member of TransactItems, beside the user's own writes: all of them are committed, or none.

            client.transact_write_items(TransactItems=[{"Put": {...}}, ledger.finish_item(token, result)])

        The transaction is refused (TransactionCanceledException) if another run has taken the execution over.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return {"Update": {"TableName": self._table_name, **self._finish_request(token, result)}}

    def fail(self, token: Token, error: str) -> bool:
        """See `Ledger.fail`."""
        text = error[: payloads.ERROR_CHARS_MAX]
        return self._settle(token, Status.FAILED, requests.end(token, Status.FAILED, self._clock(), text))

    def note_effect(self, token: Token, effect: EffectRecord) -> bool:
        """See `Ledger.note_effect`."""
        is_written, _ = self._update(requests.note_effect(token, effect, self._clock()))
        return is_written

    def read(self, key: str) -> Record | None:
        """See `Ledger.read`."""
        item = {} if key.startswith(RESERVED) else self._get(key)
        return record_of(item) if item else None

    def load_cell(self, name: str) -> Cell:
        """See `Cells.load_cell`."""
        values = from_item(self._get(_cell_id(name)))
        return Cell(int(str(values["version"])), str(values["text"])) if values else Cell()

    def swap_cell(self, name: str, version: int, text: str) -> bool:
        """See `Cells.swap_cell`."""
        is_written, _ = self._update(requests.swap_cell(_cell_id(name), version, text))
        return is_written

    def _begin_from(self, item: Item, claim: Claim, now: Instant, nonce: str) -> Began | None:
        """Begin from the current item; None if another run has changed the item meanwhile."""
        old = record_of(item)
        new, answer = transitions.begin(old, claim, now, nonce)
        if not isinstance(answer, Fresh):
            self._note_duplicate(claim)
            return answer
        kept = {} if old.has_expired(now) else dict(item)
        is_written, _ = self._update(requests.change(item, kept | item_of(new)))
        return answer if is_written else None

    def _note_duplicate(self, claim: Claim) -> None:
        is_written, _ = self._update(requests.duplicate(claim.key, claim.message_id))
        if not is_written and claim.message_id is not None:
            self._update(requests.duplicate(claim.key, None))

    def _finish_request(self, token: Token, result: object) -> requests.Request:
        return requests.end(token, Status.SUCCESS, self._clock(), payloads.encode(result))

    def _settle(self, token: Token, status: Status, request: requests.Request) -> bool:
        is_written, item = self._update(request)
        # If refused, the same run may have sent it before: the first answer was lost.
        return is_written or (text_in(item, "token") == token.nonce and status_in(item) is status)

    def _update(self, request: requests.Request) -> tuple[bool, Item]:
        """Whether the request's condition held; and the item: as changed if it held, as it is if not."""
        try:
            answer = self._client.update_item(
                TableName=self._table_name, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request
            )
        except Exception as error:
            from botocore.exceptions import ClientError  # To import it for each write would cost a tenth of its own.

            if not isinstance(error, ClientError) or error.response["Error"]["Code"] != _REFUSED:
                raise
            return False, error.response.get("Item", {})
        return True, cast("Item", answer.get("Attributes", {}))

    def _get(self, key: str) -> Item:
        answer = self._client.get_item(TableName=self._table_name, Key=requests.key_of(key), ConsistentRead=True)
        return cast("Item", answer.get("Item", {}))

    @property
    def _client(self) -> DynamoDBClient:
        if self._given_client is None:
            import boto3

            self._given_client = cast("DynamoDBClient", boto3.client("dynamodb"))
        return self._given_client


def _begun(item: Item, claim: Claim, now: Instant, nonce: str) -> Began:
    """The answer from the item after the write of `begin`."""
    if text_in(item, "token") == nonce:
        return Fresh(Token(claim.key, nonce, *attempts_in(item)), effects_in(item))
    status, lease_ends_at = status_in(item), number_in(item, "lease_ends_at")
    refused = refusal(
        claim, now, status, text_in(item, "payload_hash"), text_in(item, "result"), lease_ends_at,
        text_in(item, "function_name"),
    )  # fmt: skip
    assert refused is not None, f"execution {claim.key!r} is neither new nor held nor done"
    return refused


def _cell_id(name: str) -> str:
    return RESERVED + name
