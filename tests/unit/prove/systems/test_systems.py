"""How a system is proved: where its event comes in, what is passage, what comes again, and how it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import redrive.testing
from redrive.cli.main import main
from redrive.core.errors import UserError
from redrive.prove.play.faults import parse_history
from redrive.prove.play.performance import Performance
from redrive.prove.search.options import Options
from redrive.prove.stage.stage import Stage
from redrive.prove.system.proving import replay_system
from redrive.prove.tell.export import as_test
from redrive.prove.tell.verdict import Counterexample, Verdict
from tests.unit.prove.systems.test_truth import proved, rule_of, runs, told
from tests.unit.prove.systems.written import (
    COUNTS,
    DEAD,
    FORWARDS,
    LETTERS,
    PUTS_BY_ORDER,
    STREAMED,
    fed_by,
    function,
    queue,
    table,
    written,
)


def line(directory: Path, last: str, *more: str, **codes: str) -> Path:
    """A queue, a function, a queue, a function."""
    return written(
        directory,
        DEAD, queue("Orders"), queue("Billing"), table("Bills"),
        function("Intake", fed_by("Orders"), "QUEUES: !Ref Billing"),
        function("Bill", fed_by("Billing"), "TABLE: !Ref Bills"),
        *more, Intake=FORWARDS, Bill=last, **codes,
    )  # fmt: skip


def test_event_comes_in_where_no_function_of_the_template_sends(tmp_path: Path) -> None:
    verdict = proved(line(tmp_path, PUTS_BY_ORDER), faults=0)

    assert verdict.system["entrances"] == [{"name": "Orders", "way": "queue"}]
    assert verdict.bodies == ('{"order":"sample-order"}',)


def test_answer_that_one_function_needs_is_made_up_as_in_a_proof_of_the_function(tmp_path: Path) -> None:
    bills = (
        "import boto3, json, os, urllib.request\n\ndef handler(event, context):\n"
        "    order = json.loads(event['Records'][0]['body'])['order']\n"
        "    response = urllib.request.urlopen(urllib.request.Request('https://pay.example/v1', method='POST'))\n"
        "    told = json.loads(response.read())\n"
        "    boto3.client('dynamodb').put_item(TableName=os.environ['TABLE'],"
        " Item={'id': {'S': order}, 'charge': {'S': told['reference']}})\n"
    )

    verdict = proved(line(tmp_path, bills), faults=1)

    assert verdict.counterexample is not None
    assert "https://pay.example/v1" in verdict.sentence + str(verdict.counterexample.violation)
    assert "reference" in verdict.assumptions["answers over HTTP"]


def test_schedule_comes_before_a_queue_and_another_entrance_is_chosen_by_name(tmp_path: Path) -> None:
    schedule = "Daily: {Type: Schedule, Properties: {Schedule: rate(1 day)}}"
    clean = (
        "import boto3, os\n\ndef handler(event, context):\n    boto3.client('dynamodb').put_item("
        "TableName=os.environ['TABLE'], Item={'id': {'S': 'all'}})\n"
    )
    template = line(tmp_path, PUTS_BY_ORDER, function("Sweep", schedule, "TABLE: !Ref Bills"), Sweep=clean)

    first = proved(template, faults=0)
    other = proved(template, faults=0, entrance="Orders")

    assert (first.system["entrance"], runs(first)) == ("SweepDaily", {"Bill": 0, "Intake": 0, "Sweep": 1})
    assert (other.system["entrance"], runs(other)) == ("Orders", {"Bill": 1, "Intake": 1, "Sweep": 0})
    with pytest.raises(UserError, match=r"Nowhere is no entrance of the system\. Its entrances are SweepDaily, Orders"):
        proved(template, faults=0, entrance="Nowhere")


def test_function_of_another_runtime_is_left_out_and_its_queue_is_the_end(tmp_path: Path) -> None:
    template = line(tmp_path, PUTS_BY_ORDER)
    template.write_text(template.read_text().replace("CodeUri: Bill/", "CodeUri: Bill/\n      Runtime: nodejs22.x"))

    verdict = proved(template)

    assert verdict.system["left_out"] == {"Bill": "its runtime is nodejs22.x"}
    assert [kind.partition("-Billing-")[0] for kind in verdict.effects] == ["message to Billing"]
    assert rule_of(verdict) == "repeated"


def test_system_that_never_comes_to_rest_is_told(tmp_path: Path) -> None:
    template = written(
        tmp_path, DEAD, queue("Orders"), queue("Back"),
        function("There", fed_by("Orders"), "QUEUES: !Ref Back"),
        function("Here", fed_by("Back"), "QUEUES: !Ref Orders"),
        There=FORWARDS, Here=FORWARDS,
    )  # fmt: skip

    with pytest.raises(UserError, match="does not come to rest: after 100 runs"):
        proved(template)


def test_system_without_effects_tells_what_has_run(tmp_path: Path) -> None:
    logs = "def handler(event, context):\n    print('done with', event['Records'][0]['body'])\n"

    with pytest.raises(
        UserError, match=r"What ran: Intake \(the queue Orders\), Bill \(the queue Billing\)\. The last"
    ):
        proved(line(tmp_path, logs))


ASKS = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        answer = boto3.client("lambda").invoke(FunctionName=os.environ["PRICES"], Payload=record["body"].encode())
        price = json.loads(answer["Payload"].read())
        if "price" not in price:
            raise RuntimeError(price)
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"], Item={"id": {"S": price["order"]}, "price": {"N": str(price["price"])}})
"""
ANSWERS = """
import os, boto3

def handler(event, context):
    boto3.client("dynamodb").update_item(
        TableName=os.environ["TABLE"], Key={"id": {"S": "asked"}}, UpdateExpression="ADD times :one",
        ExpressionAttributeValues={":one": {"N": "1"}})
    return {"order": event["order"], "price": 7}
"""


