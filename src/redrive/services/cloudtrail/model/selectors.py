"""Event selectors: which calls a trail records.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_EventSelector.html and
https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_AdvancedFieldSelector.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudtrail.limits import SELECTORS_MAX

DEFAULT_SELECTORS: tuple[Document, ...] = (
    {
        "ReadWriteType": "All", "IncludeManagementEvents": True, "DataResources": [],
        "ExcludeManagementEventSources": [],
    },
)  # fmt: skip
"""What a trail records that has no selectors of its own."""

_BASIC_WANTS = {"All": ("true", "false"), "ReadOnly": ("true",), "WriteOnly": ("false",)}
_FIELDS = frozenset(
    "eventCategory eventName eventSource eventType readOnly resources.ARN resources.type "
    "sessionCredentialFromConsole userIdentity.arn errorCode vpcEndpointId".split()
)


def checked(selectors: Sequence[Document] | None, advanced: Sequence[Document] | None) -> None:
    """Refuse selectors that a trail cannot have. Errors: InvalidEventSelectorsException."""
    if bool(selectors) == bool(advanced):
        raise _invalid("You must specify either EventSelectors or AdvancedEventSelectors.")
    if len(selectors or ()) > SELECTORS_MAX:
        raise _invalid(f"You can specify up to {SELECTORS_MAX} event selectors for a trail.")
    for one in advanced or ():
        named = [field["Field"] for field in one["FieldSelectors"]]
        unknown = sorted(set(named) - _FIELDS)
        if unknown:
            raise _invalid(f"The field {unknown[0]} is not valid in an advanced event selector.")
        if "eventCategory" not in named:
            raise _invalid("An advanced event selector must have the field eventCategory.")


def complete(selectors: Sequence[Document]) -> tuple[Document, ...]:
    """Basic selectors with the defaults of what is left out."""
    return tuple({**DEFAULT_SELECTORS[0], **one} for one in selectors)


def wants(selectors: Sequence[Document], advanced: Sequence[Document], call: Mapping[str, str]) -> bool:
    """Whether a trail with these selectors records a management event, given by its fields."""
    if advanced:
        return any(_matches_all(one["FieldSelectors"], call) for one in advanced)
    return any(
        one["IncludeManagementEvents"]
        and call["readOnly"] in _BASIC_WANTS[one["ReadWriteType"]]
        and call["eventSource"] not in one["ExcludeManagementEventSources"]
        for one in selectors or DEFAULT_SELECTORS
    )


def wants_data(
    selectors: Sequence[Document], advanced: Sequence[Document], call: Mapping[str, str], arns: Sequence[str]
) -> bool:  # fmt: skip
    """Whether a trail with these selectors records a call about data, given by its fields and its resources."""
    if advanced:
        return any(
            _matches_all(one["FieldSelectors"], {**call, "resources.ARN": arn}) for one in advanced for arn in arns
        )
    return any(
        call["readOnly"] in _BASIC_WANTS[one["ReadWriteType"]]
        and any(_is_of(resources, call["resources.type"], arns) for resources in one["DataResources"])
        for one in selectors
    )


def _is_of(resources: Document, type: str, arns: Sequence[str]) -> bool:
    """Whether basic selectors name a resource; a value is the beginning of its ARN."""
    return resources.get("Type") == type and any(arn.startswith(tuple(resources.get("Values", ()))) for arn in arns)


def _matches_all(fields: Sequence[Document], call: Mapping[str, str]) -> bool:
    return all(_matches(field, call.get(field["Field"], "")) for field in fields)


def _matches(field: Document, value: str) -> bool:
    """Whether a value is one of those that each operator of a field asks for."""
    starts, ends = tuple(field.get("StartsWith", ())), tuple(field.get("EndsWith", ()))
    return not (
        ("Equals" in field and value not in field["Equals"])
        or (starts and not value.startswith(starts))
        or (ends and not value.endswith(ends))
        or value in field.get("NotEquals", ())
        or value.startswith(tuple(field.get("NotStartsWith", ())))
        or value.endswith(tuple(field.get("NotEndsWith", ())))
    )


def _invalid(message: str) -> ServiceError:
    return ServiceError("InvalidEventSelectorsException", message)
