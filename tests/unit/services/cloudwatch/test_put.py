"""PutMetricData: what is taken, and what is refused in which words.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
"""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.clock import DAY_MS, MINUTE_MS

ALL = ["SampleCount", "Average", "Sum", "Minimum", "Maximum"]
INVALID, COMBINATION = "InvalidParameterValue", "InvalidParameterCombination"


def statistics(desk: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in point.items() if name != "Timestamp"}
        for point in desk.statistics(Statistics=ALL, **more)
    ]


@pytest.mark.parametrize("protocol", ["smithy-rpc-v2-cbor", "json", "query"])
def test_value_that_was_published_is_read_at_once_in_every_protocol(desk: Any, protocol: str) -> None:
    datum = {"MetricName": "m", "Value": 2.5, "Unit": "Count", "Dimensions": [{"Name": "a", "Value": "b"}]}
    put = desk.speak(protocol, "PutMetricData", Namespace="App", MetricData=[datum])
    assert put.get("Error") is None

    answer = desk.speak(
        protocol, "GetMetricStatistics", Namespace="App", MetricName="m", Dimensions=datum["Dimensions"],
        StartTime=desk.seconds(0), EndTime=desk.seconds(1), Period=60, Statistics=["Sum"],
    )  # fmt: skip

    assert [(point["Sum"], point["Unit"]) for point in answer["Datapoints"]] == [(2.5, "Count")]
    assert answer["Datapoints"][0]["Timestamp"].timestamp() == desk.seconds(0)


@pytest.mark.parametrize("protocol", ["smithy-rpc-v2-cbor", "json", "query"])
def test_error_has_its_name_in_every_protocol(desk: Any, protocol: str) -> None:
    answer = desk.speak(protocol, "PutMetricData", Namespace="App", MetricData=[])

    assert (answer["Error"]["Code"], answer["Error"]["Message"]) == (
        "MissingParameter",
        "The parameter MetricData is required.",
    )


def test_large_request_comes_compressed_and_is_read(desk: Any) -> None:
    """boto3 compresses from 10 KiB on."""
    data = [{"MetricName": f"metric-{number:04d}", "Value": 1} for number in range(1000)]

    desk.client.put_metric_data(Namespace="App", MetricData=data)

    assert len(desk.client.list_metrics(Namespace="App")["Metrics"]) == 500


def test_values_of_a_minute_add_up(desk: Any) -> None:
    desk.put(Value=1)
    desk.put(minutes=0.9, Value=4)
    desk.put(minutes=1, Value=8)

    assert statistics(desk) == [
        {"SampleCount": 2, "Average": 2.5, "Sum": 5, "Minimum": 1, "Maximum": 4, "Unit": "None"},
        {"SampleCount": 1, "Average": 8, "Sum": 8, "Minimum": 8, "Maximum": 8, "Unit": "None"},
    ]


def test_values_count_as_often_as_counts_say(desk: Any) -> None:
    desk.put(Values=[10, 20], Counts=[3, 1])
    desk.put("one-each", Values=[10, 20])

    assert statistics(desk)[0] | {"Unit": ""} == {
        "SampleCount": 4, "Average": 12.5, "Sum": 50, "Minimum": 10, "Maximum": 20, "Unit": "",
    }  # fmt: skip
    assert statistics(desk, name="one-each")[0]["SampleCount"] == 2


def test_values_that_never_occurred_are_no_data(desk: Any) -> None:
    desk.put(Values=[1], Counts=[0])

    assert statistics(desk) == []


def test_statistic_set_adds_its_statistics(desk: Any) -> None:
    desk.put(StatisticValues={"SampleCount": 4, "Sum": 10, "Minimum": 1, "Maximum": 5})
    desk.put(Value=0)

    assert statistics(desk) == [{"SampleCount": 5, "Average": 2, "Sum": 10, "Minimum": 0, "Maximum": 5, "Unit": "None"}]


def test_units_are_kept_apart(desk: Any) -> None:
    desk.put(Value=1, Unit="Seconds")
    desk.put(Value=2, Unit="Bytes")

    assert [(point["Sum"], point["Unit"]) for point in statistics(desk)] == [(2, "Bytes"), (1, "Seconds")]
    assert [point["Sum"] for point in statistics(desk, Unit="Seconds")] == [1]
    assert statistics(desk, Unit="Count") == []


def test_each_combination_of_dimensions_is_a_metric_of_its_own(desk: Any) -> None:
    """In whatever order they come."""
    ab = [{"Name": "a", "Value": "1"}, {"Name": "b", "Value": "2"}]
    desk.put(Value=1, Dimensions=ab)
    desk.put(Value=2, Dimensions=ab[::-1])
    desk.put(Value=4, Dimensions=ab[:1])

    assert [point["Sum"] for point in statistics(desk, Dimensions=ab[::-1])] == [3]
    assert [point["Sum"] for point in statistics(desk, Dimensions=ab[:1])] == [4]
    assert statistics(desk) == []


