"""The notification configuration: what is stored, what is refused and in which order, and the test events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from redrive.services.s3.model.notification import EVENTS
from tests.unit.services.s3.notified import HERE, Uploads, on

Q = f"arn:aws:sqs:{HERE}:q"
R = f"arn:aws:sqs:{HERE}:r"
UNABLE = "Unable to validate the following destination configurations"
AMBIGUOUS = (
    "Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the prefixes are "
    "overlapping for the same event type."
)


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    made = Uploads()
    yield made
    made.world.close()


def test_bucket_without_configuration_answers_an_empty_document(uploads: Uploads) -> None:
    assert uploads.call("GetBucketNotificationConfiguration", Bucket="uploads") == {}


def test_configuration_is_stored_with_ids_and_with_aws_spelling_of_filter_names(uploads: Uploads) -> None:
    queue = uploads.queue()
    rules = [{"Name": "PREFIX", "Value": "in/"}, {"Name": "suffix", "Value": ""}]
    given = {"QueueArn": queue, "Events": ["s3:ObjectCreated:*"], "Filter": {"Key": {"FilterRules": rules}}}

    stored = uploads.configure(QueueConfigurations=[given], EventBridgeConfiguration={})

    (one,) = stored["QueueConfigurations"]
    assert one["Id"]
    assert one["Filter"]["Key"]["FilterRules"] == [{"Name": "Prefix", "Value": "in/"}, {"Name": "Suffix", "Value": ""}]
    assert stored["EventBridgeConfiguration"] == {}


def test_configuration_replaces_all_and_an_empty_one_ends_notifications(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue())])

    assert uploads.configure(EventBridgeConfiguration={}) == {"EventBridgeConfiguration": {}}
    assert uploads.configure() == {}


def test_queue_and_topic_get_a_test_event_at_each_put(uploads: Uploads) -> None:
    given = {
        "QueueConfigurations": [on(uploads.queue(), "s3:ObjectCreated:Put")],
        "TopicConfigurations": [on(uploads.topic(), "s3:ObjectRemoved:*", id="removed")],
    }

    uploads.configure(**given)
    uploads.configure(**given)

    first, second = uploads.bodies()
    assert list(first) == ["Service", "Event", "Time", "Bucket", "RequestId", "HostId"]
    assert (first["Service"], first["Event"], first["Time"], first["Bucket"]) == (
        "Amazon S3", "s3:TestEvent", "2025-01-01T00:00:00.123Z", "uploads",
    )  # fmt: skip
    assert second["RequestId"] != first["RequestId"]
    assert [envelope["Subject"] for envelope in uploads.bodies("of-t")] == ["Amazon S3 Notification"] * 2


def test_skipped_validation_sends_no_test_event_and_takes_what_does_not_exist(uploads: Uploads) -> None:
    queue = uploads.queue()

    uploads.call(
        "PutBucketNotificationConfiguration", Bucket="uploads", SkipDestinationValidation=True,
        NotificationConfiguration={"QueueConfigurations": [on(queue), on(R, "s3:ObjectRemoved:*", id="r")]},
    )  # fmt: skip

    assert uploads.bodies() == []


def test_destinations_that_s3_cannot_use_are_named_together_and_nothing_is_kept(uploads: Uploads) -> None:
    good = uploads.queue("good")
    mute = uploads.queue("mute", principal={"Service": "events.amazonaws.com"})
    topic = uploads.topic("other", Principal={"Service": "events.amazonaws.com"})
    function = f"arn:aws:lambda:{HERE}:function:none"

    refused = uploads.refused(
        TopicConfigurations=[on(topic, "s3:ObjectTagging:*", id="1")],
        QueueConfigurations=[
            on(good, id="2"), on(Q, "s3:ObjectRemoved:*", id="3"), on(mute, "s3:ObjectAcl:Put", id="4"),
        ],
        LambdaFunctionConfigurations=[on(function, "s3:ObjectRestore:*", id="5")],
    )  # fmt: skip

    said = "Permissions on the destination {} do not allow S3 to publish notifications from this bucket"
    assert refused == (
        "InvalidArgument",
        UNABLE,
        {
            "ArgumentName1": topic, "ArgumentValue1": said.format("topic"),
            "ArgumentName2": Q, "ArgumentValue2": "The destination queue does not exist",
            "ArgumentName3": mute, "ArgumentValue3": said.format("queue"),
            "ArgumentName4": f"{function}, null", "ArgumentValue4": f"Not authorized to invoke function [{function}]",
        },
    )  # fmt: skip
    assert uploads.bodies("good") == []
    assert uploads.call("GetBucketNotificationConfiguration", Bucket="uploads") == {}


def test_policy_of_the_destination_sees_the_bucket_and_its_account(uploads: Uploads) -> None:
    elsewhere = uploads.queue("x", condition={"StringEquals": {"aws:SourceAccount": "111111111111"}})
    other = uploads.queue("y", condition={"ArnEquals": {"aws:SourceArn": "arn:aws:s3:::downloads"}})

    assert uploads.refused(QueueConfigurations=[on(elsewhere)])[1] == UNABLE
    assert uploads.refused(QueueConfigurations=[on(other)])[1] == UNABLE
    assert uploads.configure(QueueConfigurations=[on(uploads.queue())])["QueueConfigurations"]


@pytest.mark.parametrize(
    ("configuration", "refused"),
    [
        ([{"QueueArn": Q, "Events": []}], ("MalformedXML", "not well-formed", {})),
        ([on(Q) | {"Filter": {"Key": {"FilterRules": [{"Name": "prefix"}]}}}], ("MalformedXML", "not well-formed", {})),
        ([on(Q, "s3:ObjectCreated:Gone")], ("InvalidArgument", "not supported", {"ArgumentName": "Event"})),
        (
            [on("arn:aws:sqs:q"), on(Q, id="2") | {"Filter": {"Key": {"FilterRules": [{"Name": "x", "Value": "y"}]}}}],
            ("InvalidArgument", "name must be either prefix or suffix", {"ArgumentName": "FilterRule.Name"}),
        ),
        (
            [on("arn:aws:sqs:q"), on(Q), on(Q)],
            ("InvalidArgument", "The ARN could not be parsed", {"ArgumentName": "Queue"}),
        ),
        (
            [on(Q, id="1"), on(R, "s3:ObjectCreated:Put", id="2")],
            (
                "InvalidArgument", "Configurations overlap.",
                {"ArgumentName": "Event", "ArgumentValue": "s3:ObjectCreated:*, s3:ObjectCreated:Put"},
            ),
        ),
        ([on(Q, id="1"), on(R, "s3:ObjectCreated:Put", id="2", prefix="a")], ("InvalidArgument", AMBIGUOUS, {})),
        ([on(Q, id="1", suffix=".jpg"), on(R, id="2", suffix="pg")], ("InvalidArgument", AMBIGUOUS, {})),
        ([on(Q), on(R, "s3:ObjectRemoved:*")], ("InvalidArgument", "IDs must be unique", {})),
        (
            [on("arn:aws:sqs:eu-west-1:000000000000:q")],
            ("InvalidArgument", "region is not valid for the bucket location constraint", {}),
        ),
        ([on(Q, prefix="x" * 1025)], ("InvalidArgument", "1024", {})),
    ],
)  # fmt: skip
def test_configuration_is_refused_for_the_first_thing_that_is_wrong(
    configuration: Any, refused: tuple[str, str, Any], uploads: Uploads
) -> None:
    code, said, members = uploads.refused(QueueConfigurations=configuration)

    assert (code, refused[1] in said) == (refused[0], True)
    assert refused[2].items() <= members.items()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"prefix": "in/"}, {"prefix": "out/"}),
        ({"suffix": ".jpg"}, {"suffix": ".png"}),
        ({"prefix": "in/", "suffix": ".jpg"}, {"prefix": "in/", "suffix": ".png"}),
        ({"prefix": "in/", "suffix": ".jpg"}, {"prefix": "out/", "suffix": ".jpg"}),
    ],
)
def test_rules_that_no_key_matches_both_are_taken(first: Any, second: Any, uploads: Uploads) -> None:
    queue = uploads.queue()

    stored = uploads.configure(QueueConfigurations=[on(queue, id="1", **first), on(queue, id="2", **second)])

    assert len(stored["QueueConfigurations"]) == 2


def test_hundred_configurations_are_taken_and_one_more_is_refused(uploads: Uploads) -> None:
    queue = uploads.queue()
    many = [on(queue, id=str(number), prefix=f"{number:03}/") for number in range(101)]

    assert len(uploads.configure(QueueConfigurations=many[:100])["QueueConfigurations"]) == 100
    assert "at most 100" in uploads.refused(QueueConfigurations=many)[1]


def test_fifo_queue_is_refused_as_a_destination(uploads: Uploads) -> None:
    fifo = f"arn:aws:sqs:{HERE}:q.fifo"

    assert uploads.refused(QueueConfigurations=[on(fifo)])[2] == {
        "ArgumentName1": fifo, "ArgumentValue1": "FIFO queues are not supported",
    }  # fmt: skip


def test_older_operations_have_one_destination_of_each_kind(uploads: Uploads) -> None:
    queue = uploads.queue()

    uploads.call(
        "PutBucketNotification", Bucket="uploads",
        NotificationConfiguration={
            "QueueConfiguration": {"Id": "old", "Queue": queue, "Event": "s3:ObjectCreated:Put"},
        },
    )  # fmt: skip

    assert uploads.call("GetBucketNotification", Bucket="uploads") == {
        "QueueConfiguration": {
            "Id": "old", "Event": "s3:ObjectCreated:Put", "Events": ["s3:ObjectCreated:Put"], "Queue": queue,
        },
    }  # fmt: skip


def test_bucket_that_does_not_exist_has_no_configuration(uploads: Uploads) -> None:
    assert uploads.refusal("GetBucketNotificationConfiguration", Bucket="gone")[0] == "NoSuchBucket"


def test_events_of_configurations_are_those_of_aws_model(uploads: Uploads) -> None:
    model = uploads.world.client("s3").meta.service_model

    assert frozenset(model.shape_for("Event").enum) == EVENTS
