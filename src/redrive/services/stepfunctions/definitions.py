"""Definitions: what is checked before a machine takes one, and what answers tell of one."""

from __future__ import annotations

from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.languages.states import MachineType, MalformedDefinition, read_definition
from redrive.languages.states.references import variable_references


def check_definition(definition: str, type: str) -> None:
    """Errors: InvalidDefinition, with all that is wrong."""
    try:
        read_definition(definition, MachineType(type))
    except MalformedDefinition as error:
        raise ServiceError("InvalidDefinition", error.message()) from error


def shown_references(definition: str) -> Document:
    """Which variables the states of a definition refer to, if any do."""
    found = variable_references(load_json(definition))
    return {"variableReferences": found} if found else {}
