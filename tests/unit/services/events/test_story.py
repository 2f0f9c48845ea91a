"""A file arrives, its event's function fails, Lambda retries, and the event is sent again from the dead letter."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.services.lambda_.functions import archive

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:import-file"


def make_function(desk: Any, dead: str) -> None:
    """A function with a dead-letter queue, and a rule with a permission that runs it."""
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    world = desk.world
    documents = [json.dumps({"Version": "2012-10-17", "Statement": [one]}) for one in (trust, allowed)]
    world.call("iam", "CreateRole", RoleName="runs", AssumeRolePolicyDocument=documents[0])
    world.call("iam", "PutRolePolicy", RoleName="runs", PolicyName="all", PolicyDocument=documents[1])
    world.client("lambda").create_function(
        FunctionName="import-file", Runtime="python3.12", Handler="index.handler",
        Role="arn:aws:iam::000000000000:role/runs", Code={"ZipFile": archive(name="index.py")},
        DeadLetterConfig={"TargetArn": dead},
    )  # fmt: skip


def test_failing_function_is_lambdas_to_retry_and_its_event_is_sent_again(bus_desk: Any) -> None:
    """EventBridge has delivered when Lambda has accepted: its own dead-letter queue stays empty.

    Lambda retries twice, after one minute and two; the event lies in the function's queue then, and nothing is lost.
    """
    calls: list[tuple[str, str]] = []
    is_broken = True

    def run(event: dict[str, Any], context: Any) -> None:
        calls.append((event["detail"]["object"]["key"], context.aws_request_id))
        if is_broken:
            raise ValueError("the file cannot be read")

    world, events = bus_desk.world, bus_desk.events
    of_rule, of_function = bus_desk.queue("dead"), bus_desk.queue("failed")
    make_function(bus_desk, of_function)
    world.functions.register("import-file", run)
    pattern = {"source": ["uploads"], "detail-type": ["Object Created"], "detail": {"bucket": {"name": ["inbox"]}}}
    arn = bus_desk.rule({"Arn": FUNCTION, "DeadLetterConfig": {"Arn": of_rule}}, pattern=pattern)
    detail = {"bucket": {"name": "inbox"}, "object": {"key": "a.csv"}}
    entry = {"Source": "uploads", "DetailType": "Object Created", "Detail": json.dumps(detail)}

    events.put_events(Entries=[entry])
    world.settle()
    (body, attributes), before = bus_desk.letter(), list(calls)
    world.client("lambda").add_permission(
        FunctionName="import-file", StatementId="s", Action="lambda:InvokeFunction",
        Principal="events.amazonaws.com", SourceArn=arn,
    )  # fmt: skip
    events.put_events(Entries=[entry])
    world.advance(minutes=10)
    (failed,) = bus_desk.take("failed")
    is_broken = False
    lost = json.loads(failed["Body"])
    events.put_events(
        Entries=[{"Source": "uploads", "DetailType": lost["detail-type"], "Detail": json.dumps(lost["detail"])}]
    )  # fmt: skip
    world.settle()

    assert before == []
    assert attributes["ERROR_CODE"] == "NO_PERMISSIONS"
    assert json.loads(body)["detail"] == detail
    assert [key for key, _ in calls] == ["a.csv"] * 4
    assert len({request_id for _, request_id in calls[:3]}) == 1
    assert failed["MessageAttributes"]["ErrorMessage"]["StringValue"] == "the file cannot be read"
    assert bus_desk.bodies("dead") == bus_desk.bodies("failed") == []
