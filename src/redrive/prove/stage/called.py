"""The event of a function that is called by an API, or that a topic, a bucket or a schedule is said to feed."""

from __future__ import annotations

import json
from dataclasses import replace

from redrive.core.documents import Document, dump_json
from redrive.prove.guess.reading import Reading
from redrive.prove.project.functions import Feed
from redrive.prove.stage.sampled import Wanted

_HEADERS = {"Host": "sample.execute-api.us-east-1.amazonaws.com", "Content-Type": "application/json"}
_TEXTS = ("queryStringParameters", "pathParameters", "stageVariables", "headers")
_OBJECTS = ("requestContext", *_TEXTS)
_OF_REST = frozenset({"httpMethod", "resource", "path", "multiValueHeaders", "multiValueQueryStringParameters"})
"""Members that only the event of a REST API has; the other form is that of HTTP APIs and of functions' URLs."""
_RESPONSE = "https://cloudformation-custom-resource-response-useast1.s3.amazonaws.com/sample"
_CUSTOM: Document = {
    "RequestType": "Create", "RequestId": "5b478418-4d3b-4a7a-9b2c-3c2d7a1b9e10", "ResourceType": "Custom::Sample",
    "StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/sample/5b478418-4d3b-4a7a-9b2c-3c2d7a1b9e10",
    "LogicalResourceId": "Sample", "ResourceProperties": {},
}  # fmt: skip
"""The request of a custom resource.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/crpg-ref-requesttypes-create.html
"""
_API = ("an API", "its URL", "a load balancer")


def fed_as(feed: Feed, wanted: Wanted) -> Wanted:
    """What is known of the event, with the class of events that the feed gives."""
    if feed.kind != "topic":
        return wanted
    reading = Reading() if wanted.reading is None else wanted.reading
    return replace(wanted, reading=replace(reading, data_class="SNSEvent"))


def is_api(feed: Feed) -> bool:
    """Whether clients over HTTP call the function and wait for its answer."""
    return feed.kind == "caller" and feed.told in _API


def called_event(feed: Feed, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The events of a function; those of an API get its envelope around what the handler reads."""
    if feed.told == "a custom resource":
        return tuple(dump_json(_CUSTOM | json.loads(text) | {"ResponseURL": _RESPONSE}) for text in texts)
    if not is_api(feed):
        return texts
    return tuple(dump_json(_of_api(json.loads(text), feed.told)) for text in texts)


def _of_api(made: Document, told: str) -> Document:
    """A request as API Gateway gives it to a function.

    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
    """
    method = str(made.get("httpMethod") or _inner(made, "requestContext", "http", "method") or "POST")
    path = str(made.get("path") or made.get("rawPath") or "/sample")
    is_rest = bool(_OF_REST & made.keys()) or told == "a load balancer"
    envelope: Document = (
        {
            "resource": path, "path": path, "httpMethod": method, "headers": {}, "multiValueHeaders": {},
            "queryStringParameters": None, "pathParameters": None, "stageVariables": None,
            "requestContext": {"requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "httpMethod": method, "path": path,
                               "stage": "prod", "identity": {"sourceIp": "192.0.2.10"}},
            "isBase64Encoded": False,
        } if is_rest else {
            "version": "2.0", "routeKey": f"{method} {path}", "rawPath": path, "rawQueryString": "", "headers": {},
            "requestContext": {"requestId": "JKJaXmPLvHcESHA=", "stage": "$default", "http": {
                "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.10", "userAgent": "sample",
            }},
            "isBase64Encoded": False,
        }
    )  # fmt: skip
    event = envelope | {name: value for name, value in made.items() if name not in _OBJECTS}
    for name in _OBJECTS:
        if isinstance(made.get(name), dict):
            own = event.get(name)
            event[name] = (own if isinstance(own, dict) else {}) | made[name]
    event["headers"] = {**_HEADERS, **event["headers"]}
    body = made.get("body", {"id": "sample-1"})
    event["body"] = body if isinstance(body, str) and body.startswith(("{", "[")) else dump_json(body)
    return event


def _inner(document: Document, *path: str) -> object:
    found: object = document
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found
