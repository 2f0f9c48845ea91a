"""Mistakes of articles about dead letters, made on a server, and what `redrive dlq` says to each.

    python run.py                # a paragraph for each to a terminal, JSON to a pipe

It starts a server in virtual time of its own. If AWS_ENDPOINT_URL names one, that is used: a fresh one.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import boto3

from redrive.cli.main import main as redrive_command

HERE = Path(__file__).parent
ACCOUNT = "us-east-1:000000000000"
RULE = f"arn:aws:events:{ACCOUNT}:rule/files"
FOR = ("lambda.amazonaws.com", "scheduler.amazonaws.com", "states.amazonaws.com")


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
    """A boto3 client of the server."""
    return boto3.client(service, endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def redrive(*arguments: str) -> tuple[Any, str]:
    """Run a redrive command as somebody types it into a pipe: what it prints, and what it says beside."""
    out, said = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(said), suppress(SystemExit):  # Exit codes 1 and 4: letters stay.
        redrive_command([*arguments, "--endpoint-url", os.environ["AWS_ENDPOINT_URL"]], standalone_mode=False)
    text = out.getvalue()
    return json.loads(text) if text.startswith(("{", "[")) else text, said.getvalue()


def advance(seconds: int) -> None:
    """Let virtual time pass."""
    redrive("clock", "advance", f"{seconds}s")


def queue(name: str, **attributes: str) -> str:
    """Make a queue that everybody may send to; answers its URL."""
    arn = f"arn:aws:sqs:{ACCOUNT}:{name}"
    allowed = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    return str(client("sqs").create_queue(QueueName=name, Attributes={"Policy": policy} | attributes)["QueueUrl"])


def count(url: str) -> int:
    """How many messages a queue has, hidden ones too."""
    names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
    told = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(map(int, told.values()))


def letters(url: str, *details: object, source: str = "aws.s3") -> None:
    """Put dead letters of a rule into a queue, as EventBridge writes them."""
    told = {"RULE_ARN": RULE, "TARGET_ARN": f"arn:aws:lambda:{ACCOUNT}:function:import", "ERROR_CODE": "TIMEOUT"}
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}
    for number, detail in enumerate(details):
        event = {
            "version": "0", "id": f"e-{number}", "detail-type": "Object Created", "source": source, "resources": [],
            "time": "2025-01-01T00:00:00Z", "account": "000000000000", "region": "us-east-1", "detail": detail,
        }  # fmt: skip
        client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(event), MessageAttributes=attributes)


def role() -> str:
    """A role for all services of this program."""
    iam = client("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": FOR}, "Action": "sts:AssumeRole"}
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName="mistakes", AssumeRolePolicyDocument=_policy(trust))
    iam.put_role_policy(RoleName="mistakes", PolicyName="all", PolicyDocument=_policy(everything))
    return "arn:aws:iam::000000000000:role/mistakes"


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def function(name: str, code: str, **variables: str) -> None:
    """Deploy a function of one module."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("listing.py", code)
    client("lambda").create_function(
        FunctionName=name, Runtime="python3.12", Handler="listing.process_dlq_messages", Role=role(), Timeout=3,
        Code={"ZipFile": packed.getvalue()}, Environment={"Variables": variables},
    )  # fmt: skip
    advance(10)


def run_to_bus(name: str, folder: Path, *options: str) -> tuple[Any, Any]:
    """Plan and run a queue's letters to the bus; answers the plan and the account."""
    file = folder / f"{name}{len(options)}.json"
    planned, _ = redrive("dlq", "plan", name, "--to-file", str(file), "--to", "bus:default", "--canary", "0", *options)
    return planned, redrive("dlq", "redrive", str(file))[0]


def stays(account: Any) -> str:
    """The first reason for which letters stay."""
    return str(account["stays"][0]["reason"]) if account["stays"] else ""


