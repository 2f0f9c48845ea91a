"""The state of one step: a stack inside a transaction, its resources, its events, and its plan.

A step changes a stack only through this class, so that documents and events always agree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

from redrive.core.documents import dump_json
from redrive.core.entropy import new_uuid
from redrive.core.leniency import OnUnknown
from redrive.core.scope import Caller, Scope
from redrive.languages.template import Template
from redrive.services.cloudformation.acting import PRINCIPAL
from redrive.services.cloudformation.answers import wake
from redrive.services.cloudformation.deployment.timers import STACK_TIMER, timer_name
from redrive.services.cloudformation.lookups import looked_up
from redrive.services.cloudformation.model.exports import Export
from redrive.services.cloudformation.model.leniency import leniency_of
from redrive.services.cloudformation.model.stack import (
    STACK_TYPE,
    ResourceStatus,
    Stack,
    StackEvent,
    StackResource,
    StackStatus,
    parse_stack_id,
)
from redrive.services.cloudformation.model.status_events import status_change
from redrive.services.cloudformation.templates import Plan, make_plan, read_template, ssm_warning
from redrive.services.cloudformation.types.resource import Place
from redrive.store.api import Transaction

_MAKING = frozenset({StackStatus.CREATE_IN_PROGRESS, StackStatus.UPDATE_IN_PROGRESS})


class Run:
    """A stack with an operation under way. `stack` changes with each event; `save` stores it.

    A strict run refuses properties that a type does not have, as AWS does; otherwise they are left out with a warning.
    In real time, a resource is awaited from the instant at which it was made; virtual time may stand still there.
    """

    def __init__(self, tx: Transaction, stack: Stack, *, is_strict: bool = False, real_time: bool = False) -> None:
        self.tx = tx
        self.is_strict = is_strict
        self.real_time = real_time
        self.stack = stack
        self.scope = stack.scope

    @property
    def leniency(self) -> OnUnknown:
        """What this stack does with features of AWS that redrive does not support."""
        return leniency_of(self.stack.blueprint.tags, self.tx.services.on_unknown)

    def begin(self, status: StackStatus, acting: Caller, *, reason: str = "User Initiated") -> None:
        """Start an operation on the stack as the principal `acting`, and wake the worker."""
        self.stack = dataclasses.replace(
            self.stack, operation=new_uuid(self.tx.entropy), acting=acting, failed=(), failure=""
        )
        if status is StackStatus.UPDATE_IN_PROGRESS:
            self._forget_changes()
        self.resume(status, reason)
        body = self.stack.blueprint.template_body
        template = read_template(body) if status in _MAKING and body else None
        warning = "" if template is None else ssm_warning(template, self._values(template))
        if warning:
            self.enter(status, warning)

    def resume(self, status: StackStatus, reason: str) -> None:
        """Continue the present operation in another status, and wake the worker."""
        self.enter(status, reason)
        self.tx.timers.set(STACK_TIMER, timer_name(self.scope, self.stack.stack_name), self.tx.now)
        self.tx.notify("due")

    def _forget_changes(self) -> None:
        """Clear the record of earlier changes: a rollback returns to the present state of the resources."""
        for resource in self.resources():
            if resource.before is not None or resource.is_new:
                self.put(dataclasses.replace(resource, before=None, is_new=False))

    def save(self) -> None:
        """Store the stack. A deleted stack moves to a name that only its id finds."""
        if self.stack.status is StackStatus.DELETE_COMPLETE:
            self.tx.resources.delete(Stack, self.scope, self.stack.stack_name)
        self.tx.resources.put(self.scope, self.stack)
        if not self.stack.is_under_way:
            self.tx.notify(self.stack.topic)
            if self.stack.parent_id is not None:
                wake(self.tx, self.scope, parse_stack_id(self.stack.parent_id)[0])

    def plan(self) -> Plan:
        """The plan of the stack's blueprint.

        Errors: ServiceError ValidationError, which the operation has already ruled out.
        """
        values = self._values(read_template(self.stack.blueprint.template_body))
        return make_plan(self.stack.blueprint, self.scope, self.stack.stack_name, self.stack.uid, values)

    def _values(self, template: Template) -> Mapping[str, str]:
        return looked_up(self.tx, self.scope, template, self.stack.blueprint.parameters)[0]

    def enter(self, status: StackStatus, reason: str = "") -> None:
        """Change the stack's status, and write an event."""
        self.stack = dataclasses.replace(self.stack, status=status, status_reason=reason)
        self._record(self.stack.stack_name, self.stack.id, STACK_TYPE, status=status, reason=reason)

    def resource(self, logical_id: str) -> StackResource | None:
        """A resource of the stack, or None."""
        return self.tx.resources.get(StackResource, self.scope, f"{self.stack.uid}/{logical_id}")

    def resources(self) -> Sequence[StackResource]:
        """All resources of the stack, including leftovers of replacements, sorted by name."""
        return self.tx.resources.list(StackResource, self.scope, prefix=f"{self.stack.uid}/")

    def put(self, resource: StackResource) -> StackResource:
        """Store a resource."""
        self.tx.resources.put(self.scope, resource)
        return resource

    def forget(self, resource: StackResource) -> None:
        """Delete the row of a resource that no longer belongs to the stack."""
        self.tx.resources.delete(StackResource, self.scope, resource.name)

    def report(
        self, resource: StackResource, status: ResourceStatus, reason: str = "", **changes: object
    ) -> StackResource:
        """Change a resource's status and further fields, store it, and write an event."""
        changed = dataclasses.replace(
            resource, status=status, status_reason=reason, updated_at=self.tx.now, operation=self.stack.operation,
            **changes,  # type: ignore[arg-type]  # The callers name fields; replace checks them.
        )  # fmt: skip
        properties = dump_json(changed.made.properties) if changed.made is not None else None
        self._record(
            changed.logical_id, changed.physical_id, changed.type, status=status, reason=reason, properties=properties
        )
        return self.put(changed)

    def place(self, logical_id: str) -> Place:
        """The place where a resource of the stack is created, with the operation's principal as the caller."""
        request_id, host = new_uuid(self.tx.entropy), self.stack.host
        if self.stack.acting is None:
            caller = Caller(self.scope, request_id, host=host, invoked_by=PRINCIPAL)
        else:
            caller = dataclasses.replace(
                self.stack.acting, scope=self.scope, request_id=request_id, host=host, invoked_by=PRINCIPAL
            )
        return Place(self.tx, caller, self.stack.stack_name, self.stack.id, logical_id)

    def export(self, name: str) -> Export | None:
        """The export with this name, or None."""
        return self.tx.resources.get(Export, self.scope, name)

    def _record(
        self, logical_id: str, physical_id: str, type_name: str, *,
        status: str, reason: str, properties: str | None = None,
    ) -> None:  # fmt: skip
        number = self.stack.events + 1
        event_id = new_uuid(self.tx.entropy)
        if type_name != STACK_TYPE:
            event_id = f"{logical_id}-{status}-{event_id}"
        # Tools sort events by time and ask for those after the latest, so no two events may share an instant.
        at = max(self.tx.now, self.stack.last_event_at + 1)
        self.stack = dataclasses.replace(self.stack, events=number, last_event_at=at)
        event = StackEvent(
            stack=self.stack.uid, number=number, event_id=event_id, logical_id=logical_id, physical_id=physical_id,
            type=type_name, status=status, at=at, operation=self.stack.operation, reason=reason,
            properties=properties, client_request_token=self.stack.client_request_token,
        )  # fmt: skip
        self.tx.resources.put(self.scope, event)
        self.tx.services.publish_event(self.tx, self.scope, partial(status_change, self.stack, event))


def importers(tx: Transaction, scope: Scope, export_name: str) -> list[str]:
    """Return the names of the stacks that use an export."""
    return [
        stack.stack_name
        for stack in tx.resources.list(Stack, scope)
        if stack.status is not StackStatus.DELETE_COMPLETE and export_name in stack.imports
    ]
