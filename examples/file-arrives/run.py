"""Files arrive: by put, copy and multipart, twice, late and out of order; and what became of each.

    python run.py                # a table to a terminal, JSON to a pipe

It starts a server in virtual time of its own. If AWS_ENDPOINT_URL names one, that is used: a fresh one, in virtual time
(`redrive serve --clock virtual`), which can be looked into afterwards.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from listing_dead_letters import analyze_failure_reason, failed_event_of
from listing_idempotency import generate_event_id

HERE = Path(__file__).parent
BUCKET = "uploads"
PART = b"x" * 5 * 1024 * 1024
FILES = {
    "in/put.csv": "put",
    "in/copy.csv": "copied from in/put.csv",
    "in/large.csv": "a multipart upload of two parts",
    "in/gone.csv": "put, then deleted",
    "in/both.csv": "put; told by the bus and directly",
    "direct/file one.csv": "put; told directly alone",
    "in/twice.csv": "put; S3 tells twice, 5 s apart at most",
    "in/late.csv": "v1, then v2; S3 tells of v1 30 s late",
    "in/shuffled.csv": "v1 … v5, one a second; S3 tells in any order",
    "in/throttled.csv": "put; the bus throttles S3 three times",
    "in/once.csv": "put; the first import fails",
    "in/stubborn.csv": "put; three imports fail",
    "in/broken.csv": "put; every import fails",
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


def advance(time: str) -> None:
    """Move the clock on."""
    redrive("clock", "advance", time)


def disturb(key: str, *how: str) -> None:
    """Have S3 do with a file's events what it may do."""
    redrive("fault", "add", "--target", f"arn:aws:s3:::{BUCKET}/{key}", *how)


def confirm() -> None:
    """Confirm the subscription of the people, as they do it by the link in their mail."""
    advance("1s")
    (asked,) = json.loads(redrive("mailbox", "list", "-o", "json"))
    with urllib.request.urlopen(asked["link"]):
        pass


def make_bucket() -> None:
    """A bucket that tells the default bus of everything, and a queue of some files."""
    s3 = client("s3")
    s3.create_bucket(Bucket=BUCKET)
    arn = "arn:aws:sqs:us-east-1:000000000000:notices"
    configurations = [
        {
            "Id": prefix, "QueueArn": arn, "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": prefix}]}},
        }
        for prefix in ("direct/", "in/both")
    ]  # fmt: skip
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET,
        NotificationConfiguration={"QueueConfigurations": configurations, "EventBridgeConfiguration": {}},
    )


def put(key: str, content: str) -> None:
    """Put a file."""
    client("s3").put_object(Bucket=BUCKET, Key=key, Body=content.encode())


def files_arrive() -> None:
    """All files, and all disorder."""
    s3 = client("s3")
    put("in/put.csv", "put")
    s3.copy_object(Bucket=BUCKET, Key="in/copy.csv", CopySource={"Bucket": BUCKET, "Key": "in/put.csv"})
    upload("in/large.csv", [PART, b"the end"])
    put("in/gone.csv", "gone")
    advance("1s")
    s3.delete_object(Bucket=BUCKET, Key="in/gone.csv")
    put("in/both.csv", "both")
    put("direct/file one.csv", "direct")
    disturb("in/twice*", "--s3-duplicate", "5s", "--rate", "1")
    put("in/twice.csv", "twice")
    disturb("in/late*", "--s3-delay", "30s", "--times", "1")
    put("in/late.csv", "v1")
    advance("1s")
    put("in/late.csv", "v2")
    disturb("in/shuffled*", "--s3-reorder", "20s", "--rate", "1")
    for number in range(1, 6):
        put("in/shuffled.csv", f"v{number}")
        advance("1s")
    advance("1m")
    redrive(
        "fault", "add", "--target", "arn:aws:events:*:*:event-bus/default", "--error", "ThrottlingException",
        "--times", "3",
    )  # fmt: skip
    put("in/throttled.csv", "throttled")
    advance("1m")
    for key, fails in (("in/once.csv", 1), ("in/stubborn.csv", 3), ("in/broken.csv", 99)):
        put(key, f"fails {fails}")
    advance("30m")


