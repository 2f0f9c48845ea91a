"""Forward: create, change or replace one resource after another, until the stack matches its template.

CREATE_IN_PROGRESS ──► CREATE_COMPLETE                    UPDATE_IN_PROGRESS ──► UPDATE_COMPLETE_CLEANUP_IN_PROGRESS
        │                                                         │
        └─ failed ──► ROLLBACK_IN_PROGRESS | DELETE_IN_PROGRESS   └─ failed ──► UPDATE_ROLLBACK_IN_PROGRESS
                      | CREATE_FAILED                                           | UPDATE_FAILED
"""

from __future__ import annotations

import dataclasses

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.errors import ServiceError
from redrive.languages.template import TemplateError
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.deployment.imports import imported
from redrive.services.cloudformation.deployment.outputs import OutputFailure, publish_outputs
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.deployment.values import StackScope, prepare
from redrive.services.cloudformation.lookups import with_secrets
from redrive.services.cloudformation.model.stack import Made, ResourceStatus, StackResource, StackStatus
from redrive.services.cloudformation.templates import Plan
from redrive.services.cloudformation.types import resource_type
from redrive.services.cloudformation.types.resource import (
    Existing,
    ProgressFailure,
    ResourceType,
    changed_keys,
    handler_failure,
)
from redrive.services.cloudformation.types.schema import PropertyError

IN_PROGRESS = frozenset(
    {ResourceStatus.CREATE_IN_PROGRESS, ResourceStatus.UPDATE_IN_PROGRESS, ResourceStatus.DELETE_IN_PROGRESS}
)
REPLACING = "Requested update requires the creation of a new physical resource; hence creating one."


def step_forward(run: Run) -> Instant | None:
    """Advance the next resource. Returns when to continue, or None if no work is left."""
    if run.stack.blueprint.awaits_macros:
        return None
    if run.stack.blueprint.transform_failure:
        _give_up(run, f"{run.stack.blueprint.transform_failure}.")
        return run.tx.now
    plan = run.plan()
    for logical_id in plan.order:
        resource = run.resource(logical_id)
        if resource is not None and resource.operation == run.stack.operation:
            if resource.status in IN_PROGRESS:
                return _look_again(run, resource)
            continue
        if _converge(run, plan, logical_id, resource):
            return run.tx.now
    _finish(run, plan)
    return run.tx.now


def _finish(run: Run, plan: Plan) -> None:
    """All resources are complete: publish the outputs and end the operation."""
    creating = run.stack.status is StackStatus.CREATE_IN_PROGRESS
    try:
        publish_outputs(run, plan)
    except OutputFailure as failure:
        _give_up(run, failure.message if failure.message.endswith(".") else f"{failure.message}.")
        return
    run.enter(StackStatus.CREATE_COMPLETE if creating else StackStatus.UPDATE_COMPLETE_CLEANUP_IN_PROGRESS)


def _converge(run: Run, plan: Plan, logical_id: str, resource: StackResource | None) -> bool:
    """Create or change a resource as the template describes it; returns whether there was anything to do."""
    type_name = plan.template.resources[logical_id].type
    current = (
        StackResource(run.stack.uid, logical_id, type_name, ResourceStatus.CREATE_IN_PROGRESS, run.tx.now, "")
        if resource is None
        else dataclasses.replace(resource, type=type_name)
    )
    scope = StackScope(run, plan)
    try:
        wanted, warning = prepare(run, plan, scope, logical_id)
    except (TemplateError, PropertyError) as error:
        _begin(run, current)
        _fail(run, current, error.message)
        return True
    imports = tuple(sorted({*run.stack.imports, *scope.imports}))
    run.stack = dataclasses.replace(run.stack, imports=imports)
    made = current.made
    if made is None and logical_id in run.stack.blueprint.imported:
        _import(run, current, wanted)
    elif made is None:
        _create(run, current, wanted, warning)
    elif made.properties == wanted.properties and made.metadata == wanted.metadata:
        kept = dataclasses.replace(wanted, physical_id=made.physical_id, attributes=made.attributes)
        run.put(dataclasses.replace(current, made=kept, operation=run.stack.operation))
        return False
    elif needs_replacement(resource_type(type_name), made, wanted):
        _replace(run, current, made, wanted)
    else:
        _update(run, current, made, wanted, warning)
    return True


