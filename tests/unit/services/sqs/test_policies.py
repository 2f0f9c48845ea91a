"""What a queue's policy decides: in its own account, for other accounts, and never."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World
from tests.unit.services.sqs.conftest import refused

HOME, STRANGER = "000000000000", "111111111111"
QUEUE = f"arn:aws:sqs:us-east-1:{HOME}:orders"
URL = f"http://sqs/{HOME}/orders"
TRUST = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
MESSAGE = {"QueueUrl": URL, "MessageBody": "1"}
INVALID = ("InvalidAttributeValue", "Invalid value for the parameter Policy.")

SetPolicy = Callable[..., None]
Act = Callable[..., str]


def document(*statements: dict[str, Any]) -> str:
    """A policy of these statements, for the queue `orders` unless they say otherwise."""
    whole = [{"Effect": "Allow", "Resource": QUEUE, "Action": "sqs:SendMessage", **each} for each in statements]
    return json.dumps({"Version": "2012-10-17", "Statement": whole})


def role_of(account: str, session: str = "run-1") -> Caller:
    """A session of the role `worker` of an account."""
    return Caller(Scope(account, "us-east-1"), "request-1", f"arn:aws:iam::{account}:role/worker", session)


@pytest.fixture
def make_role(world: World) -> Callable[..., Caller]:
    """Make the role `worker` of an account, which may do these actions on everything; answers a session of it."""

    def make_role(account: str, *actions: str, effect: str = "Allow") -> Caller:
        owner = world.caller(account=account)
        trust = json.dumps({"Version": "2012-10-17", "Statement": TRUST})
        world.engine.call(owner, "iam", "CreateRole", {"RoleName": "worker", "AssumeRolePolicyDocument": trust})
        if actions:
            statement = {"Effect": effect, "Action": list(actions), "Resource": "*"}
            text = json.dumps({"Version": "2012-10-17", "Statement": statement})
            params = {"RoleName": "worker", "PolicyName": "own", "PolicyDocument": text}
            world.engine.call(owner, "iam", "PutRolePolicy", params)
        return role_of(account)

    return make_role


@pytest.fixture
def set_policy(call, queue) -> SetPolicy:
    """Give the queue `orders` a policy of these statements."""
    return lambda *each: call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": document(*each)})


@pytest.fixture
def act(world: World) -> Act:
    """Do something as somebody; the answer is the refusal's sentence, or nothing."""

    def act(who: Caller, operation: str = "SendMessage", **params: object) -> str:
        try:
            world.engine.call(who, "sqs", operation, params or MESSAGE)
        except ServiceError as error:
            return error.message
        return ""

    return act


@pytest.fixture
def stranger(world: World) -> Caller:
    """The other account itself."""
    return world.caller(account=STRANGER)


