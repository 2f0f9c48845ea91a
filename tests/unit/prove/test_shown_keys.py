"""The key of a table is what all calls of the source show, and not only the first call."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.guess.keys import key_of_item, shown_keys
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options

RESOURCE = "import os, boto3\ntable = boto3.resource('dynamodb').Table(os.environ['T'])\n"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("table.get_item(Key={'pk': a, 'sk': b})", ["pk", "sk"]),
        ("table.query(KeyConditionExpression=Key('pk').eq(a) & Key('at').begins_with(b))", ["pk", "at"]),
        ("table.query(KeyConditionExpression='#p = :p AND a > :a', ExpressionAttributeNames={'#p': 'k'})", ["k", "a"]),
        ("key = {'pk': a, 'sk': b}\ntable.update_item(Key=key)", ["pk", "sk"]),
        ("c.transact_write_items(TransactItems=[{'Update': {'TableName': 'orders', 'Key': {'id': a}}}])", ["id"]),
    ],
)  # fmt: skip
def test_calls_show_the_key(tmp_path: Path, code: str, names: list[str]) -> None:
    (tmp_path / "app.py").write_text(RESOURCE + code)

    assert list(shown_keys(tmp_path / "app.py", {"T": "orders"})["orders"].names) == names


def test_types_show_in_the_source(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(RESOURCE + "c.get_item(TableName='a', Key={'id': {'S': x}, 'at': {'N': y}})")

    assert shown_keys(tmp_path / "app.py", {})["a"].names == {"id": "S", "at": "N"}


def test_key_that_an_item_has_not_is_not_its_tables(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(RESOURCE + "table.get_item(Key={'id': a})")
    shown = shown_keys(tmp_path / "app.py", {"T": "orders"})["orders"]

    assert key_of_item(shown, {"id": "S", "total": "N"}) == {"id": "S"}
    assert key_of_item(shown, {"total": "N"}) == {}


def test_put_before_get_makes_a_table_with_the_key_of_both(tmp_path: Path) -> None:
    (tmp_path / "app_keys.py").write_text(
        f"{RESOURCE}def handler(event, context):\n"
        "    table.put_item(Item={'customer': 'c', 'order': 5, 'note': 'n'})\n"
        "    table.update_item(Key={'customer': 'c', 'order': 5}, UpdateExpression='SET x = :x',\n"
        "        ExpressionAttributeValues={':x': 1})\n"
    )

    verdict = prove(subject_of("app_keys:handler", tmp_path), Options(faults=0))

    assert verdict.assumptions["table sample-table"] == "key customer, order, as app_keys.py:5 has it"
