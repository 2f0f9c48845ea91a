"""The deliveries of buckets' notifications: how each kind of destination is called."""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import Bug
from redrive.core.own_events import OwnEvent
from redrive.delivery.history.records import Origin
from redrive.delivery.sources.call import Call, Inside
from redrive.delivery.sources.source import Source
from redrive.services.s3.calls import origin_of, queue_params, service_caller
from redrive.services.s3.model.notification_records import SUBJECT
from redrive.services.s3.telling import SOURCE
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


class S3Source(Source):
    """Delivers what buckets tell, where that did not happen at once."""

    name = SOURCE

    def render(self, tx: Transaction, delivery: Delivery) -> Call | Inside:
        """Build this attempt, which the destination's policy has to allow."""
        document = delivery.document
        kind = document["kind"]
        if kind == "events":
            return Inside(lambda: _publish(tx, delivery))
        caller = service_caller(tx, delivery, Arn.parse(delivery.target_arn).region)
        text, arn = str(document["text"]), delivery.target_arn
        match kind:
            case "sqs":
                return Call(caller, "sqs", "SendMessage", lambda: queue_params(delivery))
            case "sns":
                told = {"TopicArn": arn, "Message": text, "Subject": SUBJECT}
                return Call(caller, "sns", "Publish", lambda: told)
            case "lambda":
                run = {"FunctionName": arn, "InvocationType": "Event", "Payload": text.encode()}
                return Call(caller, "lambda", "Invoke", lambda: run)
            case _:
                raise Bug(f"S3 has no destination of the kind {kind}")

    def origin(self, delivery: Delivery) -> Origin:
        """The execution that changed the object; otherwise each notification is its own execution."""
        return origin_of(delivery)


def _publish(tx: Transaction, delivery: Delivery) -> Document:
    document = delivery.document
    own = OwnEvent(
        "aws.s3", str(document["type"]), dict(document["detail"]), (delivery.source_arn,), int(document["at"])
    )  # fmt: skip
    tx.services.publish_event(tx, delivery.scope, lambda: own)
    return {}