def test_accounts_and_regions_do_not_see_one_another(desk: Any) -> None:
    desk.put(Value=1)

    for other in ({"region": "eu-west-1"}, {"account": "111111111111"}):
        assert desk.world.client("cloudwatch", **other).list_metrics()["Metrics"] == []


@pytest.mark.parametrize("minutes", [-14 * 24 * 60, 120])
def test_time_stamp_may_be_two_weeks_old_or_two_hours_ahead(desk: Any, minutes: int) -> None:
    desk.put(minutes=minutes, Value=1)

    assert len(statistics(desk, begin=minutes, end=minutes + 1)) == 1


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (-14 * 24 * 60 - 0.001, "must specify a time within the past two weeks."),
        (120.001, "must specify a time no more than two hours in the future."),
    ],
)
def test_time_stamp_outside_of_its_bounds_is_refused(desk: Any, refusal: Any, minutes: float, text: str) -> None:
    refused = refusal(desk.put, minutes=minutes, Value=1)

    assert refused == (INVALID, f"The parameter MetricData.member.1.Timestamp {text}")


@pytest.mark.parametrize(
    ("datum", "code", "text"),
    [
        ({}, COMBINATION, "At least one of the parameters M.Value and M.StatisticValues must be specified."),
        (
            {"Value": 1, "StatisticValues": {"SampleCount": 1, "Sum": 1, "Minimum": 1, "Maximum": 1}},
            COMBINATION,
            "The parameters M.Value and M.StatisticValues are mutually exclusive and you have specified both.",
        ),
        (
            {"Value": 1, "Values": [1]},
            COMBINATION,
            "The parameters M.Value and M.Values are mutually exclusive and you have specified both.",
        ),
        ({"Value": float("nan")}, INVALID, "The value NaN for parameter M.Value is invalid."),
        ({"Value": float("inf")}, INVALID, "The value Infinity for parameter M.Value is invalid."),
        ({"Value": -(2.0**361)}, INVALID, f"The value {-(2.0**361)} for parameter M.Value is invalid."),
        ({"Values": [1, float("inf")]}, INVALID, "The value Infinity for parameter M.Values.member.2 is invalid."),
        ({"Values": [1] * 151}, INVALID, "The collection M.Values must not have a size greater than 150."),
        ({"Values": []}, INVALID, "The collection M.Values must not be empty."),
        (
            {"Values": [1], "Counts": [1, 2]},
            INVALID,
            "The collections M.Values and M.Counts must be of the same size.",
        ),
        (
            {"Value": 1, "Counts": [1]},
            INVALID,
            "The collections M.Values and M.Counts must be of the same size.",
        ),
        ({"Values": [1], "Counts": [-1]}, INVALID, "The value -1.0 for parameter M.Counts.member.1 is invalid."),
        (
            {"StatisticValues": {"SampleCount": 0, "Sum": 1, "Minimum": 1, "Maximum": 1}},
            INVALID,
            "The value 0.0 for parameter M.StatisticValues.SampleCount is invalid.",
        ),
        (
            {"StatisticValues": {"SampleCount": 1, "Sum": 1, "Minimum": 2, "Maximum": 1}},
            INVALID,
            "The parameter S.Minimum must be less than or equal to the parameter S.Maximum.",
        ),
        (
            {"Value": 1, "StorageResolution": 5},
            INVALID,
            "The value 5 for parameter M.StorageResolution is invalid.",
        ),
        (
            {"Value": 1, "Dimensions": [{"Name": ":a", "Value": "b"}]},
            INVALID,
            "The value :a for parameter M.Dimensions.member.1.Name is invalid.",
        ),
        (
            {"Value": 1, "Dimensions": [{"Name": "a", "Value": "ä"}]},
            INVALID,
            "The value ä for parameter M.Dimensions.member.1.Value is invalid.",
        ),
        (
            {"Value": 1, "Dimensions": [{"Name": "a", "Value": " "}]},
            INVALID,
            "The value   for parameter M.Dimensions.member.1.Value is invalid.",
        ),
    ],
)
def test_datum_that_breaks_a_rule_is_refused(desk: Any, refusal: Any, datum: Any, code: str, text: str) -> None:
    expected = text.replace("S.M", "M.StatisticValues.M").replace("M.", "MetricData.member.1.")

    assert refusal(desk.put, **datum) == (code, expected)
    assert desk.client.list_metrics()["Metrics"] == []


def test_all_problems_of_a_kind_are_told_and_nothing_is_stored(desk: Any, refusal: Any) -> None:
    data = [{"MetricName": "m", "Value": value} for value in (float("nan"), 1.0, float("inf"))]

    code, message = refusal(desk.client.put_metric_data, Namespace="App", MetricData=data)

    assert code == INVALID
    assert message.splitlines() == [
        "The value NaN for parameter MetricData.member.1.Value is invalid.",
        "The value Infinity for parameter MetricData.member.3.Value is invalid.",
    ]
    assert desk.client.list_metrics()["Metrics"] == []


