"""Reading policy documents, and the sentences in which IAM refuses them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from redrive.languages.iam import Effect, PolicyError, PolicyKind, parse_policy
from redrive.languages.iam.model import Condition, Principals, Quantifier, Selection, Statement

QUEUE = "arn:aws:sqs:us-east-1:123456789012:orders"
SYNTAX = "Syntax errors in policy."
BAD_SID = (
    "Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the regular expression [0-9A-Za-z]*"
)
ALLOW = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": QUEUE}
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
GRANT = {**ALLOW, "Principal": "*"}


def document(*statements: Mapping[str, object], **fields: object) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": list(statements), **fields}


def conditioned(condition: object) -> dict[str, object]:
    return document({**ALLOW, "Condition": condition})


def without(fields: Mapping[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in fields.items() if key != name}


def test_policy_is_read_whole() -> None:
    """Every element of the grammar finds its place; one value may be written without a list."""
    text = json.dumps(
        {
            "Version": "2012-10-17",
            "Id": "policy",
            "Statement": {
                "Sid": "Rule1",
                "Effect": "Deny",
                "NotAction": ["sqs:*", "sns:Publish"],
                "NotResource": QUEUE,
                "Principal": {"AWS": "123456789012", "Service": ["events.amazonaws.com"]},
                "Condition": {"ForAnyValue:StringLikeIfExists": {"aws:TagKeys": ["a*", 7, True]}},
            },
        }
    )

    policy = parse_policy(text, PolicyKind.RESOURCE)

    assert (policy.version, policy.id) == ("2012-10-17", "policy")
    assert policy.statements == (
        Statement(
            sid="Rule1",
            effect=Effect.DENY,
            actions=Selection(("sqs:*", "sns:Publish"), negated=True),
            resources=Selection((QUEUE,), negated=True),
            principals=Principals(aws=("123456789012",), service=("events.amazonaws.com",)),
            conditions=(Condition("StringLike", "aws:TagKeys", ("a*", "7", "true"), Quantifier.FOR_ANY_VALUE, True),),
        ),
    )


def test_version_may_be_left_out_and_is_the_older_one() -> None:
    assert parse_policy({"Statement": [ALLOW]}).version == "2008-10-17"


@pytest.mark.parametrize(
    ("written", "complete"),
    [
        ("arn:aws:sqs", "arn:aws:sqs:*:*:*"),
        ("arn:aws:sqs:us-east-1", "arn:aws:sqs:us-east-1:*:*"),
        ("arn:aws:sqs:${aws:PrincipalAccount}", "arn:aws:sqs:${aws:PrincipalAccount}:*:*"),
        ("*", "*"),
        (QUEUE, QUEUE),
    ],
)
def test_incomplete_arn_is_completed_with_wildcards(written: str, complete: str) -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html"""
    policy = parse_policy(document({**ALLOW, "Resource": written}))

    assert policy.statements[0].resources == Selection((complete,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"Statement": [], "Statement": []}',
        '{"Statement": NaN}',
        '{"Id": "\\ud800"}',
        "[" * 100_000,
    ],
)
def test_identity_policy_that_is_no_json_object_has_syntax_errors(text: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(text)

    assert error.value.message == SYNTAX


def test_trust_policy_that_is_no_json_says_so() -> None:
    with pytest.raises(PolicyError, match="This policy contains invalid Json"):
        parse_policy("trust.json", PolicyKind.TRUST)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({**document(ALLOW), "Version": "2012-10-18"}, "The policy must contain a valid version string"),
        ({**document(ALLOW), "version": "2012-10-17"}, SYNTAX),
        ({"Version": "2012-10-17"}, SYNTAX),
        (document(), SYNTAX),
        (document({**ALLOW, "Effect": "allow"}), SYNTAX),
        (document(without(ALLOW, "Effect")), SYNTAX),
        (document({**ALLOW, "Colour": "red"}), SYNTAX),
        (document({**ALLOW, "NotAction": "s3:*"}), SYNTAX),
        (document({**ALLOW, "Action": {"Ref": "X"}}), SYNTAX),
        (document({**ALLOW, "Sid": 7}), SYNTAX),
        (document({**ALLOW, "Principal": "*"}), "Policy document should not specify a principal."),
        (document(without(ALLOW, "Action")), "Policy statement must contain actions."),
        (document({**ALLOW, "Action": []}), "Policy statement must contain actions."),
        (document(without(ALLOW, "Resource")), "Policy statement must contain resources."),
        (document({**ALLOW, "Resource": []}), "Policy statement must contain resources."),
        (
            document({**ALLOW, "Action": "SendMessage"}),
            "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
        ),
        (
            document({**ALLOW, "Action": "aws:sqs:SendMessage"}),
            "Actions/Condition can contain only one colon.",
        ),
        (document({**ALLOW, "Resource": "orders"}), 'Resource orders must be in ARN format or "*".'),
        (document({**ALLOW, "Resource": ""}), 'Resource  must be in ARN format or "*".'),
        (
            document({**ALLOW, "Resource": "arn::sqs:::q"}),
            'Partition "" is not valid for resource "arn::sqs:::q".',
        ),
        (
            document({**ALLOW, "Resource": "arn:aws:iam:us-east-1:123456789012:role/x"}),
            "IAM resource arn:aws:iam:us-east-1:123456789012:role/x cannot contain region information.",
        ),
        (
            document({**ALLOW, "Sid": "rule-1"}),
            BAD_SID,
        ),
        (
            document({**ALLOW, "Sid": "a"}, {**ALLOW, "Sid": "a"}),
            "Statement IDs (SID) in a single policy must be unique.",
        ),
    ],
)
def test_malformed_identity_policy_is_refused(policy: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(policy)

    assert error.value.message == message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ({**TRUST, "Resource": "*"}, "Has prohibited field Resource"),
        ({**TRUST, "NotResource": "*"}, "Has prohibited field NotResource"),
        (without(TRUST, "Principal"), "Missing required field Principal"),
        (without(TRUST, "Action"), "Missing required field Action"),
        (without(TRUST, "Effect"), "Missing required field Effect"),
        ({**TRUST, "Actions": "x"}, "Unknown field Actions"),
        (
            {**TRUST, "Action": "sqs:SendMessage"},
            "AssumeRole policy may only specify STS AssumeRole actions.",
        ),
        ({**TRUST, "Principal": {"AWS": "bob"}}, 'Invalid principal in policy: "AWS":"bob"'),
        (
            {**TRUST, "Principal": {"AWS": "arn:aws:iam::123456789012:role/*"}},
            'Invalid principal in policy: "AWS":"arn:aws:iam::123456789012:role/*"',
        ),
        ({**TRUST, "Principal": {"Service": "lambda"}}, 'Invalid principal in policy: "SERVICE":"lambda"'),
        ({**TRUST, "Principal": {"Robot": "x"}}, SYNTAX),
        ({**TRUST, "Principal": {}}, SYNTAX),
        ({**TRUST, "Principal": "bob"}, SYNTAX),
    ],
)
def test_malformed_trust_policy_is_refused(statement: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(document(statement), PolicyKind.TRUST)

    assert error.value.message == message


@pytest.mark.parametrize("name", ["Principal", "Resource", "Action", "Effect"])
def test_resource_policy_names_what_it_lacks(name: str) -> None:
    with pytest.raises(PolicyError, match=f"^Missing required field {name}$"):
        parse_policy(document(without(GRANT, name)), PolicyKind.RESOURCE)


def test_resource_policy_may_bear_any_label() -> None:
    """SQS and Lambda accept statement ids that IAM's own policies may not have."""
    policy = parse_policy(document({**GRANT, "Sid": "events-to-orders"}), PolicyKind.RESOURCE)

    assert policy.statements[0].sid == "events-to-orders"


@pytest.mark.parametrize(
    "principal",
    [
        {"AWS": "*"},
        {"AWS": ["123456789012", "arn:aws:iam::123456789012:root"]},
        {"AWS": "arn:aws:iam::123456789012:role/path/to/role-1"},
        {"AWS": "arn:aws-cn:iam::123456789012:user/bob@example.com"},
        {"AWS": "arn:aws:sts::123456789012:assumed-role/role/session"},
        {"AWS": "AROACKCEVSQ6C2EXAMPLE"},
        {"Service": ["lambda.amazonaws.com", "logs.us-east-1.amazonaws.com", "ec2.amazonaws.com.cn"]},
        {"Federated": "cognito-identity.amazonaws.com"},
        "*",
    ],
)
def test_principals_of_every_form_are_accepted(principal: object) -> None:
    policy = parse_policy(document({**TRUST, "Principal": principal}), PolicyKind.TRUST)

    assert policy.statements[0].principals is not None


@pytest.mark.parametrize(
    "condition",
    [
        {"StringMatches": {"aws:username": "x"}},
        {"ForSomeValues:StringLike": {"aws:TagKeys": "x"}},
        {":StringLike": {"aws:TagKeys": "x"}},
        {"stringlike": {"aws:TagKeys": "x"}},
        {"IfExists": {"aws:TagKeys": "x"}},
        {"NullIfExists": {"aws:TagKeys": "true"}},
        {"ForAllValues:Null": {"aws:TagKeys": "true"}},
        {"Null": {"aws:TagKeys": "perhaps"}},
        {"Bool": {"aws:SecureTransport": "yes"}},
        {"NumericLessThan": {"s3:max-keys": "ten"}},
        {"NumericEquals": {"s3:max-keys": "NaN"}},
        {"NumericEquals": {"s3:max-keys": "${aws:PrincipalAccount}"}},
        {"DateLessThan": {"aws:CurrentTime": "tomorrow"}},
        {"IpAddress": {"aws:SourceIp": "10.0.0.0/40"}},
        {"BinaryEquals": {"key": "not base64"}},
        {"StringEquals": {"aws:username": None}},
        {"StringEquals": {"aws:username": {"Ref": "X"}}},
        {"StringEquals": "aws:username"},
        "StringEquals",
    ],
)
def test_condition_that_cannot_be_understood_is_a_syntax_error(condition: object) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(conditioned(condition))

    assert error.value.message == SYNTAX
