"""A simulation decides as a real call would, and does nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

ROLE = "arn:aws:iam::000000000000:role/worker"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"


@pytest.fixture
def simulate(iam, role):
    """The results of simulating the role's calls."""

    def simulate(*actions, **params):
        given = {"PolicySourceArn": ROLE, "ActionNames": actions, "ResourceArns": [QUEUE], **params}
        return iam.simulate_principal_policy(**given)["EvaluationResults"]

    return simulate


def decisions(results: list[dict[str, Any]]) -> list[str]:
    return [result["EvalDecision"] for result in results]


def test_each_action_on_each_resource_is_decided(iam, simulate, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:SendMessage", QUEUE))
    iam.put_role_policy(RoleName="worker", PolicyName="no", PolicyDocument=allow("sqs:PurgeQueue", "*", "Deny"))

    results = simulate("sqs:SendMessage", "sqs:PurgeQueue", ResourceArns=[QUEUE, f"{QUEUE}-dlq"])

    assert decisions(results) == ["allowed", "implicitDeny", "explicitDeny", "explicitDeny"]
    assert (results[0]["EvalActionName"], results[0]["EvalResourceName"]) == ("sqs:SendMessage", QUEUE)
    assert [result["MatchedStatements"] for result in results] == [
        [{"SourcePolicyId": "own"}], [], [{"SourcePolicyId": "no"}], [{"SourcePolicyId": "no"}],
    ]  # fmt: skip


def test_given_policies_count_beside_the_roles_own(simulate, allow):
    results = simulate("sqs:SendMessage", PolicyInputList=[allow("sqs:*")])

    assert decisions(results) == ["allowed"]
    assert results[0]["MatchedStatements"] == [{"SourcePolicyId": "PolicyInputList.1"}]


def test_given_boundary_stands_in_for_the_roles_own(iam, simulate, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))
    iam.put_role_permissions_boundary(
        RoleName="worker", PermissionsBoundary="arn:aws:iam::aws:policy/AdministratorAccess"
    )

    (own,) = simulate("sqs:SendMessage")
    (given,) = simulate("sqs:SendMessage", PermissionsBoundaryPolicyInputList=[allow("logs:*")])

    assert (own["EvalDecision"], own["PermissionsBoundaryDecisionDetail"]) == (
        "allowed",
        {"AllowedByPermissionsBoundary": True},
    )
    assert (given["EvalDecision"], given["PermissionsBoundaryDecisionDetail"]) == (
        "implicitDeny",
        {"AllowedByPermissionsBoundary": False},
    )


def test_context_entries_answer_conditions_and_missing_ones_are_named(simulate):
    statement = {
        "Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:RequestedRegion": "us-east-1"}},
    }  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    entry = {"ContextKeyName": "aws:RequestedRegion", "ContextKeyValues": ["us-east-1"], "ContextKeyType": "string"}

    (without,) = simulate("sqs:SendMessage", PolicyInputList=[document])
    (with_entry,) = simulate("sqs:SendMessage", PolicyInputList=[document], ContextEntries=[entry])

    assert (without["EvalDecision"], without["MissingContextValues"]) == ("implicitDeny", ["aws:RequestedRegion"])
    assert (with_entry["EvalDecision"], with_entry["MissingContextValues"]) == ("allowed", [])


def test_resource_policy_allows_the_caller_it_names(simulate):
    statement = {
        "Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": "sqs:SendMessage", "Resource": QUEUE,
    }  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    bob = "arn:aws:iam::000000000000:user/bob"

    results = simulate("sqs:SendMessage", ResourcePolicy=document)
    as_bob = simulate("sqs:SendMessage", ResourcePolicy=document, CallerArn=bob)

    assert decisions(results) == ["allowed"]
    assert results[0]["MatchedStatements"] == [{"SourcePolicyId": "ResourcePolicy"}]
    assert decisions(as_bob) == ["implicitDeny"]


def test_results_come_in_pages_in_the_order_asked(iam, role):
    params = {"PolicySourceArn": ROLE, "ActionNames": ["sqs:B", "sqs:A", "sqs:C"]}

    first = iam.simulate_principal_policy(**params, MaxItems=2)
    second = iam.simulate_principal_policy(**params, Marker=first["Marker"])

    results = first["EvaluationResults"] + second["EvaluationResults"]
    assert [result["EvalActionName"] for result in results] == ["sqs:B", "sqs:A", "sqs:C"]
    assert {result["EvalResourceName"] for result in results} == {"*"}


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        (
            {"PolicySourceArn": f"{ROLE}s"},
            "NoSuchEntity",
            "The entity arn:aws:iam::000000000000:role/workers cannot be found.",
        ),
        ({"PolicyInputList": ["nonsense"]}, "InvalidInput", "Invalid Input Syntax errors in policy."),
        (
            {"PermissionsBoundaryPolicyInputList": ["{}", "{}"]},
            "InvalidInput",
            "Only one permissions boundary policy can be specified.",
        ),
        (
            {"CallerArn": QUEUE},
            "InvalidInput",
            f"Invalid Entity Arn: {QUEUE} does not clearly define entity type and name.",
        ),
        (
            {"ContextEntries": [{"ContextKeyName": "aws:RequestedRegion", "ContextKeyType": "string"}]},
            "InvalidInput",
            "A context entry lacks its ContextKeyValues.",
        ),
        (
            {"ResourceHandlingOption": "EC2-VPC-InstanceStore"},
            "NotImplemented",
            "redrive does not implement ResourceHandlingOption of SimulatePrincipalPolicy: leave it out.",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(refusal, role, params, code, message):
    given = {"PolicySourceArn": ROLE, "ActionNames": ["sqs:SendMessage"], **params}

    assert refusal("simulate_principal_policy", **given)[:2] == (code, message)
