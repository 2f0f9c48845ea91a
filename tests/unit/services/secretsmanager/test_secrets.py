"""Secrets, versions, stages and policies, as AWS documents them."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from redrive.core.scope import Scope
from redrive.services.secretsmanager.model.secret import Value
from redrive.testing.world import World

ONE, TWO, THREE = (f"{digit}" * 32 for digit in "123")


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def secrets(world: World):
    return world.client("secretsmanager")


def told(failed: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    error = failed.value.response["Error"]
    return error["Code"], error["Message"]


def stages(secrets, name: str = "s") -> dict[str, list[str]]:
    return dict(secrets.describe_secret(SecretId=name)["VersionIdsToStages"])


def test_secret_is_read_by_name_by_arn_and_by_arn_without_suffix(secrets) -> None:
    made = secrets.create_secret(Name="shop/db", SecretString="one")

    values = [secrets.get_secret_value(SecretId=one) for one in ("shop/db", made["ARN"], made["ARN"][:-7])]

    assert [value["SecretString"] for value in values] == ["one"] * 3
    assert values[0]["VersionStages"] == ["AWSCURRENT"]
    assert made["ARN"].startswith("arn:aws:secretsmanager:us-east-1:000000000000:secret:shop/db-")


def test_binary_value_stays_binary(secrets) -> None:
    secrets.create_secret(Name="s", SecretBinary=b"\x00\xff")

    assert secrets.get_secret_value(SecretId="s")["SecretBinary"] == b"\x00\xff"


def test_value_is_stored_encrypted(world: World, secrets) -> None:
    secrets.create_secret(Name="s", SecretString="topsecret")

    kept = world.store.run(lambda tx: tx.resources.list(Value, world.caller().scope))

    assert len(kept) == 1
    assert "topsecret" not in repr(kept)


def test_current_moves_to_the_new_version_and_previous_follows(secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1", ClientRequestToken=ONE)
    secrets.put_secret_value(SecretId="s", SecretString="2", ClientRequestToken=TWO)
    secrets.update_secret(SecretId="s", SecretString="3", ClientRequestToken=THREE)

    assert stages(secrets) == {TWO: ["AWSPREVIOUS"], THREE: ["AWSCURRENT"]}
    assert secrets.get_secret_value(SecretId="s", VersionStage="AWSPREVIOUS")["SecretString"] == "2"
    assert secrets.get_secret_value(SecretId="s", VersionId=ONE)["SecretString"] == "1"
    every = secrets.list_secret_version_ids(SecretId="s", IncludeDeprecated=True)["Versions"]
    assert len(every) == 3
    assert len(secrets.list_secret_version_ids(SecretId="s")["Versions"]) == 2


def test_put_with_stages_does_not_touch_current(secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1", ClientRequestToken=ONE)
    secrets.put_secret_value(SecretId="s", SecretString="2", ClientRequestToken=TWO, VersionStages=["AWSPENDING", "x"])

    assert stages(secrets) == {ONE: ["AWSCURRENT"], TWO: ["AWSPENDING", "x"]}


def test_first_version_is_current_whatever_its_stages(secrets) -> None:
    secrets.create_secret(Name="s")
    with pytest.raises(ClientError) as failed:
        secrets.get_secret_value(SecretId="s")
    secrets.put_secret_value(SecretId="s", SecretString="1", ClientRequestToken=ONE, VersionStages=["x"])

    assert set(stages(secrets)[ONE]) == {"AWSCURRENT", "x"}
    assert told(failed) == (
        "ResourceNotFoundException",
        "Secrets Manager can't find the specified secret value for staging label: AWSCURRENT",
    )


def test_same_token_with_the_same_value_is_one_version(secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1", ClientRequestToken=ONE)
    secrets.put_secret_value(SecretId="s", SecretString="1", ClientRequestToken=ONE)
    with pytest.raises(ClientError) as failed:
        secrets.put_secret_value(SecretId="s", SecretString="2", ClientRequestToken=ONE)

    assert list(stages(secrets)) == [ONE]
    assert told(failed)[0] == "ResourceExistsException"


def test_stage_moves_only_from_the_version_that_is_named(secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1", ClientRequestToken=ONE)
    secrets.put_secret_value(SecretId="s", SecretString="2", ClientRequestToken=TWO, VersionStages=["AWSPENDING"])
    move = {"SecretId": "s", "VersionStage": "AWSCURRENT", "MoveToVersionId": TWO}

    with pytest.raises(ClientError) as failed:
        secrets.update_secret_version_stage(**move)
    secrets.update_secret_version_stage(**move, RemoveFromVersionId=ONE)

    assert told(failed)[0] == "InvalidParameterException"
    assert stages(secrets) == {ONE: ["AWSPREVIOUS"], TWO: ["AWSPENDING", "AWSCURRENT"]}


def test_current_cannot_be_taken_away(secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1", ClientRequestToken=ONE)

    with pytest.raises(ClientError) as failed:
        secrets.update_secret_version_stage(SecretId="s", VersionStage="AWSCURRENT", RemoveFromVersionId=ONE)

    assert told(failed)[0] == "InvalidParameterException"


def test_stage_and_version_have_to_agree(secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1", ClientRequestToken=ONE)

    with pytest.raises(ClientError) as failed:
        secrets.get_secret_value(SecretId="s", VersionId=ONE, VersionStage="AWSPENDING")

    assert told(failed) == (
        "InvalidRequestException",
        "You provided a VersionStage that is not associated to the provided VersionId.",
    )


def test_second_secret_of_a_name_is_refused(secrets) -> None:
    secrets.create_secret(Name="s")

    with pytest.raises(ClientError) as failed:
        secrets.create_secret(Name="s")

    message = "The operation failed because the secret s already exists."
    assert told(failed) == ("ResourceExistsException", message)


def test_deleted_secret_can_be_restored_until_its_window_ends(world: World, secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1")
    secrets.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    with pytest.raises(ClientError) as read:
        secrets.get_secret_value(SecretId="s")
    with pytest.raises(ClientError) as created:
        secrets.create_secret(Name="s")
    world.advance(days=6)
    secrets.restore_secret(SecretId="s")
    world.advance(days=30)

    assert secrets.get_secret_value(SecretId="s")["SecretString"] == "1"
    assert told(read) == (
        "InvalidRequestException",
        "You can't perform this operation on the secret because it was marked for deletion.",
    )
    assert told(created)[1].endswith("already scheduled for deletion.")


def test_deleted_secret_is_gone_when_its_window_ends(world: World, secrets) -> None:
    secrets.create_secret(Name="s", SecretString="1")
    secrets.delete_secret(SecretId="s")

    assert secrets.list_secrets()["SecretList"] == []
    assert len(secrets.list_secrets(IncludePlannedDeletion=True)["SecretList"]) == 1
    world.advance(days=31)
    with pytest.raises(ClientError) as failed:
        secrets.describe_secret(SecretId="s")
    kept = world.store.run(lambda tx: tx.resources.list(Value, world.caller().scope))
    assert told(failed) == ("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
    assert kept == []


def test_forced_deletion_is_at_once_and_the_next_secret_has_another_arn(secrets) -> None:
    first = secrets.create_secret(Name="s")["ARN"]
    secrets.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)
    secrets.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)

    assert secrets.create_secret(Name="s")["ARN"] != first


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"Key": "name", "Values": ["shop/"]}, {"shop/a", "shop/b"}),
        ({"Key": "name", "Values": ["!shop/"]}, {"other"}),
        ({"Key": "tag-key", "Values": ["team"]}, {"shop/a"}),
        ({"Key": "tag-value", "Values": ["red"]}, {"shop/a"}),
        ({"Key": "description", "Values": ["PASS"]}, {"other"}),
        ({"Key": "all", "Values": ["Red"]}, {"shop/a"}),
    ],
)
def test_filters_of_secrets_match_beginnings(secrets, given: dict[str, object], names: set[str]) -> None:
    secrets.create_secret(Name="shop/a", Tags=[{"Key": "team", "Value": "red"}])
    secrets.create_secret(Name="shop/b")
    secrets.create_secret(Name="other", Description="the password")

    assert {one["Name"] for one in secrets.list_secrets(Filters=[given])["SecretList"]} == names


def test_secrets_come_in_pages(secrets) -> None:
    for number in range(5):
        secrets.create_secret(Name=f"s{number}")

    pages = secrets.get_paginator("list_secrets").paginate(PaginationConfig={"PageSize": 2})

    assert [one["Name"] for page in pages for one in page["SecretList"]] == ["s4", "s3", "s2", "s1", "s0"]


def test_batch_tells_of_each_secret_that_cannot_be_read(secrets) -> None:
    secrets.create_secret(Name="a", SecretString="1")

    answer = secrets.batch_get_secret_value(SecretIdList=["a", "none"])

    assert [one["SecretString"] for one in answer["SecretValues"]] == ["1"]
    assert [(one["SecretId"], one["ErrorCode"]) for one in answer["Errors"]] == [("none", "ResourceNotFoundException")]


def test_random_password_has_a_character_of_each_type_and_none_that_is_excluded(secrets) -> None:
    password = secrets.get_random_password(PasswordLength=40, ExcludeCharacters='"@/\\')["RandomPassword"]
    digits = secrets.get_random_password(
        PasswordLength=9, ExcludePunctuation=True, ExcludeUppercase=True, ExcludeLowercase=True
    )["RandomPassword"]

    assert len(password) == 40
    for characters in (string.ascii_lowercase, string.ascii_uppercase, string.digits, string.punctuation):
        assert set(characters) & set(password)
    assert not set('"@/\\') & set(password)
    assert (len(digits), digits.isdigit()) == (9, True)


def test_password_too_short_for_all_types_is_refused(secrets) -> None:
    with pytest.raises(ClientError) as failed:
        secrets.get_random_password(PasswordLength=3)

    assert told(failed)[0] == "InvalidParameterException"


def test_policy_of_a_secret_opens_it_to_another_account_and_denies_at_home(world: World, secrets) -> None:
    key = world.client("kms").create_key(Policy=_open_policy("kms:*"))["KeyMetadata"]["Arn"]
    arn = secrets.create_secret(Name="s", SecretString="1", KmsKeyId=key)["ARN"]
    other = world.client("secretsmanager", account="111111111111")
    with pytest.raises(ClientError) as closed:
        other.get_secret_value(SecretId=arn)
    secrets.put_resource_policy(SecretId="s", ResourcePolicy=_open_policy("secretsmanager:GetSecretValue"))

    assert other.get_secret_value(SecretId=arn)["SecretString"] == "1"
    assert told(closed)[0] == "AccessDeniedException"
    secrets.put_resource_policy(SecretId="s", ResourcePolicy=_open_policy("secretsmanager:GetSecretValue", "Deny"))
    with pytest.raises(ClientError) as denied:
        secrets.get_secret_value(SecretId="s")
    assert "explicit deny" in told(denied)[1]


def _open_policy(action: str, effect: str = "Allow") -> str:
    statement = {"Effect": effect, "Principal": "*", "Action": action, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_public_policy_is_refused_if_that_is_asked_for(secrets) -> None:
    secrets.create_secret(Name="s")

    with pytest.raises(ClientError) as failed:
        secrets.put_resource_policy(
            SecretId="s", ResourcePolicy=_open_policy("secretsmanager:*"), BlockPublicPolicy=True
        )

    assert told(failed)[0] == "PublicPolicyException"


def test_disabled_key_closes_its_secrets_and_another_key_takes_them_over(world: World, secrets) -> None:
    kms = world.client("kms")
    one, other = (kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(2))
    secrets.create_secret(Name="s", SecretString="1", KmsKeyId=one)
    secrets.update_secret(SecretId="s", KmsKeyId=other)
    kms.disable_key(KeyId=one)
    read = secrets.get_secret_value(SecretId="s")["SecretString"]
    kms.disable_key(KeyId=other)

    with pytest.raises(ClientError) as failed:
        secrets.get_secret_value(SecretId="s")

    assert read == "1"
    assert told(failed)[0] == "DecryptionFailure"


def test_secret_is_read_as_a_parameter(world: World, secrets) -> None:
    secrets.create_secret(Name="shop/db", SecretString="topsecret")
    ssm = world.client("ssm")

    read = ssm.get_parameter(Name="/aws/reference/secretsmanager/shop/db", WithDecryption=True)["Parameter"]

    assert (read["Value"], read["Type"]) == ("topsecret", "SecureString")


def test_value_is_in_no_record_of_cloudtrail(world: World, secrets) -> None:
    trails, sqs, events = (world.client(name) for name in ("cloudtrail", "sqs", "events"))
    trails.create_trail(Name="trail", S3BucketName="bucket")
    trails.start_logging(Name="trail")
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    arn = "arn:aws:sqs:us-east-1:000000000000:q"
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": _open_policy("sqs:*").replace('"*"}', f'"{arn}"}}')})
    pattern = {"source": ["aws.secretsmanager", "aws.ssm", "aws.kms"]}
    events.put_rule(Name="r", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": arn}])

    secrets.create_secret(Name="s", SecretString="topsecret")
    secrets.put_secret_value(SecretId="s", SecretString="topsecret2")
    world.client("ssm").put_parameter(Name="p", Value="topsecret3", Type="SecureString")
    world.settle()

    bodies = [m["Body"] for _ in range(5) for m in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])]  # fmt: skip  # noqa: E501
    names = {json.loads(body)["detail"].get("eventName") for body in bodies}
    assert {"CreateSecret", "PutSecretValue", "PutParameter"} <= names
    assert all("topsecret" not in body for body in bodies)


def test_version_limit_drops_the_oldest_without_stages(world: World, secrets) -> None:
    secrets.create_secret(Name="s", SecretString="0")
    for number in range(1, 105):
        secrets.put_secret_value(SecretId="s", SecretString=str(number))

    every = secrets.list_secret_version_ids(SecretId="s", IncludeDeprecated=True)["Versions"]
    kept = world.store.run(lambda tx: tx.resources.list(Value, Scope("000000000000", "us-east-1")))
    assert len(every) == len(kept) == 100


@pytest.mark.parametrize("tag", [{}, {"Key": "k"}, {"Value": "v"}])
def test_tag_without_a_key_or_a_value_is_refused(secrets, tag: dict[str, str]) -> None:
    """AWS's model requires neither, so that the SDKs send such a tag."""
    secrets.create_secret(Name="s", SecretString="one")

    with pytest.raises(ClientError) as created:
        secrets.create_secret(Name="t", SecretString="one", Tags=[tag])
    with pytest.raises(ClientError) as tagged:
        secrets.tag_resource(SecretId="s", Tags=[tag])

    assert [told(failed)[0] for failed in (created, tagged)] == ["InvalidParameterException"] * 2


@pytest.mark.parametrize("letter", ["x", "ä"])
def test_secret_has_65536_bytes_and_not_one_more(secrets, letter: str) -> None:
    fits = letter * (65_536 // len(letter.encode()))
    secrets.create_secret(Name="fits", SecretString=fits)

    with pytest.raises(ClientError) as created:
        secrets.create_secret(Name="other", SecretString=f"{fits}x")
    with pytest.raises(ClientError) as put:
        secrets.put_secret_value(SecretId="fits", SecretString=f"{fits}x")

    assert [told(failed)[0] for failed in (created, put)] == ["InvalidParameterException"] * 2
    assert secrets.get_secret_value(SecretId="fits")["SecretString"] == fits
