"""Repairs: each named case is found by what AWS says of its resources, is mended, and can be undone."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from redrive.core.errors import UserError
from redrive.deadletters import Action, DeadLetterQueue, Wishes, plan_document, read_plan
from redrive.deadletters.journal import Journal, open_journal
from redrive.deadletters.repairing import repair_all, undo_all
from redrive.deadletters.repairs import Kind, Repair
from redrive.testing.world import World
from tests.unit.deadletters.killing import packed
from tests.unit.deadletters.test_failed_executions import Session

ACCOUNT = "us-east-1:000000000000"
DEAD, ORDERS = f"arn:aws:sqs:{ACCOUNT}:dead", f"arn:aws:sqs:{ACCOUNT}:orders"
RULE, TOPIC = f"arn:aws:events:{ACCOUNT}:rule/shipped", f"arn:aws:sns:{ACCOUNT}:news"
FUNCTION = f"arn:aws:lambda:{ACCOUNT}:function:ship"
SCHEDULE = f"arn:aws:scheduler:{ACCOUNT}:schedule/default/nightly"


@dataclass
class Shop:
    """A world with a dead-letter queue, a function and a queue."""

    world: World
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("dead", "orders"):
            self.client("sqs").create_queue(QueueName=name)
        principals = ["lambda.amazonaws.com", "scheduler.amazonaws.com"]
        trust = {"Effect": "Allow", "Principal": {"Service": principals}, "Action": "sts:AssumeRole"}
        iam = self.client("iam")
        self.role = iam.create_role(RoleName="all", AssumeRolePolicyDocument=policy(trust))["Role"]["Arn"]
        everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        iam.put_role_policy(RoleName="all", PolicyName="all", PolicyDocument=policy(everything))
        self.world.functions.register("ship", lambda event, _: event)
        self.client("lambda").create_function(
            FunctionName="ship", Runtime="python3.12", Handler="i.h", Code={"ZipFile": packed()}, Role=self.role
        )
        self.world.settle()
        self.queue = DeadLetterQueue(
            "dead", session=Session(self.world), now=self.world.clock.now, wait=self.wait
        )  # fmt: skip

    def client(self, service: str) -> Any:
        return self.world.client(service)

    def wait(self, seconds: float) -> None:
        if seconds:
            self.world.advance(seconds=seconds)

    def url(self, name: str) -> str:
        return str(self.client("sqs").get_queue_url(QueueName=name)["QueueUrl"])

    def letter(self, body: str, **named: str) -> None:
        attributes = {name: {"DataType": "String", "StringValue": value} for name, value in named.items()}
        self.client("sqs").send_message(QueueUrl=self.url("dead"), MessageBody=body, MessageAttributes=attributes)

    def found(self) -> list[Repair]:
        return list(self.queue.plan(remediate=True).repairs)

    def policy_of(self, name: str) -> Any:
        told = self.client("sqs").get_queue_attributes(QueueUrl=self.url(name), AttributeNames=["Policy"])
        return json.loads(told.get("Attributes", {}).get("Policy", "{}")).get("Statement", [])


def policy(statement: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def letter_of_rule(shop: Shop, code: str = "NO_PERMISSIONS", target: str = ORDERS) -> None:
    shop.letter("{}", RULE_ARN=RULE, TARGET_ARN=target, ERROR_CODE=code, ERROR_MESSAGE="no")


def rule(shop: Shop, target: str = ORDERS, dead: str = DEAD, **settings: str) -> None:
    events = shop.client("events")
    events.put_rule(Name="shipped", EventPattern='{"source": ["shop"]}', **settings)
    events.put_targets(Rule="shipped", Targets=[{"Id": "1", "Arn": target, "DeadLetterConfig": {"Arn": dead}}])


@pytest.fixture
def shop() -> Iterator[Shop]:
    one = Shop(World(seed=1))
    yield one
    one.world.close()


def mapping(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    """Nobody reads the queue from which letters came."""
    sqs = shop.client("sqs")
    redrive = json.dumps({"deadLetterTargetArn": DEAD, "maxReceiveCount": 1})
    sqs.set_queue_attributes(
        QueueUrl=shop.url("orders"), Attributes={"RedrivePolicy": redrive, "VisibilityTimeout": "0"}
    )
    sqs.send_message(QueueUrl=shop.url("orders"), MessageBody="1")
    for _ in range(2):
        sqs.receive_message(QueueUrl=shop.url("orders"))
    sqs.set_queue_attributes(QueueUrl=shop.url("orders"), Attributes={"VisibilityTimeout": "30"})
    functions = shop.client("lambda")
    made = functions.create_event_source_mapping(EventSourceArn=ORDERS, FunctionName="ship", Enabled=False)
    shop.world.settle()
    return Kind.ENABLE_MAPPING, lambda: functions.get_event_source_mapping(UUID=made["UUID"])["State"]


def disabled_rule(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    letter_of_rule(shop, "TIMEOUT")
    rule(shop, State="DISABLED")
    return Kind.ENABLE_RULE, lambda: shop.client("events").describe_rule(Name="shipped")["State"]


def disabled_schedule(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    shop.letter("{}", SCHEDULE_ARN=SCHEDULE, TARGET_ARN=ORDERS, ERROR_CODE="TIMEOUT", EXECUTION_ID="e")
    scheduler = shop.client("scheduler")
    target = {"Arn": ORDERS, "RoleArn": shop.role, "DeadLetterConfig": {"Arn": DEAD}, "Input": "work"}
    scheduler.create_schedule(
        Name="nightly", ScheduleExpression="rate(1 day)", Target=target, State="DISABLED", Description="kept",
        FlexibleTimeWindow={"Mode": "OFF"}, ScheduleExpressionTimezone="Asia/Tokyo",
    )  # fmt: skip

    def state() -> object:
        told = scheduler.get_schedule(Name="nightly")
        return told["State"], told["Description"], told["ScheduleExpressionTimezone"], told["Target"]["Input"]

    return Kind.ENABLE_SCHEDULE, state


def no_concurrency(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    functions = shop.client("lambda")
    letter_of_rule(shop, "TIMEOUT", FUNCTION)
    rule(shop, FUNCTION)
    functions.put_function_concurrency(FunctionName="ship", ReservedConcurrentExecutions=0)
    return Kind.LIFT_CONCURRENCY, lambda: functions.get_function_concurrency(FunctionName="ship").get(
        "ReservedConcurrentExecutions"
    )


def refused_by_queue(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    """The policy allows somebody else already."""
    other = {"Sid": "mine", "Effect": "Allow", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": ORDERS}
    shop.client("sqs").set_queue_attributes(QueueUrl=shop.url("orders"), Attributes={"Policy": policy(other)})
    letter_of_rule(shop)
    rule(shop)
    return Kind.ALLOW_QUEUE, lambda: [one["Sid"] == "mine" for one in shop.policy_of("orders")]


def refused_by_topic(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    sns = shop.client("sns")
    sns.create_topic(Name="news")
    letter_of_rule(shop, target=TOPIC)
    rule(shop, TOPIC)
    return Kind.ALLOW_TOPIC, lambda: RULE in sns.get_topic_attributes(TopicArn=TOPIC)["Attributes"]["Policy"]


def refused_by_function(shop: Shop) -> tuple[Kind, Callable[[], object]]:
    letter_of_rule(shop, target=FUNCTION)
    rule(shop, FUNCTION)

    def is_allowed() -> bool:
        try:
            return RULE in shop.client("lambda").get_policy(FunctionName="ship")["Policy"]
        except shop.client("lambda").exceptions.ResourceNotFoundException:
            return False

    return Kind.ALLOW_FUNCTION, is_allowed


CASES = [mapping, disabled_rule, disabled_schedule, no_concurrency, refused_by_queue, refused_by_topic,
         refused_by_function]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_named_case_is_found_mended_and_undone(shop: Shop, case: Any) -> None:
    kind, state = case(shop)
    before = state()
    (repair,) = shop.found()
    journal = opened(io.BytesIO())

    repair_all([repair], shop.client, journal, shop.world.clock.now, shop.said.append)
    shop.world.settle()
    mended = state()
    assert (repair.kind, shop.said) == (kind, [f"Repair: {repair.deed}."])
    assert mended != before
    assert shop.found() == []

    undo_all(shop.client, journal, shop.world.clock.now)
    shop.world.settle()
    assert state() == before
    assert journal.repairs == []


def test_every_kind_of_repair_is_a_case() -> None:
    assert len(CASES) == len(Kind)


def opened(file: io.BytesIO) -> Journal:
    return open_journal(file, lambda: None, "q")


def test_event_gets_through_after_the_queue_was_allowed_to_take_it(shop: Shop, tmp_path: Path) -> None:
    """What failed comes back by the plan, and what comes later does not fail."""
    rule(shop)
    dead_takes = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": DEAD}
    shop.client("sqs").set_queue_attributes(QueueUrl=shop.url("dead"), Attributes={"Policy": policy(dead_takes)})
    event = {"Source": "shop", "DetailType": "Shipped", "Detail": "{}"}
    shop.client("events").put_events(Entries=[event])
    shop.world.settle()
    plan = shop.queue.plan(remediate=True)

    account = shop.queue.run(plan, tmp_path / "j", wishes=Wishes(remediate=True))
    shop.client("events").put_events(Entries=[event])
    shop.world.settle()

    assert [one.action for one in plan.rules] == [Action.REDRIVE]
    assert (account.sent, account.deleted) == (1, 1)
    told = shop.client("sqs").receive_message(QueueUrl=shop.url("orders"), MaxNumberOfMessages=10)
    assert len(told["Messages"]) == 2


def test_letter_alone_is_not_enough_for_a_repair(shop: Shop) -> None:
    """Anybody who may send to the queue could write that a rule needs a permission."""
    letter_of_rule(shop)
    rule(shop, dead=f"arn:aws:sqs:{ACCOUNT}:another")

    assert shop.found() == []


def test_letter_that_names_a_target_which_its_rule_does_not_have_repairs_that_of_the_rule_alone(shop: Shop) -> None:
    shop.client("sqs").create_queue(QueueName="payroll")
    letter_of_rule(shop, target=f"arn:aws:sqs:{ACCOUNT}:payroll")
    rule(shop)

    assert [one.resource for one in shop.found()] == [ORDERS]


def test_plan_with_repairs_is_refused_unless_the_user_says_so(shop: Shop, tmp_path: Path) -> None:
    refused_by_queue(shop)
    plan = shop.queue.plan(remediate=True)

    with pytest.raises(UserError) as refused:
        shop.queue.run(plan, tmp_path / "j")

    assert "allow shipped to send to queue orders" in str(refused.value)
    assert "--remediate" in str(refused.value.next_step)
    assert len(shop.policy_of("orders")) == 1


def test_plan_of_a_triage_has_no_repairs_of_itself(shop: Shop) -> None:
    refused_by_queue(shop)

    assert shop.queue.plan().repairs == ()


def test_repairs_of_a_plan_stand_in_its_file(shop: Shop) -> None:
    refused_by_queue(shop)
    plan = shop.queue.plan(remediate=True)

    assert read_plan(json.dumps(plan_document(plan))) == plan


def test_repair_that_was_killed_is_done_once_and_undone(shop: Shop) -> None:
    """The journal has its announcement alone; the statement may stand in the policy, or not."""
    refused_by_queue(shop)
    (repair,) = shop.found()
    disk = io.BytesIO()
    opened(disk).repairing(repair.document, 0)
    journal = opened(disk)

    for _ in range(2):
        repair_all([repair], shop.client, journal, shop.world.clock.now, shop.said.append)

    assert len(shop.policy_of("orders")) == 2
    assert len(shop.said) == 1
    assert undo_all(shop.client, opened(disk), shop.world.clock.now) == 1
    assert len(shop.policy_of("orders")) == 1


def test_repair_that_aws_refuses_ends_the_run_before_anything_is_sent(shop: Shop, tmp_path: Path) -> None:
    refused_by_queue(shop)
    plan = shop.queue.plan(remediate=True)
    shop.client("sqs").delete_queue(QueueUrl=shop.url("orders"))

    with pytest.raises(UserError, match="The repair was refused, and nothing was sent"):
        shop.queue.run(plan, tmp_path / "j", wishes=Wishes(remediate=True))