def source_of_aws(folder: Path) -> dict[str, Any]:
    """The event is sent as it is: from aws.s3."""
    letters(queue("as-it-is"), {"key": "a.csv"})
    entry = {"Source": "aws.s3", "DetailType": "Object Created", "Detail": "{}"}
    answer = client("events").put_events(Entries=[entry])
    _, account = run_to_bus("as-it-is", folder)
    return {"happens": f"FailedEntryCount {answer['FailedEntryCount']}: {answer['Entries'][0]['ErrorCode']}",
            "says": stays(account)}  # fmt: skip


def source_that_no_rule_asks_for(folder: Path) -> dict[str, Any]:
    """The source becomes `retry`, and the rule still asks for aws.s3: the bus accepts the event, and nobody gets it."""
    url = queue("rewritten")
    letters(url, {"key": "a.csv"})
    client("events").put_rule(Name="files", EventPattern='{"source": ["aws.s3"]}')
    entry = {"Source": "retry", "DetailType": "Object Created", "Detail": "{}"}
    answer = client("events").put_events(Entries=[entry])
    _, account = run_to_bus("rewritten", folder, "--source", "retry")
    return {"happens": f"FailedEntryCount {answer['FailedEntryCount']}, and no rule matches", "says": stays(account)}


def all_or_nothing(folder: Path) -> dict[str, Any]:
    """One entry of ten fails: the listing deletes none, so that the nine are sent again by each run."""
    listing = folder / "article" / "listing.py"
    example = ["examples", "events-dead-letters", "--into", str(listing.parent)]
    subprocess.run([sys.executable, "-m", "redrive.cli", *example], check=True, stdout=subprocess.DEVNULL)
    url, listed, sent = queue("one-of-ten"), queue("listed"), queue("sent-again")
    details = [*({"key": f"{number}.csv"} for number in range(9)), "no object"]
    letters(listed, *details)
    client("events").put_rule(Name="again", EventPattern='{"source": ["retry"]}')
    target = {"Id": "1", "Arn": f"arn:aws:sqs:{ACCOUNT}:sent-again"}
    client("events").put_targets(Rule="again", Targets=[target])
    for _unused in range(2):
        subprocess.run([sys.executable, str(listing), "listed"], check=True, stderr=subprocess.DEVNULL)
        advance(60)
    happens = f"after two runs {count(listed)} letters are left, and {count(sent)} events were sent"
    letters(url, *details)
    _, account = run_to_bus("one-of-ten", folder, "--source", "retry")
    return {"happens": happens, "says": f"{account['sent']} sent and deleted, {count(url)} stays: {stays(account)}"}


def deletes_what_it_cannot_read(_: Path) -> dict[str, Any]:
    """A function on the dead-letter queue raises for each letter, catches that, and returns: Lambda deletes them."""
    url = queue("processed", VisibilityTimeout="30")
    retry = queue("retry-queue")
    function("dlq-processor", (HERE / "listing_processor.py").read_text("utf-8"), RETRY_QUEUE=retry)
    client("lambda").create_event_source_mapping(
        EventSourceArn=f"arn:aws:sqs:{ACCOUNT}:processed", FunctionName="dlq-processor"
    )
    _, said = redrive("dlq", "triage", "processed")
    letters(url, {"key": "a.csv"}, {"key": "b.csv"}, {"key": "c.csv"})
    advance(60)
    return {"happens": f"of 3 letters {count(url)} are left, and {count(retry)} came to the retry queue",
            "says": " ".join(said.partition(". ")[0].split())}  # fmt: skip


def loses_the_error(_: Path) -> dict[str, Any]:
    """The event is sent to a retry queue without its attributes: nobody knows where it failed, or how often."""
    url = queue("without-attributes")
    client("sqs").send_message(
        QueueUrl=url, MessageBody=json.dumps({"source": "aws.s3", "detail-type": "Object Created", "detail": {}})
    )
    told, _ = redrive("dlq", "triage", "without-attributes")
    group = told["groups"][0]
    return {"happens": "RULE_ARN, TARGET_ARN and ERROR_CODE are gone", "says": f"{group['class']}: {group['advice']}"}


