"""AWS::CloudWatch::Alarm, CompositeAlarm and Dashboard.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_CloudWatch.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    already_exists,
    tag_changes,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TAGS,
    TEXT,
    UNAVAILABLE,
    group,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
_NAME_LENGTH_MAX = 255
_MISSING = frozenset({"ResourceNotFound", "ResourceNotFoundException", "DashboardNotFoundError"})
_METRIC_ALARM, _COMPOSITE_ALARM = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"
_OPERATIONS = {_METRIC_ALARM: "PutMetricAlarm", _COMPOSITE_ALARM: "PutCompositeAlarm"}
_OWN = frozenset({"AlarmName", "Tags"})


def _arn(place: Place, name: str) -> str:
    return f"arn:aws:cloudwatch:{place.caller.region}:{place.caller.account}:alarm:{name}"


def _is_there(place: Place, name: str) -> bool:
    types = ["MetricAlarm", "CompositeAlarm"]
    found = place.call("cloudwatch", "DescribeAlarms", AlarmNames=[name], AlarmTypes=types)
    return bool(found["MetricAlarms"] or found["CompositeAlarms"])


def _put_alarm(place: Place, kind: str, name: str, properties: Document, tags: object = None) -> None:
    settings = {key: value for key, value in properties.items() if key not in _OWN}
    place.call("cloudwatch", _OPERATIONS[kind], AlarmName=name, Tags=tags, **settings)


def _create_alarm(kind: str, place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("AlarmName"), _NAME_LENGTH_MAX)
    if _is_there(place, name):
        raise already_exists(kind, name)
    _put_alarm(place, kind, name, properties, properties.get("Tags"))
    return Existing(name, properties, {"Arn": _arn(place, name)})


def _update_alarm(kind: str, place: Place, existing: Existing, properties: Document) -> Existing:
    _put_alarm(place, kind, existing.physical_id, properties)
    _update_tags(place, _arn(place, existing.physical_id), existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _update_tags(place: Place, arn: str, old: Document, new: Document) -> None:
    given, removed = tag_changes(old, new)
    if removed:
        place.call("cloudwatch", "UntagResource", ResourceARN=arn, TagKeys=removed)
    if given:
        tags = [{"Key": key, "Value": value} for key, value in given.items()]
        place.call("cloudwatch", "TagResource", ResourceARN=arn, Tags=tags)


def _delete_alarm(place: Place, existing: Existing) -> None:
    place.call("cloudwatch", "DeleteAlarms", AlarmNames=[existing.physical_id])


def _found_alarm(place: Place, name: str) -> Document | None:
    return {"Arn": _arn(place, name)} if _is_there(place, name) else None


def _is_dashboard(place: Place, name: str) -> bool:
    try:
        place.call("cloudwatch", "GetDashboard", DashboardName=name)
    except ServiceError as error:
        if error.code not in _MISSING:
            raise
        return False
    return True


def _create_dashboard(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("DashboardName"), _NAME_LENGTH_MAX)
    if _is_dashboard(place, name):
        raise already_exists("AWS::CloudWatch::Dashboard", name)
    place.call(
        "cloudwatch", "PutDashboard", DashboardName=name, DashboardBody=properties["DashboardBody"],
        Tags=properties.get("Tags"),
    )  # fmt: skip
    return Existing(name, properties, {})


def _update_dashboard(place: Place, existing: Existing, properties: Document) -> Existing:
    name = existing.physical_id
    place.call("cloudwatch", "PutDashboard", DashboardName=name, DashboardBody=properties["DashboardBody"])
    arn = f"arn:aws:cloudwatch::{place.caller.account}:dashboard/{name}"
    _update_tags(place, arn, existing.properties, properties)
    return Existing(name, properties, existing.attributes)


def _delete_dashboard(place: Place, existing: Existing) -> None:
    place.call("cloudwatch", "DeleteDashboards", DashboardNames=[existing.physical_id])


_DIMENSIONS = listing(group(Name=required(TEXT), Value=required(TEXT)))
_METRICS = listing(
    group(
        AccountId=TEXT,
        Expression=TEXT,
        Id=required(TEXT),
        Label=TEXT,
        MetricStat=group(
            Metric=required(group(Dimensions=_DIMENSIONS, MetricName=TEXT, Namespace=TEXT)),
            Period=required(INTEGER),
            Stat=required(TEXT),
            Unit=TEXT,
        ),
        Period=INTEGER,
        ReturnData=BOOLEAN,
    )
)
_ACTIONS = {
    "ActionConfiguration": UNAVAILABLE,
    "ActionsEnabled": BOOLEAN,
    "AlarmActions": listing(TEXT),
    "AlarmDescription": TEXT,
    "AlarmName": replacing(TEXT),
    "InsufficientDataActions": listing(TEXT),
    "OKActions": listing(TEXT),
    "Tags": TAGS,
}

ALARM = ResourceType(
    name=_METRIC_ALARM,
    properties={
        **_ACTIONS,
        "ComparisonOperator": TEXT,
        "DatapointsToAlarm": INTEGER,
        "Dimensions": _DIMENSIONS,
        "EvaluateLowSampleCountPercentile": TEXT,
        "EvaluationCriteria": UNAVAILABLE,
        "EvaluationInterval": UNAVAILABLE,
        "EvaluationPeriods": INTEGER,
        "EvaluationWindow": UNAVAILABLE,
        "ExtendedStatistic": TEXT,
        "MetricName": TEXT,
        "Metrics": _METRICS,
        "Namespace": TEXT,
        "Period": INTEGER,
        "Statistic": TEXT,
        "Threshold": NUMBER,
        "ThresholdMetricId": UNAVAILABLE,
        "TreatMissingData": TEXT,
        "Unit": TEXT,
        "WarmUpConfiguration": group(
            OnlyStartEvaluatingAfterWarmUpPeriodEnds=BOOLEAN, WarmUpPeriodDurationInMinutes=INTEGER
        ),
    },
    create=lambda place, properties: _create_alarm(_METRIC_ALARM, place, properties),
    update=lambda place, existing, properties: _update_alarm(_METRIC_ALARM, place, existing, properties),
    delete=_delete_alarm,
    attributes=frozenset({"Arn"}),
    name_property="AlarmName",
    found=_found_alarm,
    has_tags=True,
    missing=_MISSING,
)

COMPOSITE_ALARM = ResourceType(
    name=_COMPOSITE_ALARM,
    properties={
        **_ACTIONS,
        "ActionsSuppressor": TEXT,
        "ActionsSuppressorExtensionPeriod": INTEGER,
        "ActionsSuppressorWaitPeriod": INTEGER,
        "AlarmRule": required(TEXT),
    },
    create=lambda place, properties: _create_alarm(_COMPOSITE_ALARM, place, properties),
    update=lambda place, existing, properties: _update_alarm(_COMPOSITE_ALARM, place, existing, properties),
    delete=_delete_alarm,
    attributes=frozenset({"Arn"}),
    name_property="AlarmName",
    found=_found_alarm,
    has_tags=True,
    missing=_MISSING,
)

DASHBOARD = ResourceType(
    name="AWS::CloudWatch::Dashboard",
    properties={"DashboardBody": required(TEXT), "DashboardName": replacing(TEXT), "Tags": TAGS},
    create=_create_dashboard,
    update=_update_dashboard,
    delete=_delete_dashboard,
    name_property="DashboardName",
    missing=_MISSING,
    has_tags=True,
)
