"""The state now of what letters go back to: does it exist, does it take work, is it throttled, has its code changed.

A queue is asked for its consumers, too: a message that goes back to a queue is done by the function that reads it. What
may not be asked is told as such and refuses nothing.

Sources: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html;
https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html;
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.deadletters.destinations import Destination, Nowhere, To, member_of
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.letter import Letter
from redrive.deadletters.sources import Client, url_of_queue

KEPT_MS = MINUTE_MS
"""For how long a target that was asked is not asked again."""

THROTTLED_WITHIN_MS = 5 * MINUTE_MS
"""How far back throttles of a function count as now."""

NAMES_OF_TARGETS = ("QueueUrl", "FunctionName", "TopicArn", "TargetArn", "StateMachineArn", "EventBusName", "StreamARN")
"""Members of a request that name what the request goes to."""

_MISSING = re.compile(r"(?i)not.?found|nonexistent|does.?not.?exist|notfoundexception")


@dataclass(frozen=True, slots=True)
class FunctionState:
    """A function that does the work. `digest` is Lambda's SHA-256 of its package."""

    name: str
    arn: str
    handler: str
    digest: str
    changed_at: Instant | None
    log_group: str


@dataclass(frozen=True, slots=True)
class TargetState:
    """A target as it is now, and the functions that do its work."""

    findings: tuple[Finding, ...]
    functions: tuple[FunctionState, ...] = ()


@dataclass(frozen=True, slots=True)
class Addressee:
    """What a letter goes back to: `id` is an ARN, or the URL of a queue; empty if the letter does not say it."""

    id: str

    @property
    def service(self) -> str:
        """The service of the target; empty if nothing is known of it."""
        if "://" in self.id:
            return "sqs"
        parts = self.id.split(":")
        return parts[2] if len(parts) > 5 else ""

    @property
    def is_fifo(self) -> bool:
        """Whether it is a queue or a topic that keeps the order and deduplicates."""
        return self.service in {"sqs", "sns"} and self.id.endswith(".fifo")


def addressee_of(to: Destination | Nowhere, letter: Letter) -> Addressee:
    """What is asked about a destination. A bus and a name without an ARN show when the letter is sent."""
    match to:
        case Nowhere(arn=arn):
            return Addressee(arn)
        case Destination(kind=To.EXECUTION):
            return Addressee(machine_of(to.name))
        case Destination(kind=To.API):
            named = (member_of(letter.work.text, name) for name in NAMES_OF_TARGETS)
            found = next((one for one in named if "://" in one or one.startswith("arn:")), "")
            return Addressee(found or letter.work.target_arn)
    return Addressee(to.name)


def machine_of(execution_arn: str) -> str:
    """The ARN of the state machine of an execution."""
    return execution_arn.replace(":execution:", ":stateMachine:").rpartition(":")[0]