def upload(key: str, parts: list[bytes]) -> None:
    """A multipart upload."""
    s3 = client("s3")
    named = {"Bucket": BUCKET, "Key": key}
    named["UploadId"] = s3.create_multipart_upload(**named)["UploadId"]
    made = [
        {"PartNumber": number, "ETag": s3.upload_part(**named, PartNumber=number, Body=part)["ETag"]}
        for number, part in enumerate(parts, 1)
    ]
    s3.complete_multipart_upload(**named, MultipartUpload={"Parts": made})


def what_happened() -> dict[str, list[dict[str, Any]]]:
    """What the processor did with each file, and when, in seconds from the first time that it was told of it."""
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in FILES}
    pages = client("logs").get_paginator("filter_log_events")
    events = [one for page in pages.paginate(logGroupName="/aws/lambda/processor") for one in page["events"]]
    for event in sorted(events, key=lambda one: one["timestamp"]):
        if event["message"].startswith('{"file"'):
            told = json.loads(event["message"])["file"]
            done = found[told.pop("key")]
            at_ms = event["timestamp"]
            first_ms = done[0]["at_ms"] if done else at_ms
            done.append({"at_ms": at_ms, "at_s": (at_ms - first_ms) / 1000, **told})
    return found


def files_now() -> dict[str, dict[str, Any]]:
    """What is imported of each file, and how often it was."""
    items = client("dynamodb").scan(TableName="files")["Items"]
    return {
        item["file"]["S"]: {"content": item["content"]["S"], "imports": int(item["imports"]["N"])} for item in items
    }


def events_told() -> list[Any]:
    """All events that the rule has sent."""
    sqs = client("sqs")
    url = sqs.get_queue_url(QueueName="told")["QueueUrl"]
    events: list[Any] = []
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        events += [json.loads(message["Body"]) for message in found]
    return events


def listings(event: dict[str, Any]) -> dict[str, str]:
    """What the article's code and patterns do with an event as S3 sends it."""
    told: dict[str, str] = {}
    try:
        generate_event_id(event)
    except KeyError as error:
        told["listing_idempotency.py"] = f"KeyError: {error}"
    try:
        failed_event_of({"body": json.dumps(event)})
    except KeyError as error:
        told["listing_dead_letters.py"] = f"KeyError: {error}; and every reason is {analyze_failure_reason(event)}"
    for name in ("pattern-called-wrong.json", "pattern-called-right.json"):
        pattern = (HERE / name).read_text("utf-8")
        asked = client("events").test_event_pattern(EventPattern=pattern, Event=json.dumps(event))
        told[name] = "matches" if asked["Result"] else "never matches"
    return told


def print_table(report: dict[str, Any]) -> None:
    """Print what became of each file."""
    for key, what in FILES.items():
        print(f"\n{key}: {what}")
        for one in report["files"][key]:
            print(f"  {'+' + format(one['at_s'], 'g') + ' s':>10}  {one['way']:<6}  {one['did']}")
        now = report["now"].get(key)
        print(f"  {'in the end':>10}  " + (f"{now['content']!r}, changes done: {now['imports']}" if now else "nothing"))
    print("\nMail to people:")
    for subject in report["mail"]:
        print(f"  {subject}")
    print("\nThe article's code and patterns, as they are printed:")
    for name, what in report["listings"].items():
        print(f"  {name}: {what}")


def main() -> None:
    """Let files arrive, and tell what became of them."""
    with server():
        redrive("deploy", str(HERE / "template.yaml"), "--stack", "file-arrives")
        make_bucket()
        confirm()
        files_arrive()
        events = events_told()
        created = next(one for one in events if one["detail"]["object"]["key"] == "in/put.csv")
        mail = json.loads(redrive("mailbox", "list", "-o", "json"))
        report = {
            "files": what_happened(), "now": files_now(),
            "told_by_the_bus": {key: sum(one["detail"]["object"]["key"] == key for one in events) for key in FILES},
            "mail": [one["subject"] for one in mail if "was not imported" in one["subject"]],
            "listings": listings(created),
        }  # fmt: skip
    if sys.stdout.isatty():
        print_table(report)
    else:
        print(json.dumps(report, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
