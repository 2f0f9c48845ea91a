"""A second source, as an event bus would have one: a rule with a role, a retry policy and a dead-letter queue."""

from __future__ import annotations

from redrive.core.documents import Document, dump_json
from redrive.core.retry import Delivered, Failed, GiveUp, Outcome
from redrive.delivery.history.records import End
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.letters import Letter, Written, attribute, retries_made, write_letter
from redrive.delivery.sources.roles import RoleSession
from redrive.delivery.sources.source import Source
from redrive.delivery.sources.targets import Request, build_request, find_target, request_call
from redrive.languages.letters import LetterNames
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

NAMES = LetterNames(
    code="ERROR_CODE", message="ERROR_MESSAGE", source="RULE_ARN", target="TARGET_ARN", retries="RETRY_ATTEMPTS"
)


class Rules(Source):
    """Delivers events to the targets of rules: the delivery's document has the event and the target."""

    name = "rules"

    def render(self, tx: Transaction, delivery: Delivery) -> Call:
        target = delivery.document["target"]
        caller = _role(delivery).caller(tx, delivery.scope.region)
        return request_call(tx, find_target(target["Arn"]), caller, lambda: _request(delivery))

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        queue_arn = delivery.document["target"].get("DeadLetterConfig", {}).get("Arn")
        if not isinstance(outcome, Failed) or queue_arn is None:
            return End.of(verdict)
        written = write_letter(tx, _letter(delivery, outcome), queue_arn, lambda at: _role(delivery).caller(tx, at))
        if isinstance(written, Written):
            return End.dead_lettered(queue_arn, written.message_id)
        return End.dropped(written.error.message, letter_arn=queue_arn)


def _request(delivery: Delivery) -> Request:
    event: Document = delivery.document["event"]
    return build_request(delivery.document["target"], dump_json(event))


def _role(delivery: Delivery) -> RoleSession:
    role_arn = delivery.document["target"]["RoleArn"]
    return RoleSession(role_arn, "events.amazonaws.com", "rule", delivery.source_arn)


def _letter(delivery: Delivery, failed: Failed) -> Letter:
    values = {
        NAMES.code: failed.code, NAMES.message: failed.message, NAMES.source: delivery.source_arn,
        NAMES.target: delivery.target_arn, NAMES.retries: str(retries_made(delivery, failed)),
    }  # fmt: skip
    return Letter(NAMES, dump_json(delivery.document["event"]), {key: attribute(values[key]) for key in values})
