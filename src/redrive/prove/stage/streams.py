"""The function that a mapping from a stream feeds: one that is made for the handler, or that of a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import HOUR_MS, SECOND_MS
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import UserError
from redrive.delivery.sources.targets import queue_url
from redrive.prove.guess.record_samples import SampleRecords, sample_changes, sample_data
from redrive.prove.stage.positions import skip_to_end
from redrive.prove.stage.records import bodies_of_records, put_old_images, table_of
from redrive.prove.stage.rules import READY_AFTER_MS
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.trigger import RETENTION_S, TIMEOUT_S, Kind, Trigger, create_role, empty_archive

RECORDS_KEPT_MS = 24 * HOUR_MS
"""How long a stream keeps its records: one of DynamoDB always, one of Kinesis by default.

Source: https://docs.aws.amazon.com/streams/latest/dev/kinesis-extended-retention.html
"""
RETRIES = 2
_NAME = "records"
_ALLOWED = ("kinesis:*", "dynamodb:*", "sqs:*")


@dataclass(frozen=True, slots=True)
class _Fed:
    """A mapping from a stream, and the configuration of its function."""

    mapping: Document
    function: Document

    @property
    def stream_arn(self) -> str:
        """The stream's ARN, also if its consumer is read."""
        return str(self.mapping["EventSourceArn"]).partition("/consumer/")[0]

    @property
    def kind(self) -> Kind:
        return Kind.KINESIS if ":kinesis:" in self.stream_arn else Kind.DYNAMODB


def usual_stream(stage: Stage, kind: Kind, given: tuple[str, ...] | None, wanted: Wanted) -> Trigger:
    """A stream and a mapping as AWS's guide recommends: two retries, bisecting, a destination, and partial responses.

    Without partial responses, if the handler's code names none: then its answer, whatever it is, is success.
    """
    stage.clock.set(START - READY_AFTER_MS)
    sample = _sample(kind, given, wanted, {})
    role_arn = create_role(stage, _ALLOWED)
    retention = {"MessageRetentionPeriod": str(RETENTION_S)}
    stage.call("sqs", "CreateQueue", QueueName="records-dlq", Attributes=retention)
    dead_letter_arn = f"arn:aws:sqs:{SCOPE.region}:{SCOPE.account}:records-dlq"
    function = stage.call(
        "lambda", "CreateFunction", FunctionName="handler", Runtime="python3.12", Role=role_arn,
        Handler="index.handler", Timeout=TIMEOUT_S, Code={"ZipFile": empty_archive()},
    )  # fmt: skip
    bodies = bodies_of_records(given, kind) if given is not None else _bodies(sample, kind)
    reports = wanted.reading is None or wanted.reading.reports_failures
    source = _make_stream(stage) if kind is Kind.KINESIS else _make_table(stage, bodies)
    stage.settle()
    mapping = stage.call(
        "lambda", "CreateEventSourceMapping", EventSourceArn=source, FunctionName="handler",
        StartingPosition="TRIM_HORIZON", MaximumRetryAttempts=RETRIES, BisectBatchOnFunctionError=True,
        FunctionResponseTypes=["ReportBatchItemFailures"] if reports else [],
        DestinationConfig={"OnFailure": {"Destination": dead_letter_arn}},
    )  # fmt: skip
    settings = f"{RETRIES} retries, bisecting, a destination on failure"
    told = f"{settings}, and ReportBatchItemFailures" if reports else f"{settings}; no ReportBatchItemFailures"
    return _begun(stage, _Fed(mapping, function), bodies, {"mapping": told, **sample.guesses})


def stream_trigger(
    stage: Stage, file: Path, handler: str, given: tuple[str, ...] | None, kind: Kind | None,
    wanted: Callable[[Document], Wanted],
) -> tuple[Trigger, str]:  # fmt: skip
    """The trigger of the function of a template that a stream feeds, and the name of its handler. Errors: UserError."""
    chosen = _pick(stage, file, handler, kind)
    for mapping in stage.call("lambda", "ListEventSourceMappings")["EventSourceMappings"]:
        if mapping["UUID"] != chosen.mapping["UUID"]:
            stage.call("lambda", "UpdateEventSourceMapping", UUID=mapping["UUID"], Enabled=False)
    keys = {} if chosen.kind is Kind.KINESIS else _key_types(stage, table_of(chosen.stream_arn))
    sample = _sample(chosen.kind, given, wanted(chosen.function), keys)
    bodies = bodies_of_records(given, chosen.kind) if given is not None else _bodies(sample, chosen.kind)
    return _begun(stage, chosen, bodies, sample.guesses), str(chosen.function["Handler"])


def stream_handlers(stage: Stage, kind: Kind | None = None) -> list[str]:
    """The handlers of all functions that streams feed."""
    return [str(one.function["Handler"]) for one in _all_fed(stage, kind)]


