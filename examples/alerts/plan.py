"""The plan of the day: what goes wrong, when it begins and ends, and what is done on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from server import client, redrive

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:import-file"
RULE = "import-files"
RULE_ARN = f"arn:aws:events:us-east-1:000000000000:rule/{RULE}"


def throttle() -> None:
    redrive("fault", "add", "--target", FUNCTION, "--error", "TooManyRequestsException", "--rate", "1")


def slow_down() -> None:
    redrive("fault", "add", "--target", FUNCTION, "--latency", "45s", "--rate", "1")


def clear_faults() -> None:
    redrive("fault", "clear")


def disable_rule() -> None:
    client("events").disable_rule(Name=RULE)


def enable_rule() -> None:
    client("events").enable_rule(Name=RULE)


def crash() -> None:
    client("dynamodb").put_item(TableName="switches", Item={"name": {"S": "crash"}})


def send_poison() -> None:
    """A job without the report that the function asks for."""
    body = {"context": {"execution_id": "6e1d7a52-poison"}, "payload": {"reprot": "sales"}}
    client("sqs").send_message(QueueUrl=url_of("jobs"), MessageBody=json.dumps(body))


def take_permission() -> None:
    (statement,) = json.loads(client("lambda").get_policy(FunctionName=FUNCTION)["Policy"])["Statement"]
    client("lambda").remove_permission(FunctionName=FUNCTION, StatementId=statement["Sid"])


def give_permission() -> None:
    client("lambda").add_permission(
        FunctionName=FUNCTION, StatementId="rule", Action="lambda:InvokeFunction", Principal="events.amazonaws.com",
        SourceArn=RULE_ARN,
    )  # fmt: skip
    discard_letters()


def discard_letters() -> None:
    """Somebody has looked at the letters, and deletes them."""
    for name in ("jobs-dead-letters", "events-dead-letters"):
        client("sqs").purge_queue(QueueUrl=url_of(name))


def work_on_the_rule_muted() -> None:
    """The same work, announced: alarms change their states meanwhile, and tell nobody."""
    schedule = {"Expression": "at(2025-01-01T09:00)", "Duration": "PT30M", "Timezone": "UTC"}
    client("cloudwatch").put_alarm_mute_rule(
        Name="work-on-the-rule", Rule={"Schedule": schedule}, MuteTargets={"AlarmNames": ["unhealthy"]}
    )
    disable_rule()


def url_of(queue: str) -> str:
    """The URL of a queue."""
    return str(client("sqs").get_queue_url(QueueName=queue)["QueueUrl"])


def nothing() -> None:
    """What ends by itself."""


@dataclass(frozen=True)
class Event:
    """Something that happens during the day, from `at` until `until`. `is_trouble`: somebody has to be told."""

    name: str
    what: str
    at: str
    until: str
    begin: Callable[[], None]
    end: Callable[[], None]
    is_trouble: bool = True


PLAN = (
    Event("throttles", "the function that imports files is throttled", "00:30", "00:50", throttle, clear_faults),
    Event("disabled rule", "somebody disables the rule: files arrive, and nothing happens", "02:00", "02:30",
          disable_rule, enable_rule),
    Event("crash after the effect", "the job writes its report, and dies before the ledger knows", "02:59", "03:20",
          crash, nothing),
    Event("slow downstream", "files are imported 45 s late", "04:00", "04:30", slow_down, clear_faults),
    Event("poison message", "a job that cannot be done is received three times", "05:30", "06:00", send_poison,
          discard_letters),
    Event("permission taken away", "the rule may not invoke its function any more", "06:30", "07:00", take_permission,
          give_permission),
    Event("work on the rule", "the rule is disabled on purpose, and nobody has said so", "08:00", "08:15",
          disable_rule, enable_rule, is_trouble=False),
    Event("announced work on the rule", "the same, with a mute rule for half an hour", "09:00", "09:15",
          work_on_the_rule_muted, enable_rule, is_trouble=False),
)  # fmt: skip


def steps() -> Iterator[tuple[str, Callable[[], None]]]:
    """All beginnings and ends with their times, in order."""
    for event in PLAN:
        yield event.at, event.begin
        yield event.until, event.end
