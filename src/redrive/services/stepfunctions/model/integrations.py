"""Integrations: which call a Task's resource means, what it is called with, and how its answer and errors look.

Optimized integrations and those of the SDK have different names for the same services, and different errors.
Source: https://docs.aws.amazon.com/step-functions/latest/dg/integrate-optimized.html
Source: https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.services.stepfunctions.model.resources import Kind, TaskResource


@dataclass(frozen=True, slots=True)
class ServiceNames:
    """A service's names: botocore's, those in names of errors and in causes, and the class of its other errors."""

    service: str
    prefix: str
    label: str
    other: str


OPTIMIZED: Mapping[str, ServiceNames] = {
    "lambda": ServiceNames("lambda", "Lambda", "AWSLambda", "AWSLambdaException"),
    "sqs": ServiceNames("sqs", "SQS", "AmazonSQS", "AmazonSQSException"),
    "sns": ServiceNames("sns", "SNS", "AmazonSNS", "AmazonSNSException"),
    "dynamodb": ServiceNames("dynamodb", "DynamoDB", "AmazonDynamoDBv2", "AmazonDynamoDBException"),
    "events": ServiceNames("events", "EventBridge", "AmazonEventBridge", "AmazonEventBridgeException"),
    "states": ServiceNames("stepfunctions", "StepFunctions", "AWSStepFunctions", "AWSStepFunctionsException"),
}

# Names in the ARNs of the SDK's integrations that are not those of botocore's folders.
_SDK_SERVICES: Mapping[str, str] = {
    "cloudwatchlogs": "logs", "eventbridge": "events", "sfn": "stepfunctions", "dynamodbstreams": "dynamodbstreams",
}  # fmt: skip

# The prefixes of errors that are not the service's name with a capital letter.
_SDK_PREFIXES: Mapping[str, str] = {
    "cloudformation": "CloudFormation", "cloudtrail": "CloudTrail", "cloudwatch": "CloudWatch",
    "cloudwatchlogs": "CloudWatchLogs", "dynamodb": "DynamoDb", "dynamodbstreams": "DynamoDbStreams",
    "eventbridge": "EventBridge", "secretsmanager": "SecretsManager",
}  # fmt: skip

FUNCTION_ERROR = "FunctionError"
_ENDING = re.compile(r"(Exception|Error|Fault)$")


def names_of(resource: TaskResource) -> ServiceNames:
    """The names of the service that a task calls."""
    if resource.kind is Kind.SDK:
        prefix = _SDK_PREFIXES.get(resource.service) or resource.service.capitalize()
        service = _SDK_SERVICES.get(resource.service, resource.service)
        return ServiceNames(service, prefix, prefix, f"{prefix}Exception")
    known = OPTIMIZED.get(resource.service)
    if known is not None:
        return known
    prefix = resource.service.capitalize()
    return ServiceNames(resource.service, prefix, prefix, f"Amazon{prefix}Exception")


def operation_of(resource: TaskResource) -> str:
    """The operation that a task calls."""
    return resource.action[:1].upper() + resource.action[1:]


def sent(resource: TaskResource, parameters: object) -> Document:
    """The parameters of the call: what has to be a text is written as JSON where it is none."""
    given = dict(parameters) if isinstance(parameters, dict) else {}
    match resource.service, resource.action:
        case ("lambda", "invoke"):
            if "Payload" in given and (resource.kind is not Kind.SDK or not isinstance(given["Payload"], str)):
                given["Payload"] = dump_json(given["Payload"])
        case ("sqs", "sendMessage"):
            _write(given, "MessageBody")
        case ("sns", "publish"):
            _write(given, "Message")
        case ("events", "putEvents") | ("eventbridge", "putEvents"):
            entries = given.get("Entries")
            if isinstance(entries, list):
                given["Entries"] = [_written(entry, "Detail") for entry in entries]
        case ("states", "startExecution") | ("sfn", "startExecution") | ("sfn", "startSyncExecution"):
            _write(given, "Input")
        case ("s3", _):
            _write(given, "Body")
    return given


def received(resource: TaskResource, answer: Document, request_id: str) -> Document:
    """What a task gets of an answer in the SDK's spelling."""
    if resource.kind is Kind.SDK:
        return answer
    if (resource.service, resource.action) == ("lambda", "invoke"):
        answer = {**answer, "Payload": read_payload(answer.get("Payload", ""))}
    headers = {"x-amzn-RequestId": request_id, "Content-Type": "application/x-amz-json-1.0"}
    return {
        **answer,
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [value] for name, value in headers.items()}, "HttpHeaders": headers,
            "HttpStatusCode": 200,
        },
        "SdkResponseMetadata": {"RequestId": request_id},
    }  # fmt: skip


def read_payload(payload: object) -> object:
    """A function's payload as a value; text that is no JSON stays text."""
    text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else payload
    if not isinstance(text, str) or not text:
        return None
    try:
        return load_json(text)
    except ValueError:
        return text


def function_failure(payload: object) -> tuple[str, str]:
    """The error and the cause of a function that has failed, from its error document."""
    document = read_payload(payload)
    if not isinstance(document, dict):
        return "Lambda.Unknown", "The cause could not be determined because Lambda did not return an error type."
    return str(document.get("errorType") or "Exception"), dump_json(document)


def call_failure(resource: TaskResource, error: ServiceError, request_id: str, *, is_declared: bool) -> tuple[str, str]:
    """The error and the cause of a call that was refused. `is_declared`: AWS's model of the operation has the code."""
    names = names_of(resource)
    status = error.http_status or (500 if error.fault == "server" else 400)
    class_name = names.other
    if is_declared or (
        names.service == "lambda" and error.code.endswith("Exception") and error.code not in _OF_CALLERS
    ):
        class_name = error.code if error.code.endswith("Exception") else f"{_ENDING.sub('', error.code)}Exception"
    if resource.kind is Kind.SDK:
        extra = ", Extended Request ID: " + request_id if names.service == "s3" else ""
        about = f"Service: {names.label}, Status Code: {status}, Request ID: {request_id}{extra}"
        return f"{names.prefix}.{class_name}", f"{error.message} ({about}) (SDK Attempt Count: 1)"
    about = (
        f"Service: {names.label}; Status Code: {status}; Error Code: {error.code}; Request ID: {request_id}; "
        "Proxy: null"
    )
    return f"{names.prefix}.{class_name}", f"{error.message} ({about})"


_OF_CALLERS = frozenset({"AccessDeniedException", "ValidationException", "UnrecognizedClientException"})


def _written(entry: object, name: str) -> object:
    if isinstance(entry, dict):
        entry = dict(entry)
        _write(entry, name)
    return entry


def _write(given: Document, name: str) -> None:
    if name in given and not isinstance(given[name], str):
        given[name] = dump_json(given[name])