def test_function_that_another_one_waits_for_runs_with_its_own_code_and_variables(tmp_path: Path) -> None:
    template = written(
        tmp_path, DEAD, queue("Orders"), table("Bills"), table("Asked"),
        function("Bill", fed_by("Orders"), "TABLE: !Ref Bills, PRICES: !Ref Prices"),
        function("Prices", "", "TABLE: !Ref Asked"), Bill=ASKS, Prices=ANSWERS,
    )  # fmt: skip

    verdict = proved(template, bodies=('{"order": "o-1"}',))

    assert runs(verdict) == {"Bill": 1, "Prices": 1}
    assert rule_of(verdict) == "repeated"
    assert "of Prices" in told(verdict)


ACCEPTS = """
import json, os, boto3

def handler(event, context):
    order = json.loads(event["body"])["order"]
    try:
        boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE"], MessageBody=json.dumps({"order": order}))
    except Exception as error:
        return {"statusCode": 500, "body": str(error)}
    return {"statusCode": 202}
"""


def api(directory: Path, accepts: str) -> Path:
    event = "Post: {Type: Api, Properties: {Path: /orders, Method: post}}"
    return written(
        directory, DEAD, queue("Billing"), table("Bills"),
        function("Accept", event, "QUEUE: !Ref Billing"), function("Bill", fed_by("Billing"), "TABLE: !Ref Bills"),
        Accept=accepts, Bill=PUTS_BY_ORDER,
    )  # fmt: skip


def test_caller_of_an_api_who_is_told_of_an_error_asks_again(tmp_path: Path) -> None:
    verdict = proved(api(tmp_path, ACCEPTS))

    assert verdict.system["comes_in_by"] == "the API's function Accept"
    assert rule_of(verdict) == ""


def test_caller_of_an_api_who_is_told_that_all_is_well_does_not_ask_again(tmp_path: Path) -> None:
    verdict = proved(api(tmp_path, ACCEPTS.replace('"statusCode": 500', '"statusCode": 200')))

    assert rule_of(verdict) == "lost"
    assert "the caller was told that all had gone well" in counterexample_of(verdict).advice


def test_dead_letters_that_are_gone_before_anybody_redrives_them_are_lost(tmp_path: Path) -> None:
    template = line(tmp_path, PUTS_BY_ORDER)
    kept = proved(template)
    template.write_text(template.read_text().replace("1209600", "120"))

    verdict = proved(template)

    assert rule_of(kept) == ""
    assert rule_of(verdict) == "lost"


def test_stream_at_the_second_hop_is_read_again_when_its_checkpoints_are_lost(tmp_path: Path) -> None:
    """Every call of the first function is a write under a key, so that nothing else repeats the change."""
    places = (
        "import json, os, boto3\n\ndef handler(event, context):\n    for record in event['Records']:\n"
        "        boto3.client('dynamodb').put_item(TableName=os.environ['TABLE'], "
        "Item={'id': {'S': json.loads(record['body'])['order']}})\n"
    )
    counts = COUNTS.replace('order = json.loads(record["body"])', 'order = record["eventID"]')
    stream = (
        "Changes: {Type: DynamoDB, Properties: {Stream: !GetAtt Orders.StreamArn, StartingPosition: TRIM_HORIZON, "
        "MaximumRetryAttempts: 3, DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Dead.Arn}}}}"
    )
    template = written(
        tmp_path, DEAD, queue("Inbox"), table("Orders", STREAMED), table("Sums"),
        function("Place", fed_by("Inbox"), "TABLE: !Ref Orders"), function("Sum", stream, "TABLE: !Ref Sums"),
        Place=places, Sum=counts,
    )  # fmt: skip

    found = replay_system(parse_history(["deliver", "deliver", "reread"]), Options(template=template, is_system=True))

    assert found is not None
    assert found.violation.rule.value == "repeated"
    assert "the checkpoints of the mapping from the stream of Orders are lost" in "\n".join(
        step.text for step in found.steps
    )