class TestAtHome:
    """In the queue's own account an Allow of either side is enough.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
    """

    @pytest.mark.parametrize(
        "principal",
        [
            "*",
            {"AWS": "*"},
            {"AWS": f"arn:aws:iam::{HOME}:role/worker"},
            {"AWS": f"arn:aws:sts::{HOME}:assumed-role/worker/run-1"},
        ],
    )
    def test_policy_that_names_a_role_or_everyone_is_enough(self, act, make_role, set_policy, principal):
        role = make_role(HOME)
        before = act(role)

        set_policy({"Principal": principal})

        assert "no identity-based policy allows" in before
        assert act(role) == ""

    @pytest.mark.parametrize(
        "principal",
        [HOME, f"arn:aws:iam::{HOME}:root", f"arn:aws:iam::{HOME}:role/other", f"arn:aws:iam::{STRANGER}:role/worker"],
    )
    def test_policy_that_names_the_account_or_others_leaves_it_to_the_role(self, act, make_role, set_policy, principal):
        role = make_role(HOME)

        set_policy({"Principal": {"AWS": principal}})

        assert "no identity-based policy allows" in act(role)

    def test_session_that_is_named_speaks_for_no_other_session(self, act, make_role, set_policy):
        make_role(HOME)
        set_policy({"Principal": {"AWS": f"arn:aws:sts::{HOME}:assumed-role/worker/run-1"}})

        assert act(role_of(HOME, "run-1")) == ""
        assert act(role_of(HOME, "run-2")) != ""

    def test_session_may_be_denied_what_its_role_may_do(self, act, make_role, set_policy):
        make_role(HOME, "sqs:*")
        denied = {"AWS": f"arn:aws:sts::{HOME}:assumed-role/worker/run-2"}
        set_policy({"Effect": "Deny", "Principal": denied})

        assert act(role_of(HOME, "run-1")) == ""
        assert act(role_of(HOME, "run-2")).endswith("with an explicit deny in a resource-based policy")

    def test_denial_of_either_side_wins(self, act, make_role, set_policy):
        role = make_role(HOME, "sqs:*", effect="Deny")
        set_policy({"Principal": "*"})

        assert act(role).endswith("with an explicit deny in an identity-based policy")

    def test_policy_speaks_of_its_own_actions_and_resource_only(self, act, make_role, set_policy):
        role = make_role(HOME)
        set_policy({"Principal": "*"}, {"Principal": "*", "Action": "sqs:PurgeQueue", "Resource": f"{QUEUE}-2"})

        assert act(role) == ""
        assert act(role, "GetQueueAttributes", QueueUrl=URL) != ""
        assert act(role, "PurgeQueue", QueueUrl=URL) != ""

    def test_not_principal_denies_all_whom_it_does_not_name(self, act, world, make_role, set_policy):
        role = make_role(HOME, "sqs:*")
        spared = {"AWS": [f"arn:aws:iam::{HOME}:role/worker", f"arn:aws:iam::{HOME}:root"]}
        set_policy({"Effect": "Deny", "NotPrincipal": spared})
        home, other = act(world.caller()), act(role)

        set_policy({"Effect": "Deny", "NotPrincipal": {"AWS": f"arn:aws:iam::{HOME}:role/other"}})

        assert home == other == ""
        assert "explicit deny" in act(role)

    @pytest.mark.parametrize(
        ("condition", "holds"),
        [
            ({"ArnEquals": {"aws:PrincipalArn": f"arn:aws:iam::{HOME}:role/worker"}}, True),
            ({"ArnEquals": {"aws:PrincipalArn": f"arn:aws:iam::{HOME}:role/other"}}, False),
            ({"Bool": {"aws:SecureTransport": "false"}}, False),
            ({"ArnLike": {"aws:SourceArn": "*"}}, False),
            ({"StringEquals": {"aws:ResourceTag/team": "red"}}, True),
            ({"DateLessThan": {"aws:CurrentTime": "2025-01-01T00:01:00Z"}}, True),
        ],
    )
    def test_conditions_are_weighed_at_each_request(self, act, call, make_role, set_policy, condition, holds):
        role = make_role(HOME)
        set_policy({"Principal": "*", "Condition": condition})
        call("TagQueue", QueueUrl=URL, Tags={"team": "red"})

        assert (act(role) == "") is holds

    def test_condition_of_time_ends_what_the_policy_allows(self, act, world, make_role, set_policy):
        role = make_role(HOME)
        set_policy({"Principal": "*", "Condition": {"DateLessThan": {"aws:CurrentTime": "2025-01-01T00:01:00Z"}}})
        before = act(role)

        world.advance(minutes=2)

        assert before == ""
        assert act(role) != ""

    def test_role_that_is_gone_is_not_let_in_by_a_policy(self, act, set_policy):
        set_policy({"Principal": "*"})

        assert "no identity-based policy allows" in act(role_of(HOME))


class TestTheAccountItself:
    """Its credentials need no policy at home, and heed one that denies; but they can always unlock a queue.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/root-user-tasks.html
    """

    def test_policy_that_denies_everyone_binds_the_account_too(self, act, world, set_policy):
        set_policy({"Effect": "Deny", "Principal": "*", "Action": "sqs:*"})

        for operation, params in (("SendMessage", MESSAGE), ("DeleteQueue", {"QueueUrl": URL})):
            assert act(world.caller(), operation, **params).endswith("explicit deny in a resource-based policy")

    def test_account_can_always_take_the_policy_off_again(self, act, world, make_role, set_policy):
        role = make_role(HOME, "sqs:*")
        set_policy({"Effect": "Deny", "Principal": "*", "Action": "sqs:*"})
        unlock = {"QueueUrl": URL, "Attributes": {"Policy": ""}}

        assert act(role, "SetQueueAttributes", **unlock) != ""
        assert act(world.caller(), "GetQueueAttributes", QueueUrl=URL, AttributeNames=["Policy"]) == ""
        assert act(world.caller(), "SetQueueAttributes", **unlock) == ""
        assert act(world.caller()) == ""


