"""Deciding requests: what allows, what forbids, and which of the policies around a request must agree."""

from __future__ import annotations

import pytest

from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    Decision,
    ExplicitDeny,
    ImplicitDeny,
    Policy,
    PolicyKind,
    PolicySource,
    PrincipalInfo,
    decide,
    denial_message,
    parse_policy,
)

HERE = "123456789012"
THERE = "999999999999"
ROLE_ARN = f"arn:aws:iam::{HERE}:role/service/worker"
ROLE = PrincipalInfo.session(ROLE_ARN, "s1")
USER = PrincipalInfo.user(f"arn:aws:iam::{HERE}:user/alice")
EVENTS = PrincipalInfo.aws_service("events.amazonaws.com")
QUEUE = f"arn:aws:sqs:us-east-1:{HERE}:orders"
FOREIGN_QUEUE = f"arn:aws:sqs:us-east-1:{THERE}:orders"


def identity(effect: str = "Allow", action: object = "sqs:*", resource: object = "*", **more: object) -> Policy:
    statement = {"Effect": effect, "Action": action, "Resource": resource, **more}
    return parse_policy({"Version": "2012-10-17", "Statement": [statement]})


def resource(principal: object, effect: str = "Allow", target: str = "*", **more: object) -> Policy:
    statement = {"Effect": effect, "Action": "sqs:*", "Resource": target, "Principal": principal, **more}
    return parse_policy({"Version": "2012-10-17", "Statement": [statement]}, PolicyKind.RESOURCE)


def trust(principal: object, effect: str = "Allow") -> Policy:
    statement = {"Effect": effect, "Action": "sts:AssumeRole", "Principal": principal}
    return parse_policy({"Version": "2012-10-17", "Statement": [statement]}, PolicyKind.TRUST)


def send(principal: PrincipalInfo = ROLE, queue: str = QUEUE) -> AccessRequest:
    return AccessRequest("sqs:SendMessage", queue, principal)


def is_allowed(decision: Decision) -> bool:
    return isinstance(decision, Allowed)


def test_nothing_is_allowed_without_an_allow() -> None:
    assert decide(send(), []) == ImplicitDeny(PolicySource.IDENTITY)


def test_allow_answers_with_the_statement_that_did_it() -> None:
    policy = identity()

    assert decide(send(), [identity(action="s3:*"), policy]) == Allowed(policy.statements[0])


def test_deny_wins_over_every_allow() -> None:
    policy = identity("Deny", resource=QUEUE)

    decision = decide(send(), [identity(), policy], resource({"AWS": ROLE.arn}), identity())

    assert decision == ExplicitDeny(policy.statements[0], PolicySource.IDENTITY)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("sqs:SendMessage", True),
        ("SQS:sendmessage", True),
        ("sqs:Send*", True),
        ("sqs:?endMessage", True),
        ("*", True),
        (["s3:*", "sqs:*Message"], True),
        ("sqs:Send", False),
        ("sqs:SendMessageBatch", False),
        ("s3:*", False),
    ],
)
def test_actions_match_without_letter_case(action: object, expected: bool) -> None:
    assert is_allowed(decide(send(), [identity(action=action)])) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (QUEUE, True),
        ("arn:aws:sqs:*:*:ord*", True),
        ("arn:aws:sqs", True),
        ("arn:aws:sqs:us-east-1:${aws:PrincipalAccount}:orders", True),
        (QUEUE.upper().replace("ARN:AWS", "arn:aws"), False),
        (f"{QUEUE}-dlq", False),
        ("arn:aws:sqs:us-east-1:*:${aws:username}*", False),
    ],
)
def test_resources_match_with_letter_case(pattern: str, expected: bool) -> None:
    assert is_allowed(decide(send(), [identity(resource=pattern)])) is expected


def statement(**fields: object) -> Policy:
    return parse_policy({"Version": "2012-10-17", "Statement": {"Effect": "Allow", **fields}})


def test_not_action_is_every_other_action() -> None:
    assert is_allowed(decide(send(), [statement(NotAction="s3:*", Resource="*")]))
    assert not is_allowed(decide(send(), [statement(NotAction=["s3:*", "sqs:*"], Resource="*")]))


def test_not_resource_is_every_other_resource() -> None:
    assert is_allowed(decide(send(), [statement(Action="*", NotResource=FOREIGN_QUEUE)]))
    assert not is_allowed(decide(send(), [statement(Action="*", NotResource=[FOREIGN_QUEUE, QUEUE])]))


def test_not_resource_with_a_variable_that_has_no_value_covers_nothing() -> None:
    assert not is_allowed(decide(send(), [statement(Action="*", NotResource="arn:aws:sqs:::${aws:username}")]))


