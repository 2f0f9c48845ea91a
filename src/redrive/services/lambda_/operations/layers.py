"""The operations on layers and their versions."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.lambda_.code import brought_code, forget_unused_code
from redrive.services.lambda_.limits import PAGE_ITEMS_MAX
from redrive.services.lambda_.model.code import (
    check_compatible_runtimes,
    code_digest,
    code_location,
)
from redrive.services.lambda_.model.function import invalid_parameter
from redrive.services.lambda_.model.layers import (
    Layer,
    LayerVersion,
    layer_arn,
    layer_policy,
    layer_version_document,
    layer_version_missing,
    layer_version_name,
    layer_version_summary,
    parse_layer_name,
)
from redrive.store.api import Transaction


def authorized_layer(
    tx: Transaction, caller: Caller, action: str, layer_name: str, version: int | None = None
) -> tuple[Scope, str]:
    """Return the scope and name of a layer, if the caller may do `action` on the layer or on its version.

    Errors: InvalidParameterValueException (a version below 1); AccessDeniedException.
    """
    scope, name = parse_layer_name(layer_name, caller.scope)
    arn = layer_arn(scope, name)
    if version is None:
        tx.services.authorize(tx, caller, action, arn)
        return scope, name
    if version < 1:
        raise invalid_parameter("Layer Version Cannot be less than 1")
    found = tx.resources.get(LayerVersion, scope, layer_version_name(name, version))
    policy = layer_policy(found.statements) if found is not None and found.statements else ""
    tx.services.authorize(tx, caller, action, f"{arn}:{version}", policy=policy)
    return scope, name


def get_existing_version(tx: Transaction, scope: Scope, name: str, version: int) -> LayerVersion:
    """Return a version of a layer. Errors: ResourceNotFoundException."""
    found = tx.resources.get(LayerVersion, scope, layer_version_name(name, version))
    if found is None:
        raise layer_version_missing(f"{layer_arn(scope, name)}:{version}")
    return found


@operation("PublishLayerVersion")
def publish_layer_version(
    tx: Transaction, caller: Caller, *,
    layer_name: str, content: Document, description: str = "", compatible_architectures: list[str] | None = None,
    compatible_runtimes: list[str] | None = None, license_info: str | None = None,
) -> Document:  # fmt: skip
    """Publish the next version of a layer; the first version creates the layer. No version number is used twice.

    Errors: InvalidParameterValueException (archive); RequestEntityTooLargeException (over 50 MB).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PublishLayerVersion.html
    """
    scope, name = authorized_layer(tx, caller, "lambda:PublishLayerVersion", layer_name)
    archive = brought_code(tx, caller, content)
    check_compatible_runtimes(compatible_runtimes or ())
    layer = tx.resources.get(Layer, scope, name) or Layer(name, layer_arn(scope, name), 0)
    number = layer.last_version + 1
    version = LayerVersion(
        name=layer_version_name(name, number), layer_arn=layer.arn, version=number, created_at=tx.now,
        code_digest=code_digest(archive), code_size=len(archive), description=description,
        runtimes=None if compatible_runtimes is None else tuple(compatible_runtimes),
        architectures=None if compatible_architectures is None else tuple(compatible_architectures),
        license_info=license_info,
    )  # fmt: skip
    tx.blobs.put(version.code_digest, archive)
    tx.resources.put(scope, Layer(name, layer.arn, number))
    tx.resources.put(scope, version)
    return _document(tx, caller, version)


@operation("GetLayerVersion")
def get_layer_version(tx: Transaction, caller: Caller, *, layer_name: str, version_number: int) -> Document:
    """Return a version of a layer, and the URL of its archive.

    Errors: ResourceNotFoundException; InvalidParameterValueException (a version below 1).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetLayerVersion.html
    """
    scope, name = authorized_layer(tx, caller, "lambda:GetLayerVersion", layer_name, version_number)
    return _document(tx, caller, get_existing_version(tx, scope, name, version_number))


@operation("GetLayerVersionByArn")
def get_layer_version_by_arn(tx: Transaction, caller: Caller, *, arn: str) -> Document:
    """Return a layer version, named by its ARN, and the URL of its archive.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetLayerVersionByArn.html
    """
    layer, _, number = arn.rpartition(":")
    if not number.isdecimal():
        raise layer_version_missing(arn)
    scope, name = authorized_layer(tx, caller, "lambda:GetLayerVersion", layer, int(number))
    return _document(tx, caller, get_existing_version(tx, scope, name, int(number)))


@operation("ListLayers")
def list_layers(
    tx: Transaction, caller: Caller, *,
    compatible_architecture: str | None = None, compatible_runtime: str | None = None, marker: str = "",
    max_items: int = PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """List layers sorted by name, each with its latest version that fits the given runtime and architecture.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListLayers.html
    """
    tx.services.authorize(tx, caller, "lambda:ListLayers", "*")
    latest: dict[str, LayerVersion] = {}
    for version in tx.resources.list(LayerVersion, caller.scope):
        name = version.name.partition(":")[0]
        if name > marker and version.fits(compatible_runtime, compatible_architecture):
            latest[name] = version
    limit = min(max_items, PAGE_ITEMS_MAX)
    page = sorted(latest.items())[:limit]
    answer: Document = {
        "Layers": [
            {"LayerName": name, "LayerArn": one.layer_arn, "LatestMatchingVersion": layer_version_summary(one)}
            for name, one in page
        ]
    }
    if len(latest) > limit:
        answer["NextMarker"] = page[-1][0]
    return answer


@operation("ListLayerVersions")
def list_layer_versions(
    tx: Transaction, caller: Caller, *,
    layer_name: str, compatible_architecture: str | None = None, compatible_runtime: str | None = None,
    marker: str = "", max_items: int = PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """List the versions of a layer, newest first; the list is empty for a layer that does not exist.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListLayerVersions.html
    """
    scope, name = authorized_layer(tx, caller, "lambda:ListLayerVersions", layer_name)
    before = int(marker) if marker.isdecimal() else None
    arn = layer_arn(scope, name)
    found = [
        version
        for version in reversed(tx.resources.list(LayerVersion, scope))
        if version.layer_arn == arn
        and version.fits(compatible_runtime, compatible_architecture)
        and (before is None or version.version < before)
    ]
    limit = min(max_items, PAGE_ITEMS_MAX)
    answer: Document = {"LayerVersions": [layer_version_summary(version) for version in found[:limit]]}
    if len(found) > limit:
        answer["NextMarker"] = str(found[limit - 1].version)
    return answer


@operation("DeleteLayerVersion")
def delete_layer_version(tx: Transaction, caller: Caller, *, layer_name: str, version_number: int) -> Document:
    """Delete a version of a layer, if it exists. Functions that use the version keep it.

    Errors: InvalidParameterValueException (a version below 1).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteLayerVersion.html
    """
    scope, name = authorized_layer(tx, caller, "lambda:DeleteLayerVersion", layer_name, version_number)
    version = tx.resources.get(LayerVersion, scope, layer_version_name(name, version_number))
    if version is not None:
        tx.resources.delete(LayerVersion, scope, version.name)
        forget_unused_code(tx, version.code_digest)
    return {}


def _document(tx: Transaction, caller: Caller, version: LayerVersion) -> Document:
    location = code_location(tx.facts.secret(), caller.host, version.code_digest, tx.now)
    return layer_version_document(version, location)
