"""Functions: what is kept of one, how it is named, and how AWS shows it. No transaction, no clock."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.delivery.invocation import FunctionCode, Invocation
from redrive.services.lambda_.limits import EPHEMERAL_MB_DEFAULT, MEMORY_MB_DEFAULT, TIMEOUT_S_DEFAULT

LATEST = "$LATEST"

_REFERENCE = re.compile(
    r"(?:arn:[a-z-]+:lambda:)?(?:(?P<region>[a-z]+(?:-[a-z]+)+-\d):)?(?:(?P<account>\d{12}):)?(?:function:)?"
    r"(?P<name>[a-zA-Z0-9_.-]+)(?::(?P<qualifier>\$LATEST|[a-zA-Z0-9_-]+))?"
)


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function as a caller named it. `qualifier` is None if none was given."""

    scope: Scope
    name: str
    qualifier: str | None

    @property
    def arn(self) -> str:
        """The ARN without qualifier."""
        return f"arn:aws:lambda:{self.scope.region}:{self.scope.account}:function:{self.name}"

    @property
    def qualified_arn(self) -> str:
        """The ARN as the caller meant it: with the qualifier, if there is one."""
        return self.arn if self.qualifier is None else f"{self.arn}:{self.qualifier}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function's code, configuration, resource policy and tags.

    `code_digest` is the hexadecimal SHA-256 of the archive; `replaced_digest` that of the code before the last update,
    which runs that began earlier may still need. The documents have AWS's own keys.
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
    reserved: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Document, ...] = ()
    policy_revision: str = ""


def lambda_error(code: str, message: str, **members: object) -> ServiceError:
    """An error as Lambda spells it: with a `Type` beside the message."""
    return ServiceError(code, message, members={"Type": "User", **members})


def invalid_parameter(message: str) -> ServiceError:
    """InvalidParameterValueException."""
    return lambda_error("InvalidParameterValueException", message)


def function_not_found(arn: str) -> ServiceError:
    """ResourceNotFoundException for a function."""
    return lambda_error("ResourceNotFoundException", f"Function not found: {arn}")


def unavailable(parameter: str) -> ServiceError:
    """The error for a parameter of a feature that this engine does not have."""
    return invalid_parameter(f"{parameter} is not available in redrive; see docs/semantics/lambda.md.")


def refuse_given(**parameters: object) -> None:
    """Refuse parameters of features that do not exist here, by AWS's name. Absent and empty ones pass."""
    for name, value in parameters.items():
        if value:
            raise unavailable(name)


def constraint_violation(value: object, member: str, bound: str) -> ServiceError:
    """The error for a value outside a quota that is tighter than the model's own constraint."""
    return ServiceError(
        "ValidationException",
        f"1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: "
        f"Member must have {bound}",
        http_status=400,
    )


def parse_reference(text: str, qualifier: str | None, scope: Scope) -> FunctionReference:
    """Read a function's name, partial ARN or full ARN, with a qualifier in it or beside it.

    Errors: InvalidParameterValueException (no such form; two qualifiers that differ).
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


def function_invocation(
    function: Function, request_id: str, payload: bytes, *, function_arn: str, client_context: str | None = None
) -> Invocation:
    """One run of a function. `function_arn` is what its context shows: the ARN by which it was invoked."""
    return Invocation(
        request_id=request_id,
        function_arn=function_arn,
        function_name=function.name,
        version=LATEST,
        revision=function.revision,
        code=FunctionCode(function.code_digest, function.handler, function.runtime),
        payload=payload,
        timeout_ms=function.timeout_s * SECOND_MS,
        memory_mb=function.memory_mb,
        role_arn=function.role,
        log_group=function.log_group,
        environment=function.environment or {},
        reserved=function.reserved,
        client_context=client_context,
    )


def configuration(function: Function, *, qualified: bool = False) -> Document:
    """A function as GetFunctionConfiguration answers it.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_FunctionConfiguration.html
    """
    return {
        **configuration_summary(function, qualified=qualified),
        "State": "Active",
        "LastUpdateStatus": "Successful",
    }


def configuration_summary(function: Function, *, qualified: bool = False) -> Document:
    """A function as lists show it: without its state."""
    document: Document = {
        "FunctionName": function.name,
        "FunctionArn": f"{function.arn}:{LATEST}" if qualified else function.arn,
        "Runtime": function.runtime,
        "Role": function.role,
        "Handler": function.handler,
        "CodeSize": function.code_size,
        "Description": function.description,
        "Timeout": function.timeout_s,
        "MemorySize": function.memory_mb,
        "LastModified": _last_modified(function.modified_at),
        "CodeSha256": base64.b64encode(bytes.fromhex(function.code_digest)).decode(),
        "Version": LATEST,
        "TracingConfig": {"Mode": function.tracing},
        "RevisionId": function.revision,
        "PackageType": "Zip",
        "Architectures": list(function.architectures),
        "EphemeralStorage": {"Size": function.ephemeral_mb},
        "SnapStart": {"ApplyOn": function.snap_start, "OptimizationStatus": "Off"},
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": function.log_group},
    }
    if function.environment is not None:
        document["Environment"] = {"Variables": dict(function.environment)}
    if function.dead_letter_arn:
        document["DeadLetterConfig"] = {"TargetArn": function.dead_letter_arn}
    if function.kms_key_arn:
        document["KMSKeyArn"] = function.kms_key_arn
    if function.vpc_config is not None:
        document["VpcConfig"] = {"SubnetIds": [], "SecurityGroupIds": [], "VpcId": "", **function.vpc_config}
    return document


def _last_modified(at: Instant) -> str:
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}+0000"
