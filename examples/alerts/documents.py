"""What the articles' documents and queries do, as they are printed: each is given to the service that it is for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError
from server import client, redrive

PRINTED = Path(__file__).parent / "printed"
TOPIC = "arn:aws:sns:us-east-1:000000000000:alerts"


def read(name: str) -> Any:
    """A document of the article."""
    return json.loads((PRINTED / name).read_text("utf-8"))


def answer_to(service: str, operation: str, request: Any, *, is_checked: bool = True) -> str:
    """What a request comes to: the SDK's refusal, the service's error, or `accepted`.

    With `is_checked` false the SDK sends what it would refuse, so that the service itself answers.
    """
    caller = client(service, config=Config(parameter_validation=is_checked))
    try:
        getattr(caller, operation)(**request)
    except ParamValidationError as error:
        return "boto3: " + " ".join(str(error).split())
    except ClientError as error:
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return "accepted"


def metric_filters() -> dict[str, str]:
    """The document with `MetricFilters`, what is in it one by one, and what it would take."""
    document = read("metric-filters.json")
    first = document["MetricFilters"][0]
    group = "/aws/lambda/check-health"
    completed = {**first, "logGroupName": group, "filterPattern": "FAILED"}
    return {
        "the document, to PutMetricFilter": answer_to("logs", "put_metric_filter", document),
        "its first filter": answer_to("logs", "put_metric_filter", first),
        "its first filter, sent without boto3's check": answer_to("logs", "put_metric_filter", first, is_checked=False),
        "with a log group and a pattern": answer_to("logs", "put_metric_filter", completed),
        "metrics of the namespace EventBridge/Rules": listed("EventBridge/Rules"),
        "metrics of AWS/Events called MatchedRules": listed("AWS/Events", "MatchedRules"),
        "metrics of AWS/Events called TriggeredRules": listed("AWS/Events", "TriggeredRules"),
    }


def listed(namespace: str, name: str | None = None) -> str:
    """How many metrics there are."""
    request = {"Namespace": namespace} | ({"MetricName": name} if name else {})
    return str(len(client("cloudwatch").list_metrics(**request)["Metrics"]))


def put_alarms() -> dict[str, str]:
    """The article's alarms: as they are printed; with a topic that can be; and the first with the rule as dimension."""
    told = {}
    for name in ("failed-invocations.json", "processing-delay.json"):
        document = read(name)
        told[f"{name}, as it is printed"] = answer_to("cloudwatch", "put_metric_alarm", document)
        mended = {**document, "AlarmActions": [TOPIC]}
        told[f"{name}, with the ARN of a topic"] = answer_to("cloudwatch", "put_metric_alarm", mended)
    with_rule = {
        **read("failed-invocations.json"), "AlarmName": "EventBridge-HighFailureRate-of-the-rule",
        "AlarmActions": [TOPIC], "Dimensions": [{"Name": "RuleName", "Value": "import-files"}],
    }  # fmt: skip
    answer = answer_to("cloudwatch", "put_metric_alarm", with_rule)
    told["failed-invocations.json, with the rule as its dimension as well"] = answer
    return told


def queries(*, as_tables: bool) -> list[dict[str, Any]]:
    """The saved queries, each run over its log groups by `redrive logs query`: notes, and a table or rows."""
    found = []
    definitions = client("logs").describe_query_definitions()["queryDefinitions"]
    for definition in sorted(definitions, key=lambda one: one["name"]):
        query, groups = definition["queryString"], [f"--group={name}" for name in definition["logGroupNames"]]
        done = redrive("logs", "query", query, *groups, "--since", "24h", "-o", "chart" if as_tables else "json")
        lines = done.stdout.splitlines()
        found.append({
            "name": definition["name"], "notes": done.stderr.splitlines(),
            "as_aws": answer_to("logs", "start_query", asked(definition["logGroupNames"], query)),
            **({"table": lines} if as_tables else {"rows": [json.loads(line) for line in lines]}),
        })  # fmt: skip
    return found


def asked(groups: list[str], query: str) -> dict[str, Any]:
    """A request to StartQuery, for the day."""
    start = 1735689600  # 2025-01-01T00:00:00Z
    return {"logGroupNames": groups, "startTime": start, "endTime": start + 86_400, "queryString": query}


def query_of_a_group_that_is_not_there() -> str:
    """The query of 7.1, with the log group that the article names: EventBridge writes no such group by itself."""
    query = "fields @timestamp, @message | filter @message like /FAILED/ | sort @timestamp desc | limit 20"
    return answer_to("logs", "start_query", asked(["/aws/events/rule/s3-to-stepfunctions"], query))
