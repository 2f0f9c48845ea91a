"""Resource policies of tables: who else may use a table, also from other accounts."""

from __future__ import annotations

import json

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from tests.unit.services.dynamodb.conftest import ORDERS, key

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
STRANGER = Caller(Scope("111111111111", "us-east-1"), "id")


def policy(effect: str = "Allow", action: object = "dynamodb:*", principal: str = "111111111111") -> str:
    statement = {"Effect": effect, "Principal": {"AWS": principal}, "Action": action, "Resource": [ARN, f"{ARN}/*"]}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def denied(world):
    """The code with which another account is refused; None if it is let in."""

    def denied(operation, **params):
        try:
            world.engine.call(STRANGER, "dynamodb", operation, params)
        except ServiceError as error:
            return error.code
        return None

    return denied


def test_policy_lets_another_account_in(call, orders, denied):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-cross-account-access.html"""
    put = {"TableName": ARN, "Item": key("ann", 1)}
    statement = f"SELECT * FROM \"{ARN}\" WHERE customer = 'ann'"
    before = denied("PutItem", **put)
    call("PutResourcePolicy", ResourceArn=ARN, Policy=policy(action=["dynamodb:PutItem", "dynamodb:PartiQLSelect"]))

    assert before == "AccessDeniedException"
    assert denied("PutItem", **put) is None
    assert denied("ExecuteStatement", Statement=statement) is None
    assert denied("GetItem", TableName=ARN, Key=key("ann", 1)) == "AccessDeniedException"
    assert call("GetItem", TableName="orders", Key=key("ann", 1))["Item"] == key("ann", 1)
    assert denied("PutItem", TableName="orders", Item=key("ann", 1)) == "ResourceNotFoundException"


def test_policy_may_deny_the_own_account(call, orders, refusal):
    call("PutResourcePolicy", ResourceArn=ARN, Policy=policy("Deny", "dynamodb:DeleteItem", "000000000000"))

    assert refusal("DeleteItem", TableName="orders", Key=key("ann", 1))[0] == "AccessDeniedException"
    call("PutItem", TableName="orders", Item=key("ann", 1))


def test_policy_has_revisions(call, orders, refusal):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutResourcePolicy.html"""
    first = call("PutResourcePolicy", ResourceArn=ARN, Policy=policy(), ExpectedRevisionId="NO_POLICY")["RevisionId"]
    wrong = refusal("PutResourcePolicy", ResourceArn=ARN, Policy=policy(), ExpectedRevisionId="NO_POLICY")
    second = call("PutResourcePolicy", ResourceArn=ARN, Policy=policy(action="dynamodb:GetItem"),
                  ExpectedRevisionId=first)["RevisionId"]  # fmt: skip

    shown = call("GetResourcePolicy", ResourceArn=ARN)

    assert wrong[0] == "PolicyNotFoundException"
    assert first != second
    assert shown == {"Policy": policy(action="dynamodb:GetItem"), "RevisionId": second}
    assert refusal("DeleteResourcePolicy", ResourceArn=ARN, ExpectedRevisionId=first)[0] == "PolicyNotFoundException"
    assert call("DeleteResourcePolicy", ResourceArn=ARN) == {"RevisionId": second}
    assert call("DeleteResourcePolicy", ResourceArn=ARN) == {}
    assert refusal("GetResourcePolicy", ResourceArn=ARN)[0] == "PolicyNotFoundException"


def test_policy_that_locks_its_author_out_has_to_be_confirmed(call, orders, refusal):
    locking = policy("Deny", "dynamodb:*", "000000000000")

    assert refusal("PutResourcePolicy", ResourceArn=ARN, Policy=locking)[0] == "ValidationException"
    call("PutResourcePolicy", ResourceArn=ARN, Policy=locking, ConfirmRemoveSelfResourceAccess=True)

    assert refusal("Scan", TableName="orders")[0] == "AccessDeniedException"
    call("DeleteResourcePolicy", ResourceArn=ARN)
    call("Scan", TableName="orders")


@pytest.mark.parametrize(
    "text", ["nonsense", policy(action="sqs:SendMessage"), policy(principal="x" * 21_000)], ids=["text", "sqs", "size"]
)
def test_text_that_is_no_policy_for_a_table_is_refused(refusal, orders, text):
    assert refusal("PutResourcePolicy", ResourceArn=ARN, Policy=text)[0] == "ValidationException"


def test_policy_of_a_missing_table_is_not_found(refusal):
    assert refusal("GetResourcePolicy", ResourceArn=ARN)[0] == "ResourceNotFoundException"
    assert refusal("GetResourcePolicy", ResourceArn="arn:aws:sqs:x")[0] == "ValidationException"


def test_table_may_be_created_with_a_policy_which_ends_with_it(call, refusal):
    call("CreateTable", **ORDERS, ResourcePolicy=policy())
    created = call("GetResourcePolicy", ResourceArn=ARN)["Policy"]
    call("DeleteTable", TableName="orders")
    call("CreateTable", **ORDERS)

    assert created == policy()
    assert refusal("GetResourcePolicy", ResourceArn=ARN)[0] == "PolicyNotFoundException"


def test_scans_may_be_denied_to_selects(world, call, orders):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html"""
    deny = {
        "Effect": "Deny", "Principal": {"AWS": "000000000000"}, "Action": "dynamodb:PartiQLSelect", "Resource": ARN,
        "Condition": {"Bool": {"dynamodb:FullTableScan": ["true"]}},
    }  # fmt: skip
    in_transactions = {
        "Effect": "Deny", "Principal": {"AWS": "000000000000"}, "Action": "dynamodb:PartiQLInsert", "Resource": ARN,
        "Condition": {"StringEquals": {"dynamodb:EnclosingOperation": ["ExecuteTransaction"]}},
    }  # fmt: skip
    text = json.dumps({"Version": "2012-10-17", "Statement": [deny, in_transactions]})
    call("PutResourcePolicy", ResourceArn=ARN, Policy=text)
    insert = "INSERT INTO orders VALUE {'customer': 'ann', 'order_no': 1}"

    call("ExecuteStatement", Statement="SELECT * FROM orders WHERE customer = 'ann'")
    call("ExecuteStatement", Statement=insert)
    with pytest.raises(ServiceError, match="AccessDenied"):
        call("ExecuteStatement", Statement="SELECT * FROM orders WHERE order_no = 1")
    with pytest.raises(ServiceError, match="AccessDenied"):
        call("ExecuteTransaction", TransactStatements=[{"Statement": insert.replace("1", "2")}])
