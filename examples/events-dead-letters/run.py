"""A file arrives, the function for it fails, its event lies in the dead-letter queue, is sent again, and is done.

    redrive serve                      # or: redrive serve --clock virtual
    AWS_ENDPOINT_URL=http://127.0.0.1:4566 python run.py

In virtual time Lambda's two retries and their waits happen; in real time the function is not retried, so that nobody
has to wait for minutes. It can be run again on the same server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import boto3

ENDPOINT_URL = os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
HERE = Path(__file__).parent
FUNCTION = "import-file"
WAITS_MAX = 30


def client(service: str) -> Any:
    """A boto3 client of the server. Only the endpoint tells it from AWS."""
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    return session.client(service, endpoint_url=ENDPOINT_URL)


def clock() -> Any:
    """The server's clock."""
    with urllib.request.urlopen(f"{ENDPOINT_URL}/_redrive/clock") as answer:
        return json.load(answer)


def redrive(*arguments: str) -> str:
    """Run a redrive command against the server, as somebody types it; answers what it prints."""
    command = [sys.executable, "-m", "redrive.cli", *arguments, "--endpoint-url", ENDPOINT_URL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def let_time_pass(*, is_virtual: bool) -> None:
    """Ten minutes in virtual time, in a moment; in real time a second."""
    if is_virtual:
        redrive("clock", "advance", "10m")
    else:
        time.sleep(1)


def file_arrives(key: str) -> None:
    """Send what CloudTrail tells of a new object. Only AWS may send from aws.s3, so the source is another."""
    event = json.loads((HERE / "events" / "put-object.json").read_text("utf-8"))
    event["detail"]["requestParameters"]["key"] = key
    detail = json.dumps(event["detail"])
    entry = {"Source": "uploads", "DetailType": event["detail-type"], "Detail": detail}
    (answer,) = client("events").put_events(Entries=[entry])["Entries"]
    print(f"  {key} arrived: event {answer['EventId']}")


def set_function(*, can_read: bool) -> None:
    """Break the function, or mend it."""
    variables = {"CAN_READ": "yes" if can_read else "no"}
    client("lambda").update_function_configuration(FunctionName=FUNCTION, Environment={"Variables": variables})


def messages(queue: str) -> int:
    """How many messages wait in a queue."""
    sqs, name = client("sqs"), "ApproximateNumberOfMessages"
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def wait_for(queue: str, count: int, *, is_virtual: bool) -> None:
    """Let time pass until a queue has so many messages."""
    for _ in range(WAITS_MAX):
        if messages(queue) == count:
            print(f"  the queue {queue} has {count}")
            return
        let_time_pass(is_virtual=is_virtual)
    sys.exit(f"the queue {queue} has {messages(queue)} messages, and not {count}")


def take_done() -> list[Any]:
    """What the function has returned, taken off the queue that gets it."""
    sqs = client("sqs")
    url = sqs.get_queue_url(QueueName="done")["QueueUrl"]
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    for message in found:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"])["responsePayload"] for message in found]


def main() -> None:
    """The story, with two files: one is sent again by the listing, one by the command."""
    is_virtual = clock()["clock"] == "virtual"
    redrive("deploy", str(HERE / "template.yaml"), "--stack", "files", "-p", f"Retries={2 if is_virtual else 0}")

    print("1. Two files arrive, and the function for them fails")
    set_function(can_read=False)
    for key in ("a.csv", "b.csv"):
        file_arrives(key)
    wait_for("dead-letters", 2, is_virtual=is_virtual)

    print("2. The function is mended, and the dead letters are sent again")
    set_function(can_read=True)
    send = ("events", "resend", "--queue", "dead-letters", "--source", "retry", "--max", "1", "--yes")
    print(f"  redrive {' '.join(send)}: {json.loads(redrive(*send))['accepted']} accepted")
    listing = [sys.executable, str(HERE / "listing.py"), "dead-letters"]
    subprocess.run(listing, check=True, env={**os.environ, "AWS_ENDPOINT_URL": ENDPOINT_URL})
    wait_for("dead-letters", 0, is_virtual=is_virtual)

    print("3. Both are done")
    wait_for("done", 2, is_virtual=is_virtual)
    for done in sorted(take_done(), key=lambda one: one["key"]):
        print(f"  {done['key']}, from {done['source']}")


if __name__ == "__main__":
    main()
