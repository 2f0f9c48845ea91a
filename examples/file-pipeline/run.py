"""Files arrive in S3 and start a state machine; everything breaks once, is noticed, mended, and the sums are right.

    python run.py                # every failure in turn; a table to a terminal, JSON to a pipe
    python run.py --seed 7       # failures drawn from a seed, several at once
    python run.py --seeds 100    # the same for the seeds 0 … 99; exit code 1 if a sum is wrong

Everything runs in this process, in virtual time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import listing_retry

from redrive.core.clock import format_instant, parse_instant
from redrive.testing.world import World

HERE = Path(__file__).parent
sys.path.append(str(HERE / "code"))
import health  # noqa: E402 - the function that the template deploys, asked here as well.

BUCKET, RULE, NAME = "inbox", "s3-to-stepfunctions", "csv-processor"
STARTS_LATER = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
MACHINE = f"arn:aws:states:us-east-1:000000000000:stateMachine:{NAME}"
RIGHT = {"source": ["aws.s3"], "detail-type": ["Object Created"], "detail": {"bucket": {"name": [BUCKET]}}}
QUEUES = ("eventbridge-dlq", "retry-queue", "parked")
WRONG = RIGHT | {"detail-type": ["S3 Bucket Notification"]}
"""The article's pattern: no event of S3 has this detail-type."""
TELLING = {"EventBridgeConfiguration": {}}
START = json.dumps(
    {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "states:StartExecution", "Resource": "*"}}
)


class Failure(NamedTuple):
    """A failure on demand: how it is made, and how people mend it. What mends itself has nothing to mend."""

    what: str
    make: Callable[[Pipeline], None]
    mend: Callable[[Pipeline], None]


class Pipeline:
    """The deployed pipeline in a world of its own, and the people who watch over it."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed=seed)
        self.world.deploy(HERE / "template.yaml")
        self.client = self.world.client
        definition = (HERE / "code" / "machine.asl.json").read_bytes()
        self.client("s3").put_object(Bucket="releases", Key="machine.asl.json", Body=definition)
        self.files: dict[str, str] = {}
        self.heard: list[tuple[str, str]] = []

    def arrive(self, *names: str, content: str = "name,amount\n") -> None:
        """Files arrive."""
        for name in names:
            answer = self.client("s3").put_object(Bucket=BUCKET, Key=name, Body=f"{content}{name}".encode())
            self.files[name] = answer["ETag"].strip('"')

    def fault(self, **how: Any) -> None:
        """Have calls fail, or S3 tell twice."""
        self.world.call("redrive", "AddFault", **how)

    def results(self) -> dict[str, dict[str, Any]]:
        """The result of each file: what, and how often it was written."""
        items = self.client("dynamodb").scan(TableName="results")["Items"]
        return {
            item["file"]["S"].split("#")[1]: {"result": item["result"]["S"], "times": int(item["times"]["N"])}
            for item in items
        }

    def replay(self) -> None:
        """Give what was parked to the first stage again."""
        for body, _ in self.take("parked"):
            self.client("sqs").send_message(QueueUrl=self.url("retry-queue"), MessageBody=body)

    def sweep(self) -> None:
        """Start what nothing was told of: files of the bucket without a result, under the usual names."""
        pages = self.client("s3").get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        done = self.results()
        for one in (one for page in pages for one in page.get("Contents", ())):
            if one["Key"] not in done:
                body = json.dumps({"event": health.event_of(one["Key"], one["ETag"].strip('"'))})
                self.client("sqs").send_message(QueueUrl=self.url("retry-queue"), MessageBody=body)

    def told(self) -> list[tuple[str, str]]:
        """What people were told since they were asked last, and when: by the recovery, the machine, and alarms."""
        found = sorted((at, json.loads(body)["Message"]) for body, at in self.take("operators"))
        self.heard += [(at, _of_alarm(text) if text.startswith("{") else text) for at, text in found]
        return self.heard[-len(found) :] if found else []

    def take(self, queue: str) -> list[tuple[str, str]]:
        """Take all messages of a queue: their bodies, and when they were sent."""
        sqs, url, found = self.client("sqs"), self.url(queue), []
        while some := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"]).get("Messages"):
            for one in some:
                found.append((one["Body"], format_instant(int(one["Attributes"]["SentTimestamp"]))))
                sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
        return found

    def url(self, queue: str) -> str:
        """The URL of a queue."""
        return str(self.client("sqs").get_queue_url(QueueName=queue)["QueueUrl"])


def _of_alarm(text: str) -> str:
    alarm = json.loads(text)
    return f"alarm {alarm['AlarmName']}: {alarm['AlarmDescription']}"


def notify(pipeline: Pipeline, settings: dict[str, Any]) -> None:
    """Set whether the bucket tells the bus."""
    pipeline.client("s3").put_bucket_notification_configuration(Bucket=BUCKET, NotificationConfiguration=settings)


def pattern(pipeline: Pipeline, pattern: dict[str, Any]) -> None:
    """Set the rule's pattern."""
    pipeline.client("events").put_rule(Name=RULE, EventPattern=json.dumps(pattern), State="ENABLED")


