"""Made-up answers where the engine serves a service, but not the parameter, the bucket or the key that is asked for.

A handler takes its configuration from these services. Seldom is a template at hand that declares all of it, so an
error would end the handler before its work begins. See `outside` for the answers of services that are not served.
"""

from __future__ import annotations

from types import MappingProxyType

from botocore.model import ListShape, StructureShape

from redrive.prove.calls.calls import Call, Params, mapping_of, members_of
from redrive.prove.calls.outside import made_up_answer
from redrive.prove.guess.answers import answer_of

_ELSEWHERE = frozenset({"AccessDeniedException", "UnknownOperationException"})
"""The account owns everything here: only the resources of other accounts are denied."""

_ABSENT = MappingProxyType(
    {
        "ecr": _ELSEWHERE | {"RepositoryNotFoundException"},
        "kms": _ELSEWHERE | {"InvalidCiphertextException", "NotFoundException"},
        "s3": frozenset({"NoSuchBucket"}),
        "secretsmanager": _ELSEWHERE | {"ResourceNotFoundException"},
        "ssm": _ELSEWHERE | {"ParameterNotFound", "ParameterVersionNotFound"},
    }
)
"""The errors of a resource that is not there, by service."""
_UNSERVED = MappingProxyType({("lambda", "Invoke"): "TenantId", ("lambda", "InvokeAsync"): "TenantId"})
"""Parameters that say how AWS runs a function, and that the engine does not serve: the function runs without them."""


def served_params(call: Call) -> Params:
    """The parameters of a call that the engine is asked with."""
    unserved = _UNSERVED.get((call.service, call.operation))
    if unserved is None or unserved not in call.params:
        return call.params
    return {name: value for name, value in call.params.items() if name != unserved}


def guessed_answer(call: Call, answer: Params, output: StructureShape | None) -> Params | None:
    """A made-up answer in place of the engine's; None if the engine's stands. `output` is the shape of the output."""
    code = mapping_of(answer.get("Error")).get("Code")
    if code is not None:
        return made_up_answer(call, output, 0) if code in _ABSENT.get(call.service, ()) else None
    match call.service, call.operation:
        case "ssm", "GetParameters":
            return _with_each(call, answer, output)
        case "ssm", "GetParametersByPath" if not members_of(answer, "Parameters"):
            return made_up_answer(call, output, 0)
        case _:
            return None


def _with_each(call: Call, answer: Params, output: StructureShape | None) -> Params | None:
    """The answer to GetParameters with those parameters that are not there, in the order of the request."""
    missing = members_of(answer, "InvalidParameters")
    listed = None if output is None else output.members["Parameters"]
    if not missing or not isinstance(listed, ListShape):
        return None
    found = {str(mapping_of(one).get("Name")): one for one in members_of(answer, "Parameters")}
    made = {str(name): answer_of(listed.member, {"Name": name}) for name in missing}
    both = {**found, **made}
    names = [str(name) for name in members_of(call.params, "Names") if str(name) in both]
    return {**answer, "Parameters": [both[name] for name in names], "InvalidParameters": []}
