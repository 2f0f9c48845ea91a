"""Finds the secret that a request means, and asks whether the caller may do what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.scope import Caller, Scope
from redrive.languages.iam import Context, resource_tags
from redrive.services.secretsmanager.model.requests import not_found
from redrive.services.secretsmanager.model.secret import Secret, secret_arn
from redrive.store.api import Transaction

_SUFFIX_LENGTH = 6
_PER_READ = 200
NOTHING_MORE: Context = {}


@dataclass(frozen=True, slots=True)
class Found:
    """A secret, and the account and region where it is."""

    scope: Scope
    secret: Secret

    @property
    def arn(self) -> str:
        return self.secret.arn(self.scope)


def find(
    tx: Transaction, caller: Caller, operation: str, secret_id: str, *, more: Context = NOTHING_MORE,
    is_kept: bool = True,
) -> Found:  # fmt: skip
    """Return a secret that the caller may do this with; with `is_kept`, one that is not deleted.

    Errors: ResourceNotFoundException; AccessDeniedException; InvalidRequestException (it was deleted).
    """
    found = locate(tx, caller, secret_id)
    if found is None:
        arn = secret_id if secret_id.startswith("arn:") else secret_arn(caller.scope, secret_id)
        tx.services.authorize(tx, caller, f"secretsmanager:{operation}", arn)
        raise not_found()
    authorize(tx, caller, operation, found, more=more)
    if is_kept:
        found.secret.check_kept()
    return found


def authorize(tx: Transaction, caller: Caller, operation: str, found: Found, *, more: Context = NOTHING_MORE) -> None:
    """Refuse what neither the caller's policies nor the secret's policy allow. Errors: AccessDeniedException."""
    tags = found.secret.tags
    context = {
        "secretsmanager:SecretId": (found.arn,),
        **resource_tags(tags),
        **{f"secretsmanager:ResourceTag/{key}": (value,) for key, value in tags.items()},
        **more,
    }
    tx.services.authorize(
        tx, caller, f"secretsmanager:{operation}", found.arn, context=context, policy=found.secret.policy
    )


def locate(tx: Transaction, caller: Caller, secret_id: str) -> Found | None:
    """Return the secret with a name, an ARN, or an ARN without the six characters at its end."""
    scope, name = caller.scope, secret_id
    if secret_id.startswith("arn:"):
        try:
            arn = Arn.parse(secret_id)
        except ValueError:
            return None
        if arn.service != "secretsmanager" or not arn.resource.startswith("secret:") or arn.region != caller.region:
            return None
        scope, name = Scope(arn.account, arn.region), arn.resource.removeprefix("secret:")
        stem, _, suffix = name.rpartition("-")
        if len(suffix) == _SUFFIX_LENGTH:
            whole = tx.resources.get(Secret, scope, stem)
            if whole is not None and whole.suffix == suffix:
                return Found(scope, whole)
    secret = tx.resources.get(Secret, scope, name)
    return None if secret is None else Found(scope, secret)


def secrets_of(tx: Transaction, scope: Scope, after: str = "") -> Iterator[Secret]:
    """Yield the secrets of an account after a name, sorted by name. They are read in pieces."""
    while found := tx.resources.list(Secret, scope, after=after, limit=_PER_READ):
        yield from found
        after = found[-1].name