def disable(pipeline: Pipeline) -> None:
    """Disable the rule."""
    pipeline.client("events").disable_rule(Name=RULE)


def delete_machine(pipeline: Pipeline) -> None:
    """Delete the state machine."""
    pipeline.client("stepfunctions").delete_state_machine(stateMachineArn=MACHINE)


def forbid(pipeline: Pipeline) -> None:
    """Take the permission to start executions from the rule's role."""
    pipeline.client("iam").delete_role_policy(RoleName="EventBridgeExecutionRole", PolicyName="start")


def allow(pipeline: Pipeline) -> None:
    """Give the permission back."""
    iam = pipeline.client("iam")
    iam.put_role_policy(RoleName="EventBridgeExecutionRole", PolicyName="start", PolicyDocument=START)


def rename(pipeline: Pipeline) -> None:
    """Have the rule name a machine that does not exist, as after a machine was made anew under another name."""
    events = pipeline.client("events")
    (target,) = events.list_targets_by_rule(Rule=RULE)["Targets"]
    events.put_targets(Rule=RULE, Targets=[target | {"Arn": f"{MACHINE}-v1"}])


def throttle(pipeline: Pipeline) -> None:
    """Have starts of two files be throttled for the rule's retries, and for the stages of 60 and 300 s."""
    pipeline.fault(target=MACHINE, error="ThrottlingException", times=8)
    pipeline.fault(target=STARTS_LATER, error="ThrottlingException", times=4)


def throttle_long(pipeline: Pipeline) -> None:
    """Have starts be throttled until somebody ends that."""
    pipeline.fault(target=MACHINE, error="ThrottlingException", rate=1.0)
    pipeline.fault(target=STARTS_LATER, error="ThrottlingException", rate=1.0)


def duplicate(pipeline: Pipeline) -> None:
    """Have S3 tell everything twice, and in any order."""
    pipeline.fault(target=f"arn:aws:s3:::{BUCKET}/*", s3="duplicate", latency_s=5, rate=1.0)


def fail_functions(pipeline: Pipeline) -> None:
    """Have the importer's invocations fail some times."""
    pipeline.fault(target="arn:aws:lambda:us-east-1:000000000000:function:importer", error="ServiceException", times=3)


def clear(pipeline: Pipeline) -> None:
    """End all faults."""
    pipeline.world.call("redrive", "ClearFaults")


def nothing(_pipeline: Pipeline) -> None:
    """Nothing is to be mended by people."""


FAILURES = {
    "notification off": Failure("the bucket tells nobody", lambda p: notify(p, {}), lambda p: notify(p, TELLING)),
    "pattern wrong": Failure("the pattern matches no event", lambda p: pattern(p, WRONG), lambda p: pattern(p, RIGHT)),
    "rule disabled": Failure("the rule does not match", disable, lambda p: pattern(p, RIGHT)),
    "machine gone": Failure("dead letters; made again by itself", delete_machine, nothing),
    "role without permission": Failure("dead letters; people are told", forbid, allow),
    "ARN changed": Failure("dead letters; the rule is mended by itself", rename, nothing),
    "throttling": Failure("three retries of the rule, then again after 60, 300 and 900 s", throttle, nothing),
    "throttled for long": Failure("all stages fail; people are told, and replay", throttle_long, clear),
    "duplicates": Failure("S3 tells twice", duplicate, clear),
    "importer fails": Failure("the state's Retry", fail_functions, nothing),
}  # fmt: skip


