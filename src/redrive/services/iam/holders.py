"""What roles, users and groups have in common: inline policies, attached managed policies, permissions boundaries.

The operations of each say only whose policies they are about.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.services.iam import access
from redrive.services.iam.model.documents import check_inline, encoded
from redrive.services.iam.model.group import Group
from redrive.services.iam.model.requests import invalid_input, no_such_entity, over_quota, page
from redrive.services.iam.model.role import ManagedPolicy, Role
from redrive.services.iam.model.user import User
from redrive.services.iam.warnings import tell_of_unknown
from redrive.store.api import Transaction

H = TypeVar("H", Role, User, Group)
B = TypeVar("B", Role, User)


@dataclass(frozen=True, slots=True)
class HeldPolicies(Generic[H]):
    """The policies that decide what holders of one kind may do. `noun` is `Role`, say.

    `find` takes (transaction, caller, name, action) and refuses who may not do that.
    """

    noun: str
    find: Callable[[Transaction, Caller, str, str], H]
    store: Callable[[Transaction, H], None]
    attached_max: int
    inline_characters_max: int

    def put_inline(self, tx: Transaction, caller: Caller, name: str, policy_name: str, document: str) -> Document:
        """Give a holder an inline policy, over the one of that name.

        Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
        """
        holder: H = self.find(tx, caller, name, f"iam:Put{self.noun}Policy")
        inline = {**holder.inline, policy_name: document}
        owner = f"{self.noun.lower()} {name}"
        check_inline(document, inline, owner=owner, characters_max=self.inline_characters_max)
        self.store(tx, dataclasses.replace(holder, inline=inline))
        return {}

    def get_inline(self, tx: Transaction, caller: Caller, name: str, policy_name: str) -> Document:
        """An inline policy of a holder. Errors: NoSuchEntityException (holder or policy)."""
        holder: H = self.find(tx, caller, name, f"iam:Get{self.noun}Policy")
        document = holder.inline.get(policy_name)
        if document is None:
            raise self._no_inline(policy_name)
        return {f"{self.noun}Name": name, "PolicyName": policy_name, "PolicyDocument": encoded(document)}

    def list_inline(
        self, tx: Transaction, caller: Caller, name: str, marker: str | None, max_items: int | None
    ) -> Document:
        """The names of a holder's inline policies.

        Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
        """
        holder: H = self.find(tx, caller, name, f"iam:List{self.noun}Policies")
        names, more = page(holder.inline, str, marker, max_items)
        return {"PolicyNames": names, **more}

    def delete_inline(self, tx: Transaction, caller: Caller, name: str, policy_name: str) -> Document:
        """Take an inline policy away from a holder. Errors: NoSuchEntityException (holder or policy)."""
        holder: H = self.find(tx, caller, name, f"iam:Delete{self.noun}Policy")
        if policy_name not in holder.inline:
            raise self._no_inline(policy_name)
        inline = {each: document for each, document in holder.inline.items() if each != policy_name}
        self.store(tx, dataclasses.replace(holder, inline=inline))
        return {}

    def attach(self, tx: Transaction, caller: Caller, name: str, policy_arn: str) -> Document:
        """Attach a managed policy to a holder; attaching it again changes nothing.

        Errors: NoSuchEntityException (holder or policy); InvalidInputException (no ARN); LimitExceededException.
        """
        holder: H = self.find(tx, caller, name, f"iam:Attach{self.noun}Policy")
        _check_arn(policy_arn)
        policy = access.find_policy(tx, policy_arn)
        if policy is None or not _is_usable(policy, caller):
            raise no_such_entity(f"Policy {policy_arn} does not exist or is not attachable.")
        if policy_arn in holder.attached:
            return {}
        if len(holder.attached) >= self.attached_max:
            raise over_quota(f"PoliciesPer{self.noun}", self.attached_max)
        self.store(tx, dataclasses.replace(holder, attached=(*holder.attached, policy_arn)))
        tell_of_unknown(tx, holder.arn, policy_arn)
        return {}

    def detach(self, tx: Transaction, caller: Caller, name: str, policy_arn: str) -> Document:
        """Detach a managed policy from a holder.

        Errors: NoSuchEntityException (no such holder, or the policy is not attached); InvalidInputException (no ARN).
        """
        holder: H = self.find(tx, caller, name, f"iam:Detach{self.noun}Policy")
        _check_arn(policy_arn)
        if policy_arn not in holder.attached:
            raise no_such_entity(f"Policy {policy_arn} was not found.")
        attached = tuple(arn for arn in holder.attached if arn != policy_arn)
        self.store(tx, dataclasses.replace(holder, attached=attached))
        return {}

    def list_attached(
        self, tx: Transaction, caller: Caller, name: str, path_prefix: str | None, marker: str | None,
        max_items: int | None,
    ) -> Document:  # fmt: skip
        """The managed policies that are attached to a holder, in order of their names.

        Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
        """
        holder: H = self.find(tx, caller, name, f"iam:ListAttached{self.noun}Policies")
        policies = [policy for arn in holder.attached if (policy := access.find_policy(tx, arn)) is not None]
        found = [policy for policy in policies if policy.path.startswith(path_prefix or "/")]
        # Two policies may have one name only if one is AWS's; the ARN after it tells them apart.
        items, more = page(found, lambda policy: f"{policy.name} {policy.arn}", marker, max_items)
        attached = [{"PolicyName": policy.policy_name, "PolicyArn": policy.arn} for policy in items]
        return {"AttachedPolicies": attached, **more}

    def _no_inline(self, policy_name: str) -> Exception:
        return no_such_entity(f"The {self.noun.lower()} policy with name {policy_name} cannot be found.")


def put_boundary(held: HeldPolicies[B], tx: Transaction, caller: Caller, name: str, policy_arn: str) -> Document:
    """Bound what a role or user may do by a managed policy, whatever their other policies allow.

    Errors: NoSuchEntityException (holder or policy); InvalidInputException (no ARN of a policy).
    """
    holder = held.find(tx, caller, name, f"iam:Put{held.noun}PermissionsBoundary")
    check_boundary(tx, caller, policy_arn)
    held.store(tx, dataclasses.replace(holder, boundary=policy_arn))
    return {}


def delete_boundary(held: HeldPolicies[B], tx: Transaction, caller: Caller, name: str) -> Document:
    """Take the permissions boundary of a role or user away.

    Errors: NoSuchEntityException (no such holder, or they have no boundary).
    """
    holder = held.find(tx, caller, name, f"iam:Delete{held.noun}PermissionsBoundary")
    if holder.boundary is None:
        raise no_such_entity(f"The {held.noun.lower()} with name {name} has no permissions boundary.")
    held.store(tx, dataclasses.replace(holder, boundary=None))
    return {}


def check_boundary(tx: Transaction, caller: Caller, arn: str) -> None:
    """Refuse a permissions boundary that is no managed policy of the account or of AWS.

    Errors: InvalidInputException; NoSuchEntityException.
    """
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("policy/"):
        raise invalid_input(f"ARN {arn} is not valid.")
    policy = access.find_policy(tx, arn)
    if policy is None or not _is_usable(policy, caller):
        raise no_such_entity(f"Scope ARN: {arn} does not exist or is not attachable.")


def _is_usable(policy: ManagedPolicy, caller: Caller) -> bool:
    return policy.is_aws or policy.account == caller.account


def _check_arn(policy_arn: str) -> None:
    if not policy_arn.startswith("arn:"):
        raise invalid_input(f"ARN {policy_arn} is not valid.")
