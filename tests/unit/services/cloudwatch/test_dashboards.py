"""Dashboards: stored as they are given, if their body is one.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.services.cloudwatch.model.dashboard import findings_in
from tests.unit.services.cloudwatch.conftest import Desk

TEXT = {"type": "text", "x": 0, "y": 0, "width": 6, "height": 3, "properties": {"markdown": "# Hi"}}
METRIC = {"type": "metric", "properties": {"region": "us-east-1", "metrics": [["AWS/SQS", "X", "QueueName", "q"]]}}


def _body(*widgets: Any) -> str:
    return json.dumps({"widgets": list(widgets)}, indent=1)


def test_dashboard_is_the_same_in_all_regions(desk: Desk, refusal: Any) -> None:
    body = _body(TEXT, METRIC)
    tags = [{"Key": "k", "Value": "v"}]
    answer = desk.client.put_dashboard(DashboardName="d-1", DashboardBody=body, Tags=tags)
    far = desk.world.client("cloudwatch", region="eu-west-1")
    desk.client.put_dashboard(DashboardName="other", DashboardBody=_body())

    got = far.get_dashboard(DashboardName="d-1")
    (entry,) = far.list_dashboards(DashboardNamePrefix="d-")["DashboardEntries"]

    arn = "arn:aws:cloudwatch::000000000000:dashboard/d-1"
    assert answer["DashboardValidationMessages"] == []
    assert (got["DashboardBody"], got["DashboardArn"]) == (body, arn)
    assert (entry["DashboardName"], entry["DashboardArn"], entry["Size"]) == ("d-1", arn, len(body))
    assert desk.client.list_tags_for_resource(ResourceARN=arn)["Tags"] == tags
    assert refusal(desk.client.delete_dashboards, DashboardNames=["d-1", "gone"])[0] == "ResourceNotFound"
    desk.client.delete_dashboards(DashboardNames=["d-1", "other"])
    assert far.list_dashboards()["DashboardEntries"] == []
    assert refusal(far.get_dashboard, DashboardName="d-1")[0] == "ResourceNotFound"


def test_bad_names_and_bodies_are_refused(desk: Desk, refusal: Any) -> None:
    name = refusal(desk.client.put_dashboard, DashboardName="a b", DashboardBody=_body())
    body = refusal(desk.client.put_dashboard, DashboardName="d", DashboardBody='{"widgets":[{"type":"map"}]}')

    assert name == (
        "InvalidParameterValue",
        (
            "The value for field DashboardName contains invalid characters. "
            "It can only contain alphanumerics, dash (-) and underscore (_).\n"
        ),
    )
    assert body[0] == "InvalidParameterInput"
    assert body[1].startswith("The dashboard body is invalid, there are 1 validation errors: [")
    assert desk.client.list_dashboards()["DashboardEntries"] == []


def test_warnings_are_told_and_the_dashboard_is_stored(desk: Desk) -> None:
    answer = desk.client.put_dashboard(DashboardName="d", DashboardBody="{}")

    assert answer["DashboardValidationMessages"] == [{"DataPath": "", "Message": "Should have property widgets"}]
    assert desk.client.get_dashboard(DashboardName="d")["DashboardBody"] == "{}"


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("no", [""]),
        ("[]", [""]),
        ('{"widgets": 1}', ["/widgets"]),
        (_body(1, {"type": "text"}), ["/widgets/0", "/widgets/1/properties"]),
        (_body({**TEXT, "properties": {}}), ["/widgets/0/properties"]),
        (_body({**TEXT, "x": 24, "width": 0}), ["/widgets/0/x", "/widgets/0/width"]),
        (_body({**TEXT, "x": "1"}), ["/widgets/0/x"]),
        (_body({key: value for key, value in TEXT.items() if key != "x"}), ["/widgets/0"]),
        (_body({"type": "metric", "properties": {"region": "r"}}), ["/widgets/0/properties"]),
        (_body({"type": "metric", "properties": {"region": "r", "metrics": [[]], "view": "v"}}),
         ["/widgets/0/properties/metrics/0", "/widgets/0/properties/view"]),
        (_body(*[TEXT] * 501), ["/widgets"]),
    ],
)  # fmt: skip
def test_body_that_breaks_a_rule_says_where(body: str, paths: list[str]) -> None:
    assert [found.path for found in findings_in(body)] == paths
    assert all(found.is_error for found in findings_in(body))
