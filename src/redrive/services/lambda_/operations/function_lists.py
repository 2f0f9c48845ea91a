"""The operations that list functions and their versions."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import PAGE_ITEMS_MAX
from redrive.services.lambda_.model.function import Function, configuration_summary
from redrive.services.lambda_.model.versions import FunctionVersion
from redrive.services.lambda_.operations.functions import authorized_function
from redrive.services.lambda_.versions import versions_of
from redrive.store.api import Transaction


@operation("ListFunctions")
def list_functions(
    tx: Transaction, caller: Caller, *,
    master_region: str | None = None, function_version: str | None = None, marker: str = "",
    max_items: int = PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """List functions sorted by name, at most 50 per page. `FunctionVersion` ALL adds their published versions.

    `MasterRegion` selects replicas of Lambda@Edge functions. There are none here, so only ALL lists anything.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctions.html
    """
    tx.services.authorize(tx, caller, "lambda:ListFunctions", "*")
    if master_region not in (None, "ALL"):
        return {"Functions": []}
    limit = min(max_items, PAGE_ITEMS_MAX)
    if function_version == "ALL":
        return _all_versions(tx, caller, marker, limit)
    found = tx.resources.list(Function, caller.scope, after=marker, limit=limit + 1)
    page = found[:limit]
    answer: Document = {"Functions": [configuration_summary(one) for one in page]}
    if len(found) > limit:
        answer["NextMarker"] = page[-1].name
    return answer


@operation("ListVersionsByFunction")
def list_versions_by_function(
    tx: Transaction, caller: Caller, *, function_name: str, marker: str = "", max_items: int = PAGE_ITEMS_MAX
) -> Document:
    """List the versions of a function: $LATEST, then the published versions by number, at most 50 per page.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListVersionsByFunction.html
    """
    function = authorized_function(tx, caller, "lambda:ListVersionsByFunction", function_name)
    numbered = [(one.number, one.function) for one in versions_of(tx, caller.scope, function.name)]
    after = int(marker) if marker.isdecimal() else -1
    found = [one for one in [(0, function), *numbered] if one[0] > after]
    limit = min(max_items, PAGE_ITEMS_MAX)
    answer: Document = {"Versions": [_qualified(one) for _, one in found[:limit]]}
    if len(found) > limit:
        answer["NextMarker"] = str(found[limit - 1][0])
    return answer


def _all_versions(tx: Transaction, caller: Caller, marker: str, limit: int) -> Document:
    """A page of all functions with all their versions. The marker is a function's name and a version number."""
    latest = [((one.name, 0), one) for one in tx.resources.list(Function, caller.scope)]
    versions = tx.resources.list(FunctionVersion, caller.scope)
    found = sorted([*latest, *(((one.function.name, one.number), one.function) for one in versions)], key=_key)
    name, _, number = marker.partition(":")
    after = (name, int(number) if number.isdecimal() else 0)
    left = [one for one in found if not marker or one[0] > after]
    answer: Document = {"Functions": [_qualified(function) for _, function in left[:limit]]}
    if len(left) > limit:
        last, number_of_last = left[limit - 1][0]
        answer["NextMarker"] = f"{last}:{number_of_last}"
    return answer


def _key(entry: tuple[tuple[str, int], Function]) -> tuple[str, int]:
    return entry[0]


def _qualified(function: Function) -> Document:
    return configuration_summary(function, qualifier=function.version)
