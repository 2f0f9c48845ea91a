"""The deliveries of topics: how each protocol is reached, and what happens at the end of a delivery."""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, GiveUp, Outcome, Verdict
from redrive.delivery.history.records import End, Origin
from redrive.delivery.outside.errand import Errand
from redrive.delivery.outside.http_call import HttpCall
from redrive.delivery.sources.call import Call, Inside
from redrive.delivery.sources.source import Source
from redrive.services.sns import limits
from redrive.services.sns.calls import origin_of, service_caller
from redrive.services.sns.mailbox import confirmation_mail, put_mail
from redrive.services.sns.model import metrics
from redrive.services.sns.model.delivered import SOURCE, Content, content_of, queue_params
from redrive.services.sns.model.delivery_policy import DEFAULT_REQUEST
from redrive.services.sns.model.subscription import HTTP_PROTOCOLS
from redrive.services.sns.order import is_blocked, is_ordered, leave
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_PLAIN = str(DEFAULT_REQUEST["headerContentType"])
_AGENT = "Amazon Simple Notification Service Agent"


class SnsSource(Source):
    """Delivers the messages of topics to the endpoints of their subscriptions."""

    name = SOURCE

    def held_until(self, tx: Transaction, delivery: Delivery) -> Instant | None:
        """A message of a FIFO topic waits for the earlier ones of its group."""
        if not _is_notification(delivery) or not is_ordered(delivery) or not is_blocked(tx, delivery):
            return None
        return tx.now + limits.HELD_AGAIN_MS

    def render(self, tx: Transaction, delivery: Delivery) -> Call | Inside | Errand:
        """Build this attempt. Errors: ServiceError for an endpoint that nothing here delivers to."""
        if not _is_notification(delivery):
            return _confirmation(tx, delivery)
        content = content_of(delivery)
        match content.protocol:
            case "sqs":
                return _queue_call(tx, delivery, content)
            case "lambda":
                return _function_call(tx, delivery, content)
            case "http" | "https":
                return _http_call(delivery, content)
            case "email" | "email-json" | "sms":
                return Inside(lambda: put_mail(tx, delivery.scope, content))
            case _:
                message = f"redrive delivers nothing to endpoints of the protocol {content.protocol}."
                raise ServiceError("UnknownOperationException", message)

    def origin(self, delivery: Delivery) -> Origin:
        """The execution that caused the message."""
        return origin_of(delivery)

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """SNS has no metric of attempts."""

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Count the end, and write the dead letter of a delivery that was given up."""
        if not _is_notification(delivery):
            return End.of(verdict)
        leave(tx, delivery)
        if isinstance(verdict, Delivered):
            _count(tx, delivery, metrics.DELIVERED)
            return End.of(verdict)
        _count(tx, delivery, metrics.FAILED)
        return _bury(tx, delivery)


def _is_notification(delivery: Delivery) -> bool:
    return "confirmation" not in delivery.document


def _queue_call(tx: Transaction, delivery: Delivery, content: Content) -> Call:
    params = queue_params(content, delivery.target_arn)
    if params is None:
        raise ServiceError(
            "InvalidParameterValueException",
            f"A queue takes {limits.RAW_ATTRIBUTES_MAX} message attributes; the message has more.",
        )
    caller = service_caller(tx, delivery, Arn.parse(delivery.target_arn).region)
    return Call(caller, "sqs", "SendMessage", lambda: params)


def _function_call(tx: Transaction, delivery: Delivery, content: Content) -> Call:
    caller = service_caller(tx, delivery, Arn.parse(delivery.target_arn).region)
    event = content.event.encode()
    params: Document = {"FunctionName": delivery.target_arn, "InvocationType": "Event", "Payload": event}
    return Call(caller, "lambda", "Invoke", lambda: params)


def _http_call(delivery: Delivery, content: Content) -> HttpCall:
    headers = _headers("Notification", content.message["id"], content.message["topic"], content.content_type)
    headers.append(("x-amz-sns-subscription-arn", delivery.source_arn))
    if content.is_raw:
        headers.append(("x-amz-sns-rawdelivery", "true"))
    return HttpCall(
        delivery.target_arn, "POST", tuple(headers), content.body.encode(), timeout_ms=limits.HTTP_TIMEOUT_MS
    )  # fmt: skip


def _confirmation(tx: Transaction, delivery: Delivery) -> HttpCall | Inside:
    """Ask an endpoint for its confirmation."""
    envelope: Document = delivery.document["confirmation"]
    protocol = str(delivery.document["protocol"])
    if protocol not in HTTP_PROTOCOLS:
        return Inside(lambda: confirmation_mail(tx, delivery.scope, protocol, delivery.target_arn, envelope))
    headers = _headers(envelope["Type"], envelope["MessageId"], envelope["TopicArn"], _PLAIN)
    body = dump_json(envelope).encode()
    return HttpCall(delivery.target_arn, "POST", tuple(headers), body, timeout_ms=limits.HTTP_TIMEOUT_MS)


def _headers(kind: str, message_id: str, topic_arn: str, content_type: str) -> list[tuple[str, str]]:
    return [
        ("x-amz-sns-message-type", kind),
        ("x-amz-sns-message-id", message_id),
        ("x-amz-sns-topic-arn", topic_arn),
        ("Content-Type", content_type or _PLAIN),
        ("User-Agent", _AGENT),
        ("Connection", "close"),
    ]


def _bury(tx: Transaction, delivery: Delivery) -> End:
    """Send what the endpoint would have got to the subscription's dead-letter queue, if it has one.

    A function's dead letter has the form of a queue's message. What the queue refuses is lost, as on AWS.
    """
    content = content_of(delivery)
    queue_arn = content.dead_letter_arn
    if not queue_arn:
        return End.dropped("no dead-letter queue")
    try:
        params = queue_params(content, queue_arn)
        if params is None:
            raise ServiceError("InvalidParameterValueException", "The message has more attributes than a queue takes.")
        caller = service_caller(tx, delivery, Arn.parse(queue_arn).region)
        sent = tx.services.call(tx, caller, "sqs", "SendMessage", params)
    except ServiceError as error:
        _count(tx, delivery, metrics.NOT_REDRIVEN)
        why = f"the dead letter to {queue_arn} failed with {error.code}: {error.message}"
        return End.dropped(why, letter_arn=queue_arn)
    _count(tx, delivery, metrics.REDRIVEN)
    return End.dead_lettered(queue_arn, str(sent["MessageId"]))


def _count(tx: Transaction, delivery: Delivery, name: str) -> None:
    topic_arn = delivery.source_arn.rpartition(":")[0]
    tx.metrics.count(metrics.series_of(topic_arn, name), tx.now)