class TestAcrossAccounts:
    """Both sides must allow; the other account itself needs the queue's side alone.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic-cross-account.html
    """

    @pytest.mark.parametrize(
        "principal",
        [
            STRANGER,
            f"arn:aws:iam::{STRANGER}:root",
            f"arn:aws:iam::{STRANGER}:role/worker",
            f"arn:aws:sts::{STRANGER}:assumed-role/worker/run-1",
            "*",
        ],
    )
    def test_role_of_another_account_needs_both_sides(self, act, make_role, set_policy, principal):
        role = make_role(STRANGER, "sqs:SendMessage")
        set_policy({"Principal": {"AWS": HOME}})
        before = act(role)

        set_policy({"Principal": {"AWS": principal}})

        assert before == (
            f"User: arn:aws:sts::{STRANGER}:assumed-role/worker/run-1 is not authorized to perform: sqs:SendMessage "
            f"on resource: {QUEUE} because no resource-based policy allows the sqs:SendMessage action"
        )
        assert act(role) == ""

    def test_policy_alone_opens_nothing_to_a_role_of_another_account(self, act, make_role, set_policy):
        role = make_role(STRANGER)

        set_policy({"Principal": "*"})

        assert "no identity-based policy allows" in act(role)

    def test_other_account_itself_may_do_what_the_policy_allows(self, act, stranger, set_policy):
        set_policy({"Principal": {"AWS": STRANGER}})

        assert act(stranger) == ""
        assert "no resource-based policy allows" in act(stranger, "PurgeQueue", QueueUrl=URL)

    def test_queue_without_a_policy_is_closed_to_other_accounts(self, act, stranger, queue):
        assert act(stranger) == (
            f"User: arn:aws:iam::{STRANGER}:root is not authorized to perform: sqs:SendMessage on resource: {QUEUE} "
            "because no resource-based policy allows the sqs:SendMessage action"
        )

    def test_permission_opens_a_queue_until_it_is_removed(self, act, call, queue, stranger):
        call("AddPermission", QueueUrl=queue, Label="s", AWSAccountIds=[STRANGER], Actions=["SendMessage"])
        opened = act(stranger)
        call("RemovePermission", QueueUrl=queue, Label="s")

        assert opened == ""
        assert act(stranger) != ""

    @pytest.mark.parametrize(
        ("operation", "params"),
        [
            ("AddPermission", {"Label": "l", "AWSAccountIds": [STRANGER], "Actions": ["SendMessage"]}),
            ("RemovePermission", {"Label": "l"}),
            ("SetQueueAttributes", {"Attributes": {"DelaySeconds": "1"}}),
            ("TagQueue", {"Tags": {"a": "b"}}),
            ("UntagQueue", {"TagKeys": ["a"]}),
            ("ListQueueTags", {}),
            ("DeleteQueue", {}),
        ],
    )
    def test_some_actions_are_the_owners_alone(self, act, make_role, set_policy, stranger, operation, params):
        """Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-limitations-of-custom-policies.html"""
        role = make_role(STRANGER, "sqs:*")
        set_policy({"Principal": "*", "Action": "sqs:*"})

        for who in (stranger, role):
            assert "no resource-based policy allows" in act(who, operation, QueueUrl=URL, **params)

    @pytest.mark.parametrize("operation", ["StartMessageMoveTask", "ListMessageMoveTasks"])
    def test_move_tasks_are_the_owners_alone(self, act, set_policy, stranger, operation):
        set_policy({"Principal": "*", "Action": "sqs:*"})

        assert "no resource-based policy allows" in act(stranger, operation, SourceArn=QUEUE)

    def test_url_of_another_account_is_found_by_its_owner(self, world, stranger, call, queue):
        grant = {"AWSAccountIds": [STRANGER], "Actions": ["GetQueueUrl"]}
        call("AddPermission", QueueUrl=queue, Label="s", **grant)
        asked = {"QueueName": "orders", "QueueOwnerAWSAccountId": HOME}

        found = world.engine.call(stranger, "sqs", "GetQueueUrl", asked)["QueueUrl"]

        assert found.endswith(f"/{HOME}/orders")

    @pytest.mark.parametrize("name", ["orders", "missing"])
    def test_url_does_not_tell_whether_a_closed_queue_exists(self, act, stranger, queue, name):
        assert act(stranger, "GetQueueUrl", QueueName=name, QueueOwnerAWSAccountId=HOME) == (
            "The specified queue does not exist or you do not have access to it."
        )


