"""The actions of alarms as deliveries: each attempt calls a topic or a function as CloudWatch."""

from __future__ import annotations

from redrive.core.entropy import new_row_id
from redrive.core.errors import Bug
from redrive.core.retry import Delivered, Failed, GiveUp, Outcome, Succeeded
from redrive.delivery.history.records import End
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.source import Source
from redrive.services.cloudwatch.acting import keep_item
from redrive.services.cloudwatch.calls import FUNCTION_PRINCIPAL, TOPIC_PRINCIPAL, alarm_caller
from redrive.services.cloudwatch.model.alarm import SOURCE
from redrive.services.cloudwatch.model.history import acted
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


class CloudWatchSource(Source):
    """Delivers the actions of alarms, and records in the alarm's history how each ended."""

    name = SOURCE

    def render(self, tx: Transaction, delivery: Delivery) -> Call:
        """Build the call, which the policy of the topic or function has to allow."""
        document, arn = delivery.document, delivery.target_arn
        match document["kind"]:
            case "sns":
                told = {"TopicArn": arn, "Subject": document["subject"], "Message": document["text"]}
                return Call(alarm_caller(tx, delivery, TOPIC_PRINCIPAL), "sns", "Publish", lambda: told)
            case "lambda":
                payload = str(document["text"]).encode()
                run = {"FunctionName": arn, "InvocationType": "Event", "Payload": payload}
                return Call(alarm_caller(tx, delivery, FUNCTION_PRINCIPAL), "lambda", "Invoke", lambda: run)
            case kind:
                raise Bug(f"an alarm has no action of the kind {kind}")

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Record the action in the history of its alarm."""
        document = delivery.document
        error = f"{outcome.code}: {outcome.message}" if isinstance(outcome, Failed) else None
        message_id = outcome.result.get("MessageId") if isinstance(outcome, Succeeded) else None
        item = acted(
            str(document["alarm"]), str(document["type"]), delivery.scope, delivery.target_arn,
            item_id=new_row_id(tx.entropy, tx.now), now=tx.now, transitioned_at=int(document["at"]), error=error,
            message_id=message_id,
        )  # fmt: skip
        keep_item(tx, delivery.scope, item)
        return End.of(verdict)
