"""What the services here count of themselves, read as a user reads it: through CloudWatch.

Sources: https://docs.aws.amazon.com/scheduler/latest/UserGuide/monitoring-cloudwatch.html,
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.delivery.faults import Fault, add_fault
from redrive.services.cloudwatch.model.metric import Metric
from redrive.store.tables.metrics import DataPoint
from redrive.testing.world import World

ACCOUNT = "000000000000"
QUEUE_ARN = f"arn:aws:sqs:us-east-1:{ACCOUNT}:"
FUNCTION_ARN = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:work"


class Shop:
    """A world with a role that may do everything, queues, a function and schedules."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.start = world.now
        trust = {"Effect": "Allow", "Principal": {"Service": ["scheduler.amazonaws.com", "lambda.amazonaws.com"]},
                 "Action": "sts:AssumeRole"}  # fmt: skip
        world.call("iam", "CreateRole", RoleName="all", AssumeRolePolicyDocument=self._policy(trust))
        everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        world.call("iam", "PutRolePolicy", RoleName="all", PolicyName="all", PolicyDocument=self._policy(everything))
        self.role = f"arn:aws:iam::{ACCOUNT}:role/all"
        for name in ("orders", "dead"):
            world.call("sqs", "CreateQueue", QueueName=name)

    @staticmethod
    def _policy(statement: Any) -> str:
        return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    def schedule(self, queue: str = "orders", **target: Any) -> None:
        """Make a schedule in a group of its own that fires once, now."""
        self.world.call("scheduler", "CreateScheduleGroup", Name="nightly")
        self.world.call(
            "scheduler", "CreateSchedule", Name="one", GroupName="nightly", FlexibleTimeWindow={"Mode": "OFF"},
            ScheduleExpression="at(2025-01-01T00:00:00)",
            Target={"Arn": f"{QUEUE_ARN}{queue}", "RoleArn": self.role, "Input": "{}", **target},
        )  # fmt: skip

    def function(self, handler: Callable[[Any, Any], Any], **configuration: Any) -> None:
        """Make a function of this handler."""
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as written:
            written.writestr("app.py", "def handler(event, context): ...")
        self.world.functions.register("work", handler)
        self.world.call(
            "lambda", "CreateFunction", FunctionName="work", Runtime="python3.12", Handler="app.handler",
            Role=self.role, Code={"ZipFile": archive.getvalue()}, **configuration,
        )  # fmt: skip

    def invoke(self, how: str = "RequestResponse", payload: bytes = b"{}") -> None:
        """Invoke the function."""
        self.world.client("lambda").invoke(FunctionName="work", InvocationType=how, Payload=payload)

    def sums(self, namespace: str, **dimensions: str) -> dict[str, float]:
        """The sums of all metrics with just these dimensions, up to now; those that are 0 are left out."""
        client = self.world.client("cloudwatch")
        shown = [{"Name": name, "Value": value} for name, value in dimensions.items()]
        listed = client.list_metrics(Namespace=namespace)["Metrics"]
        names = [one["MetricName"] for one in listed if one["Dimensions"] == shown]
        sums = {}
        for name in names:
            points = client.get_metric_statistics(
                Namespace=namespace, MetricName=name, Dimensions=shown, StartTime=self.start / 1000,
                EndTime=self.world.now / 1000, Period=86_400 * 5, Statistics=["Sum"],
            )["Datapoints"]  # fmt: skip
            sums[name] = sum(point["Sum"] for point in points)
        return {name: total for name, total in sums.items() if total}


@pytest.fixture
def shop() -> Any:
    world = World(seed=1)
    yield Shop(world)
    world.close()


def fail(event: Any, context: Any) -> None:
    raise ValueError("no")


def fail_on_demand(event: Any, context: Any) -> str:
    if "fail" in event:
        raise ValueError("no")
    return "done"


def counted(sums: dict[str, float]) -> dict[str, float]:
    """Without what was measured."""
    return {
        name: total for name, total in sums.items() if name not in {"Duration", "AsyncEventAge", "ConcurrentExecutions"}
    }


def test_queue_shows_its_metrics(shop: Any) -> None:
    url = shop.world.call("sqs", "GetQueueUrl", QueueName="orders")["QueueUrl"]
    shop.world.call("sqs", "SendMessage", QueueUrl=url, MessageBody="12345")

    shop.world.advance(minutes=1)

    assert shop.sums("AWS/SQS", QueueName="orders") == {
        "ApproximateAgeOfOldestMessage": 60, "ApproximateNumberOfMessagesVisible": 1, "NumberOfMessagesSent": 1,
        "SentMessageSize": 5,
    }  # fmt: skip


