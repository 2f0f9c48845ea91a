"""AWS::Logs::MetricFilter, SubscriptionFilter, QueryDefinition and Destination.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Logs.html
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, tags_of
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    NUMBER,
    TAGS,
    TEXT,
    group,
    listing,
    replacing,
    required,
)

_NAME_LENGTH_MAX = 512
_MISSING = frozenset({"ResourceNotFoundException"})


def _create_metric_filter(place: Place, properties: Document) -> Existing:
    return _put_metric_filter(place, place.name(properties.get("FilterName"), _NAME_LENGTH_MAX), properties)


def _update_metric_filter(place: Place, existing: Existing, properties: Document) -> Existing:
    return _put_metric_filter(place, existing.physical_id, properties)


def _put_metric_filter(place: Place, name: str, properties: Document) -> Existing:
    place.call(
        "logs", "PutMetricFilter", filterName=name, filterPattern=properties["FilterPattern"],
        logGroupName=properties["LogGroupName"], applyOnTransformedLogs=properties.get("ApplyOnTransformedLogs"),
        fieldSelectionCriteria=properties.get("FieldSelectionCriteria"),
        emitSystemFieldDimensions=properties.get("EmitSystemFieldDimensions"),
        metricTransformations=[_transformation(one) for one in properties["MetricTransformations"]],
    )  # fmt: skip
    return Existing(name, properties, {})


def _transformation(given: Document) -> Document:
    dimensions = {str(one["Key"]): str(one["Value"]) for one in given.get("Dimensions") or ()}
    made = {
        "metricName": given["MetricName"], "metricNamespace": given["MetricNamespace"],
        "metricValue": given["MetricValue"], "defaultValue": given.get("DefaultValue"), "unit": given.get("Unit"),
        "dimensions": dimensions or None,
    }  # fmt: skip
    return {name: value for name, value in made.items() if value is not None}


def _delete_metric_filter(place: Place, existing: Existing) -> None:
    group_name = existing.properties["LogGroupName"]
    place.call("logs", "DeleteMetricFilter", logGroupName=group_name, filterName=existing.physical_id)


def _create_subscription(place: Place, properties: Document) -> Existing:
    return _put_subscription(place, place.name(properties.get("FilterName"), _NAME_LENGTH_MAX), properties)


def _update_subscription(place: Place, existing: Existing, properties: Document) -> Existing:
    return _put_subscription(place, existing.physical_id, properties)


def _put_subscription(place: Place, name: str, properties: Document) -> Existing:
    place.call(
        "logs", "PutSubscriptionFilter", filterName=name, filterPattern=properties["FilterPattern"],
        logGroupName=properties["LogGroupName"], destinationArn=properties["DestinationArn"],
        roleArn=properties.get("RoleArn"), distribution=properties.get("Distribution"),
        applyOnTransformedLogs=properties.get("ApplyOnTransformedLogs"),
        fieldSelectionCriteria=properties.get("FieldSelectionCriteria"),
        emitSystemFields=properties.get("EmitSystemFields"),
    )  # fmt: skip
    return Existing(name, properties, {})


def _delete_subscription(place: Place, existing: Existing) -> None:
    group_name = existing.properties["LogGroupName"]
    place.call("logs", "DeleteSubscriptionFilter", logGroupName=group_name, filterName=existing.physical_id)


def _create_definition(place: Place, properties: Document) -> Existing:
    return _put_definition(place, None, properties)


def _update_definition(place: Place, existing: Existing, properties: Document) -> Existing:
    return _put_definition(place, existing.physical_id, properties)


def _put_definition(place: Place, definition_id: str | None, properties: Document) -> Existing:
    parameters = [
        {
            key: value
            for key, value in (
                ("name", one["Name"]),
                ("defaultValue", one.get("DefaultValue")),
                ("description", one.get("Description")),
            )
            if value is not None
        }
        for one in properties.get("Parameters") or ()
    ]  # fmt: skip
    saved = place.call(
        "logs", "PutQueryDefinition", name=properties["Name"], queryString=properties["QueryString"],
        queryDefinitionId=definition_id, logGroupNames=properties.get("LogGroupNames"),
        queryLanguage=properties.get("QueryLanguage"), parameters=parameters or None,
    )["queryDefinitionId"]  # fmt: skip
    return Existing(saved, properties, {"QueryDefinitionId": saved})


def _delete_definition(place: Place, existing: Existing) -> None:
    place.call("logs", "DeleteQueryDefinition", queryDefinitionId=existing.physical_id)


def _create_destination(place: Place, properties: Document) -> Existing:
    name = str(properties["DestinationName"])
    place.call(
        "logs", "PutDestination", destinationName=name, targetArn=properties["TargetArn"],
        roleArn=properties["RoleArn"], tags=tags_of(properties) or None,
    )  # fmt: skip
    if properties.get("DestinationPolicy"):
        policy = properties["DestinationPolicy"]
        place.call("logs", "PutDestinationPolicy", destinationName=name, accessPolicy=policy)
    arn = str(Arn("logs", place.caller.region, place.caller.account, f"destination:{name}"))
    return Existing(name, properties, {"Arn": arn})


def _update_destination(place: Place, existing: Existing, properties: Document) -> Existing:
    return _create_destination(place, {**properties, "DestinationName": existing.physical_id})


def _delete_destination(place: Place, existing: Existing) -> None:
    place.call("logs", "DeleteDestination", destinationName=existing.physical_id)


METRIC_FILTER = ResourceType(
    name="AWS::Logs::MetricFilter",
    properties={
        "ApplyOnTransformedLogs": BOOLEAN,
        "EmitSystemFieldDimensions": listing(TEXT),
        "FieldSelectionCriteria": TEXT,
        "FilterName": replacing(TEXT),
        "FilterPattern": required(TEXT),
        "LogGroupName": replacing(required(TEXT)),
        "MetricTransformations": required(
            listing(
                group(
                    DefaultValue=NUMBER, Dimensions=listing(group(Key=required(TEXT), Value=required(TEXT))),
                    MetricName=required(TEXT), MetricNamespace=required(TEXT), MetricValue=required(TEXT), Unit=TEXT,
                )
            )
        ),
    },
    create=_create_metric_filter,
    update=_update_metric_filter,
    delete=_delete_metric_filter,
    name_property="FilterName",
    missing=_MISSING,
)  # fmt: skip

SUBSCRIPTION_FILTER = ResourceType(
    name="AWS::Logs::SubscriptionFilter",
    properties={
        "ApplyOnTransformedLogs": BOOLEAN,
        "DestinationArn": required(TEXT),
        "Distribution": TEXT,
        "EmitSystemFields": listing(TEXT),
        "FieldSelectionCriteria": TEXT,
        "FilterName": replacing(TEXT),
        "FilterPattern": required(TEXT),
        "LogGroupName": replacing(required(TEXT)),
        "RoleArn": TEXT,
    },
    create=_create_subscription,
    update=_update_subscription,
    delete=_delete_subscription,
    name_property="FilterName",
    missing=_MISSING,
)

QUERY_DEFINITION = ResourceType(
    name="AWS::Logs::QueryDefinition",
    properties={
        "LogGroupNames": listing(TEXT),
        "Name": required(TEXT),
        "Parameters": listing(group(DefaultValue=TEXT, Description=TEXT, Name=required(TEXT))),
        "QueryLanguage": TEXT,
        "QueryString": required(TEXT),
    },
    create=_create_definition,
    update=_update_definition,
    delete=_delete_definition,
    attributes=frozenset({"QueryDefinitionId"}),
    missing=_MISSING,
)

DESTINATION = ResourceType(
    name="AWS::Logs::Destination",
    properties={
        "DestinationName": replacing(required(TEXT)),
        "DestinationPolicy": TEXT,
        "RoleArn": required(TEXT),
        "Tags": TAGS,
        "TargetArn": required(TEXT),
    },
    create=_create_destination,
    update=_update_destination,
    delete=_delete_destination,
    attributes=frozenset({"Arn"}),
    name_property="DestinationName",
    has_tags=True,
    missing=_MISSING,
)
