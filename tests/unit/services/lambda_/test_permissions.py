"""The resource policy of a function, and tags."""

from __future__ import annotations

import json

import pytest

from tests.unit.services.lambda_.functions import ARN, Rig

MISSING = "The resource you requested does not exist."


def add(rig: Rig, sid: str = "s", **params: object) -> dict[str, object]:
    """Add a permission for EventBridge."""
    given = {"Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com", **params}
    answer = rig.call("AddPermission", FunctionName="worker", StatementId=sid, **given)
    statement: dict[str, object] = json.loads(answer["Statement"])
    return statement


def test_permission_is_a_statement_of_the_policy(rig: Rig) -> None:
    rig.create_function()
    rule = "arn:aws:events:us-east-1:000000000000:rule/r"

    statement = add(rig, SourceArn=rule, SourceAccount="000000000000")

    assert statement == {
        "Sid": "s",
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "lambda:InvokeFunction",
        "Resource": f"{ARN}worker",
        "Condition": {"StringEquals": {"AWS:SourceAccount": "000000000000"}, "ArnLike": {"AWS:SourceArn": rule}},
    }
    policy = json.loads(rig.call("GetPolicy", FunctionName="worker")["Policy"])
    assert policy == {"Version": "2012-10-17", "Id": "default", "Statement": [statement]}


@pytest.mark.parametrize(
    ("principal", "written"),
    [
        ("*", "*"),
        ("123456789012", {"AWS": "arn:aws:iam::123456789012:root"}),
        ("arn:aws:iam::123456789012:role/r", {"AWS": "arn:aws:iam::123456789012:role/r"}),
        ("s3.amazonaws.com", {"Service": "s3.amazonaws.com"}),
    ],
)
def test_principal_is_written_by_its_kind(rig: Rig, principal: str, written: object) -> None:
    rig.create_function()

    assert add(rig, Principal=principal)["Principal"] == written


def test_further_conditions_are_written_into_the_statement(rig: Rig) -> None:
    rig.create_function()

    statement = add(
        rig, PrincipalOrgID="o-0123456789", EventSourceToken="t", FunctionUrlAuthType="NONE", InvokedViaFunctionUrl=True
    )

    assert statement["Condition"] == {
        "StringEquals": {
            "aws:PrincipalOrgID": "o-0123456789",
            "lambda:EventSourceToken": "t",
            "lambda:FunctionUrlAuthType": "NONE",
        },
        "Bool": {"lambda:InvokedViaFunctionUrl": "true"},
    }


def test_statement_of_a_name_in_use_is_refused(rig: Rig) -> None:
    rig.create_function()
    add(rig)

    refusal = rig.refusal(
        "AddPermission", FunctionName="worker", StatementId="s", Action="lambda:InvokeFunction", Principal="*"
    )

    assert refusal == (
        "ResourceConflictException",
        (
            "The statement id (s) provided already exists. "
            "Please provide a new statement id, or remove the existing statement."
        ),
    )


def test_policy_over_20_kb_is_refused(rig: Rig) -> None:
    rig.create_function()
    for number in range(8):
        add(rig, f"s{number}", Principal=f"{'x' * 2000}.amazonaws.com", SourceAccount="000000000000")

    code, message = rig.refusal(
        "AddPermission", FunctionName="worker", StatementId="last", Action="lambda:InvokeFunction",
        Principal=f"{'x' * 2030}.amazonaws.com", SourceArn="arn:aws:s3:::" + "x" * 3_000,
    )  # fmt: skip

    assert code == "PolicyLengthExceededException"
    assert message.endswith("is bigger than the limit (20480).")


def test_removed_permission_is_gone_and_the_empty_policy_with_it(rig: Rig) -> None:
    rig.create_function()
    add(rig)

    rig.call("RemovePermission", FunctionName="worker", StatementId="s")

    assert rig.refusal("GetPolicy", FunctionName="worker") == ("ResourceNotFoundException", MISSING)
    assert rig.refusal("RemovePermission", FunctionName="worker", StatementId="s") == (
        "ResourceNotFoundException",
        "No policy is associated with the given resource.",
    )
    add(rig)
    assert rig.refusal("RemovePermission", FunctionName="worker", StatementId="other") == (
        "ResourceNotFoundException",
        "Statement other is not found in resource policy.",
    )


def test_change_to_another_revision_of_the_policy_is_refused(rig: Rig) -> None:
    rig.create_function()
    add(rig)
    revision = rig.call("GetPolicy", FunctionName="worker")["RevisionId"]

    refusal = rig.refusal("RemovePermission", FunctionName="worker", StatementId="s", RevisionId="other")
    rig.call("RemovePermission", FunctionName="worker", StatementId="s", RevisionId=revision)

    assert refusal[0] == "PreconditionFailedException"


def test_permission_leaves_the_revision_of_the_function_alone(rig: Rig) -> None:
    """Processes that run the function need not start anew."""
    rig.create_function()
    before = rig.call("GetFunctionConfiguration", FunctionName="worker")["RevisionId"]

    add(rig)

    assert rig.call("GetFunctionConfiguration", FunctionName="worker")["RevisionId"] == before


def test_tags_are_added_listed_and_taken_away(rig: Rig) -> None:
    arn = rig.create_function(Tags={"a": "1"})["FunctionArn"]

    rig.call("TagResource", Resource=arn, Tags={"a": "2", "b": "3"})
    both = rig.call("ListTags", Resource=arn)
    rig.call("UntagResource", Resource=arn, TagKeys=["a", "unknown"])

    assert both == {"Tags": {"a": "2", "b": "3"}}
    assert rig.call("ListTags", Resource=arn) == {"Tags": {"b": "3"}}


def test_51st_tag_is_refused(rig: Rig) -> None:
    arn = rig.create_function(Tags={f"k{number}": "v" for number in range(50)})["FunctionArn"]

    refusal = rig.refusal("TagResource", Resource=arn, Tags={"one": "more"})

    assert refusal == ("InvalidParameterValueException", "Number of tags exceeds resource tag limit.")


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (f"{ARN}ghost", f"Function not found: {ARN}ghost"),
        ("arn:aws:lambda:us-east-1:000000000000:event-source-mapping:00000000-0000-4000-8000-000000000000", MISSING),
        ("arn:aws:lambda:us-east-1:000000000000:code-signing-config:csc-" + "0" * 17, MISSING),
    ],
)
def test_tags_of_what_does_not_exist_are_not_found(rig: Rig, resource: str, message: str) -> None:
    assert rig.refusal("ListTags", Resource=resource) == ("ResourceNotFoundException", message)
