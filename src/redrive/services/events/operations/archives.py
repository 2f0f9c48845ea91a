"""The operations on archives."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.languages.event_pattern import PatternError, parse
from redrive.services.events.archiving import RETENTION
from redrive.services.events.listing import Asked, listed
from redrive.services.events.model.archive import Archive, archive_arn
from redrive.services.events.model.bus import bus_arn, reference_of
from redrive.services.events.model.requests import exists_already, invalid, no_such_bus, not_found
from redrive.services.events.operations.buses import find_bus
from redrive.store.api import Transaction


@operation("CreateArchive")
def create_archive(
    tx: Transaction, caller: Caller, *, archive_name: str, event_source_arn: str, description: str | None = None,
    event_pattern: str | None = None, retention_days: int | None = None, kms_key_identifier: str | None = None,
) -> Document:  # fmt: skip
    """Create an archive of the events of a bus, which takes events at once.

    Errors: ResourceAlreadyExistsException; ResourceNotFoundException (the bus); InvalidEventPatternException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateArchive.html
    """
    arn = archive_arn(caller.scope, archive_name)
    tx.services.authorize(tx, caller, "events:CreateArchive", arn)
    bus = reference_of(caller.scope, event_source_arn)
    if bus.scope != caller.scope or find_bus(tx, bus) is None:
        raise no_such_bus(bus.name)
    if tx.resources.get(Archive, caller.scope, archive_name) is not None:
        raise exists_already("Archive", archive_name)
    archive = Archive(
        archive_name, new_uuid(tx.entropy), bus.name, tx.now, _checked(event_pattern), description,
        retention_days or 0, kms_key_identifier,
    )  # fmt: skip
    tx.resources.put(caller.scope, archive)
    return {"ArchiveArn": arn, "State": archive.state.value, "CreationTime": archive.created_at}


@operation("UpdateArchive")
def update_archive(
    tx: Transaction, caller: Caller, *, archive_name: str, description: str | None = None,
    event_pattern: str | None = None, retention_days: int | None = None, kms_key_identifier: str | None = None,
) -> Document:  # fmt: skip
    """Change settings of an archive; settings that are not sent stay as they are. Archived events stay.

    Errors: ResourceNotFoundException; ValidationException (nothing to change); InvalidEventPatternException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UpdateArchive.html
    """
    arn = archive_arn(caller.scope, archive_name)
    tx.services.authorize(tx, caller, "events:UpdateArchive", arn)
    if event_pattern is None and retention_days is None and description is None and kms_key_identifier is None:
        raise invalid("At least one of EventPattern, RetentionDays or Description must be provided.")
    archive = the_archive(tx, caller.scope, archive_name)
    changed = replace(
        archive,
        pattern=archive.pattern if event_pattern is None else _checked(event_pattern),
        description=archive.description if description is None else description,
        retention_days=archive.retention_days if retention_days is None else retention_days,
        kms_key=archive.kms_key if kms_key_identifier is None else kms_key_identifier,
    )
    tx.resources.put(caller.scope, changed)
    if changed.retention_days and changed.retention_days != archive.retention_days:
        wake_sweep(tx, RETENTION)
    return {"ArchiveArn": arn, "State": changed.state.value, "CreationTime": changed.created_at}


@operation("DeleteArchive")
def delete_archive(tx: Transaction, caller: Caller, *, archive_name: str) -> Document:
    """Delete an archive and its events. A replay of the archive fails.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteArchive.html
    """
    tx.services.authorize(tx, caller, "events:DeleteArchive", archive_arn(caller.scope, archive_name))
    archive = the_archive(tx, caller.scope, archive_name)
    tx.resources.delete(Archive, caller.scope, archive_name)
    forget_rows(tx, "archived_events", archive.id)
    return {}


@operation("DescribeArchive")
def describe_archive(tx: Transaction, caller: Caller, *, archive_name: str) -> Document:
    """Show an archive, with how many events it holds now.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeArchive.html
    """
    arn = archive_arn(caller.scope, archive_name)
    tx.services.authorize(tx, caller, "events:DescribeArchive", arn)
    archive = the_archive(tx, caller.scope, archive_name)
    return {
        **_overview(tx, caller.scope, archive), "ArchiveArn": arn, "Description": archive.description,
        "EventPattern": archive.pattern, "KmsKeyIdentifier": archive.kms_key,
    }  # fmt: skip


@operation("ListArchives")
def list_archives(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, event_source_arn: str | None = None,
    state: str | None = None, next_token: str | None = None, limit: int | None = None,
) -> Document:  # fmt: skip
    """List archives sorted by name: all, or those of one filter.

    Errors: ValidationException (several filters; an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListArchives.html
    """
    tx.services.authorize(tx, caller, "events:ListArchives", archive_arn(caller.scope, "*"))
    asked = Asked("ListArchives", name_prefix, (event_source_arn, state), next_token, limit)
    asked.check_one_filter()
    page, token = listed(
        tx, Archive, caller.scope, asked,
        lambda archive: event_source_arn in (None, bus_arn(caller.scope, archive.bus_name))
        and state in (None, archive.state.value),
    )  # fmt: skip
    return {"Archives": [_overview(tx, caller.scope, archive) for archive in page], "NextToken": token}


def find_archive(tx: Transaction, scope: Scope, name: str) -> Archive | None:
    """The archive with this name, or None."""
    return tx.resources.get(Archive, scope, name)


def the_archive(tx: Transaction, scope: Scope, name: str) -> Archive:
    """The archive with this name. Errors: ResourceNotFoundException."""
    archive = find_archive(tx, scope, name)
    if archive is None:
        raise not_found(f"Archive {name} does not exist.")
    return archive


def _checked(pattern: str | None) -> str | None:
    """A pattern that can be matched. Errors: InvalidEventPatternException."""
    if pattern:
        try:
            parse(pattern)
        except PatternError as error:
            raise ServiceError("InvalidEventPatternException", str(error)) from error
    return pattern or None


def _overview(tx: Transaction, scope: Scope, archive: Archive) -> Document:
    content = tx.archives.content(archive.id)
    return {
        "ArchiveName": archive.name, "EventSourceArn": bus_arn(scope, archive.bus_name),
        "State": archive.state.value, "RetentionDays": archive.retention_days, "SizeBytes": content.size,
        "EventCount": content.events, "CreationTime": archive.created_at,
    }  # fmt: skip