def test_delivered_occurrence_is_one_attempt_of_its_group_and_of_the_account(shop: Any) -> None:
    shop.schedule()

    shop.world.advance(minutes=2)

    expected = {"InvocationAttemptCount": 1}
    assert shop.sums("AWS/Scheduler", ScheduleGroup="nightly") == expected
    assert shop.sums("AWS/Scheduler") == expected


def test_target_that_fails_for_good_is_an_error_and_a_dead_letter(shop: Any) -> None:
    shop.schedule("missing", DeadLetterConfig={"Arn": f"{QUEUE_ARN}dead"})

    shop.world.advance(minutes=2)

    assert shop.sums("AWS/Scheduler") == {
        "InvocationAttemptCount": 1, "InvocationsSentToDeadLetterCount": 1, "TargetErrorCount": 1,
    }  # fmt: skip


def test_dead_letter_that_cannot_be_sent_is_counted_by_its_error(shop: Any) -> None:
    shop.schedule("missing", DeadLetterConfig={"Arn": f"{QUEUE_ARN}gone"})

    shop.world.advance(minutes=2)

    assert shop.sums("AWS/Scheduler", ScheduleGroup="nightly") == {
        "InvocationAttemptCount": 1,
        "InvocationsFailedToBeSentToDeadLetterCount": 1,
        "InvocationsFailedToBeSentToDeadLetterCount_AWS.SimpleQueueService.NonExistentQueue": 1,
        "TargetErrorCount": 1,
    }


def test_dead_letter_that_was_cut_is_counted(shop: Any) -> None:
    shop.world.call("sqs", "CreateQueue", QueueName="small", Attributes={"MaximumMessageSize": "1024"})
    shop.schedule("missing", Input=json.dumps("x" * 2000), DeadLetterConfig={"Arn": f"{QUEUE_ARN}small"})

    shop.world.advance(minutes=2)

    sums = shop.sums("AWS/Scheduler")
    assert sums["InvocationsSentToDeadLetterCount_Truncated_MessageSizeExceeded"] == 1
    assert sums["InvocationsSentToDeadLetterCount"] == 1


def test_exhausted_retries_are_a_drop(shop: Any) -> None:
    """The target throttles each time: an error, a throttle, and after the last retry a drop."""
    fault = Fault("", f"{QUEUE_ARN}orders", code="ThrottlingException")
    shop.world.store.run(lambda tx: add_fault(tx, fault))
    shop.schedule(RetryPolicy={"MaximumRetryAttempts": 2})

    shop.world.advance(minutes=5)

    assert shop.sums("AWS/Scheduler") == {
        "InvocationAttemptCount": 3, "InvocationDroppedCount": 1, "TargetErrorCount": 3, "TargetErrorThrottledCount": 3,
    }  # fmt: skip


@pytest.mark.parametrize("dimensions", [{}, {"FunctionName": "work"}, {"FunctionName": "work", "Resource": "work"}])
def test_runs_are_counted_by_function_by_resource_and_for_the_account(shop: Any, dimensions: dict[str, str]) -> None:
    shop.function(fail_on_demand)
    shop.invoke()
    shop.invoke(payload=b'{"fail": true}')

    shop.world.advance(minutes=1)

    sums = counted(shop.sums("AWS/Lambda", **dimensions))
    of_account = {"UnreservedConcurrentExecutions": 2.0} if not dimensions else {}
    assert sums == {"Invocations": 2, "Errors": 1, **of_account}


def test_error_rate_of_a_function_is_a_quotient_of_its_metrics(shop: Any, query: Any) -> None:
    """Runs without an error count 0 errors, so that there is something to divide."""
    shop.function(fail_on_demand)
    shop.invoke()
    shop.world.advance(minutes=1)
    dimensions = [{"Name": "FunctionName", "Value": "work"}]
    metric = {"Namespace": "AWS/Lambda", "Dimensions": dimensions}
    queries = [
        {"Id": name.lower(), "ReturnData": False,
         "MetricStat": {"Metric": {**metric, "MetricName": name}, "Period": 60, "Stat": "Sum"}}
        for name in ("Errors", "Invocations")
    ]  # fmt: skip

    answer = shop.world.client("cloudwatch").get_metric_data(
        MetricDataQueries=[*queries, {"Id": "rate", "Expression": "100 * errors / invocations"}],
        StartTime=shop.start / 1000, EndTime=shop.world.now / 1000,
    )  # fmt: skip

    assert answer["MetricDataResults"][0]["Values"] == [0]


def test_duration_is_measured_in_milliseconds(shop: Any) -> None:
    shop.function(fail_on_demand)
    shop.invoke()
    shop.world.advance(minutes=1)

    (point,) = shop.world.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/Lambda", MetricName="Duration", Dimensions=[{"Name": "FunctionName", "Value": "work"}],
        StartTime=shop.start / 1000, EndTime=shop.world.now / 1000, Period=60, ExtendedStatistics=["p99"],
    )["Datapoints"]  # fmt: skip

    assert point["Unit"] == "Milliseconds"
    assert point["ExtendedStatistics"]["p99"] >= 0