def test_user_name_variable_is_the_name_of_the_user() -> None:
    policy = identity(resource="arn:aws:sqs:*:*:${aws:username}-*")

    assert is_allowed(decide(send(USER, f"arn:aws:sqs:us-east-1:{HERE}:alice-inbox"), [policy]))
    assert not is_allowed(decide(send(USER, f"arn:aws:sqs:us-east-1:{HERE}:bob-inbox"), [policy]))


def test_session_is_known_by_its_role_in_conditions() -> None:
    """aws:PrincipalArn of a session is its role's ARN, path included.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
    """
    policy = identity(Condition={"ArnEquals": {"aws:PrincipalArn": ROLE_ARN}})

    assert is_allowed(decide(send(), [policy]))
    assert not is_allowed(decide(send(USER), [policy]))


def test_context_of_the_request_wins_over_the_principal() -> None:
    policy = identity(Condition={"StringEquals": {"AWS:PrincipalAccount": "1"}})
    request = AccessRequest("sqs:SendMessage", QUEUE, ROLE, {"aws:PrincipalAccount": ("1",)})

    assert is_allowed(decide(request, [policy]))
    assert not is_allowed(decide(send(), [policy]))


# In the resource's own account


@pytest.mark.parametrize(
    "principal",
    [{"AWS": ROLE.arn}, {"AWS": ROLE_ARN}, {"AWS": "*"}, "*", {"AWS": ["111111111111", ROLE_ARN]}],
)
def test_resource_policy_that_names_the_caller_is_enough_at_home(principal: object) -> None:
    policy = resource(principal)

    assert decide(send(), [], policy) == Allowed(policy.statements[0])


@pytest.mark.parametrize("principal", [{"AWS": HERE}, {"AWS": f"arn:aws:iam::{HERE}:root"}])
def test_resource_policy_that_names_the_account_leaves_it_to_identity_policies(principal: object) -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html"""
    assert decide(send(), [], resource(principal)) == ImplicitDeny(PolicySource.IDENTITY)
    assert is_allowed(decide(send(), [identity()], resource(principal)))


@pytest.mark.parametrize("principal", [{"AWS": THERE}, {"AWS": USER.arn}, {"Service": "sns.amazonaws.com"}])
def test_resource_policy_about_others_neither_helps_nor_hurts(principal: object) -> None:
    assert decide(send(), [], resource(principal)) == ImplicitDeny(PolicySource.IDENTITY)
    assert is_allowed(decide(send(), [identity()], resource(principal)))


@pytest.mark.parametrize("principal", ["*", {"AWS": HERE}, {"AWS": ROLE_ARN}])
def test_deny_in_a_resource_policy_reaches_whom_it_names(principal: object) -> None:
    policy = resource(principal, "Deny")

    assert decide(send(), [identity()], policy) == ExplicitDeny(policy.statements[0], PolicySource.RESOURCE)


def test_not_principal_spares_only_whom_it_names() -> None:
    fields = {"Effect": "Deny", "Action": "sqs:*", "Resource": "*", "NotPrincipal": {"AWS": ROLE_ARN}}
    policy = parse_policy({"Version": "2012-10-17", "Statement": fields}, PolicyKind.RESOURCE)

    assert is_allowed(decide(send(), [identity()], policy))
    assert isinstance(decide(send(USER), [identity()], policy), ExplicitDeny)


def test_root_of_the_account_needs_no_policy_but_heeds_a_deny() -> None:
    root = PrincipalInfo.root(HERE)

    assert decide(send(root), []) == Allowed(None)
    assert isinstance(decide(send(root), [], resource({"AWS": HERE}, "Deny")), ExplicitDeny)


# Across accounts


def test_across_accounts_both_sides_must_allow() -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic-cross-account.html"""
    request = send(queue=FOREIGN_QUEUE)
    open_door = resource({"AWS": HERE})

    assert decide(request, [identity()]) == ImplicitDeny(PolicySource.RESOURCE)
    assert decide(request, [], open_door) == ImplicitDeny(PolicySource.IDENTITY)
    assert decide(request, [], resource({"AWS": ROLE.arn})) == ImplicitDeny(PolicySource.IDENTITY)
    assert is_allowed(decide(request, [identity()], open_door))


def test_resource_account_decides_where_the_arn_names_none() -> None:
    bucket = AccessRequest("s3:GetObject", "arn:aws:s3:::bucket/key", ROLE, resource_account=THERE)

    assert decide(bucket, [identity(action="s3:*")]) == ImplicitDeny(PolicySource.RESOURCE)


