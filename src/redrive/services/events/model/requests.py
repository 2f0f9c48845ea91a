"""AWS's errors for requests about buses, rules and targets.

Source: the recorded answers that docs/semantics/events.md names.
"""

from __future__ import annotations

from redrive.core.errors import ServiceError


def invalid(message: str) -> ServiceError:
    """Build the error for a request that AWS refuses."""
    return ServiceError("ValidationException", message)


def not_found(message: str) -> ServiceError:
    """Build the error for a resource that does not exist."""
    return ServiceError("ResourceNotFoundException", message)


def no_such_bus(name: str) -> ServiceError:
    """Build the error for a bus that does not exist."""
    return not_found(f"Event bus {name} does not exist.")


def no_such_rule(rule_name: str, bus_name: str) -> ServiceError:
    """Build the error for a rule that does not exist."""
    return not_found(f"Rule {rule_name} does not exist on EventBus {bus_name}.")


def exists_already(what: str, name: str) -> ServiceError:
    """Build the error for a name that is in use: `Event bus`, `Archive` …"""
    return ServiceError("ResourceAlreadyExistsException", f"{what} {name} already exists.")


def limit_exceeded(message: str = "The requested resource exceeds the maximum number allowed.") -> ServiceError:
    """Build the error for a quota that is used up."""
    return ServiceError("LimitExceededException", message)


def unsupported(what: str) -> ServiceError:
    """Build the error for what AWS has and redrive refuses by name."""
    message = f"redrive does not implement {what} of EventBridge."
    return ServiceError("OperationDisabledException", message, http_status=400)


def managed(rule_name: str) -> ServiceError:
    """Build the error for a change of a rule that belongs to an AWS service."""
    return ServiceError("ManagedRuleException", f"Rule {rule_name} is managed by an AWS service and cannot be changed.")