def _begun(stage: Stage, fed: _Fed, bodies: tuple[str, ...], guesses: Mapping[str, str]) -> Trigger:
    """The trigger, behind what has to be there before its first record."""
    uuid = str(fed.mapping["UUID"])
    if fed.kind is Kind.DYNAMODB:
        put_old_images(stage, table_of(fed.stream_arn), bodies)
    stage.settle()
    stage.move_to(START)
    stage.settle()
    stage.step(("skip to end",), lambda tx: skip_to_end(tx, uuid))
    on_failure = fed.mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    dead_letter_arn = on_failure if ":sqs:" in on_failure else ""
    name = str(fed.function["FunctionName"])
    if dead_letter_arn and not fed.function.get("DeadLetterConfig"):
        # A person redrives: what fails again stays with its letter.
        config = {"TargetArn": dead_letter_arn}
        stage.call("lambda", "UpdateFunctionConfiguration", FunctionName=name, DeadLetterConfig=config)
        stage.settle()
    retries = int(fed.mapping.get("MaximumRetryAttempts", -1))
    return Trigger(
        name, "", "", dead_letter_arn, int(fed.function["Timeout"]) * SECOND_MS,
        _kept_ms(stage, fed, dead_letter_arn), bodies, retries + 1, fed.kind, guesses=guesses,
        stream_arn=fed.stream_arn, mapping=uuid,
    )  # fmt: skip


def _sample(kind: Kind, given: tuple[str, ...] | None, wanted: Wanted, keys: Mapping[str, str]) -> SampleRecords:
    if given is not None:
        return SampleRecords(())
    return sample_data(wanted.reading) if kind is Kind.KINESIS else sample_changes(wanted.reading, keys)


def _bodies(sample: SampleRecords, kind: Kind) -> tuple[str, ...]:
    return tuple(body for record in sample.records for body in bodies_of_records((dump_json(record),), kind))


def _make_stream(stage: Stage) -> str:
    stage.call("kinesis", "CreateStream", StreamName=_NAME, ShardCount=1)
    return f"arn:aws:kinesis:{SCOPE.region}:{SCOPE.account}:stream/{_NAME}"


def _make_table(stage: Stage, bodies: tuple[str, ...]) -> str:
    keys = load_json(bodies[0])["Keys"]
    types = {name: next(iter(value)) for name, value in keys.items()}
    made = stage.call(
        "dynamodb", "CreateTable", TableName=_NAME, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        KeySchema=[
            {"AttributeName": name, "KeyType": "RANGE" if number else "HASH"} for number, name in enumerate(types)
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )  # fmt: skip
    return str(made["TableDescription"]["LatestStreamArn"])


def _key_types(stage: Stage, table: str) -> dict[str, str]:
    described = stage.call("dynamodb", "DescribeTable", TableName=table)["Table"]
    types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
    return {one["AttributeName"]: types[one["AttributeName"]] for one in described["KeySchema"]}


def _kept_ms(stage: Stage, fed: _Fed, dead_letter_arn: str) -> int:
    """How long a letter is worth something: as long as its queue has it, and the stream its records."""
    if not dead_letter_arn:
        return 0
    kept = RECORDS_KEPT_MS
    if fed.kind is Kind.KINESIS:
        described = stage.call("kinesis", "DescribeStreamSummary", StreamARN=fed.stream_arn)
        kept = int(described["StreamDescriptionSummary"]["RetentionPeriodHours"]) * HOUR_MS
    names = ["MessageRetentionPeriod"]
    asked = {"QueueUrl": queue_url(dead_letter_arn), "AttributeNames": names}
    letters = int(stage.call("sqs", "GetQueueAttributes", **asked)["Attributes"][names[0]]) * SECOND_MS
    return min(kept, letters)


def _pick(stage: Stage, file: Path, handler: str, kind: Kind | None) -> _Fed:
    found = list(_all_fed(stage, kind))
    if not found:
        what = "stream" if kind is None else "stream of Kinesis" if kind is Kind.KINESIS else "table's stream"
        raise UserError(f"The template {file} has no function that a {what} feeds.", exit_code=2)
    wanted = handler.replace(":", ".")
    named = [one for one in found if wanted and wanted.endswith(str(one.function["Handler"]))]
    if len(found) > 1 and len(named) != 1:
        names = ", ".join(sorted(str(one.function["Handler"]) for one in found))
        raise UserError(
            f"The template {file} has several functions that streams feed, with the handlers {names}.",
            next_step="Name one of them as module:function.", exit_code=2,
        )  # fmt: skip
    return found[0] if len(found) == 1 else named[0]


def _all_fed(stage: Stage, kind: Kind | None) -> list[_Fed]:
    found = [
        _Fed(mapping, stage.call("lambda", "GetFunctionConfiguration", FunctionName=mapping["FunctionArn"]))
        for mapping in stage.call("lambda", "ListEventSourceMappings")["EventSourceMappings"]
        if ":sqs:" not in str(mapping["EventSourceArn"])
    ]
    return [one for one in found if kind is None or one.kind is kind]
