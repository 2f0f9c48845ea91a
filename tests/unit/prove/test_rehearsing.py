"""A handler that fails on a guess, or does nothing because of it, is tried with others until it comes through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.verdict import Verdict

HEAD = "import base64, json, logging, os, uuid\nimport boto3\nfrom datetime import datetime\n"
PUT = "boto3.client('dynamodb').put_item(TableName='seen', Item={'id': {'S': 'a'}})"


def proved(tmp_path: Path, body: str, head: str = "", **options: object) -> Verdict:
    lines = "\n    ".join(body.strip().splitlines())
    (tmp_path / "app_tried.py").write_text(f"{HEAD}{head}\ndef handler(event, context):\n    {lines}\n")
    return prove(subject_of("app_tried:handler", tmp_path), Options(faults=0, **options))  # type: ignore[arg-type]


def body_of(verdict: Verdict) -> dict[str, object]:
    (body,) = map(json.loads, verdict.bodies)
    assert isinstance(body, dict)
    return body


def of_message(code: str) -> str:
    """A handler that does something with its message before its effect."""
    return f"order = json.loads(event['Records'][0]['body'])\n{code}\n{PUT}"


@pytest.mark.parametrize(
    ("code", "name", "value"),
    [
        ("keys = ['qty', 'sku']\nx = order[keys[1]]", "sku", "sample-sku"),
        ("x = int(order['part'])", "part", 1),
        ("x = order['part'] + 1", "part", 1),
        ("x = datetime.fromisoformat(order['when'])", "when", "2025-01-01T00:00:00+00:00"),
        ("x = datetime.strptime(order['when'], '%d.%m.%Y')", "when", "01.01.2025"),
        ("x = datetime.fromisoformat(order['at']) - datetime.utcnow()", "at", "2025-01-01T00:00:00"),
        ("x = uuid.UUID(order['ref'])", "ref", "5068e532-bca5-4efc-be63-c93601fe6344"),
        ("a, b = order['pair'].split(':')", "pair", "sample:part2"),
        ("x = order['path'].split('/')[2]", "path", "sample/part2/part3"),
        ("x = json.loads(order['inner'])['deep']", "inner", '{"deep":"sample-deep"}'),
        ("for line in order['lines']: line['sku']", "lines", [{"sku": "sample-sku"}]),
        ("x = {'new': 1, 'paid': 2}[order['state']]", "state", "new"),
        ("names = dict(**order['names'])", "names", {}),
        ("key = 'kind'\nif order.get(key) != 'a': raise ValueError('unknown kind')", "kind", "a"),
        ("names = [one for one in order['names']]\nif len(names) > 1: raise ValueError", "names", ["sample-0"]),
        ("if 'EVENT-91' in order['code']: found = 1\nx = found", "code", "sample-codeEVENT-91"),
        ("key = 'n'\nif not isinstance(order[key], int): raise TypeError('n')", "n", 1),
        ("for key in ('a', 'b'):\n    if key not in order: raise ValueError(key)", "b", "sample-b"),
    ],
)
def test_failure_says_which_part_of_the_message_to_change(tmp_path: Path, code: str, name: str, value: object) -> None:
    verdict = proved(tmp_path, of_message(code))

    assert body_of(verdict)[name] == value


def test_error_that_the_handler_swallows_is_seen(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "try:\n    order = json.loads(event['Records'][0]['body'])\n    names = ['customer']\n"
        f"    order[names[0]]\n    {PUT}\nexcept KeyError:\n    logging.exception('bad message')",
    )

    assert body_of(verdict)["customer"] == "sample-customer"
    assert "app_tried.py" in verdict.assumptions["Records.0.body.customer of the event"]


def test_text_that_the_handler_waits_for_is_given(tmp_path: Path) -> None:
    code = f"order = json.loads(event['Records'][0]['body'])\nname = 'state'\nif order.get(name) == 'PAID':\n    {PUT}"

    verdict = proved(tmp_path, code)

    assert body_of(verdict)["state"] == "PAID"


def test_row_that_is_missing_gets_what_the_handler_reads_of_it(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "table = boto3.resource('dynamodb').Table('orders')\n"
        "item = table.get_item(Key={'pk': 'o-1', 'sk': 7})['Item']\n"
        f"name = item['customer']['name'] + str(item['total'] * 2)\n{PUT}",
    )

    assert verdict.assumptions["table orders"].startswith("key pk, sk")
    assert "app_tried.py" in verdict.assumptions["Item.customer.name of the row of orders with pk o-1, sk 7"]


def test_secret_parameter_and_object_get_what_the_handler_reads_of_them(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "secret = json.loads(boto3.client('secretsmanager').get_secret_value(SecretId='db')['SecretString'])\n"
        "limits = json.loads(boto3.client('ssm').get_parameter(Name='/limits')['Parameter']['Value'])\n"
        "rules = json.loads(boto3.client('s3').get_object(Bucket='box', Key='rules.json')['Body'].read())\n"
        f"x = secret['username'], limits['daily'], rules['first']\n{PUT}",
    )

    told = " ".join(verdict.assumptions)
    assert "username of the secret db" in told
    assert "daily of the parameter /limits" in told
    assert "first of the object box/rules.json" in told


def test_variable_whose_value_does_not_fit_gets_another(tmp_path: Path) -> None:
    verdict = proved(tmp_path, f"x = [int(one) for one in (os.environ['LEVEL'],)]\n{PUT}")

    assert verdict.assumptions["variable LEVEL"].startswith("'1'")


def test_variable_that_is_read_by_a_computed_name_is_found(tmp_path: Path) -> None:
    verdict = proved(tmp_path, f"stage = 'dev'\nx = os.environ[stage.upper() + '_TABLE']\n{PUT}")

    assert "sample-table" in verdict.assumptions["variable DEV_TABLE"]


def test_tries_end_where_no_guess_helps(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"app_tried\.py:6: raise RuntimeError") as refused:
        proved(tmp_path, "raise RuntimeError('never')")

    assert "app_tried.py:handler --save-event event.json" in str(refused.value.next_step)


def test_handler_that_only_reads_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="changes nothing that can be seen"):
        proved(tmp_path, "print(json.loads(event['Records'][0]['body']).get('x'))")


def test_event_that_the_user_gives_is_never_changed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="KeyError"):
        proved(tmp_path, of_message("order['sku']"), bodies=('{"other": 1}',))


def test_equal_tries_give_equal_guesses(tmp_path: Path) -> None:
    first, second = (proved(tmp_path, of_message("x = int(order['part'])")) for _ in range(2))

    assert (first.bodies, first.assumptions) == (second.bodies, second.assumptions)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("a = boto3.client('rds').describe_db_snapshots()['DBSnapshots'][0]\nif a['Engine'] == 'mysql':\n    PUT",
         "Engine of the answer to rds DescribeDBSnapshots"),
        (("a = boto3.client('ec2').describe_instances()['Reservations'][0]['Instances'][0]\n"
         "if a['State']['Name'] != 'running':\n    PUT"), "State.Name of the answer to ec2 DescribeInstances"),
        (("a = boto3.client('ce').get_cost_and_usage(TimePeriod={'Start': 'a', 'End': 'b'}, Metrics=['X'])\n"
         "x = float(a['ResultsByTime'][0]['Total']['X']['Amount'])\nPUT"), "Total.X.Amount of the answer to ce"),
        (("q = 'https://sqs.us-east-1.amazonaws.com/000000000000/jobs'\n"
         "for one in boto3.client('sqs').receive_message(QueueUrl=q).get('Messages', []):\n"
         "    x = json.loads(one['Body'])['kind']\n    PUT"), "Body.kind of the messages of the queue jobs"),
    ],
)  # fmt: skip
def test_answers_that_were_made_up_are_changed_until_work_is_done(tmp_path: Path, code: str, told: str) -> None:
    verdict = proved(tmp_path, code.replace("PUT", PUT))

    assert any(told in name for name in verdict.assumptions), verdict.assumptions
    assert verdict.effects == {"item in seen": 1}


def test_work_whose_message_stays_in_a_queue_that_the_handler_receives_from_is_not_lost(tmp_path: Path) -> None:
    body = (
        "q = 'https://sqs.us-east-1.amazonaws.com/000000000000/jobs'\nsqs = boto3.client('sqs')\n"
        "try:\n    for one in sqs.receive_message(QueueUrl=q).get('Messages', []):\n        PUT\n"
        "        sqs.delete_message(QueueUrl=q, ReceiptHandle=one['ReceiptHandle'])\nexcept Exception:\n    pass"
    )
    proved(tmp_path, body.replace("PUT", PUT))

    verdict = prove(subject_of("app_tried:handler", tmp_path), Options(faults=1))

    assert verdict.counterexample is None


@pytest.mark.parametrize(
    ("code", "name", "value"),
    [
        ("if order['path'].split('/')[2] != 'CloudTrail': return", "path", "sample/part2/CloudTrail"),
        ("key = 'rows'\nfor row in order[key]: row['sku']", "rows", [{"sku": "sample-sku"}]),
        ("if os.environ['MODE'] != order['mode']: return", "mode", "sample-mode"),
        ("if len(order['key'].split('/')) < 3: return", "key", "part1/part2/sample-key"),
    ],
)
def test_what_leads_past_the_work_says_what_to_change(tmp_path: Path, code: str, name: str, value: object) -> None:
    verdict = proved(tmp_path, of_message(code))

    assert body_of(verdict)[name] == value


def test_object_whose_members_are_read_in_a_loop_is_a_list(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "rows = json.loads(boto3.client('s3').get_object(Bucket='box', Key='rows.json')['Body'].read())\n"
        f"for row in rows:\n    row.get('sku')\n    {PUT}",
    )

    assert verdict.effects == {"item in seen": 1}


def test_row_meets_the_condition_with_which_a_table_is_scanned(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "from boto3.dynamodb.conditions import Attr\ntable = boto3.resource('dynamodb').Table('jobs')\n"
        f"for job in table.scan(FilterExpression=Attr('tries').lt(3)).get('Items', []):\n    {PUT}",
    )

    assert verdict.effects == {"item in seen": 1}


def test_row_without_which_an_api_refuses_is_there(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "row = boto3.resource('dynamodb').Table('orders').get_item(Key={'id': event['pathParameters']['id']})\n"
        f"if not row.get('Item'): return {{'statusCode': 404}}\n{PUT}\nreturn {{'statusCode': 200}}",
        trigger=Kind.API,
    )

    assert verdict.effects == {"item in seen": 1}


def test_body_of_a_request_stays_a_text(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        f"rows = json.loads(event['body'])\nx = rows[0]['sku']\n{PUT}\nreturn {{'statusCode': 200}}",
        trigger=Kind.API,
    )

    assert json.loads(str(body_of(verdict)["body"])) == [{"sku": "sample-sku"}]


def test_handler_that_draws_whether_it_fails_is_proved_with_a_seed_with_which_it_does_not(tmp_path: Path) -> None:
    verdict = proved(tmp_path, f"if random.random() < 0.7: raise OSError\n{PUT}", "import random")

    assert verdict.effects == {"item in seen": 1}


def test_function_that_takes_the_members_of_a_message_gets_those_that_it_takes(tmp_path: Path) -> None:
    head = "from dataclasses import dataclass\n@dataclass\nclass Order:\n    sku: str\n    lines: list\n"
    verdict = proved(tmp_path, f"Order(**json.loads(event['Records'][0]['body']))\n{PUT}", head)

    assert body_of(verdict) == {"sku": "sample-sku", "lines": []}


def test_member_that_the_handler_writes_itself_is_not_in_its_message(tmp_path: Path) -> None:
    code = "if 'done' in order: return\norder['done'] = order['sku']\nprint(order['done'])"
    verdict = proved(tmp_path, of_message(code))

    assert body_of(verdict) == {"sku": "sample-sku"}


def test_variable_that_is_compared_in_vain_gets_another_value(tmp_path: Path) -> None:
    verdict = proved(tmp_path, f"if os.environ['MODE'].lower() not in ('on', 'yes'): return\n{PUT}")

    assert "'on'" in verdict.assumptions["variable MODE"]


def test_variable_that_is_asked_for_by_a_computed_name_and_is_none_is_set(tmp_path: Path) -> None:
    verdict = proved(tmp_path, f"name = 'TARGET_' + 'TABLE'\nos.getenv(name).lower()\n{PUT}")

    assert "sample-table" in verdict.assumptions["variable TARGET_TABLE"]


def test_object_gets_the_tags_and_the_metadata_that_the_handler_asks_for(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "s3 = boto3.client('s3')\nplace = {'Bucket': 'inbox', 'Key': 'a.txt'}\n"
        "listed = s3.get_object_tagging(**place)['TagSet']\ntags = [one for one in listed if one['Key'] == 'owner']\n"
        "kind = s3.head_object(**place)['Metadata'].get('kind')\n"
        f"if not tags or kind != 'invoice': return\n{PUT}",
    )

    assert "owner of the tags of the object inbox/a.txt" in verdict.assumptions
    assert "'invoice'" in verdict.assumptions["kind of the metadata of the object inbox/a.txt"]


def test_compressed_object_is_filled_as_its_text_is(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "body = boto3.client('s3').get_object(Bucket='inbox', Key='log.json.gz')['Body'].read()\n"
        f"for one in json.loads(gzip.decompress(body))['Records']:\n    if one['eventName'] == 'Put': {PUT}",
        "import gzip\n",
    )

    assert verdict.effects == {"item in seen": 1}
