"""The operations on functions themselves: create, read, list, update, delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, passed_to, request_tags
from redrive.services.lambda_.limits import FUNCTION_NAME_CHARS_MAX, PAGE_ITEMS_MAX, TAGS_MAX
from redrive.services.lambda_.model import (
    LATEST,
    Function,
    FunctionReference,
    configuration,
    configuration_summary,
    constraint_violation,
    function_not_found,
    invalid_parameter,
    lambda_error,
    parse_reference,
    refuse_given,
    unavailable,
)
from redrive.services.lambda_.model_assets import brought_code, find_asset
from redrive.services.lambda_.model_code import (
    check_environment,
    check_runtime,
    check_sizes,
    code_digest,
    code_location,
)
from redrive.services.lambda_.model_event_invoke import EventInvokeConfig
from redrive.services.lambda_.workers_queues import authorize_on_queue
from redrive.services.lambda_.workers_runs import PRINCIPAL, assume_function_role
from redrive.services.lambda_.workers_watches import look_at_mappings_of
from redrive.store.api import NO_CONTEXT, Transaction


def authorized_reference(
    tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str | None = None, *,
    context: Context = NO_CONTEXT,
) -> FunctionReference:  # fmt: skip
    """The function that a caller named, after asking whether the caller may do this to it.

    Errors: ResourceNotFoundException (another region); AccessDeniedException (another account; the role's policies).
    """
    reference = parse_reference(function_name, qualifier, caller.scope)
    if reference.scope.region != caller.region:
        raise lambda_error(
            "ResourceNotFoundException",
            f"Functions from '{reference.scope.region}' are not reachable in this region ('{caller.region}')",
        )
    tx.services.authorize(tx, caller, action, reference.qualified_arn, context=context)
    return reference


def get_existing(tx: Transaction, reference: FunctionReference) -> Function:
    """The function itself. Errors: ResourceNotFoundException (no such function, or no such version of it)."""
    function = tx.resources.get(Function, reference.scope, reference.name)
    if function is None or reference.qualifier not in (None, LATEST):
        raise function_not_found(reference.qualified_arn)
    return function


def authorized_function(
    tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str | None = None, *,
    context: Context = NO_CONTEXT,
) -> Function:  # fmt: skip
    """The function that a caller named, if it exists and the caller may do this to it. Errors: as the two above."""
    return get_existing(tx, authorized_reference(tx, caller, action, function_name, qualifier, context=context))


def check_revision(function: Function, revision_id: str | None) -> None:
    """Refuse a change that was meant for another revision. Errors: PreconditionFailedException."""
    if revision_id is not None and revision_id != function.revision:
        raise lambda_error(
            "PreconditionFailedException",
            "The RevisionId provided does not match the latest RevisionId. Call the GetFunction/GetAlias API to "
            "retrieve the latest RevisionId",
        )


@operation("CreateFunction")
def create_function(
    tx: Transaction, caller: Caller, *,
    function_name: str, role: str, code: Document, runtime: str | None = None, handler: str | None = None,
    description: str = "", timeout: int | None = None, memory_size: int | None = None, publish: bool = False,
    publish_to: str | None = None, vpc_config: Document | None = None, package_type: str = "Zip",
    dead_letter_config: Document | None = None, environment: Document | None = None, kms_key_arn: str = "",
    tracing_config: Document | None = None, tags: Mapping[str, str] | None = None, layers: list[str] | None = None,
    file_system_configs: list[Document] | None = None, code_signing_config_arn: str | None = None,
    image_config: Document | None = None, architectures: list[str] | None = None,
    ephemeral_storage: Document | None = None, snap_start: Document | None = None,
    logging_config: Document | None = None, tenancy_config: Document | None = None,
    capacity_provider_config: Document | None = None, durable_config: Document | None = None,
    runtime_config: Document | None = None, accelerator_config: Document | None = None,
) -> Document:  # fmt: skip
    """Create a function; it is active at once.

    Errors: ResourceConflictException (it exists); InvalidParameterValueException (role, code, runtime, handler,
    environment, or a feature that does not exist here); ValidationException (sizes);
    RequestEntityTooLargeException (archive over 50 MB).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
    """
    asked = request_tags(tags or {})
    reference = authorized_reference(tx, caller, "lambda:CreateFunction", function_name, context=asked)
    refuse_given(
        Publish=publish, PublishTo=publish_to, Layers=layers, FileSystemConfigs=file_system_configs,
        CodeSigningConfigArn=code_signing_config_arn, ImageConfig=image_config, TenancyConfig=tenancy_config,
        CapacityProviderConfig=capacity_provider_config, DurableConfig=durable_config, RuntimeConfig=runtime_config,
        AcceleratorConfig=accelerator_config,
    )  # fmt: skip
    if package_type != "Zip":
        raise unavailable("PackageType Image")
    if reference.qualifier is not None or len(reference.name) > FUNCTION_NAME_CHARS_MAX:
        raise constraint_violation(
            function_name, "functionName", f"length less than or equal to {FUNCTION_NAME_CHARS_MAX}, without a version"
        )
    content = brought_code(tx, code, "CreateFunction")
    if not runtime or not handler:
        raise invalid_parameter(
            "Runtime and Handler are mandatory parameters for functions created with deployment packages."
        )
    if len(tags or {}) > TAGS_MAX:
        raise invalid_parameter(f"Number of tags exceeds resource tag limit of {TAGS_MAX}.")
    if tx.resources.get(Function, caller.scope, reference.name) is not None:
        raise lambda_error("ResourceConflictException", f"Function already exist: {reference.name}")
    function = Function(
        name=reference.name, arn=reference.arn, runtime=runtime, handler=handler, role=role,
        code_digest=code_digest(content), code_size=len(content), revision="", modified_at=tx.now,
        architectures=tuple(architectures or ("x86_64",)), source_kms_key_arn=code.get("SourceKMSKeyArn") or "",
        log_group=f"/aws/lambda/{reference.name}", tags=dict(tags or {}),
    )  # fmt: skip
    function = _configured(
        tx, caller, function,
        role=role, handler=handler, runtime=runtime, description=description, timeout=timeout, memory_size=memory_size,
        vpc_config=vpc_config, environment=environment, dead_letter_config=dead_letter_config, kms_key_arn=kms_key_arn,
        tracing_config=tracing_config, ephemeral_storage=ephemeral_storage, snap_start=snap_start,
        logging_config=logging_config,
    )  # fmt: skip
    tx.blobs.put(function.code_digest, content)
    tx.resources.put(caller.scope, function)
    look_at_mappings_of(tx, caller.scope, function.name)
    return configuration(function)


@operation("GetFunction")
def get_function(tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None) -> Document:
    """A function's configuration, tags and concurrency, and where its code may be fetched.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunction.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetFunction", function_name, qualifier)
    function = get_existing(tx, reference)
    code: Document = {
        "RepositoryType": "S3",
        "Location": code_location(tx.facts.secret(), caller.host, function.code_digest, tx.now),
    }
    if function.source_kms_key_arn:
        code["SourceKMSKeyArn"] = function.source_kms_key_arn
    answer: Document = {
        "Configuration": configuration(function, qualified=reference.qualifier is not None),
        "Code": code,
    }
    if function.tags:
        answer["Tags"] = dict(function.tags)
    if function.reserved is not None:
        answer["Concurrency"] = {"ReservedConcurrentExecutions": function.reserved}
    return answer


@operation("GetFunctionConfiguration")
def get_function_configuration(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document:
    """A function's configuration.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetFunctionConfiguration", function_name, qualifier)
    return configuration(get_existing(tx, reference), qualified=reference.qualifier is not None)


@operation("ListFunctions")
def list_functions(
    tx: Transaction, caller: Caller, *,
    master_region: str | None = None, function_version: str | None = None, marker: str = "",
    max_items: int = PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """Functions in order of name, at most 50 to a page; with `FunctionVersion` ALL their versions, which are one each.

    `MasterRegion` asks for replicas of functions of Lambda@Edge: there are none, so only ALL lists anything.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctions.html
    """
    tx.services.authorize(tx, caller, "lambda:ListFunctions", "*")
    if master_region not in (None, "ALL"):
        return {"Functions": []}
    limit = min(max_items, PAGE_ITEMS_MAX)
    found = tx.resources.list(Function, caller.scope, after=marker, limit=limit + 1)
    page = found[:limit]
    answer: Document = {"Functions": [configuration_summary(one, qualified=function_version == "ALL") for one in page]}
    if len(found) > limit:
        answer["NextMarker"] = page[-1].name
    return answer


@operation("ListVersionsByFunction")
def list_versions_by_function(
    tx: Transaction, caller: Caller, *, function_name: str, marker: str = "", max_items: int = PAGE_ITEMS_MAX
) -> Document:
    """The versions of a function: $LATEST. There is never a second page, so a marker asks for nothing.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListVersionsByFunction.html
    """
    function = authorized_function(tx, caller, "lambda:ListVersionsByFunction", function_name)
    versions = [configuration_summary(function, qualified=True)]
    return {"Versions": [] if marker else versions[:max_items]}


@operation("UpdateFunctionCode")
def update_function_code(
    tx: Transaction, caller: Caller, *,
    function_name: str, zip_file: bytes | None = None, s3_bucket: str | None = None, s3_key: str | None = None,
    s3_object_version: str | None = None, s3_object_storage_mode: str | None = None, image_uri: str | None = None,
    architectures: list[str] | None = None, publish: bool = False, publish_to: str | None = None, dry_run: bool = False,
    revision_id: str | None = None, source_kms_key_arn: str | None = None,
) -> Document:  # fmt: skip
    """Replace a function's code; runs that begin from now on use it. With `DryRun` nothing changes.

    Errors: ResourceNotFoundException; InvalidParameterValueException (code); PreconditionFailedException (revision);
    RequestEntityTooLargeException (archive over 50 MB).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionCode.html
    """
    function = authorized_function(tx, caller, "lambda:UpdateFunctionCode", function_name)
    refuse_given(Publish=publish, PublishTo=publish_to)
    content = brought_code(
        tx,
        {
            "ZipFile": zip_file, "S3Bucket": s3_bucket, "S3Key": s3_key, "S3ObjectVersion": s3_object_version,
            "S3ObjectStorageMode": s3_object_storage_mode, "ImageUri": image_uri,
        },
        "UpdateFunctionCode",
    )  # fmt: skip
    check_revision(function, revision_id)
    updated = replace(
        function,
        code_digest=code_digest(content),
        code_size=len(content),
        replaced_digest=function.code_digest,
        architectures=tuple(architectures or function.architectures),
        source_kms_key_arn=function.source_kms_key_arn if source_kms_key_arn is None else source_kms_key_arn,
        modified_at=tx.now,
        revision=new_uuid(tx.entropy),
    )
    if not dry_run:
        tx.blobs.put(updated.code_digest, content)
        tx.resources.put(caller.scope, updated)
        _forget_unused_code(tx, function.replaced_digest)
    return configuration(updated)


@operation("UpdateFunctionConfiguration")
def update_function_configuration(
    tx: Transaction, caller: Caller, *,
    function_name: str, role: str | None = None, handler: str | None = None, description: str | None = None,
    timeout: int | None = None, memory_size: int | None = None, vpc_config: Document | None = None,
    environment: Document | None = None, runtime: str | None = None, dead_letter_config: Document | None = None,
    kms_key_arn: str | None = None, tracing_config: Document | None = None, revision_id: str | None = None,
    layers: list[str] | None = None, file_system_configs: list[Document] | None = None,
    image_config: Document | None = None, ephemeral_storage: Document | None = None,
    snap_start: Document | None = None, logging_config: Document | None = None,
    capacity_provider_config: Document | None = None, durable_config: Document | None = None,
    runtime_config: Document | None = None, accelerator_config: Document | None = None,
) -> Document:  # fmt: skip
    """Change parts of a function's configuration; runs that begin from now on use it.

    Errors: ResourceNotFoundException; InvalidParameterValueException (as CreateFunction);
    PreconditionFailedException (revision); ValidationException (sizes).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionConfiguration.html
    """
    function = authorized_function(tx, caller, "lambda:UpdateFunctionConfiguration", function_name)
    refuse_given(
        Layers=layers, FileSystemConfigs=file_system_configs, ImageConfig=image_config,
        CapacityProviderConfig=capacity_provider_config, DurableConfig=durable_config, RuntimeConfig=runtime_config,
        AcceleratorConfig=accelerator_config,
    )  # fmt: skip
    check_revision(function, revision_id)
    updated = _configured(
        tx, caller, function,
        role=role, handler=handler, runtime=runtime, description=description, timeout=timeout, memory_size=memory_size,
        vpc_config=vpc_config, environment=environment, dead_letter_config=dead_letter_config, kms_key_arn=kms_key_arn,
        tracing_config=tracing_config, ephemeral_storage=ephemeral_storage, snap_start=snap_start,
        logging_config=logging_config,
    )  # fmt: skip
    tx.resources.put(caller.scope, updated)
    return configuration(updated)


@operation("DeleteFunction")
def delete_function(tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None) -> Document:
    """Delete a function. Its mappings stay, idle; its waiting events are dropped when they come due.

    Errors: ResourceNotFoundException; InvalidParameterValueException ($LATEST alone cannot be deleted).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunction.html
    """
    reference = authorized_reference(tx, caller, "lambda:DeleteFunction", function_name, qualifier)
    if reference.qualifier == LATEST:
        raise invalid_parameter("$LATEST version cannot be deleted without deleting the function.")
    function = get_existing(tx, reference)
    tx.resources.delete(Function, caller.scope, function.name)
    tx.resources.delete(EventInvokeConfig, caller.scope, function.name)
    for digest in (function.code_digest, function.replaced_digest):
        _forget_unused_code(tx, digest)
    return {"StatusCode": 204}


def _configured(
    tx: Transaction, caller: Caller, function: Function, *,
    role: str | None, handler: str | None, runtime: str | None, description: str | None, timeout: int | None,
    memory_size: int | None, vpc_config: Document | None, environment: Document | None,
    dead_letter_config: Document | None, kms_key_arn: str | None, tracing_config: Document | None,
    ephemeral_storage: Document | None, snap_start: Document | None, logging_config: Document | None,
) -> Function:  # fmt: skip
    """The function with a new revision and the parts of its configuration that are given, all of them checked."""
    configured = replace(
        function,
        role=role or function.role,
        handler=handler or function.handler,
        runtime=runtime or function.runtime,
        description=function.description if description is None else description,
        timeout_s=timeout or function.timeout_s,
        memory_mb=memory_size or function.memory_mb,
        ephemeral_mb=(ephemeral_storage or {}).get("Size", function.ephemeral_mb),
        vpc_config=function.vpc_config if vpc_config is None else vpc_config,
        environment=function.environment if environment is None else dict(environment.get("Variables") or {}),
        dead_letter_arn=(dead_letter_config or {}).get("TargetArn", function.dead_letter_arn),
        kms_key_arn=function.kms_key_arn if kms_key_arn is None else kms_key_arn,
        tracing=(tracing_config or {}).get("Mode", function.tracing),
        snap_start=(snap_start or {}).get("ApplyOn", function.snap_start),
        log_group=_log_group(logging_config or {}, function.log_group),
        modified_at=tx.now,
        revision=new_uuid(tx.entropy),
    )
    check_sizes(timeout_s=configured.timeout_s, memory_mb=configured.memory_mb, ephemeral_mb=configured.ephemeral_mb)
    check_runtime(configured.runtime)
    check_environment(configured.environment or {})
    if role is not None:
        tx.services.authorize(tx, caller, "iam:PassRole", role, context=passed_to(PRINCIPAL, function.arn))
    if role is not None or dead_letter_config is not None:
        _check_role(tx, caller, configured)
    return configured


def _log_group(logging_config: Document, log_group: str) -> str:
    refuse_given(
        **{f"LoggingConfig.{level}": logging_config.get(level) for level in ("ApplicationLogLevel", "SystemLogLevel")}
    )
    if logging_config.get("LogFormat") == "JSON":
        raise unavailable("LoggingConfig.LogFormat JSON")
    return str(logging_config.get("LogGroup", log_group))


def _check_role(tx: Transaction, caller: Caller, function: Function) -> None:
    """Lambda must be able to become the role, and the role to write the function's dead letters."""
    try:
        session = assume_function_role(
            tx,
            role_arn=function.role,
            function_arn=function.arn,
            function_name=function.name,
            request_id=caller.request_id,
        )
    except ServiceError:
        raise invalid_parameter("The role defined for the function cannot be assumed by Lambda.") from None
    if not function.dead_letter_arn:
        return
    if Arn.parse(function.dead_letter_arn).service != "sqs":
        raise unavailable(f"DeadLetterConfig.TargetArn {function.dead_letter_arn}")
    try:
        authorize_on_queue(tx, session, "sqs:SendMessage", function.dead_letter_arn)
    except ServiceError:
        raise invalid_parameter(
            "The provided execution role does not have permissions to call SendMessage on SQS"
        ) from None


def _forget_unused_code(tx: Transaction, digest: str) -> None:
    """Let go of an archive, unless a function of any account still needs it, or a deployment has brought it."""
    functions = (function for _, function in tx.resources.everywhere(Function))
    if (
        digest
        and not find_asset(tx, digest)
        and all(digest not in (one.code_digest, one.replaced_digest) for one in functions)
    ):
        tx.blobs.delete(digest)
