"""The operations on aliases."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.kms import limits
from redrive.services.kms.access import authorize_account, authorize_key
from redrive.services.kms.lookup import find_by_id
from redrive.services.kms.model.alias import AWS_PREFIX, SERVICES_WITH_KEYS, Alias, alias_arn, check_alias
from redrive.services.kms.model.requests import not_found, page_of
from redrive.store.api import Transaction


@operation("CreateAlias")
def create_alias(tx: Transaction, caller: Caller, *, alias_name: str, target_key_id: str) -> Document:
    """Give a key a name.

    Errors: AlreadyExistsException; NotFoundException (the key); ValidationException (the name);
    KMSInvalidStateException; LimitExceededException (50 aliases of a key).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html
    """
    arn = alias_arn(caller.scope, alias_name)
    tx.services.authorize(tx, caller, "kms:CreateAlias", arn)
    check_alias(alias_name)
    found = find_by_id(tx, caller, target_key_id)
    authorize_key(tx, caller, "CreateAlias", found)
    found.key.check_stays(found.scope)
    if tx.resources.get(Alias, caller.scope, alias_name) is not None:
        raise ServiceError("AlreadyExistsException", f"An alias with the name {arn} already exists")
    of_key = [alias for alias in tx.resources.list(Alias, caller.scope) if alias.key_id == found.key.id]
    if tx.services.limits is Limits.STRICT and len(of_key) >= limits.ALIASES_PER_KEY_MAX:
        raise ServiceError("LimitExceededException", f"You have reached the limit of aliases for {found.arn}.")
    tx.resources.put(caller.scope, Alias(alias_name, found.key.id, tx.now, tx.now))
    return {}


@operation("UpdateAlias")
def update_alias(tx: Transaction, caller: Caller, *, alias_name: str, target_key_id: str) -> Document:
    """Have an alias mean another key of the same kind.

    Errors: NotFoundException; ValidationException (the keys differ in their kind); KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_UpdateAlias.html
    """
    tx.services.authorize(tx, caller, "kms:UpdateAlias", alias_arn(caller.scope, alias_name))
    check_alias(alias_name)
    alias = _existing(tx, caller, alias_name)
    found = find_by_id(tx, caller, target_key_id)
    authorize_key(tx, caller, "UpdateAlias", found)
    found.key.check_stays(found.scope)
    before = find_by_id(tx, caller, alias.key_id)
    if (before.key.usage, before.key.spec.is_symmetric) != (found.key.usage, found.key.spec.is_symmetric):
        message = f"Alias {alias_name} cannot change from a key of one type or usage to a key of another."
        raise ServiceError("ValidationException", message, http_status=400)
    tx.resources.put(caller.scope, replace(alias, key_id=found.key.id, updated_at=tx.now))
    return {}


@operation("DeleteAlias")
def delete_alias(tx: Transaction, caller: Caller, *, alias_name: str) -> Document:
    """Delete an alias; its key stays.

    Errors: NotFoundException; ValidationException (an alias of AWS's).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_DeleteAlias.html
    """
    tx.services.authorize(tx, caller, "kms:DeleteAlias", alias_arn(caller.scope, alias_name))
    check_alias(alias_name)
    alias = _existing(tx, caller, alias_name)
    authorize_key(tx, caller, "DeleteAlias", find_by_id(tx, caller, alias.key_id))
    tx.resources.delete(Alias, caller.scope, alias_name)
    return {}


@operation("ListAliases")
def list_aliases(
    tx: Transaction, caller: Caller, *, key_id: str | None = None, limit: int | None = None, marker: str | None = None
) -> Document:
    """List aliases by name. Those of AWS managed keys that are not there yet have no key.

    Errors: NotFoundException (the key whose aliases are wanted).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListAliases.html
    """
    authorize_account(tx, caller, "ListAliases")
    scope = caller.scope
    shown = {alias.name: alias.described(scope) for alias in tx.resources.list(Alias, scope)}
    if key_id is None:
        for name in (f"{AWS_PREFIX}{service}" for service in SERVICES_WITH_KEYS):
            shown.setdefault(name, {"AliasName": name, "AliasArn": alias_arn(scope, name)})
    else:
        wanted = find_by_id(tx, caller, key_id).key.id
        shown = {name: alias for name, alias in shown.items() if alias["TargetKeyId"] == wanted}
    page, rest = page_of(sorted(shown.items()), lambda pair: pair[0], marker, limit or limits.GRANTS_PAGE)
    return {"Aliases": [alias for _, alias in page], **rest}


def _existing(tx: Transaction, caller: Caller, name: str) -> Alias:
    alias = tx.resources.get(Alias, caller.scope, name)
    if alias is None:
        raise not_found(f"Alias {alias_arn(caller.scope, name)} is not found.")
    return alias
