"""Backward: undo a failed operation, and delete resources that a stack no longer needs.

ROLLBACK_IN_PROGRESS ──► ROLLBACK_COMPLETE | ROLLBACK_FAILED
DELETE_IN_PROGRESS ──► DELETE_COMPLETE | DELETE_FAILED
UPDATE_COMPLETE_CLEANUP_IN_PROGRESS ──► UPDATE_COMPLETE
UPDATE_ROLLBACK_IN_PROGRESS ──► UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS ──► UPDATE_ROLLBACK_COMPLETE
                           └──► UPDATE_ROLLBACK_FAILED
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.deployment.forward import IN_PROGRESS, settled
from redrive.services.cloudformation.deployment.outputs import withdraw_exports
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.lookups import with_secrets
from redrive.services.cloudformation.model.stack import (
    RETAINED,
    Made,
    ResourceStatus,
    StackResource,
    StackStatus,
)
from redrive.services.cloudformation.types import resource_type
from redrive.services.cloudformation.types.resource import Existing, handler_failure
from redrive.services.cloudformation.types.schema import PropertyError

_UNMADE = frozenset({ResourceStatus.CREATE_FAILED, ResourceStatus.IMPORT_FAILED, *IN_PROGRESS})


def step_delete(run: Run) -> Instant | None:
    """Delete the next resource of a stack that is being deleted, on request or after a failed creation."""
    again_at = _delete_next(run, run.resources())
    if again_at is None:
        _finish_delete(run)
    return again_at


def step_cleanup(run: Run) -> Instant | None:
    """Delete the next resource that a successful update no longer needs."""
    plan = run.plan()
    doomed = [one for one in run.resources() if one.leftover or one.logical_id not in plan.active.resources]
    again_at = _delete_next(run, doomed)
    if again_at is None:
        _settle_down(run, doomed, StackStatus.UPDATE_COMPLETE)
    return again_at


def step_rollback_cleanup(run: Run) -> Instant | None:
    """Delete the next resource that a failed update created."""
    doomed = [one for one in run.resources() if one.leftover or one.is_new]
    again_at = _delete_next(run, doomed)
    if again_at is None:
        _settle_down(run, doomed, StackStatus.UPDATE_ROLLBACK_COMPLETE)
    return again_at


def step_revert(run: Run) -> Instant | None:
    """Revert the next resource that a failed update changed."""
    for resource in run.resources():
        if resource.status is ResourceStatus.UPDATE_IN_PROGRESS and _is_reverting(run, resource):
            return _look_at_reverted(run, resource)
        if not resource.leftover and (resource.before is not None or _failed_unchanged(resource)):
            return _revert(run, resource)
    if run.stack.previous is not None:
        # The stack keeps its new role: AWS uses a role for all operations after the one that named it.
        blueprint = dataclasses.replace(run.stack.previous, role_arn=run.stack.blueprint.role_arn)
        run.stack = dataclasses.replace(run.stack, blueprint=blueprint)
    run.enter(StackStatus.UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS)
    return run.tx.now


def _failed_unchanged(resource: StackResource) -> bool:
    return resource.status is ResourceStatus.UPDATE_FAILED and resource.before is None


def _revert(run: Run, resource: StackResource) -> Instant:
    """Revert a resource: do nothing if nothing changed, take the old resource back if it still exists, or update it."""
    before, made = resource.before, resource.made
    if before is None or resource.logical_id in run.stack.skipped:
        run.report(resource, ResourceStatus.UPDATE_COMPLETE, before=None)
        return run.tx.now
    assert made is not None
    resource = run.report(resource, ResourceStatus.UPDATE_IN_PROGRESS)
    if made.physical_id != before.physical_id:
        _exchange(run, resource, made)
        run.report(resource, ResourceStatus.UPDATE_COMPLETE, made=before, before=None)
        return run.tx.now
    place = run.place(resource.logical_id)
    try:
        with run.tx.savepoint():
            if made.properties != before.properties:
                existing = Existing(made.physical_id, made.properties, made.attributes)
                revealed = with_secrets(run.tx, place.caller, before.properties)
                resource_type(made.type).update(place, existing, revealed)
    except (ServiceError, PropertyError) as error:
        run.report(resource, ResourceStatus.UPDATE_FAILED, handler_failure(error, place.caller.request_id))
        reason = f"The following resource(s) failed to update: [{resource.logical_id}]. "
        run.enter(StackStatus.UPDATE_ROLLBACK_FAILED, reason)
        return run.tx.now
    if resource_type(made.type).progress is not None and made.properties != before.properties:
        return _look_at_reverted(run, resource)
    run.report(resource, ResourceStatus.UPDATE_COMPLETE, made=before, before=None)
    return run.tx.now


def _is_reverting(run: Run, resource: StackResource) -> bool:
    return not resource.leftover and resource.before is not None and resource.logical_id in run.stack.reverting


def _look_at_reverted(run: Run, resource: StackResource) -> Instant:
    """Check whether the service has finished reverting a resource."""
    run.stack = dataclasses.replace(run.stack, reverting=(resource.logical_id,))
    try:
        if settled(run, resource) is None:
            return run.tx.now + limits.PENDING_POLL_MS
    except (ServiceError, PropertyError) as error:
        run.report(resource, ResourceStatus.UPDATE_FAILED, handler_failure(error, run.stack.operation))
        reason = f"The following resource(s) failed to update: [{resource.logical_id}]. "
        run.stack = dataclasses.replace(run.stack, reverting=())
        run.enter(StackStatus.UPDATE_ROLLBACK_FAILED, reason)
        return run.tx.now
    run.stack = dataclasses.replace(run.stack, reverting=())
    run.report(resource, ResourceStatus.UPDATE_COMPLETE, made=resource.before, before=None)
    return run.tx.now


def _exchange(run: Run, resource: StackResource, new: Made) -> None:
    """Make the old resource the stack's again, and leave the new one to the cleanup."""
    for other in run.resources():
        if other.leftover and other.logical_id == resource.logical_id:
            run.forget(other)
    leftover = dataclasses.replace(resource, leftover=run.stack.events, made=new, before=None, is_new=True)
    run.put(leftover)


