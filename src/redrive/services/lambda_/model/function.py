"""Functions: their stored form, their names, and their form in answers. No transaction, no clock."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from redrive.core.arn import Arn
from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.delivery.outside.invocation import FunctionCode, Invocation
from redrive.services.lambda_.limits import EPHEMERAL_MB_DEFAULT, MEMORY_MB_DEFAULT, PASSAGE_MS, TIMEOUT_S_DEFAULT
from redrive.services.lambda_.model.logging import LoggingSettings
from redrive.services.lambda_.model.policy import NO_POLICY, FunctionPolicy
from redrive.services.lambda_.model.recursion import is_loop, lineage_after, without_lineage

LATEST = "$LATEST"

_REFERENCE = re.compile(
    r"(?:arn:[a-z-]+:lambda:)?(?:(?P<region>[a-z]+(?:-[a-z]+)+-\d):)?(?:(?P<account>\d{12}):)?(?:function:)?"
    r"(?P<name>[a-zA-Z0-9_.-]+)(?::(?P<qualifier>\$LATEST|[a-zA-Z0-9_-]+))?"
)


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function as a caller named it. `qualifier` is None if the caller gave none."""

    scope: Scope
    name: str
    qualifier: str | None

    @property
    def arn(self) -> str:
        """The ARN without qualifier."""
        return f"arn:aws:lambda:{self.scope.region}:{self.scope.account}:function:{self.name}"

    @property
    def qualified_arn(self) -> str:
        """The ARN as the caller named it: with the qualifier, if the caller gave one."""
        return self.arn if self.qualifier is None else f"{self.arn}:{self.qualifier}"

    @property
    def version_arn(self) -> str:
        """The ARN that always has a qualifier, as some messages show it."""
        return f"{self.arn}:{self.qualifier or LATEST}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function's code, configuration, resource policy and tags.

    `code_digest` is the hexadecimal SHA-256 of the archive. `replaced_digest` is the digest of the code before the last
    update; runs that began before the update may still need that code. The documents have AWS's own keys.

    `version` is a number in a published version. `statements` and `policy_revision` are the policy of the unqualified
    function; `policies` has those of its versions and aliases, by qualifier.

    `revision` identifies the code and configuration that run. During a creation or an update, which began at
    `passage_at`, `revision` is also the function's RevisionId. Afterwards the RevisionId is `settled_revision`, which
    changes of tags replace, too.
    """

    KIND: ClassVar[str] = "lambda.function"

    name: str
    arn: str
    runtime: str
    handler: str
    role: str
    code_digest: str
    code_size: int
    revision: str
    modified_at: Instant
    version: str = LATEST
    passage_at: Instant = 0
    is_first_passage: bool = False
    settled_revision: str = ""
    replaced_digest: str = ""
    description: str = ""
    timeout_s: int = TIMEOUT_S_DEFAULT
    memory_mb: int = MEMORY_MB_DEFAULT
    ephemeral_mb: int = EPHEMERAL_MB_DEFAULT
    architectures: tuple[str, ...] = ("x86_64",)
    tracing: str = "PassThrough"
    environment: Mapping[str, str] | None = None
    dead_letter_arn: str = ""
    kms_key_arn: str = ""
    source_kms_key_arn: str = ""
    vpc_config: Document | None = None
    snap_start: str = "None"
    log_group: str = ""
    logging: LoggingSettings = LoggingSettings.DEFAULT
    layers: tuple[Document, ...] = ()
    recursive_loop: str = "Terminate"
    update_runtime_on: str = "Auto"
    runtime_version_arn: str = ""
    reserved: int | None = None
    code_signing_arn: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Document, ...] = ()
    policy_revision: str = ""
    policies: Mapping[str, FunctionPolicy] = field(default_factory=dict)

    def policy_of(self, qualifier: str | None) -> FunctionPolicy:
        """The resource policy of a qualifier; without statements if there is none."""
        if qualifier is None:
            return FunctionPolicy(self.statements, self.policy_revision)
        return self.policies.get(qualifier, NO_POLICY)

    def is_passing(self, now: Instant) -> bool:
        """Whether the creation or the last update is still in progress.

        The answer is False at the exact instant of its start: virtual time may stand still there, and a client could
        not wait for the end. In real time no second request arrives within the same millisecond.
        """
        return self.passage_at < now < self.passage_at + PASSAGE_MS

    def revision_id(self, now: Instant) -> str:
        """The RevisionId in AWS's answers."""
        return self.revision if self.is_passing(now) else self.settled_revision or self.revision