class Targets:
    """Asks for the state of targets, each at most once a minute."""

    def __init__(self, client: Client, now: Callable[[], Instant]) -> None:
        self._client = client
        self._now = now
        self._kept: dict[Addressee, tuple[Instant, TargetState]] = {}

    def state(self, target: Addressee) -> TargetState:
        """The state of a target. A refusal of AWS is a finding."""
        kept = self._kept.get(target)
        now = self._now()
        if kept is not None and now - kept[0] < KEPT_MS:
            return kept[1]
        state = self._asked(target)
        self._kept[target] = now, state
        return state

    def _asked(self, target: Addressee) -> TargetState:
        if not target.id:
            return _told(Answer.CAUTION, "the letter does not say what it goes to", "")
        ask = self._asking.get(target.service)
        if ask is None:
            return _told(Answer.CAUTION, f"targets of {target.service or 'this kind'} are not asked", target.id)
        try:
            return ask(self, target)
        except ClientError as error:
            return self._refused(target, error)
        except BotoCoreError as error:
            return _told(Answer.CAUTION, f"it could not be asked: {type(error).__name__}", str(error))

    def _refused(self, target: Addressee, error: ClientError) -> TargetState:
        code = error.response["Error"].get("Code", "")
        detail = f"{target.id}: {error.response['Error'].get('Message', '')}"
        if _MISSING.search(code) or error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
            return _told(Answer.REFUSE, "it does not exist", detail)
        return _told(Answer.CAUTION, f"it could not be asked: {code}", detail)

    def _queue(self, target: Addressee) -> TargetState:
        sqs = self._client("sqs")
        url = target.id if "://" in target.id else url_of_queue(sqs, target.id)
        told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
        states = list(self._consumers(told["QueueArn"]))
        findings = [_exists(target), *(finding for state in states for finding in state.findings)]
        return TargetState(tuple(findings), tuple(one for state in states for one in state.functions))

    def _consumers(self, queue_arn: str) -> Iterator[TargetState]:
        """The functions that read a queue, and mappings that do not run."""
        try:
            listed = self._client("lambda").get_paginator("list_event_source_mappings")
            pages = listed.paginate(EventSourceArn=queue_arn)
            mappings = [one for page in pages for one in page["EventSourceMappings"]]
        except ClientError as error:
            code = error.response["Error"].get("Code", "")
            yield _told(Answer.CAUTION, f"its consumers could not be asked: {code}", queue_arn)
            return
        for mapping in mappings:
            if mapping.get("State") in {"Disabled", "Disabling"}:
                yield _told(Answer.CAUTION, "its mapping is disabled: nobody reads the queue", mapping["FunctionArn"])
            try:
                yield self._function(Addressee(mapping["FunctionArn"]))
            except ClientError as error:
                yield self._refused(Addressee(mapping["FunctionArn"]), error)

    def _function(self, target: Addressee) -> TargetState:
        functions = self._client("lambda")
        told = functions.get_function_configuration(FunctionName=target.id)
        name = told["FunctionName"]
        findings = [_exists(target), *_unready(told)]
        reserved = functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
        if reserved == 0:
            findings.append(Finding("target", Answer.REFUSE, "its reserved concurrency is 0: it takes no work", name))
        throttles = self._throttles(name)
        if throttles:
            detail = f"{name}: {throttles} in the last 5 minutes"
            findings.append(Finding("target", Answer.CAUTION, "it is throttled now: redrive slowly", detail))
        group = (told.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{name}"
        state = FunctionState(
            name, told["FunctionArn"], told.get("Handler", ""), told.get("CodeSha256", ""),
            instant_of(told.get("LastModified")), group,
        )  # fmt: skip
        return TargetState(tuple(findings), (state,))

    def _throttles(self, name: str) -> int:
        """How often a function was throttled lately; 0 if the metrics may not be read."""
        end = self._now()
        try:
            told = self._client("cloudwatch").get_metric_statistics(
                Namespace="AWS/Lambda", MetricName="Throttles", Dimensions=[{"Name": "FunctionName", "Value": name}],
                StartTime=_date(end - THROTTLED_WITHIN_MS), EndTime=_date(end), Period=60, Statistics=["Sum"],
            )  # fmt: skip
        except ClientError:
            return 0
        return int(sum(point["Sum"] for point in told["Datapoints"]))

    def _topic(self, target: Addressee) -> TargetState:
        self._client("sns").get_topic_attributes(TopicArn=target.id)
        return TargetState((_exists(target),))

    def _bus(self, target: Addressee) -> TargetState:
        self._client("events").describe_event_bus(Name=target.id)
        return TargetState((_exists(target),))

    def _stream(self, target: Addressee) -> TargetState:
        self._client("kinesis").describe_stream_summary(StreamARN=target.id)
        return TargetState((_exists(target),))

    def _machine(self, target: Addressee) -> TargetState:
        told = self._client("stepfunctions").describe_state_machine(stateMachineArn=target.id)
        if told.get("status") == "DELETING":
            return _told(Answer.REFUSE, "it is being deleted", target.id)
        return TargetState((_exists(target),))

    _asking: Mapping[str, Callable[[Targets, Addressee], TargetState]] = {
        "sqs": _queue, "lambda": _function, "sns": _topic, "events": _bus, "kinesis": _stream, "states": _machine,
    }  # fmt: skip


def instant_of(value: object) -> Instant | None:
    """An instant from a text in ISO 8601, as Lambda writes it (`2026-01-01T00:00:00.000+0000`)."""
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return round(read.timestamp() * SECOND_MS) if read.tzinfo is not None else None


def _unready(told: Mapping[str, Any]) -> Iterator[Finding]:
    """What keeps a function from running, by its configuration."""
    why = told.get("StateReason") or told.get("LastUpdateStatusReason") or told["FunctionName"]
    match told.get("State"):
        case "Failed":
            yield Finding("target", Answer.REFUSE, "the function has failed to become active", why)
        case "Pending":
            yield Finding("target", Answer.WAIT, "the function is not active yet", why)
    match told.get("LastUpdateStatus"):
        case "InProgress":
            yield Finding("target", Answer.WAIT, "the function is being updated", why)
        case "Failed":
            yield Finding("target", Answer.CAUTION, "the last update of the function failed", why)


def _exists(target: Addressee) -> Finding:
    return Finding("target", Answer.GO, "it exists", target.id)


def _told(answer: Answer, reason: str, detail: str) -> TargetState:
    return TargetState((Finding("target", answer, reason, detail),))


def _date(at: Instant) -> datetime:
    return datetime.fromtimestamp(at / SECOND_MS, UTC)
