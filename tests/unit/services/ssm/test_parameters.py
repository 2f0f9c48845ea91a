"""Parameter Store, as AWS documents it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from redrive.services.ssm.model.parameter import Version, version_key
from redrive.testing.world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def ssm(world: World):
    return world.client("ssm")


def code_of(failed: pytest.ExceptionInfo[ClientError]) -> str:
    return str(failed.value.response["Error"]["Code"])


def put(ssm, name: str, value: str = "v", **more: object) -> dict[str, object]:
    return dict(ssm.put_parameter(**{"Name": name, "Value": value, "Type": "String", **more}))


def value(ssm, name: str, **more: object) -> str:
    return str(ssm.get_parameter(Name=name, **more)["Parameter"]["Value"])


def test_parameter_is_read_by_name_by_arn_and_by_version(ssm) -> None:
    made = put(ssm, "/shop/db", "one")
    ssm.put_parameter(Name="/shop/db", Value="two", Overwrite=True)
    arn = "arn:aws:ssm:us-east-1:000000000000:parameter/shop/db"

    by_arn = ssm.get_parameter(Name=arn)["Parameter"]
    first = ssm.get_parameter(Name="/shop/db:1")["Parameter"]

    assert (made["Version"], made["Tier"]) == (1, "Standard")
    assert (by_arn["Name"], by_arn["Value"], by_arn["Version"], by_arn["ARN"]) == ("/shop/db", "two", 2, arn)
    assert (first["Value"], first["Selector"]) == ("one", ":1")


def test_root_parameter_is_readable_with_and_without_a_slash(ssm) -> None:
    put(ssm, "x")

    answers = [ssm.get_parameter(Name=name)["Parameter"] for name in ("x", "/x")]

    assert [answer["Name"] for answer in answers] == ["x", "/x"]
    assert len({answer["ARN"] for answer in answers}) == 1


def test_second_put_needs_overwrite(ssm) -> None:
    put(ssm, "a")

    with pytest.raises(ClientError) as failed:
        put(ssm, "a")

    assert code_of(failed) == "ParameterAlreadyExists"


def test_overwrite_keeps_what_is_not_sent(ssm) -> None:
    put(ssm, "a", "1", Description="d", AllowedPattern=r"\d+")
    ssm.put_parameter(Name="a", Value="2", Overwrite=True)

    described = ssm.describe_parameters()["Parameters"][0]
    with pytest.raises(ClientError) as failed:
        ssm.put_parameter(Name="a", Value="x", Overwrite=True)

    assert (described["Description"], described["AllowedPattern"], described["Version"]) == ("d", r"\d+", 2)
    assert code_of(failed) == "ParameterPatternMismatchException"


def test_pattern_that_would_backtrack_for_hours_ends_at_once(ssm) -> None:
    with pytest.raises(ClientError) as failed:
        put(ssm, "a", "a" * 200 + "!", AllowedPattern="(a|a)*")

    assert code_of(failed) == "ParameterPatternMismatchException"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("/a//b", "ValidationException"),
        ("a/b", "ValidationException"),
        ("awsome", "ValidationException"),
        ("/ssm/x", "ValidationException"),
        ("/aws/x", "AccessDeniedException"),
        ("a b", "ValidationException"),
        ("/a" * 16, "HierarchyLevelLimitExceededException"),
    ],
)
def test_bad_name_is_refused(ssm, name: str, code: str) -> None:
    with pytest.raises(ClientError) as failed:
        put(ssm, name)

    assert code_of(failed) == code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"Value": "x" * 4097}, "ValidationException"),
        ({"Value": "x" * 8193, "Tier": "Advanced"}, "ValidationException"),
        ({"Value": "{{resolve}}"}, "ValidationException"),
        ({"Value": ""}, "ValidationException"),
        ({"KeyId": "alias/aws/ssm"}, "ValidationException"),
        ({"AllowedPattern": "("}, "InvalidAllowedPatternException"),
        ({"DataType": "aws:ec2:image"}, "ValidationException"),
        ({"DataType": "number"}, "ValidationException"),
        ({"Overwrite": True, "Tags": [{"Key": "a", "Value": "b"}]}, "ValidationException"),
        ({"Policies": "[]x", "Tier": "Advanced"}, "InvalidPolicyAttributeException"),
        ({"Policies": '[{"Type":"Never"}]', "Tier": "Advanced"}, "InvalidPolicyTypeException"),
    ],
)
def test_bad_value_is_refused(ssm, given: dict[str, object], code: str) -> None:
    with pytest.raises(ClientError) as failed:
        put(ssm, "a", **given)  # type: ignore[arg-type]

    assert code_of(failed) == code


def test_advanced_parameter_holds_8192_bytes_and_stays_advanced(ssm) -> None:
    made = put(ssm, "a", "x" * 8192, Tier="Intelligent-Tiering")
    again = ssm.put_parameter(Name="a", Value="short", Overwrite=True)

    assert (made["Tier"], again["Tier"]) == ("Advanced", "Advanced")


def test_missing_parameter_is_named_by_the_code_alone(ssm) -> None:
    with pytest.raises(ClientError) as failed:
        value(ssm, "nothing")

    assert failed.value.response["Error"]["Code"] == "ParameterNotFound"
    assert not failed.value.response["Error"].get("Message")


@pytest.mark.parametrize("selector", ["9", "prod"])
def test_missing_version_or_label_is_told(ssm, selector: str) -> None:
    put(ssm, "a")

    with pytest.raises(ClientError) as failed:
        value(ssm, f"a:{selector}")

    assert code_of(failed) == "ParameterVersionNotFound"


@pytest.mark.parametrize(("tier", "text"), [("Standard", "pässword"), ("Advanced", "ä" * 4000)])
def test_secure_string_is_ciphertext_until_it_is_decrypted(world: World, ssm, tier: str, text: str) -> None:
    put(ssm, "/db/password", text, Type="SecureString", Tier=tier)
    scope = world.caller().scope

    stored = world.store.run(lambda tx: tx.resources.get(Version, scope, version_key("/db/password", 1)))

    assert stored is not None
    assert stored.value == value(ssm, "/db/password")
    assert text not in stored.value
    assert value(ssm, "/db/password", WithDecryption=True) == text
    assert ssm.describe_parameters()["Parameters"][0]["KeyId"] == "alias/aws/ssm"


def test_secure_string_under_a_disabled_key_cannot_be_read(world: World, ssm) -> None:
    kms = world.client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    put(ssm, "a", Type="SecureString", KeyId=key)
    kms.disable_key(KeyId=key)

    with pytest.raises(ClientError) as failed:
        value(ssm, "a", WithDecryption=True)

    assert code_of(failed) == "InvalidKeyId"


def test_secure_string_under_a_key_that_is_not_there_is_refused(ssm) -> None:
    with pytest.raises(ClientError) as failed:
        put(ssm, "a", Type="SecureString", KeyId="alias/none")

    assert code_of(failed) == "InvalidKeyId"


def test_type_cannot_become_secure(ssm) -> None:
    put(ssm, "a")

    with pytest.raises(ClientError) as failed:
        put(ssm, "a", Type="SecureString", Overwrite=True)

    assert code_of(failed) == "HierarchyTypeMismatchException"


def test_path_shows_its_children_and_recursively_all_below(ssm) -> None:
    for name in ("/a/x", "/a/b/y", "/a/b/c/z", "/ab", "/a"):
        put(ssm, name)

    direct = [one["Name"] for one in ssm.get_parameters_by_path(Path="/a")["Parameters"]]
    below = [one["Name"] for one in ssm.get_parameters_by_path(Path="/a/", Recursive=True)["Parameters"]]

    assert direct == ["/a/x"]
    assert below == ["/a/b/c/z", "/a/b/y", "/a/x"]


def test_path_comes_in_pages_of_ten(ssm) -> None:
    for number in range(23):
        put(ssm, f"/p/{number:02}")

    pages = [page["Parameters"] for page in ssm.get_paginator("get_parameters_by_path").paginate(Path="/p")]

    assert [len(page) for page in pages] == [10, 10, 3]


def test_path_is_filtered_by_label_and_type(ssm) -> None:
    put(ssm, "/p/a", "1")
    put(ssm, "/p/b", "1,2", Type="StringList")
    ssm.label_parameter_version(Name="/p/a", Labels=["prod"])
    ssm.put_parameter(Name="/p/a", Value="2", Overwrite=True)

    def found(**one: object) -> list[str]:
        filters = [{"Option": "Equals", **one}]
        return [each["Value"] for each in ssm.get_parameters_by_path(Path="/p", ParameterFilters=filters)["Parameters"]]

    assert found(Key="Label", Values=["prod"]) == ["1"]
    assert found(Key="Type", Values=["StringList"]) == ["1,2"]
    with pytest.raises(ClientError) as failed:
        found(Key="Name", Values=["/p/a"])
    assert code_of(failed) == "InvalidFilterKey"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"Key": "Name", "Option": "BeginsWith", "Values": ["/shop"]}, ["/shop/a", "/shop/b/c"]),
        ({"Key": "Name", "Option": "Contains", "Values": ["b/"]}, ["/shop/b/c"]),
        ({"Key": "Path", "Option": "OneLevel", "Values": ["/shop"]}, ["/shop/a"]),
        ({"Key": "Path", "Option": "Recursive", "Values": ["/shop"]}, ["/shop/a", "/shop/b/c"]),
        ({"Key": "tag:team", "Values": ["red"]}, ["/shop/a"]),
        ({"Key": "Type", "Values": ["SecureString"]}, ["key"]),
    ],
)
def test_filter_chooses_which_parameters_are_described(ssm, given: dict[str, object], names: list[str]) -> None:
    put(ssm, "/shop/a", Tags=[{"Key": "team", "Value": "red"}])
    put(ssm, "/shop/b/c")
    put(ssm, "key", Type="SecureString")

    found = ssm.describe_parameters(ParameterFilters=[given])["Parameters"]

    assert [one["Name"] for one in found] == names
    assert all("Value" not in one for one in found)


def test_hundred_versions_are_kept_and_a_labelled_oldest_one_is_not_dropped(ssm) -> None:
    put(ssm, "a", "1")
    ssm.label_parameter_version(Name="a", ParameterVersion=1, Labels=["first"])
    for number in range(2, 101):
        ssm.put_parameter(Name="a", Value=str(number), Overwrite=True)

    with pytest.raises(ClientError) as failed:
        ssm.put_parameter(Name="a", Value="101", Overwrite=True)
    ssm.unlabel_parameter_version(Name="a", ParameterVersion=1, Labels=["first"])
    ssm.put_parameter(Name="a", Value="101", Overwrite=True)

    pages = ssm.get_paginator("get_parameter_history").paginate(Name="a")
    numbers = [one["Version"] for page in pages for one in page["Parameters"]]
    assert code_of(failed) == "ParameterMaxVersionLimitExceeded"
    assert numbers == list(range(2, 102))


def test_label_moves_between_versions_and_bad_labels_are_told(ssm) -> None:
    put(ssm, "a", "1")
    ssm.put_parameter(Name="a", Value="2", Overwrite=True)
    ssm.label_parameter_version(Name="a", ParameterVersion=1, Labels=["live"])

    moved = ssm.label_parameter_version(Name="a", ParameterVersion=2, Labels=["live", "1st", "aws-x"])

    assert (moved["ParameterVersion"], moved["InvalidLabels"]) == (2, ["1st", "aws-x"])
    assert value(ssm, "a:live") == "2"


def test_several_parameters_are_read_and_deleted_at_once(ssm) -> None:
    put(ssm, "a")
    put(ssm, "b")

    read = ssm.get_parameters(Names=["a", "none", "b:7"])
    deleted = ssm.delete_parameters(Names=["a", "none"])

    assert ([one["Name"] for one in read["Parameters"]], read["InvalidParameters"]) == (["a"], ["none", "b:7"])
    assert (deleted["DeletedParameters"], deleted["InvalidParameters"]) == (["a"], ["none"])


def test_recreated_parameter_begins_with_version_one(ssm) -> None:
    put(ssm, "a")
    ssm.put_parameter(Name="a", Value="2", Overwrite=True)
    ssm.delete_parameter(Name="a")

    assert put(ssm, "a")["Version"] == 1
    assert len(ssm.get_parameter_history(Name="a")["Parameters"]) == 1


def test_tags_of_a_parameter_are_added_listed_and_removed(ssm) -> None:
    put(ssm, "a", Tags=[{"Key": "k", "Value": "1"}])
    at = {"ResourceType": "Parameter", "ResourceId": "a"}
    ssm.add_tags_to_resource(**at, Tags=[{"Key": "l", "Value": "2"}])
    ssm.remove_tags_from_resource(**at, TagKeys=["k"])

    assert ssm.list_tags_for_resource(**at)["TagList"] == [{"Key": "l", "Value": "2"}]


def test_change_is_an_event_without_a_value(world: World, ssm) -> None:
    events, sqs = world.client("events"), world.client("sqs")
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    arn = "arn:aws:sqs:us-east-1:000000000000:q"
    statement = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "*", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    events.put_rule(Name="r", EventPattern=json.dumps({"source": ["aws.ssm"]}))
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": arn}])

    put(ssm, "/a/b", "topsecret", Type="SecureString")
    world.settle()

    body = sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"]
    assert json.loads(body)["detail"] == {"operation": "Create", "name": "/a/b", "type": "SecureString"}
    assert "topsecret" not in body


def test_user_reads_only_what_a_policy_allows(world: World, ssm) -> None:
    put(ssm, "/a/x", Type="SecureString")
    put(ssm, "/b/x")
    iam = world.client("iam")
    iam.create_user(UserName="ann")
    statement = {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": "arn:aws:ssm:*:*:parameter/a/*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    ann = world.client(
        "ssm", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"]
    )  # fmt: skip

    assert value(ann, "/a/x", WithDecryption=True) == "v"  # The AWS managed key is for all in the account.
    with pytest.raises(ClientError) as failed:
        value(ann, "/b/x")
    assert code_of(failed) == "AccessDeniedException"


def test_public_image_has_always_the_same_made_up_id(ssm) -> None:
    name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"

    assert value(ssm, name) == value(ssm, name)
    assert value(ssm, name).startswith("ami-")
    with pytest.raises(ClientError) as failed:
        value(ssm, "/aws/service/global-infrastructure/regions")
    assert code_of(failed) == "ParameterNotFound"