def name_of_the_time(_: Path) -> dict[str, Any]:
    """A retry is named `retry-` and the time: two retries of one event are two executions."""
    states, events = client("stepfunctions"), client("events")
    queue("failed-executions")
    events.put_rule(
        Name="failures",
        EventPattern='{"detail-type": ["Step Functions Execution Status Change"], "detail": {"status": ["FAILED"]}}',
    )
    target = {"Id": "1", "Arn": f"arn:aws:sqs:{ACCOUNT}:failed-executions"}
    events.put_targets(Rule="failures", Targets=[target])
    definition = {"StartAt": "fail", "States": {"fail": {"Type": "Fail", "Error": "NotAFile"}}}
    machine = states.create_state_machine(name="csv", definition=json.dumps(definition), roleArn=role())
    for second in (1735689600, 1735689601):
        states.start_execution(
            stateMachineArn=machine["stateMachineArn"], name=f"retry-{second}", input='{"key": "a.csv"}'
        )  # fmt: skip
    advance(10)
    told, _ = redrive("dlq", "check", "failed-executions")
    finding = next(one for one in told["groups"][0]["findings"] if one["gate"] == "execution")
    return {"happens": f"{told['letters']} executions for one file", "says": finding["reason"]}


def placeholder(_: Path) -> dict[str, Any]:
    """An underscore in the placeholder: each execution has the same key, and the ledger takes all but one for done."""
    dead, name = queue("misspelt-dead"), "misspelt"
    redrive_policy = json.dumps({"deadLetterTargetArn": f"arn:aws:sqs:{ACCOUNT}:misspelt-dead", "maxReceiveCount": 1})
    url = queue(name, RedrivePolicy=redrive_policy, VisibilityTimeout="0")
    client("scheduler").create_schedule(
        Name="hourly", ScheduleExpression="rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": f"arn:aws:sqs:{ACCOUNT}:{name}", "RoleArn": role(),
                "Input": '{"execution_id": "<aws.scheduler.execution_id>"}'},
    )  # fmt: skip
    advance(3 * 3_600)
    for _unused in range(3):
        client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)
    client("scheduler").delete_schedule(Name="hourly")
    told, _ = redrive("dlq", "check", "misspelt-dead")
    finding = next(one for one in told["groups"][0]["findings"] if one["gate"] == "key")
    return {"happens": f"{count(dead)} hours of work with one key", "says": finding["reason"]}


def message_id_as_key(_: Path) -> dict[str, Any]:
    """The function keeps its state under the message id, which a redrive changes."""
    dead = queue("by-message-id")
    letters(dead, {"key": "a.csv"})
    told, _ = redrive("dlq", "show", "by-message-id")
    message_id = told["letters"][0]["message_id"]
    client("dynamodb").create_table(
        TableName="execution-state", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "execution_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "execution_id", "KeyType": "HASH"}],
    )  # fmt: skip
    advance(10)
    item = {"execution_id": {"S": message_id}, "status": {"S": "FAILED"}}
    client("dynamodb").put_item(TableName="execution-state", Item=item)
    checked, _ = redrive("dlq", "check", "by-message-id", "--ledger", "execution-state")
    finding = next(one for one in checked["groups"][0]["findings"] if one["gate"] == "key")
    return {"happens": "after a redrive the table does not know the work", "says": finding["reason"]}


MISTAKES: tuple[Callable[[Path], dict[str, Any]], ...] = (
    source_of_aws, source_that_no_rule_asks_for, all_or_nothing, deletes_what_it_cannot_read, loses_the_error,
    name_of_the_time, placeholder, message_id_as_key,
)  # fmt: skip


def play() -> list[dict[str, Any]]:
    """Make each mistake, and ask."""
    with tempfile.TemporaryDirectory() as folder:
        return [{"mistake": (one.__doc__ or "").strip(), **one(Path(folder))} for one in MISTAKES]


def main() -> None:
    """Print what the mistakes do, and what is said to them."""
    with server():
        found = play()
    if not sys.stdout.isatty():
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for number, one in enumerate(found, 1):
        print(f"{number}. {textwrap.fill(one['mistake'], 76, subsequent_indent='   ')}")
        for name in ("happens", "says"):
            print(textwrap.fill(f"{name:>10}: {one[name]}", 79, subsequent_indent=" " * 12))


if __name__ == "__main__":
    main()
