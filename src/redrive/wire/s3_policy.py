"""Policies of forms: until when, with which fields and with how many bytes a form may bring an object.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from redrive.core.clock import Instant, parse_instant
from redrive.core.errors import ServiceError
from redrive.wire.s3_form import POLICY, PostForm
from redrive.wire.s3_form_reader import FILE

_FREE = frozenset({FILE, POLICY, "awsaccesskeyid", "signature", "x-amz-signature"})
_IGNORED = "x-ignore-"


def check_policy(form: PostForm, now: Sequence[Instant]) -> None:
    """Refuse a form that its policy does not allow, or allows no more by any of the clocks.

    While the file is still coming, any number of bytes is allowed.
    Errors: InvalidPolicyDocument; AccessDenied; EntityTooLarge; EntityTooSmall.
    """
    document = _read(form.fields[POLICY])
    expires = _expiration(document)
    if all(clock > expires for clock in now):
        raise _denied("Policy expired.")
    conditions = document.get("conditions")
    if not isinstance(conditions, list):
        raise _unreadable("Invalid 'conditions' value")
    named = {POLICY}
    for condition in conditions:
        for operator, first, second in _operations(condition):
            if operator == "content-length-range":
                _check_size(form.size, first, second)
            else:
                name = str(first).removeprefix("$")
                named.add(name.lower())
                _check_field(form, operator, name, str(second))
    extra = [name for name in form.fields if name not in named | _FREE and not name.startswith(_IGNORED)]
    if extra:
        raise _denied(f"Extra input fields: {', '.join(sorted(extra))}")


def _read(text: str) -> dict[str, Any]:
    try:
        document = json.loads(base64.b64decode(text))
    except (binascii.Error, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _unreadable("Invalid JSON.")
    return document


def _expiration(document: dict[str, Any]) -> Instant:
    if "expiration" not in document:
        raise _unreadable("Policy missing expiration.")
    try:
        return parse_instant(document["expiration"])
    except (TypeError, ValueError):
        raise _unreadable(f"Invalid 'expiration' value: '{document['expiration']}'") from None


def _operations(condition: object) -> list[tuple[str, Any, Any]]:
    """A condition as operator and operands: `{"acl": "private"}` means `["eq", "$acl", "private"]`."""
    match condition:
        case dict():
            return [("eq", f"${name}", value) for name, value in condition.items()]
        case [str() as operator, first, second] if operator.lower() in ("eq", "starts-with", "content-length-range"):
            return [(operator.lower(), first, second)]
        case _:
            raise _unreadable("Invalid Conditions element.")


def _check_field(form: PostForm, operator: str, name: str, wanted: str) -> None:
    """Compare a field: values with regard to case, names without. The bucket is the one of the request."""
    given = form.bucket if name.lower() == "bucket" else form.fields.get(name.lower(), "")
    if given.startswith(wanted) if operator == "starts-with" else given == wanted:
        return
    raise _denied(f'Policy Condition failed: ["{operator}", "${name}", "{wanted}"]')


def _check_size(size: int | None, least: object, most: object) -> None:
    try:
        low, high = int(str(least)), int(str(most))
    except ValueError:
        raise _unreadable("Invalid content-length-range") from None
    if size is None:
        return
    if size > high:
        raise ServiceError(
            "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", http_status=400,
            members={"ProposedSize": size, "MaxSizeAllowed": high},
        )  # fmt: skip
    if size < low:
        raise ServiceError(
            "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", http_status=400,
            members={"ProposedSize": size, "MinSizeAllowed": low},
        )  # fmt: skip


def _denied(what: str) -> ServiceError:
    return ServiceError("AccessDenied", f"Invalid according to Policy: {what}", http_status=403)


def _unreadable(what: str) -> ServiceError:
    return ServiceError("InvalidPolicyDocument", f"Invalid Policy: {what}", http_status=400)