# Services, trust, boundaries


def test_service_needs_the_resource_policy_alone() -> None:
    request = AccessRequest("sqs:SendMessage", QUEUE, EVENTS, {"aws:SourceArn": ("arn:aws:events:x:1:rule/r",)})
    condition = {"ArnLike": {"aws:SourceArn": "arn:aws:events:*:*:rule/*"}}

    assert is_allowed(decide(request, [], resource({"Service": "events.amazonaws.com"}, Condition=condition)))
    assert decide(request, [], resource({"Service": "sns.amazonaws.com"})) == ImplicitDeny(PolicySource.RESOURCE)
    assert decide(request, []) == ImplicitDeny(PolicySource.RESOURCE)


def test_trust_policy_must_allow_even_at_home() -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html"""
    assume = AccessRequest("sts:AssumeRole", ROLE_ARN, USER)
    everything = identity(action="*")

    assert decide(assume, [everything], trust({"AWS": THERE})) == ImplicitDeny(PolicySource.TRUST)
    assert decide(assume, [], trust({"AWS": HERE})) == ImplicitDeny(PolicySource.IDENTITY)
    assert is_allowed(decide(assume, [everything], trust({"AWS": HERE})))
    assert is_allowed(decide(assume, [], trust({"AWS": USER.arn})))


def test_service_assumes_a_role_that_trusts_it() -> None:
    scheduler = PrincipalInfo.aws_service("scheduler.amazonaws.com")
    assume = AccessRequest("sts:AssumeRole", ROLE_ARN, scheduler)

    assert is_allowed(decide(assume, [], trust({"Service": "scheduler.amazonaws.com"})))
    assert decide(assume, [], trust({"Service": "lambda.amazonaws.com"})) == ImplicitDeny(PolicySource.TRUST)


def test_boundary_limits_what_identity_policies_allow() -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html"""
    boundary = identity(action="s3:*")

    assert decide(send(), [identity()], boundary=boundary) == ImplicitDeny(PolicySource.BOUNDARY)
    assert decide(send(), [], boundary=boundary) == ImplicitDeny(PolicySource.IDENTITY)
    assert is_allowed(decide(send(), [identity()], boundary=identity(action="sqs:Send*")))


def test_boundary_limits_a_grant_to_the_role_but_not_to_the_session() -> None:
    boundary = identity(action="s3:*")

    assert decide(send(), [], resource({"AWS": ROLE_ARN}), boundary) == ImplicitDeny(PolicySource.BOUNDARY)
    assert is_allowed(decide(send(), [], resource({"AWS": ROLE.arn}), boundary))


def test_deny_in_a_boundary_is_explicit() -> None:
    boundary = identity("Deny")

    decision = decide(send(), [identity()], boundary=boundary)

    assert decision == ExplicitDeny(boundary.statements[0], PolicySource.BOUNDARY)


# The sentence


WHO = f"arn:aws:sts::{HERE}:assumed-role/worker/s1"
DENY = identity("Deny").statements[0]


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (
            ImplicitDeny(PolicySource.IDENTITY),
            "because no identity-based policy allows the sqs:SendMessage action",
        ),
        (
            ImplicitDeny(PolicySource.RESOURCE),
            "because no resource-based policy allows the sqs:SendMessage action",
        ),
        (
            ImplicitDeny(PolicySource.BOUNDARY),
            "because no permissions boundary allows the sqs:SendMessage action",
        ),
        (ImplicitDeny(PolicySource.TRUST), "because no role trust policy allows the sqs:SendMessage action"),
        (ExplicitDeny(DENY, PolicySource.IDENTITY), "with an explicit deny in an identity-based policy"),
        (ExplicitDeny(DENY, PolicySource.RESOURCE), "with an explicit deny in a resource-based policy"),
        (ExplicitDeny(DENY, PolicySource.BOUNDARY), "with an explicit deny in a permissions boundary"),
        (ExplicitDeny(DENY, PolicySource.TRUST), "with an explicit deny in the role trust policy"),
    ],
)
def test_denial_names_who_what_where_and_why(decision: ImplicitDeny | ExplicitDeny, reason: str) -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html"""
    message = denial_message(ROLE.arn, "sqs:SendMessage", QUEUE, decision)

    assert message == f"User: {WHO} is not authorized to perform: sqs:SendMessage on resource: {QUEUE} {reason}"


def test_denial_without_a_resource_names_none() -> None:
    message = denial_message(USER.arn, "sqs:ListQueues", "", ImplicitDeny(PolicySource.IDENTITY))

    assert message.startswith(f"User: {USER.arn} is not authorized to perform: sqs:ListQueues because no")