PUBLISHES = """
import json, os, boto3

def handler(event, context):
    boto3.client("sns").publish(TopicArn=os.environ["TOPIC"], Message=json.dumps({"order": event["order"]}))
"""
WRITES = """
import json, os, boto3

def handler(event, context):
    order = json.loads(event["Records"][0]["Sns"]["Message"])["order"]
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order}})
"""


def test_dead_letter_in_a_queue_that_functions_share_goes_back_to_the_function_that_had_it(tmp_path: Path) -> None:
    topic = "Fed: {Type: SNS, Properties: {Topic: !Ref Topic}}"
    template = written(
        tmp_path, DEAD, "Topic: {Type: AWS::SNS::Topic}\n", table("Bills"), table("Parcels"),
        function("Start", "", "TOPIC: !Ref Topic", more=LETTERS),
        function("Bill", topic, "TABLE: !Ref Bills", more=LETTERS),
        function("Ship", topic, "TABLE: !Ref Parcels", more=LETTERS),
        Start=PUBLISHES, Bill=WRITES, Ship=WRITES,
    )  # fmt: skip

    verdict = proved(template)

    assert runs(verdict) == {"Start": 1, "Bill": 1, "Ship": 1}
    assert rule_of(verdict) == ""


def test_pruned_and_thorough_search_of_a_system_come_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two moments are equal only if all that waits at any hop is: the thorough search takes none for the same."""
    template = line(tmp_path, PUTS_BY_ORDER)
    pruned = proved(template)
    monkeypatch.setattr(Performance, "likeness", lambda _: object())
    monkeypatch.setattr(Stage, "mark", lambda *_, **__: None)

    thorough = proved(template)

    assert rule_of(pruned) == rule_of(thorough) == ""
    assert pruned.bounds.histories <= thorough.bounds.histories


def test_history_of_a_system_is_played_again_until_it_is_mended(tmp_path: Path) -> None:
    template = line(tmp_path, COUNTS)
    verdict = proved(template)
    assert verdict.counterexample is not None
    history = [str(leg) for leg in verdict.counterexample.history]

    exported = as_test(verdict, Options(template=template, is_system=True))
    # The ends of the names of resources are others after each change of a template.
    template.write_text(template.read_text() + "  Another: {Type: AWS::SQS::Queue}\n")
    with pytest.raises(AssertionError, match="of Bill"):
        redrive.testing.prove.replay_system(template=template, history=history, messages=verdict.bodies)
    (tmp_path / "Bill" / "app.py").write_text(PUTS_BY_ORDER)
    redrive.testing.prove.replay_system(template=template, history=["deliver"], messages=verdict.bodies)

    assert history[0] == "deliver crash-after sqs:SendMessage Billing #1"
    assert "redrive.testing.prove.replay_system(" in exported
    assert f"template={str(template)!r}" in exported


def test_system_is_proved_on_the_command_line_with_up_to_two_faults(tmp_path: Path) -> None:
    runner = CliRunner()

    shown = runner.invoke(main, ["prove", "--system", str(line(tmp_path, COUNTS))])
    told = runner.invoke(main, ["prove", "--system", str(tmp_path / "template.yaml"), "-o", "json"])

    assert shown.exit_code == 1
    assert "the event comes in by the queue Orders" in shown.output
    assert "function Intake: 1 run, no effects of its own" in shown.output
    assert "of Bill begins: it is given the message" in shown.output
    document = json.loads(told.stdout)
    assert document["system"]["functions"]["Intake"] == {"runs": 1, "effects": {}}
    assert document["bounds"]["faults"] == 2


def test_a_handler_and_a_system_are_not_proved_at_once(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["prove", "app:handler", "--system", str(line(tmp_path, COUNTS))])

    assert outcome.exit_code == 2


REMINDS_LATER = """
import datetime, json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["order"]
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
        target = {"Arn": os.environ["REMIND"], "RoleArn": os.environ["ROLE"], "Input": json.dumps({"order": order})}
        scheduler = boto3.client("scheduler")
        try:
            scheduler.create_schedule(
                Name=order, ScheduleExpression=at.strftime("at(%Y-%m-%dT%H:%M:%S)"), Target=target,
                FlexibleTimeWindow={"Mode": "OFF"}, ActionAfterCompletion="DELETE",
            )
        except scheduler.exceptions.ConflictException:
            pass
