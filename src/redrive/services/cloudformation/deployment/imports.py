"""Resources that exist already, and that a stack imports by the names that its template gives them.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html
"""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.deployment.values import UNKNOWN_YET
from redrive.services.cloudformation.model.stack import RETAINED, Made, StackResource
from redrive.services.cloudformation.types import resource_type


def importable_name(run: Run, wanted: Made) -> str | None:
    """Return the name of the resource that exists already and may be imported as `wanted`; None if it is created.

    The name must be known before anything is created. AWS documents that functions make no such names; yet the CDK's
    bootstrap template names its bucket by them, and asks for the import.
    """
    name = _name(wanted)
    if name is None or UNKNOWN_YET in name or wanted.deletion_policy not in RETAINED:
        return None
    return None if _attributes(run, wanted.type, name) is None else name


def imported(run: Run, logical_id: str, wanted: Made) -> Made | None:
    """Return the resource with the identity of the one that has its name; None if that can no longer be imported."""
    name = _name(wanted)
    attributes = None if name is None else _attributes(run, wanted.type, name, logical_id)
    if name is None or attributes is None:
        return None
    return dataclasses.replace(wanted, physical_id=name, attributes=attributes)


def _name(wanted: Made) -> str | None:
    name_property = resource_type(wanted.type).name_property
    name = None if name_property is None else wanted.properties.get(name_property)
    return name if isinstance(name, str) else None


def _attributes(run: Run, type_name: str, name: str, logical_id: str = "") -> Document | None:
    """Return the attributes of the resource with this name; None if there is none, or a stack has it."""
    find = resource_type(type_name).found
    if find is None:
        return None
    attributes = find(run.place(logical_id), name)
    return None if attributes is None or _belongs_to_a_stack(run, type_name, name) else attributes


def _belongs_to_a_stack(run: Run, type_name: str, name: str) -> bool:
    return any(
        one.made is not None and (one.made.type, one.made.physical_id) == (type_name, name)
        for one in run.tx.resources.list(StackResource, run.scope)
    )
