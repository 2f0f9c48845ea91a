"""Archives of functions and layers: the layers of a function, the total size, and when an unused archive is deleted."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.archives import sound_entries
from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.objects import ObjectTooLarge, object_content
from redrive.services.lambda_.limits import LAYERS_MAX, UNZIPPED_BYTES_MAX
from redrive.services.lambda_.model.code import check_archive, zip_content
from redrive.services.lambda_.model.code import check_unzipped as check_sound
from redrive.services.lambda_.model.function import Function, invalid_parameter, lambda_error, refuse_given
from redrive.services.lambda_.model.layers import LayerVersion, layer_policy, layer_version_name
from redrive.services.lambda_.model.versions import FunctionVersion
from redrive.store.api import Transaction


def brought_code(tx: Transaction, caller: Caller, code: Document) -> bytes:
    """Return the archive in a `Code` or `Content` document, or the object of S3 that the document names.

    The caller has to be allowed to read the object. Code in S3 may be larger than code in a request.

    Errors: InvalidParameterValueException; AccessDeniedException; RequestEntityTooLargeException (over 50 MB in the
    request itself).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCode.html
    """
    bucket = code.get("S3Bucket")
    if bucket is None:
        content = zip_content(code)
        check_archive(content)
        return content
    refuse_given(ImageUri=code.get("ImageUri"), S3ObjectStorageMode=code.get("S3ObjectStorageMode"))
    if code.get("ZipFile") is not None:
        raise invalid_parameter("Please do not provide other FunctionCode parameters when providing a ZipFile.")
    if not code.get("S3Key"):
        raise invalid_parameter("S3Key is required when S3Bucket is given.")
    content = _stored_code(tx, caller, str(bucket), str(code["S3Key"]), code.get("S3ObjectVersion"))
    check_sound(content)
    return content


def _stored_code(tx: Transaction, caller: Caller, bucket: str, key: str, version_id: str | None) -> bytes:
    try:
        return object_content(tx, caller, bucket, key, version_id, bytes_max=UNZIPPED_BYTES_MAX)
    except ObjectTooLarge:
        raise invalid_parameter(f"Unzipped size must be smaller than {UNZIPPED_BYTES_MAX} bytes") from None
    except ServiceError as error:
        told = f"S3 Error Code: {error.code}. S3 Error Message: {error.message}"
        if error.code == "AccessDenied":
            message = (
                "Your access has been denied by S3, please make sure your request credentials have permission to "
                f"GetObject for {bucket}/{key}. {told}"
            )
            raise lambda_error("AccessDeniedException", message) from None
        raise invalid_parameter(f"Error occurred while GetObject. {told}") from None


def layer_digests(function: Function) -> tuple[str, ...]:
    """Return the digests of a function's layers; a layer without an archive in this store has none."""
    return tuple(str(layer["Digest"]) for layer in function.layers if layer["Digest"])


def layers_of(tx: Transaction, caller: Caller, arns: Sequence[str]) -> tuple[Document, ...]:
    """Return the layers with these version ARNs, each with the digest of its archive.

    If an account publishes no layers in this store, a layer of that account is accepted without an archive.
    Errors: InvalidParameterValueException (too many, two versions of one layer, another region, no such version);
    AccessDeniedException.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/adding-layers.html
    """
    if len(arns) > LAYERS_MAX:
        raise invalid_parameter(f"Cannot reference more than {LAYERS_MAX} layers.")
    seen: dict[str, str] = {}
    for arn in arns:
        layer = arn.rpartition(":")[0]
        if layer in seen:
            raise invalid_parameter(
                "Two different versions of the same layer are not allowed to be referenced in the same function. "
                f"{seen[layer]} and {arn} are versions of the same layer."
            )
        seen[layer] = arn
    return tuple(_layer(tx, caller, arn) for arn in arns)


def _layer(tx: Transaction, caller: Caller, arn: str) -> Document:
    parsed = Arn.parse(arn)
    if parsed.region and parsed.region != caller.region:
        raise invalid_parameter(
            f"Layers are not in the same region as the function. Layers are expected to be in region {caller.region}."
        )
    scope = Scope(parsed.account, parsed.region)
    parts = parsed.resource.split(":")
    version = None
    if len(parts) == len(("layer", "name", "version")):
        version = tx.resources.get(LayerVersion, scope, layer_version_name(parts[1], int(parts[2])))
    if version is not None:
        policy = layer_policy(version.statements) if version.statements else ""
        tx.services.authorize(tx, caller, "lambda:GetLayerVersion", arn, policy=policy)
        return {"Arn": arn, "CodeSize": version.code_size, "Digest": version.code_digest}
    if parsed.account == caller.account:
        raise invalid_parameter(f"Layer version {arn} does not exist.")
    return {"Arn": arn, "CodeSize": 0, "Digest": ""}


def check_unzipped(tx: Transaction, function: Function, content: bytes) -> None:
    """Refuse code that is too large, unzipped and together with its layers. Errors: InvalidParameterValueException.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    """
    digests = layer_digests(function)
    if not digests:
        return  # The size of the archive alone is already checked.
    archives = [content, *(tx.blobs.get(digest) or b"" for digest in digests)]
    size = sum(entry.file_size for archive in archives if archive for entry in sound_entries(archive))
    if size > UNZIPPED_BYTES_MAX:
        raise invalid_parameter(f"Unzipped size must be smaller than {UNZIPPED_BYTES_MAX} bytes")


def forget_unused_code(tx: Transaction, *digests: str) -> None:
    """Delete archives, except those that a function or a layer of any account still uses."""
    unused = set(digests) - {""}
    if not unused:
        return
    for _, function in tx.resources.everywhere(Function):
        unused -= {function.code_digest, function.replaced_digest, *layer_digests(function)}
    for _, published in tx.resources.everywhere(FunctionVersion):
        unused -= {published.function.code_digest, *layer_digests(published.function)}
    for _, version in tx.resources.everywhere(LayerVersion):
        unused.discard(version.code_digest)
    for digest in sorted(unused):
        tx.blobs.delete(digest)