def lambda_error(code: str, message: str, **members: object) -> ServiceError:
    """Build an error in Lambda's form, which has a `Type` beside the message."""
    return ServiceError(code, message, members={"Type": "User", **members})


def invalid_parameter(message: str) -> ServiceError:
    """Build an InvalidParameterValueException."""
    return lambda_error("InvalidParameterValueException", message)


def function_not_found(arn: str) -> ServiceError:
    """Build the ResourceNotFoundException for a function."""
    return lambda_error("ResourceNotFoundException", f"Function not found: {arn}")


def throttled(reason: str) -> ServiceError:
    """Build the error for a run that found no free concurrency."""
    return lambda_error("TooManyRequestsException", "Rate Exceeded.", Reason=reason)


def recursive() -> ServiceError:
    """Build the error for a run that a chain of requests has asked for too often."""
    return lambda_error(
        "RecursiveInvocationException",
        "Lambda has detected your function being invoked in a recursive loop with other AWS resources and stopped your "
        "function's invocation.",
    )


def unavailable(parameter: str) -> ServiceError:
    """Build the error for a parameter of a feature that redrive does not have."""
    return invalid_parameter(f"{parameter} is not available in redrive; see docs/semantics/lambda.md.")


def refuse_given(**parameters: object) -> None:
    """Refuse parameters of unsupported features, named as AWS names them. Absent and empty parameters pass."""
    for name, value in parameters.items():
        if value:
            raise unavailable(name)


def constraint_violation(value: object, member: str, bound: str) -> ServiceError:
    """Build the error for a value outside a quota that is stricter than the constraint in botocore's model."""
    return ServiceError(
        "ValidationException",
        f"1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: "
        f"Member must have {bound}",
        http_status=400,
    )


def parse_reference(text: str, qualifier: str | None, scope: Scope) -> FunctionReference:
    """Parse a function's name, partial ARN or full ARN, which may contain a qualifier.

    Errors: InvalidParameterValueException (malformed; `qualifier` differs from the one in the text).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunction.html
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise invalid_parameter(f"Invalid function name: {text}")
    inner = match["qualifier"]
    if inner is not None and qualifier is not None and inner != qualifier:
        raise invalid_parameter("The derived qualifier from the function name does not match the specified qualifier.")
    found = Scope(match["account"] or scope.account, match["region"] or scope.region)
    return FunctionReference(found, match["name"], qualifier if inner is None else inner)


def qualifier_of(function_arn: str) -> str | None:
    """The version or alias at the end of a function's full ARN; None if the ARN has none."""
    return function_arn.split(":", 6)[6].partition(":")[2] or None


def function_invocation(
    function: Function, request_id: str, payload: bytes, *,
    function_arn: str, client_context: str | None = None, trace_header: str = "",
) -> Invocation:  # fmt: skip
    """Build one run of a function. The function's context shows `function_arn`, the ARN by which it was invoked."""
    return Invocation(
        request_id=request_id,
        function_arn=function_arn,
        function_name=function.name,
        version=function.version,
        revision=function.revision,
        code=FunctionCode(
            function.code_digest,
            function.handler,
            function.runtime,
            layers=tuple(str(layer["Digest"]) for layer in function.layers if layer["Digest"]),
            missing_layers=tuple(str(layer["Arn"]) for layer in function.layers if not layer["Digest"]),
        ),
        payload=payload,
        timeout_ms=function.timeout_s * SECOND_MS,
        memory_mb=function.memory_mb,
        role_arn=function.role,
        log_group=function.log_group,
        environment=function.environment or {},
        reserved=function.reserved,
        client_context=client_context,
        trace_header=without_lineage(trace_header),
        lineage=lineage_after(trace_header, function.arn),
        log_format=function.logging.format,
        log_level=function.logging.application_level,
        system_log_level=function.logging.system_level,
    )