@pytest.mark.parametrize("namespace", ["AWS/SQS", "äpfel"])
def test_namespace_of_awss_own_services_is_refused(desk: Any, refusal: Any, namespace: str) -> None:
    refused = refusal(desk.put, namespace=namespace, Value=1)

    assert refused == (INVALID, f"The value {namespace} for parameter Namespace is invalid.")


def test_request_has_a_thousand_metrics_at_most(desk: Any, refusal: Any) -> None:
    data = [{"MetricName": "m", "Value": 1}] * 1001

    assert refusal(desk.client.put_metric_data, Namespace="App", MetricData=data) == (
        INVALID,
        "The collection MetricData must not have a size greater than 1000.",
    )


def test_metric_has_thirty_dimensions_at_most(desk: Any, refusal: Any) -> None:
    dimensions = [{"Name": f"d{number}", "Value": "v"} for number in range(31)]
    desk.put(Value=1, Dimensions=dimensions[:30])

    code, message = refusal(desk.put, Value=1, Dimensions=dimensions)

    assert code == "ValidationError"
    assert "Member must have length less than or equal to 30" in message


def entity(**attributes: str) -> dict[str, Any]:
    return {"Entity": {"KeyAttributes": attributes}, "MetricData": [{"MetricName": "m", "Value": 1}]}


def test_metrics_of_an_entity_are_metrics(desk: Any) -> None:
    desk.client.put_metric_data(
        Namespace="App", EntityMetricData=[entity(Type="Service", Name="shop")], StrictEntityValidation=True
    )

    assert [point["Sum"] for point in statistics(desk)] == [1]


def test_invalid_entity_is_refused_only_if_the_caller_is_strict(desk: Any, refusal: Any) -> None:
    params = {"Namespace": "App", "EntityMetricData": [entity(Name="shop", Colour="red")]}

    desk.client.put_metric_data(**params, StrictEntityValidation=False)
    strict = refusal(desk.client.put_metric_data, **params, StrictEntityValidation=True)
    unsaid = refusal(desk.client.put_metric_data, **params)

    assert strict == (INVALID, "The parameter EntityMetricData.member.1.Entity.KeyAttributes is invalid.")
    assert unsaid == ("MissingParameter", "The parameter StrictEntityValidation is required.")
    assert [point["Sum"] for point in statistics(desk)] == [1]


def test_request_has_two_entities_at_most(desk: Any, refusal: Any) -> None:
    entities = [entity(Type="Service", Name=name) for name in "abc"]

    code, message = refusal(
        desk.client.put_metric_data, Namespace="App", EntityMetricData=entities, StrictEntityValidation=False
    )

    assert (code, message) == (INVALID, "The collection EntityMetricData must not have a size greater than 2.")


def test_published_data_are_forgotten_after_fifteen_months(desk: Any) -> None:
    desk.put(Value=1)
    desk.world.clock.move_to(desk.start + 455 * DAY_MS + 2 * MINUTE_MS)

    assert statistics(desk) == []
    desk.put("other", Value=1)
    desk.world.settle()
    stored = desk.world.store.run(lambda tx: tx.metrics.series_of("000000000000/us-east-1"))
    assert [series.name for series in stored] == ["other"]


def test_role_without_permission_may_not_publish(desk: Any, refusal: Any) -> None:
    session = desk.world.client("sts")
    trust = (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}'
    )
    desk.world.client("iam").create_role(RoleName="poor", AssumeRolePolicyDocument=trust)
    made = session.assume_role(RoleArn="arn:aws:iam::000000000000:role/poor", RoleSessionName="poor")["Credentials"]
    poor = desk.world.client(
        "cloudwatch", aws_access_key_id=made["AccessKeyId"], aws_secret_access_key=made["SecretAccessKey"],
        aws_session_token=made["SessionToken"],
    )  # fmt: skip

    for call, params in (
        (poor.put_metric_data, {"Namespace": "App", "MetricData": [{"MetricName": "m", "Value": 1}]}),
        (poor.list_metrics, {}),
    ):
        code, message = refusal(call, **params)
        assert code == "AccessDenied"
        assert "is not authorized to perform: cloudwatch:" in message


def test_statistic_set_may_stand_beside_values(desk: Any) -> None:
    """Both count."""
    together = {"StatisticValues": {"SampleCount": 2, "Sum": 5, "Minimum": 1, "Maximum": 4}, "Values": [7]}
    desk.put(minutes=0, **together)

    (point,) = desk.statistics(begin=0, end=1, Statistics=["Sum", "SampleCount", "Minimum", "Maximum"])

    assert [point[name] for name in ("Sum", "SampleCount", "Minimum", "Maximum")] == [12, 3, 1, 7]
