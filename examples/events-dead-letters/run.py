"""Files arrive, CloudTrail tells, a function fails, and its dead letters go back to the bus: what became of each file.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

HERE = Path(__file__).parent
BUCKET, OTHER_BUCKET = "foo-bar-bucket", "another-bucket"
FILES = {
    "some/file/path/foo.txt": "put: 12",
    "in/comma.csv": "put: 1,200",
    "in/gone.csv": "put: 3,400; deleted before its letter is sent again",
    "in/listing.csv": "put: 5,600; its letter is sent again by listing.py",
    "in/copy.csv": "copied from some/file/path/foo.txt",
    "in/parts.csv": "a multipart upload",
    "in/elsewhere.csv": "put into another bucket",
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
    return ran(command)


def ran(command: list[str]) -> str:
    """Run a program; answers what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def advance(time: str) -> None:
    """Move the clock on."""
    redrive("clock", "advance", time)


def put(key: str, content: str, bucket: str = BUCKET) -> None:
    """Put a file."""
    client("s3").put_object(Bucket=bucket, Key=key, Body=content.encode())


def files_arrive() -> None:
    """The files, in every way that S3 has."""
    s3 = client("s3")
    put("some/file/path/foo.txt", "12")
    put("in/comma.csv", "1,200")
    put("in/gone.csv", "3,400")
    s3.copy_object(Bucket=BUCKET, Key="in/copy.csv", CopySource=f"{BUCKET}/some/file/path/foo.txt")
    named = {"Bucket": BUCKET, "Key": "in/parts.csv"}
    named["UploadId"] = s3.create_multipart_upload(**named)["UploadId"]
    part = s3.upload_part(**named, PartNumber=1, Body=b"7")
    s3.complete_multipart_upload(**named, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    put("in/elsewhere.csv", "8", OTHER_BUCKET)
    advance("10m")


def let_commas(allowed: str) -> None:
    """Break the function, or mend it."""
    variables = {"READS_COMMAS": allowed}
    client("lambda").update_function_configuration(FunctionName="import-file", Environment={"Variables": variables})
    advance("1s")


def url_of(queue: str) -> str:
    """The URL of a queue."""
    return str(client("sqs").get_queue_url(QueueName=queue)["QueueUrl"])


def waiting(queue: str) -> int:
    """How many messages a queue has."""
    name = "ApproximateNumberOfMessages"
    answer = client("sqs").get_queue_attributes(QueueUrl=url_of(queue), AttributeNames=[name])
    return int(answer["Attributes"][name])


def taken(queue: str) -> list[Any]:
    """All events that are in a queue, which are deleted."""
    sqs, url = client("sqs"), url_of(queue)
    events: list[Any] = []
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in found:
            events.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return events


def keys(events: list[Any]) -> list[str]:
    """The files that events tell of."""
    return sorted(event["detail"]["requestParameters"]["key"] for event in events)


def send_again() -> dict[str, Any]:
    """Mend the function, and send the letters again: first those that the command sends, then those of listing.py."""
    before = waiting("dead-letters")
    let_commas("yes")
    client("s3").delete_object(Bucket=BUCKET, Key="in/gone.csv")
    by_command = json.loads(redrive("events", "resend", "--queue", "dead-letters", "--source", "retry", "--yes"))
    advance("10m")
    let_commas("no")
    put("in/listing.csv", "5,600")
    advance("10m")
    let_commas("yes")
    in_between = waiting("dead-letters")
    ran([sys.executable, str(HERE / "listing.py"), "dead-letters"])
    advance("10m")
    return {
        "first": before, "sent_by_the_command": by_command["accepted"], "sent_by_the_listing": in_between,
        "left": keys(taken("dead-letters")),
    }  # fmt: skip


def what_happened() -> dict[str, list[dict[str, Any]]]:
    """What the function did with each file, and when, in seconds from the first time that it was told of it."""
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in FILES}
    pages = client("logs").get_paginator("filter_log_events")
    events = [one for page in pages.paginate(logGroupName="/aws/lambda/import-file") for one in page["events"]]
    for event in sorted(events, key=lambda one: one["timestamp"]):
        if event["message"].startswith('{"file"'):
            told = json.loads(event["message"])["file"]
            done = found[told.pop("key")]
            first_ms = done[0]["at_ms"] if done else event["timestamp"]
            done.append({"at_ms": event["timestamp"], "at_s": round((event["timestamp"] - first_ms) / 1000), **told})
    return found


def listings(letter: Any) -> dict[str, str]:
    """What the article's code and texts do, as they are printed. `letter` is an event of a file."""
    told = {}
    try:
        json.loads((HERE / "listing-dead-letter.json").read_text("utf-8"))
    except json.JSONDecodeError as error:
        told["listing-dead-letter.json"] = f"no JSON: {error}"
    entry = {"Source": "aws.s3", "DetailType": letter["detail-type"], "Detail": json.dumps(letter["detail"])}
    (answer,) = client("events").put_events(Entries=[entry])["Entries"]
    told["source aws.s3"] = f"{answer['ErrorCode']}: {answer['ErrorMessage']}"
    by_hand = json.loads((HERE / "resend.json").read_text("utf-8"))
    told["resend.json"] = f"{client('events').put_events(Entries=by_hand)['FailedEntryCount']} entries failed"
    told["listing.py"] = f"one entry of two is refused: the other one is sent {times_sent(letter)} times in two runs"
    return told


def times_sent(letter: Any) -> int:
    """How often listing.py sends a letter that stands beside one whose entry is refused."""
    advance("1s")
    taken("sent-again")
    url = client("sqs").create_queue(QueueName="letters")["QueueUrl"]
    for body in (letter, {**letter, "detail": "no object"}):
        client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(body))
    for _ in range(2):
        ran([sys.executable, str(HERE / "listing.py"), "letters"])
        advance("1m")
    return len(taken("sent-again"))


def print_table(report: dict[str, Any]) -> None:
    """Print what became of each file."""
    for key, what in FILES.items():
        print(f"\n{key}: {what}")
        for one in report["files"][key]:
            print(f"  {'+' + format(one['at_s'], 'g') + ' s':>10}  {one['source']:<6}  {one['did']}")
        if not report["files"][key]:
            print(f"  {'':>10}  the function was never told of it")
    letters = report["letters"]
    print(f"\nDead letters: {letters['first']}, of which the command sent {letters['sent_by_the_command']};")
    print(f"  then listing.py sent {letters['sent_by_the_listing']}; left: {', '.join(letters['left'])}")
    print(f"A rule with the source aws.s3 got {', '.join(report['told_by_s3'])}: nothing that was sent again.")
    print("\nThe article's code and texts, as they are printed:")
    for name, what in report["listings"].items():
        print(f"  {name}: {what}")


def main() -> None:
    """Let files arrive, send the letters again, and tell what became of the files."""
    with server():
        redrive("deploy", str(HERE / "template.yaml"), "--stack", "files")
        files_arrive()
        letters = send_again()
        files = what_happened()
        told_by_s3 = taken("from-s3")
        report = {
            "files": files, "letters": letters, "told_by_s3": keys(told_by_s3), "an_event": told_by_s3[0],
            "listings": listings(told_by_s3[0]),
        }  # fmt: skip
    if sys.stdout.isatty():
        print_table(report)
    else:
        print(json.dumps(report, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
