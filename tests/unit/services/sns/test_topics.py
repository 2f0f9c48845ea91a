"""Topics: names, attributes, policies, tags."""

from __future__ import annotations

import json
from typing import Any

import pytest

ARN = "arn:aws:sns:us-east-1:000000000000:t"


def test_topic_is_created_once_with_the_same_attributes(desk: Any, refused: Any) -> None:
    desk.topic(DisplayName="a")

    assert desk.topic(DisplayName="a") == ARN
    assert desk.topic() == ARN
    assert refused(desk.sns.create_topic, Name="t", Attributes={"DisplayName": "b"}) == (
        "InvalidParameter", "Invalid parameter: Attributes Reason: Topic already exists with different attributes"
    )  # fmt: skip
    assert refused(desk.sns.create_topic, Name="t", Tags=[{"Key": "a", "Value": "b"}]) == (
        "InvalidParameter", "Invalid parameter: Tags Reason: Topic already exists with different tags"
    )  # fmt: skip


@pytest.mark.parametrize(("name", "fifo"), [("a.fifo", {}), ("a b", {}), ("a" * 257, {}), ("a", {"FifoTopic": "true"})])
def test_names_that_no_topic_has_are_refused(desk: Any, refused: Any, name: str, fifo: Any) -> None:
    assert refused(desk.sns.create_topic, Name=name, Attributes=fifo) == (
        "InvalidParameter", "Invalid parameter: Topic Name"
    )  # fmt: skip


def test_standard_topic_shows_what_every_topic_has_and_nothing_that_was_not_set(desk: Any) -> None:
    desk.topic()

    shown = desk.sns.get_topic_attributes(TopicArn=ARN)["Attributes"]
    assert shown.keys() == {
        "TopicArn", "Owner", "DisplayName", "Policy", "EffectiveDeliveryPolicy", "SubscriptionsConfirmed",
        "SubscriptionsPending", "SubscriptionsDeleted",
    }  # fmt: skip
    policy = json.loads(shown["Policy"])
    assert (policy["Version"], policy["Id"]) == ("2008-10-17", "__default_policy_ID")
    assert policy["Statement"][0]["Condition"] == {"StringEquals": {"AWS:SourceOwner": "000000000000"}}
    assert json.loads(shown["EffectiveDeliveryPolicy"])["http"]["defaultHealthyRetryPolicy"]["numRetries"] == 3


def test_fifo_topic_shows_that_it_is_one(desk: Any) -> None:
    arn = desk.topic("t.fifo", ContentBasedDeduplication="true")

    shown = desk.sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    assert (shown["FifoTopic"], shown["ContentBasedDeduplication"]) == ("true", "true")


def test_empty_text_removes_an_attribute(desk: Any) -> None:
    desk.topic(DisplayName="a", KmsMasterKeyId="alias/aws/sns")

    desk.sns.set_topic_attributes(TopicArn=ARN, AttributeName="KmsMasterKeyId", AttributeValue="")

    shown = desk.sns.get_topic_attributes(TopicArn=ARN)["Attributes"]
    assert (shown["DisplayName"], "KmsMasterKeyId" in shown) == ("a", False)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("Colour", "red", "AttributeName"),
        ("SignatureVersion", "3", "SignatureVersion: Invalid value [3]"),
        ("ContentBasedDeduplication", "true", "ContentBasedDeduplication: it is for FIFO topics only"),
        ("MaximumMessageSize", "17", "MaximumMessageSize: Invalid value [17]"),
        ("Policy", "{", "Policy Error"),
        ("DeliveryPolicy", '{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}', "between 0 and 100"),
        ("ArchivePolicy", '{"MessageRetentionPeriod":"3"}', "not supported for standard topics"),
    ],
)
def test_values_that_no_attribute_has_are_refused(desk: Any, refused: Any, name: str, value: str, told: str) -> None:
    desk.topic()

    code, message = refused(
        desk.sns.set_topic_attributes, TopicArn=ARN, AttributeName=name, AttributeValue=value
    )  # fmt: skip
    assert code == "InvalidParameter"
    assert told in message


