"""What the engine asks of CloudTrail at each call: whether a trail records it, and to record it.

No trail costs a look into a cache. Only rules and archives of the default bus see records: no log files are written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller, Scope
from redrive.services.cloudtrail.model.records import ApiCall, identity_of, record_of
from redrive.services.cloudtrail.model.selectors import wants, wants_data
from redrive.services.cloudtrail.model.trail import Trail
from redrive.store.api import Transaction

GLOBAL_REGION = "us-east-1"
"""Where calls of services are recorded that have no regions."""


def is_recorded(tx: Transaction, scope: Scope) -> bool:
    """Whether a trail records calls in a scope."""
    known = tx.resources.everywhere(Trail)
    return bool(known) and any(trail.is_for(home, scope) for home, trail in known)


def is_data_recorded(tx: Transaction, scope: Scope) -> bool:
    """Whether a trail may ask for events of data in a scope."""
    known = tx.resources.everywhere(Trail)
    return bool(known) and any(trail.records_data and trail.is_for(home, scope) for home, trail in known)


def record_data(
    tx: Transaction, caller: Caller, call: ApiCall, *, type: str, arns: Sequence[str], principal_id: Callable[[], str]
) -> None:  # fmt: skip
    """Bring the record of a call about data to the default bus, if the selectors of a trail want it.

    They choose by the `arns` of its resources, and by the `type` of these. Calls that only read reach no rule.
    """
    if call.is_read_only:
        return
    fields = {**_fields(caller, call), "eventCategory": "Data", "resources.type": type}
    if any(
        trail.is_for(home, caller.scope) and wants_data(trail.selectors, trail.advanced, fields, arns)
        for home, trail in tx.resources.everywhere(Trail)
    ):
        _publish(tx, caller, call, principal_id)


def record(
    tx: Transaction, caller: Caller, call: ApiCall, *, is_global: bool, principal_id: Callable[[], str]
) -> None:  # fmt: skip
    """Bring the record of a call to the default bus, if the selectors of a trail want it.

    `is_global`: the service has no regions; a trail may leave such services out. `principal_id` gives the id of the
    caller's role or user.
    """
    if is_global:
        caller = dataclasses.replace(caller, scope=Scope(caller.account, GLOBAL_REGION))
    if _is_wanted(tx, caller.scope, _fields(caller, call), is_global=is_global):
        _publish(tx, caller, call, principal_id)


def _fields(caller: Caller, call: ApiCall) -> dict[str, str]:
    """The fields by which selectors choose."""
    return {
        "eventCategory": "Management", "eventName": call.name, "eventSource": call.host_name,
        "eventType": "AwsApiCall", "readOnly": "true" if call.is_read_only else "false",
        "userIdentity.arn": caller.principal_arn, "errorCode": call.error_code,
        "sessionCredentialFromConsole": "false",
    }  # fmt: skip


def _publish(tx: Transaction, caller: Caller, call: ApiCall, principal_id: Callable[[], str]) -> None:
    publish = tx.services.publish_read_call if call.is_read_only else tx.services.publish_event
    publish(
        tx, caller.scope,
        lambda: record_of(
            call, caller, identity_of(caller, principal_id()), event_id=new_uuid(tx.entropy), at=tx.now
        ),
    )  # fmt: skip


def _is_wanted(tx: Transaction, scope: Scope, fields: Mapping[str, str], *, is_global: bool) -> bool:
    return any(
        trail.is_for(home, scope)
        and (trail.includes_global or not is_global)
        and wants(trail.selectors, trail.advanced, fields)
        for home, trail in tx.resources.everywhere(Trail)
    )
