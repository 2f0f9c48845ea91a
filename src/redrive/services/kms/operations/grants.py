"""The operations on grants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.kms import limits
from redrive.services.kms.access import authorize_account, authorize_key, grants_of
from redrive.services.kms.lookup import find_by_id
from redrive.services.kms.model.grant import Grant, constraints_of, is_principal, name_in_token
from redrive.services.kms.model.requests import end_dry_run, invalid, not_found, page_of
from redrive.store.api import Transaction

_ID_DIGITS = 64


@operation("CreateGrant")
def create_grant(
    tx: Transaction, caller: Caller, *, key_id: str, operations: Sequence[str], grantee_principal: str | None = None,
    retiring_principal: str | None = None, constraints: Document | None = None,
    grant_tokens: Sequence[str] | None = None, name: str | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
    grantee_service_principal: str | None = None, retiring_service_principal: str | None = None,
) -> Document:  # fmt: skip
    """Let a principal do some operations with a key. The same grant with the same name is made once.

    Errors: NotFoundException; DisabledException; KMSInvalidStateException; LimitExceededException
    (50,000 grants of a key); ValidationException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateGrant.html
    """
    found = find_by_id(tx, caller, key_id)
    authorize_key(tx, caller, "CreateGrant", found)
    found.key.check_enabled(found.scope)
    grantee = grantee_principal or grantee_service_principal
    if grantee is None:
        raise invalid("A grant needs a GranteePrincipal.")
    subset, equals = constraints_of(constraints)
    grant = Grant(
        tx.entropy.hex(_ID_DIGITS), found.key.id, grantee, tuple(operations), tx.now, caller.principal_arn,
        retiring_principal or retiring_service_principal or "", name or "", subset, equals, constraints or {},
    )  # fmt: skip
    known = grants_of(tx, found)
    for other in known:
        if name and _is_same(other, grant):
            return {"GrantId": other.id, "GrantToken": other.token}
    if tx.services.limits is Limits.STRICT and len(known) >= limits.GRANTS_PER_KEY_MAX:
        raise ServiceError("LimitExceededException", f"You have reached the limit of grants for {found.arn}.")
    end_dry_run(dry_run)
    tx.resources.put(found.scope, grant)
    return {"GrantId": grant.id, "GrantToken": grant.token}


@operation("ListGrants")
def list_grants(
    tx: Transaction, caller: Caller, *, key_id: str, limit: int | None = None, marker: str | None = None,
    grant_id: str | None = None, grantee_principal: str | None = None, grantee_service_principal: str | None = None,
) -> Document:  # fmt: skip
    """List the grants of a key.

    Errors: NotFoundException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListGrants.html
    """
    found = find_by_id(tx, caller, key_id)
    authorize_key(tx, caller, "ListGrants", found)
    found.key.check_stays(found.scope)
    grantee = grantee_principal or grantee_service_principal
    grants = [
        grant for grant in grants_of(tx, found) if grant_id in (None, grant.id) and grantee in (None, grant.grantee)
    ]
    page, rest = page_of(grants, lambda grant: grant.name, marker, limit or limits.GRANTS_PAGE)
    return {"Grants": [grant.described(found.scope) for grant in page], **rest}


@operation("ListRetirableGrants")
def list_retirable_grants(
    tx: Transaction, caller: Caller, *, limit: int | None = None, marker: str | None = None,
    retiring_principal: str | None = None, retiring_service_principal: str | None = None,
) -> Document:  # fmt: skip
    """List the grants that a principal may retire.

    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListRetirableGrants.html
    """
    authorize_account(tx, caller, "ListRetirableGrants")
    wanted = retiring_principal or retiring_service_principal
    grants = [grant for grant in tx.resources.list(Grant, caller.scope) if wanted and grant.retiring == wanted]
    page, rest = page_of(grants, lambda grant: grant.name, marker, limit or limits.GRANTS_PAGE)
    return {"Grants": [grant.described(caller.scope) for grant in page], **rest}


@operation("RevokeGrant")
def revoke_grant(
    tx: Transaction, caller: Caller, *, key_id: str, grant_id: str, dry_run: bool | None = None
) -> Document:
    """Take a grant back.

    Errors: NotFoundException (the key, the grant); KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_RevokeGrant.html
    """
    found = find_by_id(tx, caller, key_id)
    authorize_key(tx, caller, "RevokeGrant", found)
    found.key.check_stays(found.scope)
    end_dry_run(dry_run)
    if not tx.resources.delete(Grant, found.scope, f"{found.key.id}/{grant_id}"):
        raise not_found(f"Grant ID {grant_id} not found")
    return {}


@operation("RetireGrant")
def retire_grant(
    tx: Transaction, caller: Caller, *, grant_token: str | None = None, key_id: str | None = None,
    grant_id: str | None = None, dry_run: bool | None = None,
) -> Document:  # fmt: skip
    """Give a grant up: its retiring principal may, its grantee if the grant says so, and the key's account.

    Errors: NotFoundException; InvalidGrantTokenException; ValidationException; AccessDeniedException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_RetireGrant.html
    """
    if (grant_token is None) == (key_id is None or grant_id is None):
        raise invalid("Either a grant token, or a key ARN and a grant ID must be specified.")
    name = name_in_token(grant_token) if grant_token is not None else None
    if grant_token is not None and name is None:
        raise ServiceError("InvalidGrantTokenException", "Invalid grant token")
    scope = caller.scope
    if key_id is not None:
        found = find_by_id(tx, caller, key_id)
        scope, name = found.scope, f"{found.key.id}/{grant_id}"
    grant = tx.resources.get(Grant, scope, name or "")
    if grant is None:
        raise not_found(f"Grant ID {grant_id or ''} not found")
    if not _may_retire(caller, grant, is_home=scope.account == caller.account):
        found = find_by_id(tx, caller, grant.key_id)
        authorize_key(tx, caller, "RetireGrant", found)
    end_dry_run(dry_run)
    tx.resources.delete(Grant, scope, grant.name)
    return {}


def _may_retire(caller: Caller, grant: Grant, *, is_home: bool) -> bool:
    by_grant = is_principal(caller, grant.retiring) or (
        "RetireGrant" in grant.operations and is_principal(caller, grant.grantee)
    )
    return by_grant or (is_home and caller.is_account)


def _is_same(one: Grant, other: Grant) -> bool:
    """Whether two grants say the same under the same name."""
    compared: Sequence[Callable[[Grant], object]] = (
        lambda grant: grant.title,
        lambda grant: grant.grantee,
        lambda grant: grant.retiring,
        lambda grant: sorted(grant.operations),
        lambda grant: grant.constraints,
    )
    return all(of(one) == of(other) for of in compared)
