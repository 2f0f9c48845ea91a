"""Finds the parameter, and the version of it, that a request names."""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.scope import Caller
from redrive.services.ssm.model.names import Asked, parameter_arn
from redrive.services.ssm.model.parameter import Parameter, Version, version_key
from redrive.services.ssm.model.requests import no_such_version, not_found
from redrive.store.api import Transaction

_PER_READ = 200


def existing(tx: Transaction, caller: Caller, wanted: Asked) -> Parameter:
    """Return a parameter. Errors: ParameterNotFound."""
    parameter = tx.resources.get(Parameter, caller.scope, wanted.key)
    if parameter is None:
        raise not_found()
    return parameter


def version_of(tx: Transaction, caller: Caller, parameter: Parameter, selector: str = "") -> Version:
    """Return a version of a parameter by its number or a label; the newest without one.

    Errors: ParameterVersionNotFound.
    """
    number = parameter.version
    if selector:
        chosen = int(selector) if selector.isdecimal() else parameter.labels.get(selector)
        if chosen is None or chosen > parameter.version:
            raise no_such_version(parameter.shown_name, selector)
        number = chosen
    version = tx.resources.get(Version, caller.scope, version_key(parameter.name, number))
    if version is None:
        raise no_such_version(parameter.shown_name, selector)
    return version


def parameters_from(tx: Transaction, caller: Caller, prefix: str, after: str) -> Iterator[Parameter]:
    """Yield the parameters with a prefix, after a name, sorted by name. They are read in pieces."""
    while found := tx.resources.list(Parameter, caller.scope, prefix=prefix, after=after, limit=_PER_READ):
        yield from found
        after = found[-1].name


def authorize(tx: Transaction, caller: Caller, operation: str, key: str) -> None:
    """Refuse a call on a parameter that the caller may not make. Errors: AccessDeniedException."""
    tx.services.authorize(tx, caller, f"ssm:{operation}", parameter_arn(caller.scope, key))
