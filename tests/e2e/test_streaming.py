"""Answers that go on, from outside: a subscriber and a streaming function with boto3, and clients that are killed."""

from __future__ import annotations

import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from typing import Any

import pytest

from tests.e2e.conftest import ServerProcess

SHARD = "shardId-000000000000"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}  # fmt: skip
JS = """
exports.handler = awslambda.streamifyResponse(async (event, stream) => {
  const isWeb = "rawPath" in event;
  const out = isWeb ? awslambda.HttpResponseStream.from(stream, { statusCode: 201 }) : stream;
  for (const word of ["one ", "two ", "three"]) out.write(word);
  if (event.fails) throw new RangeError("late");
  out.end();
});
"""
WATCHER = """
import boto3, sys
kinesis = boto3.session.Session("test", "test", region_name="us-east-1").client("kinesis", endpoint_url=sys.argv[1])
answer = kinesis.subscribe_to_shard(
    ConsumerARN=sys.argv[2], ShardId="shardId-000000000000", StartingPosition={"Type": "LATEST"}
)
for event in answer["EventStream"]:
    print("event", flush=True)
"""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on PATH")


def consumer_of(kinesis: Any, stream: str) -> str:
    """A stream of one shard, and the ARN of a consumer of it."""
    kinesis.create_stream(StreamName=stream, ShardCount=1)
    arn = kinesis.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
    made = kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="watcher")
    return str(made["Consumer"]["ConsumerARN"])


def test_subscriber_sees_each_record_and_the_end_of_its_shard(server: ServerProcess) -> None:
    kinesis, writer = server.client("kinesis"), server.client("kinesis")
    consumer = consumer_of(kinesis, "watched")
    position = {"Type": "TRIM_HORIZON"}

    answer = kinesis.subscribe_to_shard(ConsumerARN=consumer, ShardId=SHARD, StartingPosition=position)
    events = (event["SubscribeToShardEvent"] for event in answer["EventStream"])
    first = next(events)
    found = []
    for number in range(3):
        writer.put_record(StreamName="watched", PartitionKey="k", Data=str(number).encode())
        found += [record["Data"] for record in next(events)["Records"]]
    writer.split_shard(StreamName="watched", ShardToSplit=SHARD, NewStartingHashKey="7")
    *_, last = events

    assert (first["Records"], found) == ([], [b"0", b"1", b"2"])
    assert len(last["ChildShards"]) == 2


def test_subscription_ends_when_virtual_time_is_over(server: ServerProcess) -> None:
    kinesis = server.client("kinesis")
    position = {"Type": "LATEST"}
    answer = kinesis.subscribe_to_shard(
        ConsumerARN=consumer_of(kinesis, "over"), ShardId=SHARD, StartingPosition=position
    )

    server.redrive("clock", "advance", "5m")

    assert len([*answer["EventStream"]]) < 100


def test_killed_subscriber_makes_room_for_the_next(server: ServerProcess) -> None:
    kinesis = server.client("kinesis")
    consumer = consumer_of(kinesis, "killed")
    watcher = subprocess.Popen(
        [sys.executable, "-c", WATCHER, server.endpoint_url, consumer], stdout=subprocess.PIPE, text=True
    )
    assert watcher.stdout is not None
    assert watcher.stdout.readline() == "event\n"
    os.kill(watcher.pid, signal.SIGKILL)
    watcher.communicate()
    server.redrive("clock", "advance", "5s")

    answer = kinesis.subscribe_to_shard(ConsumerARN=consumer, ShardId=SHARD, StartingPosition={"Type": "LATEST"})

    assert next(iter(answer["EventStream"]))["SubscribeToShardEvent"]["Records"] == []
    answer["EventStream"].close()


@pytest.fixture(scope="module")
def function(server: ServerProcess) -> str:
    role = server.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("app.js", JS)
    client = server.client("lambda")
    client.create_function(
        FunctionName="worker", Runtime="nodejs22.x", Role=role["Role"]["Arn"], Handler="app.handler",
        Code={"ZipFile": content.getvalue()},
    )  # fmt: skip
    server.redrive("clock", "advance", "1s")
    return "worker"


@needs_node
@pytest.mark.parametrize(("fails", "code"), [(False, None), (True, "RangeError")])
def test_function_answers_in_pieces(server: ServerProcess, function: str, fails: bool, code: str | None) -> None:
    payload = json.dumps({"fails": fails})

    answer = server.client("lambda").invoke_with_response_stream(FunctionName=function, Payload=payload)
    *pieces, complete = answer["EventStream"]

    assert b"".join(piece["PayloadChunk"]["Payload"] for piece in pieces) == b"one two three"
    assert complete["InvokeComplete"].get("ErrorCode") == code


@needs_node
def test_url_of_a_function_streams(server: ServerProcess, function: str) -> None:
    client = server.client("lambda")
    url = client.create_function_url_config(FunctionName=function, AuthType="NONE", InvokeMode="RESPONSE_STREAM")
    given = {"FunctionName": function, "Principal": "*"}
    client.add_permission(StatementId="url", Action="lambda:InvokeFunctionUrl", FunctionUrlAuthType="NONE", **given)
    client.add_permission(StatementId="run", Action="lambda:InvokeFunction", InvokedViaFunctionUrl=True, **given)
    host = url["FunctionUrl"].split("/")[2]
    connection = http.client.HTTPConnection("127.0.0.1", int(host.rpartition(":")[2]), timeout=60)

    connection.request("GET", "/", headers={"Host": host})
    response = connection.getresponse()

    assert (response.status, response.getheader("Transfer-Encoding")) == (201, "chunked")
    assert response.read() == b"one two three"
    connection.close()