def _delete_next(run: Run, doomed: Sequence[StackResource]) -> Instant | None:
    """Delete one of these resources, first those that no other depends on; None if no deletion is left to do."""
    for resource in doomed:
        if resource.status is ResourceStatus.DELETE_IN_PROGRESS and resource.made is not None:
            return _look_again(run, resource)
    remaining = [one for one in doomed if one.made is not None]
    open_ = [one for one in remaining if not _has_failed(run, one)]
    free = [one for one in open_ if not _is_needed(one, remaining)]
    # Only updates can leave circular dependencies. Such resources are deleted one after the other.
    circular = open_ if open_ and not free and len(open_) == len(remaining) else []
    for resource in (free or circular)[-1:]:
        return _delete(run, resource)
    return None


def _has_failed(run: Run, resource: StackResource) -> bool:
    return resource.status is ResourceStatus.DELETE_FAILED and resource.operation == run.stack.operation


def _is_needed(resource: StackResource, remaining: Sequence[StackResource]) -> bool:
    return any(
        resource.logical_id in other.made.depends_on
        for other in remaining
        if other is not resource and other.made is not None
    )


def _delete(run: Run, resource: StackResource) -> Instant:
    made = resource.made
    assert made is not None
    if _is_retained(run, resource, made):
        run.report(resource, ResourceStatus.DELETE_SKIPPED)
        _let_go(run, resource)
        return run.tx.now
    resource = run.report(resource, ResourceStatus.DELETE_IN_PROGRESS)
    place = run.place(resource.logical_id)
    known = resource_type(made.type)
    try:
        with run.tx.savepoint():
            known.delete(place, Existing(made.physical_id, made.properties, made.attributes))
    except (ServiceError, PropertyError) as error:
        if not (isinstance(error, ServiceError) and error.code in known.missing):
            _deletion_failed(run, resource, handler_failure(error, place.caller.request_id))
            return run.tx.now
    return _look_again(run, resource)


