"""The operations on functions: create, read, list, update, delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import Wait, operation
from redrive.languages.iam import Context, request_tags
from redrive.services.lambda_.code import brought_code, check_unzipped, forget_unused_code, layer_digests
from redrive.services.lambda_.code_signing import check_signature, existing_code_signing
from redrive.services.lambda_.deletion import forget_function, forget_version
from redrive.services.lambda_.limits import FUNCTION_NAME_CHARS_MAX, PASSAGE_MS, TAGS_MAX
from redrive.services.lambda_.model.code import code_digest, code_location
from redrive.services.lambda_.model.function import (
    LATEST,
    Function,
    FunctionReference,
    configuration,
    constraint_violation,
    function_not_found,
    invalid_parameter,
    lambda_error,
    parse_reference,
    refuse_given,
    unavailable,
)
from redrive.services.lambda_.settings import beginning, configured
from redrive.services.lambda_.versions import get_version
from redrive.services.lambda_.versions import publish as publish_next
from redrive.services.lambda_.watches import look_at_mappings_of
from redrive.store.api import NO_CONTEXT, Transaction


def authorized_reference(
    tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str | None = None, *,
    context: Context = NO_CONTEXT,
) -> FunctionReference:  # fmt: skip
    """Return the function that a caller named, if the caller may do `action` on it. The function need not exist.

    Errors: ResourceNotFoundException (another region); AccessDeniedException (another account; the role's policies).
    """
    reference = parse_reference(function_name, qualifier, caller.scope)
    _check_region(reference, caller)
    tx.services.authorize(tx, caller, action, reference.qualified_arn, context=context)
    return reference


def invocable_reference(
    tx: Transaction, caller: Caller, function_name: str, qualifier: str | None
) -> FunctionReference:
    """Return the function that a caller may invoke; the policy of the function or qualifier can give the permission.

    Within an account, the policy or the caller's own permissions are enough; across accounts both have to allow. An
    AWS service has no permissions of its own: the policy decides.
    Errors: as `authorized_reference`.
    """
    reference = parse_reference(function_name, qualifier, caller.scope)
    if reference.scope.account == caller.account and caller.is_account:
        return authorized_reference(tx, caller, "lambda:InvokeFunction", function_name, qualifier)
    _check_region(reference, caller)
    function = tx.resources.get(Function, reference.scope, reference.name)
    policy = "" if function is None else function.policy_of(reference.qualifier).text
    tx.services.authorize(tx, caller, "lambda:InvokeFunction", reference.qualified_arn, policy=policy)
    return reference


def _check_region(reference: FunctionReference, caller: Caller) -> None:
    if reference.scope.region != caller.region:
        raise lambda_error(
            "ResourceNotFoundException",
            f"Functions from '{reference.scope.region}' are not reachable in this region ('{caller.region}')",
        )


def get_existing(tx: Transaction, reference: FunctionReference, *, shown: str | None = None) -> Function:
    """Return the stored function, for operations that have nothing to do with published versions.

    The error names the function as `shown`, or as the caller named it.

    Errors: ResourceNotFoundException (no such function, or another qualifier than $LATEST).
    """
    function = tx.resources.get(Function, reference.scope, reference.name)
    if function is None or reference.qualifier not in (None, LATEST):
        raise function_not_found(shown or reference.qualified_arn)
    return function


def authorized_function(
    tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str | None = None, *,
    context: Context = NO_CONTEXT,
) -> Function:  # fmt: skip
    """Return the named function if it exists and the caller may do `action` on it.

    Errors: those of the two functions above.
    """
    return get_existing(tx, authorized_reference(tx, caller, action, function_name, qualifier, context=context))


def check_revision(tx: Transaction, function: Function, revision_id: str | None) -> None:
    """Refuse a change that expects another revision. Errors: PreconditionFailedException."""
    if revision_id is not None and revision_id != function.revision_id(tx.now):
        raise lambda_error(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to "
            "retrieve the latest Revision Id",
        )


def check_settled(tx: Transaction, function: Function) -> None:
    """Refuse an update during the creation or another update. Errors: ResourceConflictException.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html
    """
    if not function.is_passing(tx.now):
        return
    cannot = "The operation cannot be performed at this time."
    if function.is_first_passage:
        reason = "The function is currently in the following state: Pending"
    else:
        reason = f"An update is in progress for resource: {function.arn}"
    raise lambda_error("ResourceConflictException", f"{cannot} {reason}")


def check_active(tx: Transaction, function: Function) -> None:
    """Refuse to run a function that is still being created. Errors: ResourceConflictException."""
    if function.is_first_passage:
        check_settled(tx, function)


def when_settled(tx: Transaction, function: Function, document: Document) -> Document | Wait:
    """Delay an answer that shows a function's state until its creation or update has ended.

    So a client that waits for the function sends one request, instead of sleeping for seconds between two requests.
    """
    if not function.is_passing(tx.now):
        return document
    settled_at = function.passage_at + PASSAGE_MS
    return Wait(document, (f"lambda.function/{function.arn}",), settled_at + PASSAGE_MS, again_at=settled_at)


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
    """Create a function. It is Pending at first, and Active soon after.

    Errors: ResourceConflictException (it exists); InvalidParameterValueException (role, code, runtime, handler,
    environment, or an unsupported feature); ValidationException (sizes); RequestEntityTooLargeException (archive over
    50 MB).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
    """
    asked = request_tags(tags or {})
    reference = authorized_reference(tx, caller, "lambda:CreateFunction", function_name, context=asked)
    refuse_given(
        PublishTo=publish_to, FileSystemConfigs=file_system_configs,
        ImageConfig=image_config, TenancyConfig=tenancy_config, CapacityProviderConfig=capacity_provider_config,
        DurableConfig=durable_config, RuntimeConfig=runtime_config, AcceleratorConfig=accelerator_config,
    )  # fmt: skip
    if package_type != "Zip":
        raise unavailable("PackageType Image")
    if reference.qualifier is not None or len(reference.name) > FUNCTION_NAME_CHARS_MAX:
        raise constraint_violation(
            function_name, "functionName", f"length less than or equal to {FUNCTION_NAME_CHARS_MAX}, without a version"
        )
    content = brought_code(tx, caller, code)
    if not runtime or not handler:
        raise invalid_parameter(
            "Runtime and Handler are mandatory parameters for functions created with deployment packages."
        )
    if len(tags or {}) > TAGS_MAX:
        raise invalid_parameter("Number of tags exceeds resource tag limit.")
    if tx.resources.get(Function, caller.scope, reference.name) is not None:
        raise lambda_error("ResourceConflictException", f"Function already exist: {reference.name}")
    function = Function(
        name=reference.name, arn=reference.arn, runtime=runtime, handler=handler, role=role,
        code_digest=code_digest(content), code_size=len(content), revision="", modified_at=tx.now,
        architectures=tuple(architectures or ("x86_64",)), source_kms_key_arn=code.get("SourceKMSKeyArn") or "",
        log_group=f"/aws/lambda/{reference.name}", tags=dict(tags or {}),
        code_signing_arn=existing_code_signing(tx, code_signing_config_arn).arn if code_signing_config_arn else "",
    )  # fmt: skip
    check_signature(tx, function.code_signing_arn)
    function = configured(
        tx, caller, function,
        role=role, handler=handler, runtime=runtime, description=description, timeout=timeout, memory_size=memory_size,
        vpc_config=vpc_config, environment=environment, dead_letter_config=dead_letter_config, kms_key_arn=kms_key_arn,
        tracing_config=tracing_config, ephemeral_storage=ephemeral_storage, snap_start=snap_start,
        logging_config=logging_config, layers=layers,
    )  # fmt: skip
    check_unzipped(tx, function, content)
    function = replace(function, is_first_passage=True)
    tx.blobs.put(function.code_digest, content)
    tx.resources.put(caller.scope, function)
    look_at_mappings_of(tx, caller.scope, function.name)
    if publish:
        function = publish_next(tx, caller.scope, function, is_passing=True)
    return configuration(function, is_passing=True)


@operation("GetFunction")
def get_function(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document | Wait:
    """Return a function's configuration, tags and concurrency, and the URL of its code.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunction.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetFunction", function_name, qualifier)
    function = get_version(tx, reference)
    code: Document = {
        "RepositoryType": "S3",
        "Location": code_location(tx.facts.secret(), caller.host, function.code_digest, tx.now),
    }
    if function.source_kms_key_arn:
        code["SourceKMSKeyArn"] = function.source_kms_key_arn
    answer: Document = {
        "Configuration": configuration(function, qualifier=reference.qualifier, is_passing=function.is_passing(tx.now)),
        "Code": code,
    }
    if function.tags:
        answer["Tags"] = dict(function.tags)
    if function.reserved is not None:
        answer["Concurrency"] = {"ReservedConcurrentExecutions": function.reserved}
    return when_settled(tx, function, answer)


@operation("GetFunctionConfiguration")
def get_function_configuration(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document | Wait:
    """Return a function's configuration.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetFunctionConfiguration", function_name, qualifier)
    function = get_version(tx, reference)
    document = configuration(function, qualifier=reference.qualifier, is_passing=function.is_passing(tx.now))
    return when_settled(tx, function, document)


@operation("UpdateFunctionCode")
def update_function_code(
    tx: Transaction, caller: Caller, *,
    function_name: str, zip_file: bytes | None = None, s3_bucket: str | None = None, s3_key: str | None = None,
    s3_object_version: str | None = None, s3_object_storage_mode: str | None = None, image_uri: str | None = None,
    architectures: list[str] | None = None, publish: bool = False, publish_to: str | None = None, dry_run: bool = False,
    revision_id: str | None = None, source_kms_key_arn: str | None = None,
) -> Document:  # fmt: skip
    """Replace a function's code; runs that begin from now on use the new code. With `DryRun` nothing changes.

    Errors: ResourceNotFoundException; InvalidParameterValueException (code); PreconditionFailedException (revision);
    ResourceConflictException (an update is in progress); RequestEntityTooLargeException (archive over 50 MB).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionCode.html
    """
    function = authorized_function(tx, caller, "lambda:UpdateFunctionCode", function_name)
    refuse_given(PublishTo=publish_to)
    content = brought_code(
        tx,
        caller,
        {
            "ZipFile": zip_file, "S3Bucket": s3_bucket, "S3Key": s3_key, "S3ObjectVersion": s3_object_version,
            "S3ObjectStorageMode": s3_object_storage_mode, "ImageUri": image_uri,
        },
    )  # fmt: skip
    check_settled(tx, function)
    check_revision(tx, function, revision_id)
    check_unzipped(tx, function, content)
    check_signature(tx, function.code_signing_arn)
    updated = replace(
        function,
        code_digest=code_digest(content),
        code_size=len(content),
        replaced_digest=function.code_digest,
        architectures=tuple(architectures or function.architectures),
        source_kms_key_arn=function.source_kms_key_arn if source_kms_key_arn is None else source_kms_key_arn,
        **beginning(tx),
    )
    if dry_run:
        return configuration(updated)
    tx.blobs.put(updated.code_digest, content)
    tx.resources.put(caller.scope, updated)
    forget_unused_code(tx, function.replaced_digest)
    if not publish:
        return configuration(updated, is_passing=True)
    version = publish_next(tx, caller.scope, updated, is_passing=True)
    return configuration(version, qualifier=version.version, is_passing=version.passage_at == tx.now)


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
    PreconditionFailedException (revision); ResourceConflictException (an update is in progress); ValidationException
    (sizes).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionConfiguration.html
    """
    function = authorized_function(tx, caller, "lambda:UpdateFunctionConfiguration", function_name)
    refuse_given(
        FileSystemConfigs=file_system_configs, ImageConfig=image_config,
        CapacityProviderConfig=capacity_provider_config, DurableConfig=durable_config, RuntimeConfig=runtime_config,
        AcceleratorConfig=accelerator_config,
    )  # fmt: skip
    check_settled(tx, function)
    check_revision(tx, function, revision_id)
    updated = configured(
        tx, caller, function,
        role=role, handler=handler, runtime=runtime, description=description, timeout=timeout, memory_size=memory_size,
        vpc_config=vpc_config, environment=environment, dead_letter_config=dead_letter_config, kms_key_arn=kms_key_arn,
        tracing_config=tracing_config, ephemeral_storage=ephemeral_storage, snap_start=snap_start,
        logging_config=logging_config, layers=layers,
    )  # fmt: skip
    if layers is not None:
        check_unzipped(tx, updated, tx.blobs.get(updated.code_digest) or b"")
    tx.resources.put(caller.scope, updated)
    forget_unused_code(tx, *(set(layer_digests(function)) - set(layer_digests(updated))))
    return configuration(updated, is_passing=True)


@operation("DeleteFunction")
def delete_function(tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None) -> Document:
    """Delete a function with its versions and aliases.

    Its mappings stay but are idle; its waiting events are dropped when they are due.
    With a version number, only that version is deleted; deleting a version that does not exist succeeds.
    Errors: ResourceNotFoundException; InvalidParameterValueException ($LATEST alone, or an alias);
    ResourceConflictException (an alias uses the version).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunction.html
    """
    reference = authorized_reference(tx, caller, "lambda:DeleteFunction", function_name, qualifier)
    if reference.qualifier == LATEST:
        raise invalid_parameter("$LATEST version cannot be deleted without deleting the function.")
    function = get_existing(tx, replace(reference, qualifier=None))
    if reference.qualifier is None:
        forget_function(tx, caller.scope, function)
    elif reference.qualifier.isdecimal():
        forget_version(tx, caller.scope, function, int(reference.qualifier))
    else:
        raise invalid_parameter("Deletion of aliases is not currently supported.")
    return {"StatusCode": 204}
