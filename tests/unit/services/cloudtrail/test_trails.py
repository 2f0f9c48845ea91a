"""Trails: their names, settings, selectors, tags, and whether they log.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_Operations.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

ARN = "arn:aws:cloudtrail:us-east-1:000000000000:trail/audit"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def trails(world: World) -> Any:
    return world.client("cloudtrail")


def code_of(call: Any, /, **params: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**params)
    response: Any = caught.value.response
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(response["Error"]["Code"])


def test_trail_comes_is_described_changes_and_goes(trails: Any) -> None:
    created = trails.create_trail(Name="audit", S3BucketName="logs", SnsTopicName="news", EnableLogFileValidation=True)

    shown = trails.get_trail(Name="audit")["Trail"]
    assert (created["TrailARN"], created["LogFileValidationEnabled"]) == (ARN, True)
    assert (shown["HomeRegion"], shown["SnsTopicARN"]) == ("us-east-1", "arn:aws:sns:us-east-1:000000000000:news")
    trails.update_trail(Name=ARN, S3BucketName="others", IsMultiRegionTrail=True)
    (changed,) = trails.describe_trails()["trailList"]
    assert (changed["S3BucketName"], changed["IsMultiRegionTrail"]) == ("others", True)
    assert trails.list_trails()["Trails"] == [{"TrailARN": ARN, "Name": "audit", "HomeRegion": "us-east-1"}]
    trails.delete_trail(Name="audit")
    assert trails.describe_trails(trailNameList=["audit"])["trailList"] == []
    assert code_of(trails.get_trail, Name="audit") == "TrailNotFoundException"


def test_trail_of_all_regions_has_a_shadow_in_each(trails: Any, world: World) -> None:
    far = world.client("cloudtrail", region="eu-west-1")
    trails.create_trail(Name="audit", S3BucketName="logs", IsMultiRegionTrail=True)
    trails.create_trail(Name="here", S3BucketName="logs")

    assert [one["Name"] for one in far.describe_trails()["trailList"]] == ["audit"]
    assert far.describe_trails(includeShadowTrails=False)["trailList"] == []
    assert code_of(far.stop_logging, Name=ARN) == "InvalidHomeRegionException"


@pytest.mark.parametrize("name", ["ab", "a" * 129, "my-_trail", "-trail", "trail.", "192.168.5.4", "a b c"])
def test_bad_name_is_refused(trails: Any, name: str) -> None:
    assert code_of(trails.create_trail, Name=name, S3BucketName="logs") == "InvalidTrailNameException"


def test_trails_that_cannot_be_are_refused(trails: Any) -> None:
    trails.create_trail(Name="audit", S3BucketName="logs")

    assert code_of(trails.create_trail, Name="audit", S3BucketName="logs") == "TrailAlreadyExistsException"
    assert (
        code_of(
            trails.create_trail, Name="all", S3BucketName="logs", IsMultiRegionTrail=True,
            IncludeGlobalServiceEvents=False,
        )
        == "InvalidParameterCombinationException"
    )  # fmt: skip
    assert (
        code_of(trails.create_trail, Name="all", S3BucketName="logs", IsOrganizationTrail=True)
        == "OrganizationsNotInUseException"
    )
    assert code_of(trails.start_logging, Name="arn:aws:sqs:us-east-1:1:q") == "CloudTrailARNInvalidException"


def test_region_has_five_trails(trails: Any) -> None:
    for number in range(5):
        trails.create_trail(Name=f"audit-{number}", S3BucketName="logs")

    refused = code_of(trails.create_trail, Name="audit-5", S3BucketName="logs")

    assert refused == "MaximumNumberOfTrailsExceededException"


def test_trail_logs_from_start_to_stop(trails: Any, world: World) -> None:
    trails.create_trail(Name="audit", S3BucketName="logs")

    assert trails.get_trail_status(Name="audit")["IsLogging"] is False
    trails.start_logging(Name="audit")
    world.advance(hours=1)
    trails.stop_logging(Name="audit")
    status = trails.get_trail_status(Name="audit")
    assert status["IsLogging"] is False
    assert (status["TimeLoggingStarted"], status["TimeLoggingStopped"]) == (
        "2025-01-01T00:00:00Z", "2025-01-01T01:00:00Z",
    )  # fmt: skip


def test_selectors_are_replaced_as_a_whole(trails: Any) -> None:
    trails.create_trail(Name="audit", S3BucketName="logs")
    writes = {"ReadWriteType": "WriteOnly"}
    advanced = {"FieldSelectors": [{"Field": "eventCategory", "Equals": ["Management"]}]}

    assert trails.get_event_selectors(TrailName="audit")["EventSelectors"][0]["ReadWriteType"] == "All"
    trails.put_event_selectors(TrailName="audit", EventSelectors=[writes])
    assert trails.get_event_selectors(TrailName="audit")["EventSelectors"] == [
        {
            "ReadWriteType": "WriteOnly", "IncludeManagementEvents": True, "DataResources": [],
            "ExcludeManagementEventSources": [],
        }
    ]  # fmt: skip
    trails.put_event_selectors(TrailName="audit", AdvancedEventSelectors=[advanced])
    shown = trails.get_event_selectors(TrailName="audit")
    assert ("EventSelectors" in shown, shown["AdvancedEventSelectors"]) == (False, [advanced])
    assert trails.get_trail(Name="audit")["Trail"]["HasCustomEventSelectors"] is True


@pytest.mark.parametrize(
    "selectors",
    [
        {},
        {"EventSelectors": [{}], "AdvancedEventSelectors": [{"FieldSelectors": [{"Field": "eventCategory"}]}]},
        {"EventSelectors": [{}] * 6},
        {"AdvancedEventSelectors": [{"FieldSelectors": [{"Field": "colour", "Equals": ["red"]}]}]},
        {"AdvancedEventSelectors": [{"FieldSelectors": [{"Field": "readOnly", "Equals": ["true"]}]}]},
    ],
)
def test_selectors_that_cannot_be_are_refused(trails: Any, selectors: dict[str, Any]) -> None:
    trails.create_trail(Name="audit", S3BucketName="logs")

    refused = code_of(trails.put_event_selectors, TrailName="audit", **selectors)

    assert refused == "InvalidEventSelectorsException"


def test_tags_come_and_go(trails: Any) -> None:
    trails.create_trail(Name="audit", S3BucketName="logs", TagsList=[{"Key": "a", "Value": "1"}])

    trails.add_tags(ResourceId=ARN, TagsList=[{"Key": "b", "Value": "2"}])
    trails.remove_tags(ResourceId=ARN, TagsList=[{"Key": "a"}])

    assert trails.list_tags(ResourceIdList=[ARN])["ResourceTagList"] == [
        {"ResourceId": ARN, "TagsList": [{"Key": "b", "Value": "2"}]}
    ]
    assert code_of(trails.add_tags, ResourceId="audit", TagsList=[]) == "CloudTrailARNInvalidException"
    refused = code_of(trails.add_tags, ResourceId=ARN, TagsList=[{"Key": "c"}, {"Key": "c"}])
    assert refused == "InvalidTagParameterException"
    many = [{"Key": f"k{number}"} for number in range(50)]
    assert code_of(trails.add_tags, ResourceId=ARN, TagsList=many) == "TagsLimitExceededException"


def test_user_without_permission_starts_no_trail(trails: Any, world: World) -> None:
    trails.create_trail(Name="audit", S3BucketName="logs")
    iam = world.client("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    ann = world.client("cloudtrail", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])

    assert code_of(ann.start_logging, Name="audit") == "AccessDeniedException"
