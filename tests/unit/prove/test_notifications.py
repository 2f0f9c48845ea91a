"""Functions that S3 invokes: which key makes them idempotent, and that the sample is S3's own record."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote_plus

import boto3

from redrive.prove.judge.judge import Rule
from redrive.prove.process.subject import GivenSubject
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.verdict import Verdict
from redrive.services.s3.model.sequencer import is_later


def proved(handler: Any, kind: Kind = Kind.S3, event: str | None = None) -> Verdict:
    bodies = None if event is None else (event,)
    return prove(GivenSubject(handler), Options(faults=1, trigger=kind, bodies=bodies))


def remember(key: str) -> None:
    """Do the work once for a key."""
    boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": key}})


def keyed_by_sequencer(event: Any, context: Any) -> None:
    for record in event["Records"]:
        told = record["s3"]
        names = (told["bucket"]["name"], unquote_plus(told["object"]["key"]), told["object"]["sequencer"])
        remember("#".join(names))


def keyed_by_request(event: Any, context: Any) -> None:
    remember(context.aws_request_id)


def keyed_by_event_id(event: Any, context: Any) -> None:
    remember(event["id"])


def keyed_by_detail(event: Any, context: Any) -> None:
    told = event["detail"]["object"]
    remember(f"{told['key']}#{told['sequencer']}")


def test_key_with_the_sequencer_survives_what_s3_tells_twice() -> None:
    verdict = proved(keyed_by_sequencer)

    assert verdict.counterexample is None
    (body,) = verdict.bodies
    record = json.loads(body)["Records"][0]
    assert (record["eventName"], record["s3"]["object"]["key"]) == ("ObjectCreated:Put", "folder/sample+file.txt")
    assert is_later(record["s3"]["object"]["sequencer"] + "1", record["s3"]["object"]["sequencer"])


def test_request_id_is_no_key_for_what_s3_tells_twice() -> None:
    found = proved(keyed_by_request).counterexample

    assert found is not None
    assert found.violation.rule is Rule.ONCE
    assert any("the same record with the same sequencer" in step.text for step in found.steps)


CREATED = json.dumps(
    {"source": "aws.s3", "detail-type": "Object Created", "detail": {"object": {"key": "k", "sequencer": "0A"}}}
)


def test_event_id_is_no_key_because_s3_may_tell_the_bus_twice() -> None:
    found = proved(keyed_by_event_id, Kind.EVENTBRIDGE, CREATED).counterexample

    assert found is not None
    assert [str(leg) for leg in found.history] == ["deliver", "republish"]
    assert proved(keyed_by_detail, Kind.EVENTBRIDGE, CREATED).counterexample is None
