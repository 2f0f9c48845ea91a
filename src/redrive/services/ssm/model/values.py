"""What a value must be like to be taken: its size, its pattern, its data type, and the policies beside it.

Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
"""

from __future__ import annotations

import functools
import re

from redrive.core.documents import load_json
from redrive.core.errors import ServiceError
from redrive.languages.matching import GROUPS, MalformedPattern, Regex, compile_regex
from redrive.services.ssm import limits
from redrive.services.ssm.model.parameter import ADVANCED, INTELLIGENT, STANDARD
from redrive.services.ssm.model.requests import invalid

TEXT = "text"
_IMAGE = "aws:ec2:image"
_DATA_TYPES = frozenset({TEXT, _IMAGE, "aws:ssm:integration"})
_IMAGE_ID = re.compile(r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_POLICY_TYPES = frozenset({"Expiration", "ExpirationNotification", "NoChangeNotification"})
_PATTERNS_KEPT = 256

_ADVANCED_PAGE = "https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-advanced-parameters.html"


def check_value(value: str) -> None:
    """Refuse a value that no parameter can have. Errors: ValidationException."""
    if not value:
        raise invalid(
            "1 validation error detected: Value '' at 'value' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        )
    if "{{" in value:
        raise invalid('Parameter value can\'t nest another parameter. Do not use "{{}}" in the value.')


def chosen_tier(given: str | None, present: str | None, value: str, policies: str | None) -> str:
    """Return the tier of a parameter after a change. One that is advanced stays so.

    Errors: ValidationException (too long for the tier; policies in the standard tier).
    """
    size = len(value.encode())
    needs_advanced = size > limits.STANDARD_BYTES_MAX or bool(policies)
    if ADVANCED in (present, given) or (given == INTELLIGENT and needs_advanced):
        if size > limits.ADVANCED_BYTES_MAX:
            raise invalid(
                f"Advanced tier parameters support a maximum parameter value of {limits.ADVANCED_BYTES_MAX} characters."
            )
        if present == ADVANCED and given == STANDARD:
            raise invalid(
                "This parameter uses the advanced-parameter tier. You can't downgrade it to the standard tier."
            )
        return ADVANCED
    if size > limits.STANDARD_BYTES_MAX:
        raise invalid(
            f"Standard tier parameters support a maximum parameter value of {limits.STANDARD_BYTES_MAX} characters. To "
            "create a larger parameter value, upgrade the parameter to use the advanced-parameter tier. For more "
            f"information, see {_ADVANCED_PAGE}"
        )
    if policies:
        raise invalid("Policies are supported in the advanced-parameter tier only.")
    return STANDARD


def check_pattern(pattern: str | None, value: str) -> None:
    """Refuse a value that its pattern does not allow.

    Errors: InvalidAllowedPatternException; ParameterPatternMismatchException.
    """
    if not pattern:
        return
    try:
        is_allowed = _compiled(pattern).fullmatch(value)
    except MalformedPattern as error:
        raise ServiceError("InvalidAllowedPatternException", f"The regular expression is not valid: {error}") from None
    if not is_allowed:
        message = f"Parameter value, cannot be validated against allowedPattern: {pattern}"
        raise ServiceError("ParameterPatternMismatchException", message)


def check_data_type(data_type: str, value: str) -> None:
    """Refuse a value that is not of its data type. Errors: ValidationException."""
    if data_type not in _DATA_TYPES:
        raise invalid(f"The following data type is not supported: {data_type} (Data type names are all lowercase.)")
    if data_type == _IMAGE and _IMAGE_ID.fullmatch(value) is None:
        raise invalid(f"The value {value} is not the id of an Amazon Machine Image.")


def check_policies(policies: str | None) -> None:
    """Refuse the policies of a parameter that are none.

    Errors: InvalidPolicyTypeException; InvalidPolicyAttributeException; PoliciesLimitExceededException.
    """
    if not policies:
        return
    try:
        found = load_json(policies)
    except ValueError:
        raise ServiceError("InvalidPolicyAttributeException", "The policies are not valid JSON.") from None
    if not isinstance(found, list):
        raise ServiceError("InvalidPolicyAttributeException", "The policies are a list of JSON objects.")
    if len(found) > limits.POLICIES_MAX:
        raise ServiceError("PoliciesLimitExceededException", f"A parameter has {limits.POLICIES_MAX} policies at most.")
    for policy in found:
        if not isinstance(policy, dict) or policy.get("Type") not in _POLICY_TYPES:
            raise ServiceError("InvalidPolicyTypeException", f"A policy is one of {', '.join(sorted(_POLICY_TYPES))}.")
        if not isinstance(policy.get("Attributes"), dict):
            raise ServiceError("InvalidPolicyAttributeException", "A policy needs Attributes.")


@functools.lru_cache(_PATTERNS_KEPT)
def _compiled(pattern: str) -> Regex:
    return compile_regex(pattern, GROUPS)