def needs_replacement(known: ResourceType, made: Made, wanted: Made) -> bool:
    """Whether a change of properties requires a new resource."""
    changed = changed_keys(made.properties, wanted.properties)
    return any(known.properties[name].replaces for name in changed if name in known.properties)


def _begin(run: Run, current: StackResource, reason: str = "") -> StackResource:
    creating = current.made is None
    status = ResourceStatus.CREATE_IN_PROGRESS if creating else ResourceStatus.UPDATE_IN_PROGRESS
    return run.report(current, status, reason, is_new=creating)


def _create(run: Run, current: StackResource, wanted: Made, warning: str) -> None:
    current = _begin(run, current, warning)
    made = _made_anew(run, current, wanted)
    if made is not None:
        initiated = run.report(
            current, ResourceStatus.CREATE_IN_PROGRESS, "Resource creation Initiated", made=made, is_new=True
        )  # fmt: skip
        _complete(run, initiated)


def _import(run: Run, current: StackResource, wanted: Made) -> None:
    """Let the stack have a resource that exists already, as it is: its settings do not change."""
    importing = {"is_new": True, "is_imported": True}
    current = run.report(current, ResourceStatus.IMPORT_IN_PROGRESS, "Resource import started.", **importing)
    made = imported(run, current.logical_id, wanted)
    if made is None:
        reason = f"Resource {wanted.type} with the name that the template gives it can no longer be imported."
        run.report(current, ResourceStatus.IMPORT_FAILED, reason)
        run.stack = dataclasses.replace(run.stack, failed=(*run.stack.failed, current.logical_id))
        _give_up(run, f"The following resource(s) failed to import: [{', '.join(run.stack.failed)}].")
        return
    run.report(current, ResourceStatus.IMPORT_COMPLETE, "Resource import completed.", made=made)


def _replace(run: Run, current: StackResource, made: Made, wanted: Made) -> None:
    """Create the new resource, and leave the old one to the cleanup."""
    name = resource_type(made.type).name_property
    explicit = None if name is None else wanted.properties.get(name)
    if explicit is not None and explicit == made.properties.get(name or ""):
        _begin(run, current)
        _fail(
            run, current,
            "CloudFormation cannot update a stack when a custom-named resource requires replacing. "
            f"Rename {explicit} and update the stack again.",
        )  # fmt: skip
        return
    current = _begin(run, current, REPLACING)
    new = _made_anew(run, current, wanted)
    if new is None:
        return
    run.put(dataclasses.replace(current, leftover=run.stack.events, made=made, before=None, is_new=False))
    initiated = run.report(
        current, ResourceStatus.UPDATE_IN_PROGRESS, "Resource creation Initiated", made=new, before=made
    )  # fmt: skip
    _complete(run, initiated)


def _update(run: Run, current: StackResource, made: Made, wanted: Made, warning: str) -> None:
    current = _begin(run, current, warning)
    existing = Existing(made.physical_id, made.properties, made.attributes)
    place = run.place(current.logical_id)
    try:
        with run.tx.savepoint():
            if made.properties != wanted.properties:
                revealed = with_secrets(run.tx, place.caller, wanted.properties)
                existing = resource_type(made.type).update(place, existing, revealed)
    except (ServiceError, PropertyError) as error:
        _fail(run, current, handler_failure(error, place.caller.request_id))
        return
    after = _with_identity(wanted, existing)
    _complete(run, run.put(dataclasses.replace(current, made=after, before=made)))


def _made_anew(run: Run, current: StackResource, wanted: Made) -> Made | None:
    """Call the type's create function; returns None if it failed, after recording the failure."""
    place = run.place(current.logical_id)
    try:
        with run.tx.savepoint():
            revealed = with_secrets(run.tx, place.caller, wanted.properties)
            created = resource_type(wanted.type).create(place, revealed)
    except (ServiceError, PropertyError) as error:
        _fail(run, current, handler_failure(error, place.caller.request_id))
        return None
    return _with_identity(wanted, created)


def _with_identity(wanted: Made, existing: Existing) -> Made:
    return dataclasses.replace(wanted, physical_id=existing.physical_id, attributes=dict(existing.attributes))