def test_unknown_topics_are_told_apart_from_what_is_no_topic(desk: Any, refused: Any) -> None:
    assert refused(desk.sns.get_topic_attributes, TopicArn=ARN) == ("NotFound", "Topic does not exist")
    assert refused(desk.sns.get_topic_attributes, TopicArn="x") == (
        "InvalidParameter", "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1"
    )  # fmt: skip
    elsewhere = ARN.replace("us-east-1", "eu-west-1")
    assert refused(desk.sns.get_topic_attributes, TopicArn=elsewhere)[1] == "Invalid parameter: TopicArn"
    desk.sns.delete_topic(TopicArn=ARN)


def test_deleted_topic_takes_its_subscriptions_along(desk: Any) -> None:
    desk.subscribe(desk.topic(), desk.queue())

    desk.sns.delete_topic(TopicArn=ARN)

    assert desk.sns.list_subscriptions()["Subscriptions"] == []
    assert desk.sns.list_topics()["Topics"] == []


def test_permission_of_another_account_is_a_statement(desk: Any, refused: Any) -> None:
    desk.topic()
    stranger = desk.world.client("sns", account="222222222222")
    code, _ = refused(stranger.publish, TopicArn=ARN, Message="m")
    assert code == "AuthorizationError"

    desk.sns.add_permission(TopicArn=ARN, Label="l", AWSAccountId=["222222222222"], ActionName=["Publish"])

    assert stranger.publish(TopicArn=ARN, Message="m")["MessageId"]
    assert refused(
        desk.sns.add_permission, TopicArn=ARN, Label="l", AWSAccountId=["222222222222"], ActionName=["Publish"]
    )[1] == "Invalid parameter: Statement already exists"  # fmt: skip
    desk.sns.remove_permission(TopicArn=ARN, Label="l")
    assert refused(stranger.publish, TopicArn=ARN, Message="m")[0] == "AuthorizationError"


def test_deny_in_the_policy_binds_the_owner_who_can_still_mend_it(desk: Any, refused: Any) -> None:
    desk.topic()
    deny = {"Effect": "Deny", "Principal": "*", "Action": "SNS:*", "Resource": ARN}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
    desk.sns.set_topic_attributes(TopicArn=ARN, AttributeName="Policy", AttributeValue=policy)

    assert refused(desk.sns.publish, TopicArn=ARN, Message="m")[0] == "AuthorizationError"

    desk.sns.set_topic_attributes(TopicArn=ARN, AttributeName="Policy", AttributeValue="")
    assert desk.sns.publish(TopicArn=ARN, Message="m")["MessageId"]


def test_tags_belong_to_a_topic(desk: Any, refused: Any) -> None:
    desk.topic()
    desk.sns.tag_resource(ResourceArn=ARN, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
    desk.sns.untag_resource(ResourceArn=ARN, TagKeys=["a"])

    assert desk.sns.list_tags_for_resource(ResourceArn=ARN)["Tags"] == [{"Key": "b", "Value": "2"}]
    twice = [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]
    assert "Duplicated keys" in refused(desk.sns.tag_resource, ResourceArn=ARN, Tags=twice)[1]
    many = [{"Key": f"k{number}", "Value": ""} for number in range(50)]
    assert refused(desk.sns.tag_resource, ResourceArn=ARN, Tags=many)[0] == "TagLimitExceeded"
    assert refused(desk.sns.list_tags_for_resource, ResourceArn=f"{ARN}2") == (
        "ResourceNotFound", "Resource does not exist"
    )  # fmt: skip


def test_lists_have_pages_of_a_hundred(desk: Any) -> None:
    for number in range(101):
        desk.topic(f"t{number:03}")

    pages = list(desk.sns.get_paginator("list_topics").paginate())

    assert [len(page["Topics"]) for page in pages] == [100, 1]
