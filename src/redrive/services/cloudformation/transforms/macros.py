"""Macros, which are transforms by functions of the account: the function's event, and the meaning of its answer.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-macros-author.html
"""

from __future__ import annotations

from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.languages.template import Node, TemplateError
from redrive.languages.template.transforms import Transform, fragment_of
from redrive.services.cloudformation.transforms.expansion import Surroundings
from redrive.services.cloudformation.transforms.failure import TransformFailure

SUCCESS = "success"


def transform_id(scope: Scope, name: str) -> str:
    """Return the name of a macro in requests and in reasons."""
    return f"{scope.account}::{name}"


def macro_request(
    root: dict[str, Node], transform: Transform, surroundings: Surroundings, scope: Scope, request_id: str
) -> Document:
    """Return the event for a macro's function."""
    return {
        "region": scope.region,
        "accountId": scope.account,
        "fragment": fragment_of(root, transform),
        "transformId": transform_id(scope, transform.name),
        "params": dict(transform.parameters),
        "requestId": request_id,
        "templateParameterValues": dict(surroundings.parameters),
    }


def macro_answer(payload: bytes, scope: Scope, transform: Transform, request_id: str) -> Node:
    """Return the fragment in the answer of a macro's function. Errors: TransformFailure; TemplateError."""
    name = transform_id(scope, transform.name)
    try:
        answer = load_json(payload)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or answer.get("requestId") != request_id or "status" not in answer:
        raise TemplateError(f"Received malformed response from transform {name}.")
    if str(answer["status"]).lower() != SUCCESS:
        message = answer.get("errorMessage")
        if message:
            raise TransformFailure(name, str(message))
        raise TemplateError(f"Transform {name} failed without an error message.")
    if "fragment" not in answer:
        raise TemplateError(f"Received malformed response from transform {name}.")
    fragment: Node = answer["fragment"]
    return fragment
