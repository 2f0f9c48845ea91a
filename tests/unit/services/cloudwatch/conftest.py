"""A world with CloudWatch, reached through boto3 and, protocol by protocol, through botocore's own serializers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import botocore.loaders
import botocore.model
import botocore.parsers
import botocore.serialize
import pytest
from botocore.awsrequest import HeadersDict, create_request_object, prepare_request_dict
from botocore.exceptions import ClientError

from redrive.core.clock import MINUTE_MS, Instant
from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from tests.unit.services.cloudwatch.alarmed import Tower

SCOPE = "000000000000/20250101/us-east-1/monitoring/aws4_request"
SIGNED = f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host, Signature=0"


class Desk:
    """What a user of CloudWatch has at hand, and short words for it. Times are minutes from the beginning."""

    def __init__(self) -> None:
        self.world = World(seed=1)
        self.start = self.world.now
        self.client = self.world.client("cloudwatch")

    def at(self, minutes: float) -> Instant:
        """An instant."""
        return self.start + round(minutes * MINUTE_MS)

    def seconds(self, minutes: float) -> float:
        """An instant as boto3 takes it."""
        return self.at(minutes) / 1000

    def put(self, name: str = "m", minutes: float | None = None, namespace: str = "App", **datum: Any) -> None:
        """Publish a datum."""
        when = {} if minutes is None else {"Timestamp": self.seconds(minutes)}
        self.client.put_metric_data(Namespace=namespace, MetricData=[{"MetricName": name, **when, **datum}])

    def publish(self, name: str, values: Mapping[int, float]) -> None:
        """Publish a value for each of some minutes."""
        for minutes, value in values.items():
            self.put(name, minutes, Value=value)

    def data(self, *queries: Any, begin: float = 0, end: float = 5, **more: Any) -> list[dict[str, Any]]:
        """What GetMetricData answers, oldest first."""
        asked = {"ScanBy": "TimestampAscending", **more}
        answer = self.client.get_metric_data(
            MetricDataQueries=list(queries), StartTime=self.seconds(begin), EndTime=self.seconds(end), **asked
        )
        return list(answer["MetricDataResults"])

    def math(self, expression: str, **more: Any) -> dict[int, float]:
        """What an expression gives, by minute; `a` and `b` are sums of the metrics of these names."""
        queries = [{**stat("a"), "ReturnData": False}, {**stat("b"), "ReturnData": False}]
        (result,) = self.data(*queries, {"Id": "e", "Expression": expression}, **more)
        return self.by_minute(result)

    def by_minute(self, result: Mapping[str, Any]) -> dict[int, float]:
        """The points of a result."""
        return {
            round((at.timestamp() * 1000 - self.start) / MINUTE_MS): value
            for at, value in zip(result["Timestamps"], result["Values"], strict=True)
        }

    def statistics(self, name: str = "m", *, begin: float = 0, end: float = 5, period: int = 60, **asked: Any) -> Any:
        """The data points of GetMetricStatistics."""
        return self.client.get_metric_statistics(
            Namespace=asked.pop("Namespace", "App"), MetricName=name, StartTime=self.seconds(begin),
            EndTime=self.seconds(end), Period=period, **asked,
        )["Datapoints"]  # fmt: skip

    def speak(self, protocol: str, operation: str, **params: Any) -> dict[str, Any]:
        """Call an operation in a protocol that boto3 does not choose by itself."""
        document = dict(botocore.loaders.Loader().load_service_model("cloudwatch", "service-2"))
        document["metadata"] = {**document["metadata"], "protocol": protocol, "protocols": [protocol]}
        model = botocore.model.ServiceModel(document, "cloudwatch").operation_model(operation)
        sent = botocore.serialize.create_serializer(protocol).serialize_to_request(params, model)
        prepare_request_dict(sent, "http://localhost")
        prepared = create_request_object(sent).prepare()
        headers = {
            name.lower(): value if isinstance(value, str) else value.decode()
            for name, value in prepared.headers.items()
        }
        body = prepared.body or b""
        answer = self.world.gateway.respond(
            HttpRequest(
                "POST", prepared.url.removeprefix("http://localhost"), "",
                {**headers, "authorization": SIGNED, "x-amz-date": "20250101T000000Z"},
                body.encode() if isinstance(body, str) else body,
            )
        )  # fmt: skip
        parsed: dict[str, Any] = botocore.parsers.create_parser(protocol).parse(
            {"status_code": answer.status, "headers": HeadersDict(answer.headers), "body": answer.body},
            model.output_shape,
        )
        return parsed


def stat(name: str, statistic: str = "Sum", *, period: int = 60, query_id: str | None = None, **more: Any) -> Any:
    """A query for a statistic of a metric, under the metric's name."""
    metric = {"Namespace": "App", "MetricName": name, "Dimensions": more.pop("Dimensions", [])}
    inner = {"Metric": metric, "Period": period, "Stat": statistic}
    if "Unit" in more:
        inner["Unit"] = more.pop("Unit")
    return {"Id": query_id or name, "MetricStat": inner, **more}


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.world.close()


@pytest.fixture
def refusal() -> Any:
    """Code and message of the error with which a call fails."""

    def refused(call: Any, *args: Any, **params: Any) -> tuple[str, str]:
        with pytest.raises(ClientError) as caught:
            call(*args, **params)
        response: Any = caught.value.response
        return response["Error"]["Code"], response["Error"]["Message"]

    return refused


@pytest.fixture
def query() -> Any:
    """`query("m", "Average")`: a query for a statistic of a metric."""
    return stat


@pytest.fixture
def tower() -> Iterator[Tower]:
    tower = Tower()
    yield tower
    tower.close()
