"""One function that fails, invoked in Lambda's four modes: each attempt with its time and its reason, and what is left.

    python run.py                # a table to a terminal, JSON to a pipe

It starts a server in virtual time of its own. If AWS_ENDPOINT_URL names one, that is used: a fresh one, in virtual time
(`redrive serve --clock virtual`), which can be looked into afterwards.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from listing_caller import LambdaSyncInvoker

HERE = Path(__file__).parent
WATCHED_MIN = 10
CALLS_MAX = 3
SHOWN_MAX = 6
SOURCES = {None: "asynchronous", "aws:sqs": "queue", "aws:kinesis": "kinesis", "aws:dynamodb": "dynamodb"}
MODES = {
    "synchronous": "the caller gets the error, and calls again itself",
    "asynchronous": "Lambda keeps the event, and retries it twice",
    "queue": "the message is visible again after 60 s, and received 3 times at most",
    "kinesis": "the batch is split and retried, and its poisoned record skipped",
    "dynamodb": "AWS's defaults: the record is retried until it expires after 24 h",
}


@contextmanager
def server() -> Iterator[None]:
    """The server that AWS_ENDPOINT_URL names, or one in virtual time that ends with the program."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    if "AWS_ENDPOINT_URL" in os.environ:
        yield
        return
    command = [sys.executable, "-m", "redrive.cli", "serve", "--port", "0", "--clock", "virtual"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = next(line for line in process.stderr or () if "redrive serves" in line)
            os.environ["AWS_ENDPOINT_URL"] = re.findall(r"http://\S+", said)[0]
            yield
        finally:
            process.terminate()


def client(service: str) -> Any:
    """A boto3 client of the server. Only the endpoint, in the environment, tells it from AWS."""
    return boto3.client(service, endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def redrive(*arguments: str) -> str:
    """Run a redrive command against the server, as somebody types it; answers what it prints."""
    command = [sys.executable, "-m", "redrive.cli", *arguments, "--endpoint-url", os.environ["AWS_ENDPOINT_URL"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def order(name: str, *, poisoned: bool = False) -> str:
    """An order, which the function does, or fails at."""
    return json.dumps({"order": name, "poisoned": poisoned})


def queue_url(name: str) -> str:
    """The URL of a queue."""
    return str(client("sqs").get_queue_url(QueueName=name)["QueueUrl"])


def feed() -> None:
    """Give the poisoned order to everything that feeds the function; streams get good orders around it."""
    client("lambda").invoke(FunctionName="failing", InvocationType="Event", Payload=order("2", poisoned=True))
    client("sqs").send_message(QueueUrl=queue_url("orders"), MessageBody=order("2", poisoned=True))
    orders = [order("1"), order("2", poisoned=True), order("3"), order("4")]
    records = [{"Data": one, "PartitionKey": "orders"} for one in orders]
    client("kinesis").put_records(StreamName="orders", Records=records)
    table = client("dynamodb")
    table.put_item(TableName="orders", Item={"order": {"S": "2"}, "poisoned": {"BOOL": True}})
    table.put_item(TableName="orders", Item={"order": {"S": "2"}, "mended": {"BOOL": True}})


def call() -> list[str]:
    """Call the function until it succeeds, as a caller has to: wait 1 s, 2 s. Returns the ids of the requests."""
    requests = []
    for wait_s in (2**number for number in range(CALLS_MAX)):
        answer = client("lambda").invoke(FunctionName="failing", Payload=order("2", poisoned=True))
        requests.append(answer["ResponseMetadata"]["RequestId"])
        if "FunctionError" not in answer:
            break
        redrive("clock", "advance", f"{wait_s}s")
    return requests


def attempts_of(called: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The attempts in each mode, from the lines that the function has logged. The caller knows its own requests."""
    found: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
    pages = client("logs").get_paginator("filter_log_events")
    events = [one for page in pages.paginate(logGroupName="/aws/lambda/failing") for one in page["events"]]
    for event in sorted(events, key=lambda one: one["timestamp"]):
        if event["message"].startswith('{"attempt"'):
            attempt = json.loads(event["message"])["attempt"]
            mode = "synchronous" if attempt["request"] in called else SOURCES[attempt["from"]]
            found[mode].append({"at_ms": event["timestamp"], **attempt})
    start = min(attempt["at_ms"] for attempts in found.values() for attempt in attempts)
    for mode, attempts in found.items():
        for before, attempt in itertools.pairwise([None, *attempts]):
            attempt["at_ms"] -= start
            attempt["reason"] = reason(mode, attempt, before)
    return found


def reason(mode: str, attempt: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Why an attempt was made."""
    if before is None:
        return "the first"
    waited = elapsed(attempt["at_ms"] - before["at_ms"])
    if mode == "synchronous":
        return f"the caller tries again after {waited}"
    if mode == "queue":
        return f"receive {attempt['received']}, after {waited}"
    if attempt["orders"] == before["orders"]:
        return f"a retry after {waited}"
    is_part = set(attempt["orders"]) < set(before["orders"]) and before["error"]
    return "a half of the batch that failed" if is_part else "the shard goes on"


def left() -> dict[str, str]:
    """What is left of the poisoned order in each mode, and where."""
    arn = client("dynamodb").describe_table(TableName="orders")["Table"]["LatestStreamArn"]
    record = json.loads(messages_of("stream-on-failure")[0]["Body"])
    (mapping,) = client("lambda").list_event_source_mappings(EventSourceArn=arn)["EventSourceMappings"]
    letter, failed = messages_of("async-dead-letters")[0], json.loads(messages_of("async-on-failure")[0]["Body"])
    message = messages_of("orders-dead-letters")[0]
    return {
        "synchronous": "nothing anywhere: only the caller has the error",
        "asynchronous": f"async-dead-letters has the event {letter['Body']}; async-on-failure has it with the answer "
        f"({failed['requestContext']['condition']}, {failed['requestContext']['approximateInvokeCount']} invocations)",
        "queue": f"orders-dead-letters has the message {message['Body']}, with its message id",
        "kinesis": f"skipped; stream-on-failure has where it stands ({record['requestContext']['condition']}, "
        f"{record['KinesisBatchInfo']['batchSize']} record from sequence number "
        f"…{record['KinesisBatchInfo']['startSequenceNumber'][-6:]}), and not the order itself",
        "dynamodb": f"the shard is blocked, and the order's next change, in the same batch, is not done; the mapping "
        f"is {mapping['State']}, and says {mapping['LastProcessingResult']!r}",
    }


def messages_of(queue: str) -> list[Any]:
    """The messages of a queue. They stay in it, and are visible again at once."""
    found = client("sqs").receive_message(QueueUrl=queue_url(queue), VisibilityTimeout=0)
    return list(found.get("Messages", []))


def listings() -> dict[str, str]:
    """What the handlers and the caller of the article do, as they are printed."""
    answer = LambdaSyncInvoker().invoke_with_retry("failing", order("2", poisoned=True))
    client("sqs").send_message(QueueUrl=queue_url("listing-orders"), MessageBody=order("2", poisoned=True))
    orders = [order("1"), order("2", poisoned=True), order("3"), order("4")]
    records = [{"Data": one, "PartitionKey": "orders"} for one in orders]
    client("kinesis").put_records(StreamName="listing-orders", Records=records)
    redrive("clock", "advance", f"{WATCHED_MIN}m")
    done = {item["order"]["S"]: item["times"]["N"] for item in client("dynamodb").scan(TableName="done")["Items"]}
    times = ", ".join(f"order {name} {count} times" for name, count in sorted(done.items()))
    names = ("listing-orders", "listing-dead-letters")
    remaining = " and ".join(f"{count_of(name)} in {name}" for name in names)
    return {
        "listing_caller.py": f"returned the error as a result, after one attempt: {answer['errorMessage']!r}",
        "code/listing_queue.py": f"the order is not done, and there are {remaining}: it is lost",
        "code/listing_stream.py": f"did {times}, and order 2 never",
    }


def count_of(queue: str) -> int:
    """How many messages a queue has, visible or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client("sqs").get_queue_attributes(QueueUrl=queue_url(queue), AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def elapsed(ms: int) -> str:
    """A time as people say it: 0.25 s, 1 m, 1 m 31.5 s."""
    minutes, rest = divmod(ms, 60_000)
    seconds = f"{rest / 1000:g} s"
    if minutes and not rest:
        return f"{minutes} m"
    return f"{minutes} m {seconds}" if minutes else seconds


def print_table(found: dict[str, list[dict[str, Any]]], remaining: dict[str, str], told: dict[str, str]) -> None:
    """Print all attempts, mode by mode, and what is left."""
    for mode, what in MODES.items():
        attempts = found[mode]
        print(f"\n{mode.upper()}: {what}")
        print(f"  {'at':>12}  {'orders':<8}  {'came as':<36}  ended")
        for number, attempt in enumerate(attempts):
            if len(attempts) > 2 * SHOWN_MAX and SHOWN_MAX <= number < len(attempts) - 2:
                if number == SHOWN_MAX:
                    print(f"  {'…':>12}  {len(attempts) - SHOWN_MAX - 2} attempts more")
                continue
            names = " ".join(attempt["orders"])
            ended = "failed" if attempt["error"] else "done"
            print(f"  {'+' + elapsed(attempt['at_ms']):>12}  {names:<8}  {attempt['reason']:<36}  {ended}")
        print_paragraph(f"After {WATCHED_MIN} minutes: {remaining[mode]}.")
    print("\nTHE ARTICLE'S CODE, as it is printed")
    for name, what in told.items():
        print_paragraph(f"{name}: {what}.")


def print_paragraph(text: str, width: int = 76) -> None:
    """Print a paragraph for a terminal of 80 columns."""
    line = ""
    for word in text.split():
        if len(line) + len(word) >= width:
            print(f"  {line}")
            line = ""
        line = f"{line} {word}" if line else word
    print(f"  {line}")


def main() -> None:
    """Feed the function in all modes at the same instant, and watch for ten minutes of virtual time."""
    with server():
        redrive("deploy", str(HERE / "template.yaml"), "--stack", "four-modes")
        feed()
        called = call()
        redrive("clock", "advance", f"{WATCHED_MIN}m")
        found, remaining, told = attempts_of(called), left(), listings()
    if sys.stdout.isatty():
        print_table(found, remaining, told)
    else:
        print(json.dumps({"attempts": found, "left": remaining, "listings": told}, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
