"""The operations of STS. They read roles through IAM's own operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from redrive.core.clock import SECOND_MS, format_instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.core.sessions import Issuer
from redrive.delivery.operation import operation
from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    ImplicitDeny,
    PolicyKind,
    PolicySource,
    PrincipalInfo,
    decide,
    parse_policy,
)
from redrive.services.sts import limits
from redrive.services.sts.model.session import assumed_role_arn, described, own_principal
from redrive.store.api import Transaction

ASSUME_ROLE = "sts:AssumeRole"

Context = Mapping[str, tuple[str, ...]]


@operation("GetCallerIdentity")
def get_caller_identity(tx: Transaction, caller: Caller) -> Document:
    """Return the caller's identity: the account's root, a user, or a role's session. No permission is required.

    Errors: UnrecognizedClientException (a session of a deleted role or user).
    Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    """
    if caller.is_account:
        return {"UserId": caller.account, "Account": caller.account, "Arn": caller.principal_arn}
    if caller.role_arn is None:
        user = _user(tx, caller, caller.principal_arn)
        user_id = None if user is None else user["UserId"]
    else:
        role = _role(tx, caller, caller.role_arn)
        user_id = None if role is None else f"{role['RoleId']}:{caller.session_name}"
    if user_id is None:
        raise ServiceError("UnrecognizedClientException", "The security token included in the request is invalid.")
    account = caller.principal_arn.split(":")[4]
    return {"UserId": user_id, "Account": account, "Arn": caller.principal_arn}


@operation("AssumeRole")
def assume_role(
    tx: Transaction,
    caller: Caller,
    *,
    role_arn: str,
    role_session_name: str,
    policy_arns: Sequence[Document] | None = None,
    policy: str | None = None,
    duration_seconds: int | None = None,
    tags: Sequence[Mapping[str, str]] | None = None,
    transitive_tag_keys: Sequence[str] | None = None,
    external_id: str | None = None,
    serial_number: str | None = None,
    token_code: str | None = None,
    source_identity: str | None = None,
    provided_contexts: Sequence[Document] | None = None,
    minimum_session_token_size: int | None = None,
) -> Document:
    """Return credentials of a new session of a role, if its trust policy and the caller's own policies allow this.

    Errors: AccessDeniedException; ValidationException (a session longer than the role allows); NotImplemented
    (parameters that a session here cannot carry).
    Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
    """
    _refuse_unsupported(
        PolicyArns=policy_arns, Policy=policy, Tags=tags, TransitiveTagKeys=transitive_tag_keys,
        SourceIdentity=source_identity, ProvidedContexts=provided_contexts,
        MinimumSessionTokenSize=minimum_session_token_size,
    )  # fmt: skip
    if serial_number is not None or token_code is not None:
        # There are no MFA devices, so every code is invalid.
        message = "MultiFactorAuthentication failed with invalid MFA one time pass code."
        raise ServiceError("AccessDeniedException", message)
    context = _moment(tx, caller) | {"sts:RoleSessionName": (role_session_name,)}
    if external_id is not None:
        context["sts:ExternalId"] = (external_id,)
    role = _role(tx, caller, role_arn)
    if role is None or not _may_assume(tx, caller, role, context):
        message = f"User: {caller.principal_arn} is not authorized to perform: {ASSUME_ROLE} on resource: {role_arn}"
        raise ServiceError("AccessDeniedException", message)
    duration_s = duration_seconds or limits.ROLE_SESSION_S_DEFAULT
    _check_duration(caller, duration_s, role["MaxSessionDuration"])
    return {
        "Credentials": _credentials(tx, role_arn, role_session_name, duration_s),
        "AssumedRoleUser": {
            "AssumedRoleId": f"{role['RoleId']}:{role_session_name}",
            "Arn": assumed_role_arn(role_arn, role_session_name),
        },
    }


@operation("GetSessionToken")
def get_session_token(
    tx: Transaction,
    caller: Caller,
    *,
    duration_seconds: int | None = None,
    serial_number: str | None = None,
    token_code: str | None = None,
    minimum_session_token_size: int | None = None,
) -> Document:
    """Return temporary credentials of the caller: a user or the account itself, but not a role's session.

    Errors: AccessDeniedException; NotImplemented (MinimumSessionTokenSize).
    Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetSessionToken.html
    """
    _refuse_unsupported(MinimumSessionTokenSize=minimum_session_token_size)
    if caller.role_arn is not None:
        raise ServiceError("AccessDeniedException", "Cannot call GetSessionToken with session credentials")
    if serial_number is not None or token_code is not None:
        message = "MultiFactorAuthentication failed with invalid MFA one time pass code."
        raise ServiceError("AccessDeniedException", message)
    duration_s = duration_seconds or limits.ACCOUNT_SESSION_S_DEFAULT
    return {"Credentials": _credentials(tx, own_principal(caller), "", duration_s)}


def _credentials(tx: Transaction, principal_arn: str, session_name: str, duration_s: int) -> Document:
    """Return credentials of a new session in AWS's form."""
    issuer = Issuer(tx.facts.secret())
    expires_at = tx.now + duration_s * SECOND_MS
    return described(issuer.credentials(issuer.new_session(principal_arn, session_name, tx.entropy, expires_at)))