def _look_again(run: Run, resource: StackResource) -> Instant:
    """Record the resource as deleted, unless its service is still deleting it."""
    try:
        if settled(run, resource) is None:
            return run.tx.now + limits.PENDING_POLL_MS
    except (ServiceError, PropertyError) as error:
        _deletion_failed(run, resource, handler_failure(error, run.stack.operation))
        return run.tx.now
    run.report(resource, ResourceStatus.DELETE_COMPLETE)
    _let_go(run, resource)
    return run.tx.now


def _is_retained(run: Run, resource: StackResource, made: Made) -> bool:
    """Whether a resource stays after the stack has removed it.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html
    """
    if resource.logical_id in run.stack.kept or (resource.is_new and resource.is_imported):
        return True
    if resource.leftover and not resource.is_new:
        return made.update_replace_policy in RETAINED
    if not resource.is_new or run.stack.status is StackStatus.DELETE_IN_PROGRESS:
        return made.deletion_policy in RETAINED
    return made.deletion_policy == "Retain" and not run.stack.retains_except_on_create


def _deletion_failed(run: Run, resource: StackResource, reason: str) -> None:
    if run.stack.is_forced:
        run.report(resource, ResourceStatus.DELETE_SKIPPED, reason)
        _let_go(run, resource)
        return
    run.report(resource, ResourceStatus.DELETE_FAILED, reason)
    run.stack = dataclasses.replace(run.stack, failed=(*run.stack.failed, resource.logical_id))


def _let_go(run: Run, resource: StackResource) -> None:
    """Remove the resource from the stack. While the stack itself is being deleted, the last state stays readable."""
    latest = dataclasses.replace(
        resource, made=None, before=None, status=_last_status(run, resource), updated_at=run.tx.now,
        operation=run.stack.operation,
    )  # fmt: skip
    if resource.leftover or run.stack.status in _CLEANUPS:
        run.forget(resource)
    else:
        run.put(latest)


_CLEANUPS = frozenset(
    {StackStatus.UPDATE_COMPLETE_CLEANUP_IN_PROGRESS, StackStatus.UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS}
)


def _last_status(run: Run, resource: StackResource) -> ResourceStatus:
    latest = run.tx.resources.get(StackResource, run.scope, resource.name)
    return resource.status if latest is None else latest.status


def _settle_down(run: Run, doomed: Sequence[StackResource], status: StackStatus) -> None:
    """End a cleanup: the stack drops the resources that could not be deleted."""
    for resource in doomed:
        run.forget(resource)
    run.stack = dataclasses.replace(run.stack, previous=None)
    run.enter(status)


def _finish_delete(run: Run) -> None:
    """End a deletion or rollback: the stack is deleted, rolled back, or failed because resources remain."""
    gone = run.stack.status is StackStatus.DELETE_IN_PROGRESS
    for resource in run.resources():
        if (
            resource.status in (ResourceStatus.CREATE_FAILED, ResourceStatus.IMPORT_FAILED, *IN_PROGRESS)
            and resource.made is None
        ):
            run.report(resource, ResourceStatus.DELETE_COMPLETE)
    stuck = [one.logical_id for one in run.resources() if one.made is not None and _has_failed(run, one)]
    if stuck:
        reason = f"The following resource(s) failed to delete: [{', '.join(stuck)}]. "
        run.enter(StackStatus.DELETE_FAILED if gone else StackStatus.ROLLBACK_FAILED, reason)
        return
    run.stack = dataclasses.replace(run.stack, imports=(), deleted_at=run.tx.now)
    if gone:
        withdraw_exports(run)
    run.enter(StackStatus.DELETE_COMPLETE if gone else StackStatus.ROLLBACK_COMPLETE)