def tour(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Every failure in turn, with two files: what the watcher sees, what people do, what becomes of the files."""
    report = []
    for name, failure in FAILURES.items():
        files = [f"{name.replace(' ', '-')}/{number}.csv" for number in (1, 2)]
        pipeline.world.advance(minutes=20)
        pipeline.told()
        began_at = pipeline.world.clock.now()
        failure.make(pipeline)
        pipeline.arrive(*files)
        pipeline.world.advance(minutes=2)
        seen = health.problems()
        pipeline.world.advance(hours=1)
        later = health.problems()
        told = [(_minutes(began_at, at), text) for at, text in pipeline.told()]
        failure.mend(pipeline)
        pipeline.replay()
        pipeline.sweep()
        pipeline.world.advance(hours=1)
        ended = {file: pipeline.results().get(file) for file in files}
        report.append(
            {
                "failure": name, "what": failure.what, "after_2_min": seen, "after_1_h": later, "told": told,
                "started_after_s": {file: _started_after_s(pipeline, file, began_at) for file in files}, "files": ended,
            }
        )  # fmt: skip
    pipeline.arrive("bad/1.csv", content="bad\n")
    pipeline.world.advance(minutes=5)
    pipeline.told()
    return report


def _minutes(began_at: int, at: str) -> float:
    return round((parse_instant(at) - began_at) / 60_000, 1)


def _started_after_s(pipeline: Pipeline, file: str, began_at: int) -> int | None:
    """How long after the failure began the execution started that has imported a file."""
    sfn = pipeline.client("stepfunctions")
    if MACHINE not in [one["stateMachineArn"] for one in sfn.list_state_machines()["stateMachines"]]:
        return None
    for one in sfn.list_executions(stateMachineArn=MACHINE, statusFilter="SUCCEEDED")["executions"]:
        shown = sfn.describe_execution(executionArn=one["executionArn"])
        if json.loads(shown["input"])["detail"]["object"]["key"] == file:
            return round(shown["startDate"].timestamp() - began_at / 1000)
    return None


def drawn(pipeline: Pipeline, seed: int) -> None:
    """Failures drawn from a seed, several at once, while files arrive; then people mend, replay and sweep."""
    chance = random.Random(seed)  # noqa: S311
    mends = []
    for round_ in range(3):
        for name in chance.sample(sorted(FAILURES), chance.randint(1, 3)):
            FAILURES[name].make(pipeline)
            mends.append(FAILURES[name].mend)
        for number in range(chance.randint(1, 4)):
            pipeline.arrive(
                f"{round_}/{number}.csv", content=chance.choice(["name,amount\n", "name,amount\n", "bad\n"])
            )
            pipeline.world.advance(seconds=chance.randint(1, 900))
        for mend in mends:
            mend(pipeline)
        mends.clear()
        if chance.random() < 0.5:
            pipeline.replay()
    clear(pipeline)
    for _ in range(3):
        pipeline.world.advance(hours=1)
        pipeline.replay()
        pipeline.sweep()
    pipeline.world.advance(hours=1)
    pipeline.told()


def sums(pipeline: Pipeline) -> dict[str, Any]:
    """Every file has exactly one result, and nothing lies in a queue."""
    results = pipeline.results()
    return {
        "files": len(pipeline.files), "results": len(results),
        "without_result": sorted(set(pipeline.files) - set(results)),
        "done_twice": sorted(name for name, one in results.items() if one["times"] != 1),
        "left_in_queues": {name: count for name in QUEUES if (count := health.count(name))},
    }  # fmt: skip


def is_right(found: dict[str, Any]) -> bool:
    """Whether the sums hold."""
    return not (found["without_result"] or found["done_twice"] or found["left_in_queues"])


def listing(pipeline: Pipeline) -> dict[str, Any]:
    """What the article's retry does: one event tried again twice, and two events within one second."""
    ends = []
    for instant, key in ((1_000, "retry/1.csv"), (1_001, "retry/1.csv"), (1_001, "retry/2.csv")):
        event = {"detail": {"stateMachineArn": MACHINE, "input": health.event_of(key, "e")}}
        listing_retry.time = type("Clock", (), {"time": staticmethod(lambda now=instant: now)})
        ends.append(listing_retry.retry_execution(event).get("status"))
    listing_retry.time = time
    sfn = pipeline.client("stepfunctions")
    names = [one["name"] for one in sfn.list_executions(stateMachineArn=MACHINE)["executions"]]
    return {"answers": ends, "executions_of_one_event": sum(name.startswith("retry-") for name in names)}


def play(seed: int | None) -> dict[str, Any]:
    """One whole run; without a seed the tour."""
    pipeline = Pipeline(seed or 0)
    with pipeline.world.reached():
        try:
            if seed is not None:
                drawn(pipeline, seed)
                return {"seed": seed, "sums": sums(pipeline), "told": pipeline.heard}
            report = tour(pipeline)
            found = {"failures": report, "sums": sums(pipeline), "told": pipeline.heard}
            return found | {"listing": listing(pipeline)}
        finally:
            pipeline.world.close()


def print_tour(report: dict[str, Any]) -> None:
    """Print the tour for people."""
    for one in report["failures"]:
        print(f"\n{one['failure']}: {one['what']}")
        print(f"  after 2 minutes  {'; '.join(one['after_2_min']) or 'healthy'}")
        print(f"  after an hour    {'; '.join(one['after_1_h']) or 'healthy'}")
        for minutes, text in one["told"]:
            print(f"  told after {minutes:4} min  {text}")
        for name, result in one["files"].items():
            print(f"  {name}  {result}, started after {one['started_after_s'][name]} s")
    print(f"\nPeople were told {len(report['told'])} times.")
    print(f"\nSums: {report['sums']}\nThe article's retry: {report['listing']}")


def main() -> None:
    """Read the command line, play, and say whether the sums hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", type=int)
    given = parser.parse_args()
    if given.seeds is not None:
        played = [play(seed) for seed in range(given.seeds)]
        wrong = [one for one in played if not is_right(one["sums"])]
        print(json.dumps({"seeds": given.seeds, "wrong": wrong, "files": sum(one["sums"]["files"] for one in played)}))
        sys.exit(1 if wrong else 0)
    report = play(given.seed)
    if sys.stdout.isatty() and given.seed is None:
        print_tour(report)
    else:
        print(json.dumps(report, indent=2))
    sys.exit(0 if is_right(report["sums"]) else 1)


if __name__ == "__main__":
    main()