def _refuse_unsupported(**members: object) -> None:
    """Refuse parameters that a session's token cannot carry, instead of ignoring them."""
    for member, given in members.items():
        if given:
            message = f"redrive does not implement {member} of sessions: leave it out."
            raise ServiceError("NotImplemented", message, http_status=501)


def _role(tx: Transaction, caller: Caller, arn: str) -> Document | None:
    """Return IAM's description of the role with this ARN, or None.

    STS may read every role, also if its caller may not.
    """
    match arn.split(":", 5):
        case ["arn", _, "iam", _, account, name] if name.startswith("role/"):
            role_name = name.rsplit("/", 1)[-1]
        case _:
            return None
    owner = Caller(Scope(account, caller.region), caller.request_id)
    try:
        role: Document = tx.services.call(tx, owner, "iam", "GetRole", {"RoleName": role_name})["Role"]
    except ServiceError:
        return None
    return role if role["Arn"] == arn else None


def _user(tx: Transaction, caller: Caller, arn: str) -> Document | None:
    """Return IAM's description of the user with this ARN, or None."""
    owner = Caller(Scope(arn.split(":")[4], caller.region), caller.request_id)
    try:
        params = {"UserName": arn.rsplit("/", 1)[-1]}
        user: Document = tx.services.call(tx, owner, "iam", "GetUser", params)["User"]
    except ServiceError:
        return None
    return user if user["Arn"] == arn else None


def _may_assume(tx: Transaction, caller: Caller, role: Document, context: Context) -> bool:
    """Whether the caller may assume a role. The role's trust policy must allow it.

    If the trust policy does not name the caller, the caller's own policies must allow it, too.
    """
    trust = parse_policy(unquote(role["AssumeRolePolicyDocument"]), PolicyKind.TRUST)
    if caller.is_account:
        request = AccessRequest(ASSUME_ROLE, role["Arn"], PrincipalInfo.root(caller.account), context)
        return isinstance(decide(request, (), trust), Allowed)
    if caller.role_arn is None:
        principal, own_arn = PrincipalInfo.user(caller.principal_arn), caller.principal_arn
    else:
        principal, own_arn = PrincipalInfo.session(caller.role_arn, caller.session_name), caller.role_arn
    trusting = decide(AccessRequest(ASSUME_ROLE, role["Arn"], principal, context), (), trust)
    own = _own_decision(tx, caller, own_arn, role["Arn"], context)
    match trusting:
        case Allowed():
            # The trust policy names this caller, which is enough unless the caller's own policies deny it.
            bounds = own.get("PermissionsBoundaryDecisionDetail", {"AllowedByPermissionsBoundary": True})
            is_within: bool = bounds["AllowedByPermissionsBoundary"]
            return is_within and own["EvalDecision"] != "explicitDeny"
        case ImplicitDeny(PolicySource.IDENTITY):
            return bool(own["EvalDecision"] == "allowed")
        case _:
            return False


def _own_decision(tx: Transaction, caller: Caller, own_arn: str, role_arn: str, context: Context) -> Document:
    """Return the decision of the caller's own policies about assuming another role, from IAM's simulator.

    The simulation treats the other role as one of the caller's account, because its trust policy is already checked.
    """
    owner = Caller(Scope(own_arn.split(":")[4], caller.region), caller.request_id)
    known = {**context, "aws:ResourceAccount": (role_arn.split(":")[4],)}
    entries = [
        {"ContextKeyName": key, "ContextKeyValues": list(values), "ContextKeyType": "string"}
        for key, values in known.items()
    ]
    params = {
        "PolicySourceArn": own_arn, "ActionNames": [ASSUME_ROLE], "ResourceArns": [role_arn], "ContextEntries": entries,
        "ResourceOwner": owner.account,
    }  # fmt: skip
    result: Document = tx.services.call(tx, owner, "iam", "SimulatePrincipalPolicy", params)["EvaluationResults"][0]
    return result


def _check_duration(caller: Caller, duration_s: int, longest_s: int) -> None:
    """Refuse a session that is longer than the role allows, or than the caller may request.

    Errors: ValidationException.
    """
    if caller.role_arn is not None and duration_s > limits.CHAINED_SESSION_S_MAX:
        message = "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining."
        raise ServiceError("ValidationException", message)
    if duration_s > longest_s:
        message = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        raise ServiceError("ValidationException", message)


def _moment(tx: Transaction, caller: Caller) -> dict[str, tuple[str, ...]]:
    """Return the condition keys that every request has."""
    return {
        "aws:CurrentTime": (format_instant(tx.now),),
        "aws:EpochTime": (str(tx.now // 1000),),
        "aws:RequestedRegion": (caller.region,),
        "aws:SecureTransport": ("true",),
    }
