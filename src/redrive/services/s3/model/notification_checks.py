"""What makes a notification configuration wrong, in the order in which S3 looks; destinations come after all of this.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-filtering.html
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3 import limits
from redrive.services.s3.model.notification import (
    EVENT_BRIDGE,
    EVENTS,
    KINDS,
    Destination,
    Kind,
    covers,
    destinations_of,
    filter_rules,
)


def checked(given: Document, *, region: str, new_id: Callable[[], str], has_limits: bool) -> Document:
    """The configuration as it is stored: ids are made, names of filters have AWS's spelling, empty lists are gone.

    Errors: MalformedXML; InvalidArgument.
    """
    for _, one in _each(given):
        _check_schema(one)
    for _, one in _each(given):
        _check_filter(one)
    for kind, one in _each(given):
        _check_arn(kind, str(one[kind.arn]))
    stored: Document = {}
    for kind in KINDS:
        if given.get(kind.list):
            stored[kind.list] = [_stored(kind, one, new_id) for one in given[kind.list]]
    if given.get(EVENT_BRIDGE) is not None:
        stored[EVENT_BRIDGE] = {}
    destinations = list(destinations_of(stored))
    if has_limits and len(destinations) > limits.NOTIFICATIONS_MAX:
        raise _invalid(f"A bucket can have at most {limits.NOTIFICATIONS_MAX} notification configurations")
    _check_overlap(destinations)
    for one_destination in destinations:
        if Arn.parse(one_destination.arn).region != region:
            message = "The notification destination service region is not valid for the bucket location constraint"
            raise _invalid(message)
    return stored


def malformed() -> ServiceError:
    """The error for a document that S3's schema does not allow."""
    message = "The XML you provided was not well-formed or did not validate against our published schema"
    return ServiceError("MalformedXML", message, http_status=400)


def destinations_error(failures: Sequence[tuple[str, str]]) -> ServiceError:
    """The one error for all destinations that S3 cannot use: pairs of an ARN and the reason."""
    members: Document = {}
    for number, (arn, reason) in enumerate(failures, start=1):
        members |= {f"ArgumentName{number}": arn, f"ArgumentValue{number}": reason}
    return _invalid("Unable to validate the following destination configurations", **members)


def _each(given: Document) -> Iterator[tuple[Kind, Document]]:
    for kind in KINDS:
        for one in given.get(kind.list) or ():
            if kind.arn not in one or not one.get("Events"):
                raise malformed()
            yield kind, one


def _check_schema(one: Document) -> None:
    for rule in filter_rules(one):
        if rule.get("Name") is None or rule.get("Value") is None:
            raise malformed()
    for event in one["Events"]:
        if event not in EVENTS:
            raise _invalid("The event is not supported for notifications", ArgumentName="Event", ArgumentValue=event)


def _check_filter(one: Document) -> None:
    seen: set[str] = set()
    for rule in filter_rules(one):
        name, value = str(rule["Name"]), str(rule["Value"])
        if name.lower() not in ("prefix", "suffix"):
            raise _invalid(
                "filter rule name must be either prefix or suffix", ArgumentName="FilterRule.Name", ArgumentValue=name
            )
        if name.lower() in seen:
            raise _invalid(
                f"Cannot specify more than one {name.lower()} rule in a filter.", ArgumentName="FilterRule.Name",
                ArgumentValue=name,
            )  # fmt: skip
        if len(value.encode()) > limits.FILTER_VALUE_BYTES_MAX:
            message = f"Size of filter rule value cannot exceed {limits.FILTER_VALUE_BYTES_MAX} bytes in UTF-8"
            raise _invalid(f"{message} representation", ArgumentName="FilterRule.Value", ArgumentValue=value)
        seen.add(name.lower())


def _check_arn(kind: Kind, text: str) -> None:
    try:
        arn = Arn.parse(text)
    except ValueError:
        arn = None
    if arn is None or arn.service != kind.service or not arn.region or not arn.account:
        raise _invalid("The ARN could not be parsed", ArgumentName=kind.element, ArgumentValue=text)


def _stored(kind: Kind, one: Document, new_id: Callable[[], str]) -> Document:
    stored: Document = {"Id": one.get("Id") or new_id(), kind.arn: one[kind.arn], "Events": list(one["Events"])}
    if one.get("Filter") is not None:
        rules = [{"Name": str(rule["Name"]).capitalize(), "Value": str(rule["Value"])} for rule in filter_rules(one)]
        stored["Filter"] = {"Key": {"FilterRules": rules}}
    return stored


def _check_overlap(destinations: Sequence[Destination]) -> None:
    ids = [one.id for one in destinations]
    if len(set(ids)) < len(ids):
        raise _invalid("Same ID used for multiple configurations. IDs must be unique")
    for first, second in itertools.combinations(destinations, 2):
        shared = [(a, b) for a in first.events for b in second.events if covers(a, b) or covers(b, a)]
        if not shared or not _are_one_in_another(first, second):
            continue
        if first.prefix or first.suffix or second.prefix or second.suffix:
            raise _invalid(
                "Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the prefixes "
                "are overlapping for the same event type."
            )
        raise _invalid(
            "Configurations overlap. Configurations on the same bucket cannot share a common event type.",
            ArgumentName="Event", ArgumentValue=", ".join(shared[0]),
        )  # fmt: skip


def _are_one_in_another(first: Destination, second: Destination) -> bool:
    """Whether some key could match both: both the prefixes and the suffixes overlap."""
    prefixes = first.prefix.startswith(second.prefix) or second.prefix.startswith(first.prefix)
    suffixes = first.suffix.endswith(second.suffix) or second.suffix.endswith(first.suffix)
    return prefixes and suffixes


def _invalid(message: str, **members: object) -> ServiceError:
    return ServiceError("InvalidArgument", message, http_status=400, members=members)
