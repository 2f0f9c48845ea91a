"""Parses a policy document and refuses what IAM refuses, in IAM's words.

It must not know requests or accounts: whether a principal exists is a service's question.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
and docs/semantics/iam-policies.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from redrive.core.documents import refuse_half_pairs
from redrive.languages.iam.errors import SYNTAX_ERRORS, PolicyError
from redrive.languages.iam.model import (
    CURRENT_VERSION,
    LEGACY_VERSION,
    Condition,
    Effect,
    Policy,
    PolicyKind,
    Principals,
    Quantifier,
    Selection,
    Statement,
)
from redrive.languages.iam.operators import NULL, OPERATORS, truth

_POLICY_FIELDS = frozenset({"Version", "Id", "Statement"})
_STATEMENT_FIELDS = frozenset(
    {
        "Sid",
        "Effect",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Principal",
        "NotPrincipal",
        "Condition",
    }
)
_PRINCIPAL_FIELDS = {
    "AWS": "aws",
    "Service": "service",
    "Federated": "federated",
    "CanonicalUser": "canonical_user",
}
_VENDOR = re.compile(r"[A-Za-z0-9.-]+")
_ACCOUNT_PATTERN = re.compile(r"|[0-9*?]+|aws|.*\$\{.*", re.ASCII)
_SID = re.compile(r"[0-9A-Za-z]*")
_AWS_PRINCIPAL = re.compile(
    r"\*|\d{12}"
    r"|arn:aws[a-z-]*:iam::\d{12}:(root|(user|role)/[\w+=,.@/-]+)"
    r"|arn:aws[a-z-]*:sts::\d{12}:(assumed-role/[\w+=,.@-]+|federated-user)/[\w+=,.@-]+"
    r"|A(IDA|ROA)[A-Z0-9]{12,}",
    re.ASCII,
)
_SERVICE_PRINCIPAL = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.amazonaws\.com(\.cn)?")


def parse_policy(document: str | Mapping[str, object], kind: PolicyKind = PolicyKind.IDENTITY) -> Policy:
    """Parse a policy document, as JSON text or already decoded.

    Errors: PolicyError with IAM's message.
    """
    fields = _decode(document, kind) if isinstance(document, str) else document
    if not _POLICY_FIELDS.issuperset(fields):
        raise PolicyError(SYNTAX_ERRORS)
    version = fields.get("Version", LEGACY_VERSION)
    if version not in (LEGACY_VERSION, CURRENT_VERSION):
        raise PolicyError("The policy must contain a valid version string")
    raw = fields.get("Statement")
    statements = tuple(_statement(each, kind) for each in (raw if isinstance(raw, list) else [raw]))
    if not statements:
        raise PolicyError(SYNTAX_ERRORS)
    sids = [statement.sid for statement in statements if statement.sid]
    if len(sids) != len(set(sids)):
        raise PolicyError("Statement IDs (SID) in a single policy must be unique.")
    return Policy(kind, statements, str(version), _text(fields.get("Id", "")))


def _decode(text: str, kind: PolicyKind) -> Mapping[str, object]:
    try:
        decoded: object = json.loads(text, object_pairs_hook=_unique_fields, parse_constant=_refuse_constant)
        refuse_half_pairs(decoded)
    except (ValueError, RecursionError):
        message = "This policy contains invalid Json" if kind is PolicyKind.TRUST else SYNTAX_ERRORS
        raise PolicyError(message) from None
    return _mapping(decoded)


def _unique_fields(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _statement(raw: object, kind: PolicyKind) -> Statement:
    fields = _mapping(raw)
    _require_fields(fields, kind)
    if fields.get("Effect") not in ("Allow", "Deny"):
        raise PolicyError(SYNTAX_ERRORS)
    sid = _text(fields.get("Sid", ""))
    # Services' resource policies are less strict: the queue policy from AddPermission may have any label.
    if kind is not PolicyKind.RESOURCE and not _SID.fullmatch(sid):
        raise PolicyError(
            "Statement IDs (SID) must be alpha-numeric. "
            "Check that your input satisfies the regular expression [0-9A-Za-z]*"
        )
    return Statement(
        effect=Effect(fields["Effect"]),
        actions=_actions(fields, kind),
        resources=_resources(fields, kind),
        principals=_principals(fields),
        conditions=_conditions(fields.get("Condition", {})),
        sid=sid,
    )


def _require_fields(fields: Mapping[str, object], kind: PolicyKind) -> None:
    """Refuse elements that are forbidden for this kind of policy, and the absence of required elements."""
    for name in fields:
        if name not in _STATEMENT_FIELDS:
            raise PolicyError(f"Unknown field {name}" if kind is PolicyKind.TRUST else SYNTAX_ERRORS)
    for name in ("Action", "Resource", "Principal"):
        if name in fields and f"Not{name}" in fields:
            raise PolicyError(SYNTAX_ERRORS)
    match kind:
        case PolicyKind.IDENTITY:
            if "Principal" in fields or "NotPrincipal" in fields:
                raise PolicyError("Policy document should not specify a principal.")
            if "Action" not in fields and "NotAction" not in fields:
                raise PolicyError("Policy statement must contain actions.")
            if "Resource" not in fields and "NotResource" not in fields:
                raise PolicyError("Policy statement must contain resources.")
        case PolicyKind.TRUST:
            for name in ("Resource", "NotResource"):
                if name in fields:
                    raise PolicyError(f"Has prohibited field {name}")
            _require(fields, "Effect", "Action", "Principal")
        case PolicyKind.RESOURCE:
            _require(fields, "Effect", "Action", "Principal", "Resource")


def _require(fields: Mapping[str, object], *names: str) -> None:
    for name in names:
        if name not in fields and f"Not{name}" not in fields:
            raise PolicyError(f"Missing required field {name}")


def _selection(fields: Mapping[str, object], name: str) -> Selection | None:
    for field in (name, f"Not{name}"):
        if field in fields:
            return Selection(_texts(fields[field]), negated=field != name)
    return None


def _actions(fields: Mapping[str, object], kind: PolicyKind) -> Selection:
    actions = _selection(fields, "Action")
    if actions is None or not actions.patterns:
        raise PolicyError("Policy statement must contain actions.")
    for action in actions.patterns:
        if kind is PolicyKind.TRUST and not action.lower().startswith("sts:"):
            raise PolicyError("AssumeRole policy may only specify STS AssumeRole actions.")
        if action == "*":
            continue
        if ":" not in action:
            raise PolicyError("Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.")
        if action.count(":") > 1:
            raise PolicyError("Actions/Condition can contain only one colon.")
        if not _VENDOR.fullmatch(action.partition(":")[0]):
            raise PolicyError(f"Vendor {action.partition(':')[0]} is not valid")
    return actions


def _resources(fields: Mapping[str, object], kind: PolicyKind) -> Selection | None:
    resources = _selection(fields, "Resource")
    if resources is None:
        return None
    if not resources.patterns:
        raise PolicyError("Policy statement must contain resources.")
    if kind is PolicyKind.RESOURCE:
        # A resource's own policy may contain a value that is not an ARN; it matches nothing.
        return Selection(
            tuple(_resource(one) if one.startswith("arn:") else one for one in resources.patterns), resources.negated
        )
    return Selection(tuple(map(_resource, resources.patterns)), resources.negated)


def _resource(pattern: str) -> str:
    """Check a resource pattern and complete an incomplete ARN.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html
    """
    if pattern == "*":
        return pattern
    parts = _split_outside_variables(pattern)
    if parts[0] != "arn" or len(parts) < 2:
        raise PolicyError(f'Resource {pattern} must be in ARN format or "*".')
    if not parts[1]:
        raise PolicyError(f'Partition "" is not valid for resource "{pattern}".')
    if len(parts) >= 6 and parts[2] == "iam" and parts[3] not in ("", "*"):
        raise PolicyError(f"IAM resource {pattern} cannot contain region information.")
    if len(parts) >= 6 and parts[2] == "iam" and not _ACCOUNT_PATTERN.fullmatch(parts[4]):
        raise PolicyError("The policy failed legacy parsing")
    return ":".join([*parts, *["*"] * (6 - len(parts))])


def _split_outside_variables(pattern: str) -> list[str]:
    """Split a pattern at its colons, except at colons inside `${…}`."""
    if "}" not in pattern:
        return pattern.split(":")
    parts: list[str] = []
    end, is_inside = len(pattern), False
    for at in range(len(pattern) - 1, -1, -1):
        character = pattern[at]
        if character == ":" and not is_inside:
            parts.append(pattern[at + 1 : end])
            end = at
        elif character in "${}":
            is_inside = character == "}"
    return [pattern[:end], *reversed(parts)]


def _principals(fields: Mapping[str, object]) -> Principals | None:
    for field in ("Principal", "NotPrincipal"):
        if field in fields:
            return _principal_block(fields[field], negated=field == "NotPrincipal")
    return None


def _principal_block(raw: object, *, negated: bool) -> Principals:
    if raw == "*":
        return Principals(aws=("*",), negated=negated)
    block = _mapping(raw)
    if not block or not _PRINCIPAL_FIELDS.keys() >= block.keys():
        raise PolicyError(SYNTAX_ERRORS)
    values = {_PRINCIPAL_FIELDS[name]: _texts(value) for name, value in block.items()}
    for arn in values.get("aws", ()):
        if not _AWS_PRINCIPAL.fullmatch(arn):
            raise PolicyError(f'Invalid principal in policy: "AWS":"{arn}"')
    for service in values.get("service", ()):
        if not _SERVICE_PRINCIPAL.fullmatch(service):
            raise PolicyError(f'Invalid principal in policy: "SERVICE":"{service}"')
    return Principals(**values, negated=negated)


def _conditions(raw: object) -> tuple[Condition, ...]:
    return tuple(
        _condition(operator, key, value)
        for operator, keys in _mapping(raw).items()
        for key, value in _mapping(keys).items()
    )


def _condition(written: str, key: str, value: object) -> Condition:
    quantifier, _, name = written.rpartition(":")
    if quantifier not in (each.value for each in Quantifier) or (":" in written and not quantifier):
        raise PolicyError(SYNTAX_ERRORS)
    base = name.removesuffix("IfExists")
    operator = OPERATORS.get(base)
    values = tuple(map(_scalar, value)) if isinstance(value, list) else (_scalar(value),)
    if operator is None and written != NULL:
        raise PolicyError(SYNTAX_ERRORS)
    _check_values(truth if operator is None else operator.check, values)
    return Condition(base, key, values, Quantifier(quantifier), if_exists=base != name)


def _check_values(check: Callable[[str], object], values: tuple[str, ...]) -> None:
    try:
        for value in values:
            check(value)
    except ValueError:
        raise PolicyError(SYNTAX_ERRORS) from None


def _scalar(value: object) -> str:
    """A condition's value as the text for comparison: `true` and `7` may be written without quotes."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            raise PolicyError(SYNTAX_ERRORS)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise PolicyError(SYNTAX_ERRORS)
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, list) else (_text(value),)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise PolicyError(SYNTAX_ERRORS)
    return value
