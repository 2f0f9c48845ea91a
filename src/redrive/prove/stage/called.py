"""Functions that somebody calls: by an API, or as a custom resource."""

from __future__ import annotations

import json

from redrive.core.documents import Document, dump_json
from redrive.prove.project.functions import Feed

_RESPONSE = "https://cloudformation-custom-resource-response-useast1.s3.amazonaws.com/sample"
_CUSTOM: Document = {
    "RequestType": "Create", "RequestId": "5b478418-4d3b-4a7a-9b2c-3c2d7a1b9e10", "ResourceType": "Custom::Sample",
    "StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/sample/5b478418-4d3b-4a7a-9b2c-3c2d7a1b9e10",
    "LogicalResourceId": "Sample", "ResourceProperties": {},
}  # fmt: skip
"""The request of a custom resource.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/crpg-ref-requesttypes-create.html
"""
CUSTOM_RESOURCE = "a custom resource"
"""How the feed of a function behind a custom resource is named."""
_API = ("an API", "its URL", "a load balancer")


def is_api(feed: Feed) -> bool:
    """Whether clients over HTTP call the function and wait for its answer."""
    return feed.kind == "caller" and feed.told in _API


def called_event(feed: Feed, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The events of a function; those of a custom resource get its envelope around what the handler reads."""
    if feed.told != CUSTOM_RESOURCE:
        return texts
    return tuple(dump_json(_CUSTOM | json.loads(text) | {"ResponseURL": _RESPONSE}) for text in texts)
