"""Buses of a server of its own: a replay survives kill -9, and API destinations are called in real time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ServerProcess
from tests.unit.services.events.http_server import Answer, LocalServer

Start = Callable[..., ServerProcess]

ACCOUNT = "000000000000"
BUS_ARN = f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/default"
EVENTS = 3_000


@pytest.fixture
def endpoint() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


def statement(principal: str, action: str, resource: str | None = None) -> str:
    allowed = {"Effect": "Allow", "Principal": {"Service": principal}, "Action": action}
    parts = allowed if resource is None else {**allowed, "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [parts]})


def replay_to_a_queue(server: ServerProcess) -> None:
    """Archive events, and start to replay them to a rule with a queue."""
    events, sqs = server.client("events"), server.client("sqs")
    arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:again"
    sqs.create_queue(
        QueueName="again", Attributes={"Policy": statement("events.amazonaws.com", "sqs:SendMessage", arn)}
    )  # fmt: skip
    archive_arn = events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)["ArchiveArn"]
    for first in range(0, EVENTS, 10):
        entries = [{"Source": "shop", "DetailType": "n", "Detail": f'{{"n":{first + n}}}'} for n in range(10)]
        events.put_events(Entries=entries)
    events.put_rule(Name="again", EventPattern='{"replay-name":[{"exists":true}]}')
    events.put_targets(Rule="again", Targets=[{"Id": "q", "Arn": arn}])
    now = datetime.now(UTC)
    events.start_replay(
        ReplayName="again", EventSourceArn=archive_arn, EventStartTime=now - timedelta(days=1),
        EventEndTime=now + timedelta(days=1), Destination={"Arn": BUS_ARN},
    )  # fmt: skip


def numbers(sqs: Any, url: str) -> list[int]:
    """The numbers of all events in a queue; waits until all of them have come."""
    found: list[int] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2).get("Messages"):
        found += [json.loads(message["Body"])["detail"]["n"] for message in messages]
        entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    return found


def test_replay_survives_kill_9_and_replays_each_event_once(start: Start, tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "data"))
    server = start(*options)
    replay_to_a_queue(server)
    server.kill()  # In the middle of the replay, unless the machine is very slow.

    again = start(*options)
    sqs = again.client("sqs")
    got = numbers(sqs, sqs.get_queue_url(QueueName="again")["QueueUrl"])

    assert sorted(got) == list(range(EVENTS))
    shown = again.client("events").describe_replay(ReplayName="again")
    assert shown["State"] == "COMPLETED"
    assert again.client("events").describe_archive(ArchiveName="all")["EventCount"] == EVENTS


def test_api_destination_is_called_with_a_token_and_again_after_a_failure(
    start: Start, endpoint: LocalServer
) -> None:  # fmt: skip
    server = start()
    events, iam = server.client("events"), server.client("iam")
    trust = statement("events.amazonaws.com", "sts:AssumeRole")
    role = iam.create_role(RoleName="caller", AssumeRolePolicyDocument=trust)["Role"]
    may = {"Effect": "Allow", "Action": "events:InvokeApiDestination", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [may]})
    iam.put_role_policy(RoleName="caller", PolicyName="call", PolicyDocument=policy)
    endpoint.answers = [Answer(200, '{"access_token": "t-1"}'), Answer(503), Answer(204)]
    client = {"ClientID": "client", "ClientSecret": "secret"}
    connection = events.create_connection(
        Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS",
        AuthParameters={
            "OAuthParameters": {
                "ClientParameters": client, "AuthorizationEndpoint": f"{endpoint.url}/token", "HttpMethod": "POST",
            }
        },
    )  # fmt: skip
    destination = events.create_api_destination(
        Name="d", ConnectionArn=connection["ConnectionArn"], InvocationEndpoint=f"{endpoint.url}/hook/*",
        HttpMethod="POST",
    )  # fmt: skip
    events.put_rule(Name="rule", EventPattern='{"source":["shop"]}')
    target = {
        "Id": "t", "Arn": destination["ApiDestinationArn"], "RoleArn": role["Arn"],
        "HttpParameters": {"PathParameterValues": ["$.detail.n"]},
    }  # fmt: skip
    events.put_targets(Rule="rule", Targets=[target])

    events.put_events(Entries=[{"Source": "shop", "DetailType": "n", "Detail": '{"n":7}'}])
    endpoint.wait_for(3)

    assert [request.path for request in endpoint.requests] == ["/token", "/hook/7", "/hook/7"]
    assert endpoint.requests[2].headers["authorization"] == "Bearer t-1"
    assert events.describe_connection(Name="c")["ConnectionState"] == "AUTHORIZED"