"""
REMINDS = """
import os, boto3

def handler(event, context):
    boto3.client("dynamodb").update_item(
        TableName=os.environ["TABLE"], Key={"id": {"S": event["order"]}}, UpdateExpression="ADD reminders :one",
        ExpressionAttributeValues={":one": {"N": "1"}})
"""


def test_schedule_that_a_function_makes_invokes_the_next_function_a_day_later(tmp_path: Path) -> None:
    role = (
        "Role: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {Version: '2012-10-17', Statement: "
        "[{Effect: Allow, Principal: {Service: scheduler.amazonaws.com}, Action: sts:AssumeRole}]}, Policies: "
        "[{PolicyName: invoke, PolicyDocument: {Version: '2012-10-17', Statement: [{Effect: Allow, "
        "Action: lambda:InvokeFunction, Resource: '*'}]}}]}}\n"
    )
    template = written(
        tmp_path, DEAD, queue("Orders"), table("Reminders"), role,
        function("Plan", fed_by("Orders"), "REMIND: !GetAtt Remind.Arn, ROLE: !GetAtt Role.Arn"),
        function("Remind", "", "TABLE: !Ref Reminders", more=LETTERS), Plan=REMINDS_LATER, Remind=REMINDS,
    )  # fmt: skip

    verdict = proved(template, bodies=('{"order": "o-1"}',))

    assert runs(verdict) == {"Plan": 1, "Remind": 1}
    assert list(verdict.effects) == [f"increase of {verdict_table(verdict)}", f"item in {verdict_table(verdict)}"]
    assert rule_of(verdict) == "repeated"
    assert "+1d" in {step.at for step in counterexample_of(verdict).steps}


def verdict_table(verdict: Verdict) -> str:
    return next(kind for kind in verdict.effects if kind.startswith("item in ")).removeprefix("item in ")


def counterexample_of(verdict: Verdict) -> Counterexample:
    assert verdict.counterexample is not None
    return verdict.counterexample


def test_attributes_and_group_of_the_message_that_comes_in_are_kept(tmp_path: Path) -> None:
    checks = PUTS_BY_ORDER.replace(
        'order = json.loads(record["body"])',
        'order = {"order": record["messageAttributes"]["t"]["stringValue"] + record["attributes"]["MessageGroupId"]}',
    )
    record = {
        "eventSource": "aws:sqs", "body": "{}", "attributes": {"MessageGroupId": "g"},
        "messageAttributes": {"t": {"stringValue": "t-1", "dataType": "String"}},
    }  # fmt: skip
    template = written(
        tmp_path, DEAD, queue("Orders"), table("Bills"), function("Bill", fed_by("Orders"), "TABLE: !Ref Bills"),
        Bill=checks,
    )  # fmt: skip

    verdict = proved(template, bodies=(json.dumps(record),))

    assert rule_of(verdict) == ""
    assert runs(verdict) == {"Bill": 1}


DRAWS = """
import json, os, random, boto3

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["order"]
        for part in range(random.randint(1, 3)):
            boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": f"{order}/{part}"}})
"""


def test_system_that_draws_is_judged_on_several_draws(tmp_path: Path) -> None:
    verdict = proved(line(tmp_path, DRAWS))

    assert verdict.draws > 1
    assert verdict.drawn == {"item in Bills": (1, 3)}
    assert verdict.counterexample is None


def test_system_is_proved_from_each_of_its_entrances_with_one_table(tmp_path: Path) -> None:
    """Those that do nothing, or fail, do not stop the others; the exit code is that of the worst."""
    schedule = "Daily: {Type: Schedule, Properties: {Schedule: rate(1 day)}}"
    logs = "def handler(event, context):\n    print('nothing to sweep')\n"
    template = line(tmp_path, PUTS_BY_ORDER, function("Sweep", schedule, "TABLE: !Ref Bills"), Sweep=logs)

    asked = ["prove", "--system", str(template), "--all", "--faults", "0", "--output", "json"]
    result = CliRunner().invoke(main, asked)

    rows = json.loads(result.stdout)
    assert [(row["entrance"], row["outcome"]) for row in rows] == [
        ("SweepDaily", "changes nothing"), ("Orders", "no counterexample")
    ]  # fmt: skip
    assert "with 2 entrances" in result.stderr