def is_recursive(function: Function, trace_header: str) -> bool:
    """Whether a run is refused because its chain of requests has run the function too often."""
    return function.recursive_loop == "Terminate" and is_loop(trace_header, function.arn)


_IN_PROGRESS = "The function is being created."
"""AWS gives this reason for updates, too."""


def configuration(function: Function, *, qualifier: str | None = None, is_passing: bool = False) -> Document:
    """A function as GetFunctionConfiguration answers it. `is_passing`: its creation or update is in progress.

    The ARN in the answer ends with the qualifier, if there is one.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_FunctionConfiguration.html
    """
    document = configuration_summary(function, qualifier=qualifier)
    region = Arn.parse(function.arn).region
    version = hashlib.sha256(function.runtime.encode()).hexdigest()
    document["RuntimeVersionConfig"] = {"RuntimeVersionArn": f"arn:aws:lambda:{region}::runtime:{version}"}
    if not is_passing:
        return {**document, "State": "Active", "LastUpdateStatus": "Successful"}
    document["RevisionId"] = function.revision
    if function.is_first_passage:
        return {**document, "State": "Pending", "StateReason": _IN_PROGRESS, "StateReasonCode": "Creating"}
    return {
        **document,
        "State": "Active",
        "LastUpdateStatus": "InProgress",
        "LastUpdateStatusReason": _IN_PROGRESS,
        "LastUpdateStatusReasonCode": "Creating",
    }


def configuration_summary(function: Function, *, qualifier: str | None = None) -> Document:
    """A function as lists show it, which is without its state."""
    document: Document = {
        "FunctionName": function.name,
        "FunctionArn": function.arn if qualifier is None else f"{function.arn}:{qualifier}",
        "Runtime": function.runtime,
        "Role": function.role,
        "Handler": function.handler,
        "CodeSize": function.code_size,
        "Description": function.description,
        "Timeout": function.timeout_s,
        "MemorySize": function.memory_mb,
        "LastModified": last_modified(function.modified_at),
        "CodeSha256": base64.b64encode(bytes.fromhex(function.code_digest)).decode(),
        "Version": function.version,
        "TracingConfig": {"Mode": function.tracing},
        "RevisionId": function.settled_revision or function.revision,
        "PackageType": "Zip",
        "Architectures": list(function.architectures),
        "EphemeralStorage": {"Size": function.ephemeral_mb},
        "SnapStart": {"ApplyOn": function.snap_start, "OptimizationStatus": _optimization(function)},
        "LoggingConfig": {**function.logging.document(), "LogGroup": function.log_group},
    }
    if function.layers:
        document["Layers"] = [{"Arn": layer["Arn"], "CodeSize": layer["CodeSize"]} for layer in function.layers]
    if function.environment is not None:
        document["Environment"] = {"Variables": dict(function.environment)}
    if function.dead_letter_arn:
        document["DeadLetterConfig"] = {"TargetArn": function.dead_letter_arn}
    if function.kms_key_arn:
        document["KMSKeyArn"] = function.kms_key_arn
    if function.vpc_config is not None:
        document["VpcConfig"] = {
            "SubnetIds": [],
            "SecurityGroupIds": [],
            "VpcId": "",
            "Ipv6AllowedForDualStack": False,
            **function.vpc_config,
        }
    return document


def _optimization(function: Function) -> str:
    """SnapStart works for published versions only."""
    return "On" if function.snap_start == "PublishedVersions" and function.version != LATEST else "Off"


def last_modified(at: Instant) -> str:
    """An instant as Lambda writes it: `2026-03-12T19:03:58.123+0000`."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}+0000"
