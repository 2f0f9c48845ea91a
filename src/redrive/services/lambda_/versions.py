"""Versions and aliases in the store: which version a qualifier means, publication, and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.entropy import new_uuid
from redrive.core.scope import Scope
from redrive.services.lambda_.model.function import (
    LATEST,
    Function,
    FunctionReference,
    function_not_found,
    qualifier_of,
)
from redrive.services.lambda_.model.versions import (
    Alias,
    FunctionVersion,
    VersionCounter,
    is_unchanged,
    published,
    qualified_name,
    version_name,
)
from redrive.store.api import Transaction


def find_alias(tx: Transaction, scope: Scope, function_name: str, qualifier: str | None) -> Alias | None:
    """Return the alias with this name, if the qualifier is one."""
    if qualifier is None or qualifier == LATEST or qualifier.isdecimal():
        return None
    return tx.resources.get(Alias, scope, qualified_name(function_name, qualifier))


def find_version(tx: Transaction, scope: Scope, function_name: str, qualifier: str | None) -> Function | None:
    """Return the function as the qualifier's version has it. An alias means its primary version."""
    alias = find_alias(tx, scope, function_name, qualifier)
    return _version(tx, scope, function_name, qualifier if alias is None else alias.version)


def choose_version(tx: Transaction, scope: Scope, function_name: str, qualifier: str | None) -> Function | None:
    """Return the function as one run has it. An alias with weights draws one of its two versions.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/configuring-alias-routing.html
    """
    alias = find_alias(tx, scope, function_name, qualifier)
    if alias is None:
        return _version(tx, scope, function_name, qualifier)
    draw = tx.entropy.uniform(0.0, 1.0) if alias.weights else 0.0
    return _version(tx, scope, function_name, alias.chosen_version(draw))


def choose_by_arn(tx: Transaction, scope: Scope, arn: str) -> Function | None:
    """Return the function that a run by this ARN has; the ARN may have a qualifier."""
    return choose_version(tx, scope, arn.split(":", 7)[6], qualifier_of(arn))


def _version(tx: Transaction, scope: Scope, function_name: str, version: str | None) -> Function | None:
    function = tx.resources.get(Function, scope, function_name)
    if function is None or version is None or version == LATEST:
        return function
    if not version.isdecimal():
        return None
    found = tx.resources.get(FunctionVersion, scope, version_name(function_name, int(version)))
    if found is None:
        return None
    # These settings belong to all versions together.
    return replace(
        found.function, reserved=function.reserved, recursive_loop=function.recursive_loop, tags=function.tags
    )


def get_version(tx: Transaction, reference: FunctionReference, *, shown: str | None = None) -> Function:
    """Return the version that a caller named. The error names it as `shown`, or as the caller named it.

    Errors: ResourceNotFoundException.
    """
    function = find_version(tx, reference.scope, reference.name, reference.qualifier)
    if function is None:
        raise function_not_found(shown or reference.qualified_arn)
    return function


def put_version(tx: Transaction, scope: Scope, function: Function) -> None:
    """Store a changed function, or a changed version of one."""
    if function.version == LATEST:
        tx.resources.put(scope, function)
        return
    name = version_name(function.name, int(function.version))
    stored = tx.resources.get(FunctionVersion, scope, name)
    assert stored is not None, "a version is stored before it is changed"
    tx.resources.put(scope, replace(stored, function=replace(function, reserved=None, tags={})))


def versions_of(tx: Transaction, scope: Scope, function_name: str) -> Sequence[FunctionVersion]:
    """Return the published versions of a function, sorted by number."""
    return tx.resources.list(FunctionVersion, scope, prefix=f"{function_name}:")


def aliases_of(tx: Transaction, scope: Scope, function_name: str) -> Sequence[Alias]:
    """Return the aliases of a function, sorted by name."""
    return tx.resources.list(Alias, scope, prefix=f"{function_name}:")


def publish(
    tx: Transaction, scope: Scope, function: Function, *, description: str | None = None, is_passing: bool = False
) -> Function:
    """Publish $LATEST as the next version, and return that version.

    If nothing has changed since the last version, the last version is returned. `is_passing`: the version is Pending
    until the creation or update of the function has ended.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PublishVersion.html
    """
    before = versions_of(tx, scope, function.name)
    if before and is_unchanged(before[-1], function):
        return before[-1].function
    counter = tx.resources.get(VersionCounter, scope, function.name) or VersionCounter(function.name, 0)
    number = counter.last + 1
    version = published(
        function, number, description=description, revision=new_uuid(tx.entropy), settled=new_uuid(tx.entropy)
    )
    if is_passing:
        version = replace(version, passage_at=tx.now, is_first_passage=True)
    stored = FunctionVersion(version_name(function.name, number), version, function.description)
    tx.resources.put(scope, VersionCounter(function.name, number))
    tx.resources.put(scope, stored)
    tx.resources.put(scope, replace(function, settled_revision=new_uuid(tx.entropy)))
    return version
