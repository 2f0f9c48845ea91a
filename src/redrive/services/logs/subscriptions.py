"""The deliveries of subscription filters: to functions and to streams of Kinesis, for up to a day.

CloudWatch Logs calls a function asynchronously, as `logs.amazonaws.com`, whom the function's policy has to allow; it
puts records into a stream under the filter's role.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, FailureKind, GiveUp, Outcome, Verdict
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import End
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.classify import classify
from redrive.delivery.sources.roles import RoleSession
from redrive.delivery.sources.source import Source
from redrive.services.logs.model.filters import Destination, SubscriptionFilter, function_event
from redrive.services.logs.model.group import LogGroup
from redrive.services.logs.model.policies import AccountPolicy
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery
from redrive.store.tables.metrics import Series, Watched

SOURCE = "logs.subscription"
PRINCIPAL = "logs.amazonaws.com"
_SESSION = "CloudWatchLogs"
_DESTINATION = "destination:"

_KINDS = {"lambda": "Lambda", "kinesis": "Kinesis", "firehose": "Firehose"}


class SubscriptionSource(Source):
    """Delivers what subscription filters have found."""

    name = SOURCE

    def render(self, tx: Transaction, delivery: Delivery) -> Call:
        """Build this attempt. Errors: ServiceError for a destination that is gone or a role that cannot be assumed."""
        document = delivery.document
        data = base64.b64decode(str(document["data"]))
        return destination_call(
            tx, delivery.scope, delivery.target_arn, str(document["role"]), delivery.source_arn, data,
            place=str(document["place"]),
        )  # fmt: skip

    def failure(self, error: ServiceError) -> Failed:
        """Also what cannot succeed now is tried again: somebody may give the permission, or the function, back."""
        found = classify(error)
        return replace(found, kind=FailureKind.TRANSIENT) if found.kind is FailureKind.PERMANENT else found

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """Count what was forwarded, and what was not."""
        if isinstance(outcome, Failed):
            is_throttled = outcome.kind is FailureKind.THROTTLED
            _count(tx, delivery, "DeliveryThrottling" if is_throttled else "DeliveryErrors", 1)
            return
        _count(tx, delivery, "ForwardedLogEvents", float(str(delivery.document["count"])))
        _count(tx, delivery, "ForwardedBytes", float(len(str(delivery.document["data"])) * 3 // 4), unit="Bytes")

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """What nobody took for a day is dropped: subscriptions have no dead-letter queue."""
        if isinstance(verdict, Delivered):
            return End.of(verdict)
        return End.dropped("subscription filters have no dead-letter queue")


def destination_call(
    tx: Transaction, scope: Scope, arn: str, role_arn: str, source_arn: str, data: bytes, *, place: str
) -> Call:
    """The call that gives a payload to a destination. Errors: ServiceError."""
    if f":{_DESTINATION}" in arn:
        destination = destination_at(tx, arn)
        arn, role_arn = destination.target_arn, destination.role_arn
    target = Arn.parse(arn)
    if target.service == "lambda":
        caller = Caller(
            Scope(scope.account, target.region), new_row_id(tx.entropy, tx.now), service=PRINCIPAL,
            source_arn=source_arn,
        )  # fmt: skip
        event: Document = {"FunctionName": arn, "InvocationType": "Event", "Payload": function_event(data)}
        return Call(caller, "lambda", "Invoke", lambda: event)
    session = RoleSession(role_arn, PRINCIPAL, _SESSION, source_arn)
    record: Document = {"StreamARN": arn, "PartitionKey": place, "Data": data}
    return Call(session.caller(tx, target.region), "kinesis", "PutRecord", lambda: record)


def destination_at(tx: Transaction, arn: str) -> Destination:
    """The destination with this ARN. Errors: ResourceNotFoundException."""
    parsed = Arn.parse(arn)
    name = parsed.resource.removeprefix(_DESTINATION)
    found = tx.resources.get(Destination, Scope(parsed.account, parsed.region), name)
    if found is None:
        raise ServiceError("ResourceNotFoundException", "The specified destination does not exist.")
    return found


def subscription_of(policy: AccountPolicy, group: LogGroup) -> SubscriptionFilter:
    """The subscription that a policy of the account is for a group."""
    given = load_json(policy.document)
    return SubscriptionFilter(
        group.id, group.name, policy.policy_name, str(given.get("FilterPattern", "")), str(given["DestinationArn"]),
        policy.updated_at, str(given.get("RoleArn", "")), str(given.get("Distribution", "ByLogStream")),
    )  # fmt: skip


def sealed_payload(data: bytes) -> str:
    """A payload as a delivery's document holds it."""
    return binascii.b2a_base64(data, newline=False).decode()


def _count(tx: Transaction, delivery: Delivery, name: str, value: float, unit: str = "Count") -> None:
    document = delivery.document
    kind = _KINDS.get(delivery.target_arn.split(":")[2], "Kinesis")
    dimensions = {"DestinationType": kind, "FilterName": document["filter"], "LogGroupName": document["group"]}
    series = Series(Watched(str(delivery.scope), "AWS/Logs", dump_json(dimensions)), name, unit)
    tx.metrics.count(series, tx.now, value)