def _complete(run: Run, resource: StackResource) -> None:
    """Record the resource as complete, unless its service is still working on it."""
    try:
        latest = settled(run, resource)
    except (ServiceError, PropertyError) as error:
        _fail(run, as_left(resource, error), handler_failure(error, run.stack.operation))
        return
    if latest is None:
        return
    _leave_replaced(run, resource, latest)
    creating = latest.is_new and latest.before is None
    run.report(latest, ResourceStatus.CREATE_COMPLETE if creating else ResourceStatus.UPDATE_COMPLETE)


def _leave_replaced(run: Run, resource: StackResource, latest: StackResource) -> None:
    """If an update returned another physical id, leave the old resource to the cleanup.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requesttypes-update.html
    """
    assert resource.made is not None
    assert latest.made is not None
    before = resource.before
    if before is not None and before.physical_id == resource.made.physical_id != latest.made.physical_id:
        leftover = dataclasses.replace(resource, leftover=run.stack.events, made=before, before=None, is_new=False)
        run.put(leftover)


def _look_again(run: Run, resource: StackResource) -> Instant:
    """Check whether the service has finished; if not, check again later, but not after the stack's timeout."""
    _complete(run, resource)
    latest = run.resource(resource.logical_id)
    if latest is None or latest.status not in IN_PROGRESS:
        return run.tx.now
    minutes = run.stack.timeout_minutes
    creating = run.stack.status is StackStatus.CREATE_IN_PROGRESS
    if creating and minutes is not None and run.tx.now >= run.stack.created_at + minutes * MINUTE_MS:
        _fail(run, latest, "Resource creation cancelled")
        return run.tx.now
    return run.tx.now + limits.PENDING_POLL_MS


def settled(run: Run, resource: StackResource) -> StackResource | None:
    """Return the resource as its service left it; None while the service is still working.

    Errors: ServiceError (the caller may not ask); PropertyError (the service failed).
    """
    made, known = resource.made, resource_type(resource.type)
    if made is None or (known.is_pending is None and known.progress is None):
        return resource
    existing, place = Existing(made.physical_id, made.properties, made.attributes), run.place(resource.logical_id)
    if known.is_pending is not None and (_was_made_now(run, resource) or known.is_pending(place, existing)):
        return None
    if known.progress is None:
        return resource
    latest = known.progress(place, existing)
    return None if latest is None else dataclasses.replace(resource, made=_with_identity(made, latest))


def _was_made_now(run: Run, resource: StackResource) -> bool:
    """Whether it was made or changed at this very instant of real time: its service begins to work on it."""
    return run.real_time and resource.status in IN_PROGRESS and resource.updated_at == run.tx.now


def as_left(resource: StackResource, error: Exception) -> StackResource:
    """Return the resource with the physical id that it has although it failed."""
    if not isinstance(error, ProgressFailure) or resource.made is None or resource.before is not None:
        return resource
    return dataclasses.replace(resource, made=dataclasses.replace(resource.made, physical_id=error.physical_id))


def _fail(run: Run, current: StackResource, reason: str) -> None:
    """Record that a resource failed, and end the operation as the stack's settings say."""
    creating = current.made is None or (current.is_new and current.before is None)
    run.report(current, ResourceStatus.CREATE_FAILED if creating else ResourceStatus.UPDATE_FAILED, reason)
    run.stack = dataclasses.replace(run.stack, failed=(*run.stack.failed, current.logical_id))
    verb = "create" if creating else "update"
    _give_up(run, f"The following resource(s) failed to {verb}: [{', '.join(run.stack.failed)}].")


def _give_up(run: Run, reason: str) -> None:
    """React to a failure as the stack's settings say."""
    run.stack = dataclasses.replace(run.stack, failure=reason)
    match run.stack.status, run.stack.on_failure:
        case StackStatus.CREATE_IN_PROGRESS, "DO_NOTHING":
            run.enter(StackStatus.CREATE_FAILED, f"{reason} ")
        case StackStatus.CREATE_IN_PROGRESS, "DELETE":
            run.enter(StackStatus.DELETE_IN_PROGRESS, f"{reason} Delete requested by user.")
        case StackStatus.CREATE_IN_PROGRESS, _:
            run.enter(StackStatus.ROLLBACK_IN_PROGRESS, f"{reason} Rollback requested by user.")
        case _, "DO_NOTHING":
            run.enter(StackStatus.UPDATE_FAILED, f"{reason} ")
        case _:
            run.enter(StackStatus.UPDATE_ROLLBACK_IN_PROGRESS, f"{reason} ")
