"""Trails in stacks."""

from __future__ import annotations

from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks


def trail(**properties: Any) -> dict[str, Any]:
    given = {"S3BucketName": "logs", "IsLogging": True, **properties}
    return {"T": {"Type": "AWS::CloudTrail::Trail", "Properties": given}}


def test_trail_comes_changes_and_goes_with_its_stack(stacks: Stacks, world: World) -> None:
    trails = world.client("cloudtrail")
    writes = [{"ReadWriteType": "WriteOnly", "IncludeManagementEvents": "true"}]
    first = trail(EventSelectors=writes, SnsTopicName="news", KMSKeyId="k", Tags=[{"Key": "a", "Value": "1"}])

    stacks.create("audit", first, outputs={"Arn": {"Value": {"Fn::GetAtt": ["T", "Arn"]}}})

    name = stacks.physical_id("audit", "T")
    shown = trails.get_trail(Name=name)["Trail"]
    assert (shown["TrailARN"], shown["KmsKeyId"]) == (stacks.outputs("audit")["Arn"], "k")
    assert trails.get_trail_status(Name=name)["IsLogging"] is True
    assert trails.get_event_selectors(TrailName=name)["EventSelectors"][0]["ReadWriteType"] == "WriteOnly"
    stacks.update("audit", trail(IsLogging=False, IsMultiRegionTrail=True, Tags=[{"Key": "b", "Value": "2"}]))
    changed = trails.get_trail(Name=name)["Trail"]
    assert (changed["IsMultiRegionTrail"], "SnsTopicName" in changed, "KmsKeyId" in changed) == (True, False, False)
    assert trails.get_trail_status(Name=name)["IsLogging"] is False
    assert trails.get_event_selectors(TrailName=name)["EventSelectors"][0]["ReadWriteType"] == "All"
    (tagged,) = trails.list_tags(ResourceIdList=[shown["TrailARN"]])["ResourceTagList"]
    assert {"Key": "b", "Value": "2"} in tagged["TagsList"]
    assert {"Key": "a", "Value": "1"} not in tagged["TagsList"]
    stacks.delete("audit")
    assert trails.list_trails()["Trails"] == []