def test_event_that_fails_is_received_run_three_times_and_dropped(shop: Any) -> None:
    """Retries come one and two minutes later; the age of the event grows with them."""
    shop.function(fail)
    shop.invoke("Event")

    shop.world.advance(minutes=5)

    sums = shop.sums("AWS/Lambda", FunctionName="work")
    assert counted(sums) == {"AsyncEventsDropped": 1, "AsyncEventsReceived": 1, "Errors": 3, "Invocations": 3}
    assert sums["AsyncEventAge"] == 60_000 + 180_000


def test_event_that_is_done_is_not_dropped(shop: Any) -> None:
    shop.function(fail_on_demand)
    shop.invoke("Event")

    shop.world.advance(minutes=1)

    assert counted(shop.sums("AWS/Lambda", FunctionName="work")) == {"AsyncEventsReceived": 1, "Invocations": 1}


def test_throttled_caller_who_waits_is_counted_too(shop: Any) -> None:
    """The caller is refused, and what was counted of the refused run stays."""
    shop.function(fail_on_demand)
    fault = Fault("", FUNCTION_ARN, code="TooManyRequestsException", times=1)
    shop.world.store.run(lambda tx: add_fault(tx, fault))
    with pytest.raises(ClientError, match="TooManyRequestsException"):
        shop.invoke()

    shop.world.advance(minutes=1)

    assert counted(shop.sums("AWS/Lambda", FunctionName="work")) == {"Throttles": 1}


def test_throttled_run_is_no_invocation(shop: Any) -> None:
    """The event waits for a second, then runs."""
    shop.function(fail_on_demand)
    fault = Fault("", FUNCTION_ARN, code="TooManyRequestsException", times=1)
    shop.world.store.run(lambda tx: add_fault(tx, fault))
    shop.invoke("Event")

    shop.world.advance(minutes=2)

    assert counted(shop.sums("AWS/Lambda", FunctionName="work")) == {
        "AsyncEventsReceived": 1, "Invocations": 1, "Throttles": 1,
    }  # fmt: skip


def test_records_that_cannot_be_delivered_are_counted(shop: Any) -> None:
    shop.function(fail, DeadLetterConfig={"TargetArn": f"{QUEUE_ARN}dead"})
    shop.world.call(
        "lambda", "PutFunctionEventInvokeConfig", FunctionName="work", MaximumRetryAttempts=0,
        DestinationConfig={"OnFailure": {"Destination": f"{QUEUE_ARN}orders"}},
    )  # fmt: skip
    for name in ("dead", "orders"):
        url = shop.world.call("sqs", "GetQueueUrl", QueueName=name)["QueueUrl"]
        shop.world.call("sqs", "DeleteQueue", QueueUrl=url)
    shop.invoke("Event")

    shop.world.advance(minutes=1)

    assert counted(shop.sums("AWS/Lambda", FunctionName="work")) == {
        "AsyncEventsDropped": 1, "AsyncEventsReceived": 1, "DeadLetterErrors": 1, "DestinationDeliveryFailures": 1,
        "Errors": 1, "Invocations": 1,
    }  # fmt: skip


def test_reading_a_metric_goes_by_its_key(shop: Any) -> None:
    """However many others there are."""
    seen: list[str] = []
    shop.world.store.connection.set_trace_callback(seen.append)
    shop.world.client("cloudwatch").get_metric_statistics(
        Namespace="App", MetricName="m", StartTime=0, EndTime=60, Period=60, Statistics=["Sum"], Unit="Count"
    )
    shop.world.store.connection.set_trace_callback(None)

    (statement,) = [sql for sql in seen if "FROM metrics" in sql]
    plan = [step[3] for step in shop.world.store.connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    key = "scope=? AND namespace=? AND name=? AND dimensions=? AND unit=? AND minute>? AND minute<?"
    assert plan == [f"SEARCH metrics USING PRIMARY KEY ({key})"]


def test_data_point_that_was_stored_is_read_as_it_was(shop: Any) -> None:
    """Its values included, also those that no decimal fraction spells."""
    series = Metric("App", "m").series(shop.world.caller().scope, "None")
    values = {0.1 + 0.2: 1, 1e-30: 2.5}
    put = DataPoint(0, 1.0, 3.5, 1e-30, 0.1 + 0.2, values)

    shop.world.store.run(lambda tx: tx.metrics.add(series, put))

    (found,) = shop.world.store.run(lambda tx: tx.metrics.between(series, 0, 1))
    assert (found, found.samples) == (put, values)
