"""AWS::CloudFormation::WaitCondition and WaitConditionHandle: a stack that waits for external signals.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-waitcondition.html
"""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.answers import Awaited, Signals, answer_url, awaited_name, handle_of
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, not_updatable
from redrive.services.cloudformation.types.schema import INTEGER, TEXT, PropertyError

_NAME_LENGTH_MAX = 128


def _create_handle(place: Place, properties: Document) -> Existing:
    """Create a handle: the URL for signals, valid for a day."""
    scope = place.caller.scope
    place.tx.resources.put(scope, Signals(place.stack_uid, place.stack_name, place.logical_id))
    until = place.tx.now + limits.HANDLE_MS
    url = answer_url(place.tx, place.caller.host, scope, place.stack_uid, place.logical_id, "", until)
    return Existing(url, properties, {})


def _delete_handle(
    place: Place,
    existing: Existing,  # noqa: ARG001 -- the signature of every deletion.
) -> None:
    name = awaited_name(place.stack_uid, place.logical_id)
    place.tx.resources.delete(Signals, place.caller.scope, name)


def _create_condition(place: Place, properties: Document) -> Existing:
    timeout = str(properties.get("Timeout", ""))
    if "Handle" not in properties or not timeout.isdecimal() or int(timeout) > limits.WAIT_TIMEOUT_S_MAX:
        raise PropertyError(
            f"A WaitCondition needs a Handle, and a Timeout of 0 to {limits.WAIT_TIMEOUT_S_MAX} seconds."
        )
    if handle_of(properties["Handle"]) is None:
        raise PropertyError(f"The Handle {properties['Handle']} is not the Ref of a WaitConditionHandle.")
    until = place.tx.now + int(timeout) * SECOND_MS
    request_id = new_uuid(place.tx.entropy)
    awaited = Awaited(place.stack_uid, place.stack_name, place.logical_id, request_id, "Create", until)
    place.tx.resources.put(place.caller.scope, awaited)
    return Existing(place.name(None, _NAME_LENGTH_MAX), properties, {})


def _progress(place: Place, existing: Existing) -> Existing | None:
    """Return the condition with the data of its signals, or None until there are enough. Errors: PropertyError."""
    scope, name = place.caller.scope, awaited_name(place.stack_uid, place.logical_id)
    awaited, handle = place.tx.resources.get(Awaited, scope, name), handle_of(existing.properties["Handle"])
    if awaited is None or handle is None:
        return existing
    found = place.tx.resources.get(Signals, *handle)
    signals = {} if found is None else found.by_id
    wanted = int(existing.properties.get("Count", 1))
    failed = [one for one in signals.values() if one.get("Status") != "SUCCESS"]
    if not failed and len(signals) < wanted and place.tx.now < awaited.until:
        return None
    place.tx.resources.delete(Awaited, scope, name)
    if failed:
        reason, unique_id = failed[0].get("Reason", ""), failed[0].get("UniqueId", "")
        raise PropertyError(f"WaitCondition received failed message: '{reason}' for uniqueId: {unique_id}")
    if len(signals) < wanted:
        raise PropertyError(
            f"WaitCondition timed out. Received {len(signals)} conditions when expecting {wanted}"
        )  # fmt: skip
    data = dump_json({unique_id: one.get("Data", "") for unique_id, one in signals.items()})
    return Existing(existing.physical_id, existing.properties, {"Data": data})


def _delete_condition(
    place: Place,
    existing: Existing,  # noqa: ARG001 -- the signature of every deletion.
) -> None:
    name = awaited_name(place.stack_uid, place.logical_id)
    place.tx.resources.delete(Awaited, place.caller.scope, name)


WAIT_CONDITION_HANDLE = ResourceType(
    name="AWS::CloudFormation::WaitConditionHandle",
    properties={},
    create=_create_handle,
    update=not_updatable,
    delete=_delete_handle,
)

WAIT_CONDITION = ResourceType(
    name="AWS::CloudFormation::WaitCondition",
    properties={"Count": INTEGER, "Handle": TEXT, "Timeout": TEXT},
    create=_create_condition,
    update=not_updatable,
    delete=_delete_condition,
    attributes=frozenset({"Data"}),
    progress=_progress,
)
