"""Statements of the RDS Data API leave rows, as those of drivers do, and have their faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.judge.judge import Rule
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

HEAD = """import json
import boto3

data = boto3.client("rds-data")
WHERE = {"resourceArn": "arn:aws:rds:us-east-1:000000000000:cluster:shop", "secretArn": "s", "database": "shop"}


def run(sql, transaction=None, **values):
    parameters = [
        {"name": name, "value": {"stringValue": value} if isinstance(value, str) else {"longValue": value}}
        for name, value in values.items()
    ]
    more = {} if transaction is None else {"transactionId": transaction}
    return data.execute_statement(sql=sql, parameters=parameters, **WHERE, **more)


def handler(event, context):
    order = json.loads(event["Records"][0]["body"])
"""
ORDER = '{"order": "o-1", "amount": 5}'


def proved(folder: Path, body: str, faults: int = 1) -> Verdict:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    code = folder / "app"  # Files of SQL in the folder above are read, too: those of other tests are not.
    code.mkdir()
    (code / "app_data.py").write_text(HEAD + lines, "utf-8")
    return prove(subject_of("app_data:handler", code), Options(faults=faults, bodies=(ORDER,)))


@pytest.mark.parametrize(
    ("statement", "is_safe"),
    [
        ("INSERT INTO payments (order_id, amount) VALUES (:order, :amount)", False),
        ("INSERT INTO orders (id, amount) VALUES (:order, :amount) ON CONFLICT (id) DO NOTHING", True),
        ("INSERT INTO orders (id, amount) VALUES (:order, :amount) ON DUPLICATE KEY UPDATE amount = :amount", True),
    ],
)
def test_row_is_repeated_unless_it_has_a_key(tmp_path: Path, statement: str, *, is_safe: bool) -> None:
    verdict = proved(tmp_path, f"run({statement!r}, **order)")

    assert (verdict.counterexample is None) == is_safe


def test_transaction_is_done_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE done (id TEXT PRIMARY KEY);", "utf-8")

    verdict = proved(
        tmp_path,
        """
begun = data.begin_transaction(**WHERE)["transactionId"]
known = run("SELECT id FROM done WHERE id = :id", begun, id=order["order"])["records"]
if not known:
    run("INSERT INTO done (id) VALUES (:id)", begun, id=order["order"])
    run("INSERT INTO payments (order_id, amount) VALUES (:id, :amount)", begun, id=order["order"], amount=5)
where = {name: WHERE[name] for name in ("resourceArn", "secretArn")}
data.commit_transaction(transactionId=begun, **where)
""",
    )

    assert verdict.counterexample is None
    assert set(verdict.effects) == {"row in done", "row in payments"}


def test_batch_leaves_a_row_for_each_set_of_parameters(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
sets = [[{"name": "id", "value": {"stringValue": f"{order['order']}-{line}"}}] for line in range(3)]
data.batch_execute_statement(sql="INSERT INTO lines (id) VALUES (:id) ON CONFLICT (id) DO NOTHING",
                             parameterSets=sets, **WHERE)
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in lines": 3}


def test_key_that_is_there_is_an_error_of_the_database(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE orders (id TEXT PRIMARY KEY);", "utf-8")

    verdict = proved(
        tmp_path,
        """
try:
    run("INSERT INTO orders (id) VALUES (:order)", order=order["order"])
except data.exceptions.DatabaseErrorException as error:
    assert "23505" in str(error)
found = run("SELECT id, 'a:b%' AS text, 1 AS one FROM orders WHERE id LIKE 'o%'")["records"]
assert found == [[{"stringValue": "o-1"}, {"stringValue": "a:b%"}, {"longValue": 1}]], found
""",
    )

    assert verdict.counterexample is None


def test_lost_answer_is_a_connection_that_was_closed(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
from botocore.exceptions import ConnectionClosedError
try:
    run("INSERT INTO payments (order_id) VALUES (:order)", order=order["order"])
except ConnectionClosedError:
    pass
""",
    )

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule in (Rule.ONCE, Rule.ALL)