class TestWhatAPolicyMayBe:
    """A text that is no policy of queues is refused and changes nothing."""

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "[]",
            "1",
            "{}",
            '{"Statement": []}',
            document({}),
            document({"Principal": "*", "Effect": "Maybe"}),
            document({"Principal": "nobody"}),
            document({"Principal": "*", "Action": "SendMessage"}),
            document({"Principal": "*", "Condition": {"Like": {"aws:SourceArn": "*"}}}),
            document({"Principal": "*", "Sid": "a"}, {"Principal": "*", "Sid": "a"}),
            document({"Principal": "*", "Version": "2012-10-17"}),
        ],
    )
    def test_text_that_is_no_policy_is_refused(self, call, refusal, queue, text):
        assert refusal("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": text}) == INVALID
        assert refusal("CreateQueue", QueueName="other", Attributes={"Policy": text}) == INVALID
        assert call("ListQueues")["QueueUrls"] == [queue]
        assert call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["Policy"]) == {}

    def test_resource_that_is_no_arn_is_taken_and_allows_nothing(self, call, queue, act, stranger):
        condition = {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:000000000000:topic"}}
        taken = document(
            {"Principal": "*", "Resource": "orders", "Condition": condition}, {"Principal": "*", "Resource": "o"}
        )

        call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": taken})

        assert "no resource-based policy allows" in act(stranger, "SendMessage", **MESSAGE)

    def test_owners_actions_cannot_be_given_away_by_name(self, call, refusal, queue):
        """Recorded: https://github.com/hashicorp/terraform-provider-aws/pull/42209"""
        given = {"Principal": {"AWS": STRANGER}, "Action": ["sqs:SendMessage", "sqs:ListQueues"]}
        kept = {"Principal": {"AWS": HOME}, "Action": "sqs:ListQueues"}

        answer = refusal("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": document(given)})

        assert answer == INVALID
        assert call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": document(kept)}) == {}

    @pytest.mark.parametrize(("limits", "code"), [(Limits.STRICT, "OverLimit"), (Limits.RELAXED, None)])
    @pytest.mark.parametrize(
        "statements",
        [
            [{"Principal": "*", "Action": [f"sqs:{letter}*" for letter in "ABCDEFGH"]}],
            [{"Principal": "*"}] * 21,
            [{"Principal": {"AWS": [str(10**11 + number) for number in range(51)]}}],
            [{"Principal": "*", "Condition": {"StringEquals": {f"aws:k{number}": "v" for number in range(11)}}}],
            [{"Principal": "*", "Resource": [QUEUE] * 200}],
        ],
        ids=["actions", "statements", "principals", "conditions", "bytes"],
    )
    def test_policy_has_quotas(self, call_under, limits, code, statements):
        """Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html"""
        call = call_under(limits)
        call("CreateQueue", QueueName="orders")

        given = {"Policy": document(*statements)}

        assert refused(call, "SetQueueAttributes", QueueUrl="orders", Attributes=given) == code
        assert refused(call, "CreateQueue", QueueName="other", Attributes=given) == code


def test_redrive_asks_no_policy(call, world, queue):
    """SQS moves dead letters itself: only a RedriveAllowPolicy can keep them out."""
    redrive = {"deadLetterTargetArn": QUEUE, "maxReceiveCount": 1}
    source = call("CreateQueue", QueueName="source", Attributes={"RedrivePolicy": json.dumps(redrive)})["QueueUrl"]
    denied = {"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage"}
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": document(denied)})
    call("SendMessage", QueueUrl=source, MessageBody="1")

    call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=0)
    call("ReceiveMessage", QueueUrl=source)

    assert [message["Body"] for message in call("ReceiveMessage", QueueUrl=queue)["Messages"]] == ["1"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"StringEquals": {"aws:RequestTag/team": "red"}}, True),
        ({"StringEquals": {"aws:RequestTag/team": "blue"}}, False),
        ({"ForAllValues:StringEquals": {"aws:TagKeys": ["team", "stage"]}}, True),
        ({"ForAllValues:StringEquals": {"aws:TagKeys": ["stage"]}}, False),
    ],
)
def test_creation_and_tagging_show_their_tags_to_conditions(act, world, queue, make_role, condition, holds):
    make_role(HOME)
    statement = {"Effect": "Allow", "Action": ["sqs:CreateQueue", "sqs:TagQueue"], "Resource": "*"}
    text = json.dumps({"Version": "2012-10-17", "Statement": {**statement, "Condition": condition}})
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="own", PolicyDocument=text)
    role, tags = role_of(HOME), {"team": "red"}

    assert (act(role, "CreateQueue", QueueName="new", tags=tags) == "") is holds
    assert (act(role, "TagQueue", QueueUrl=URL, Tags=tags) == "") is holds
