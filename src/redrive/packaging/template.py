"""Local code in a template: packs it, uploads it, and replaces its path by its uploaded location.

Source: https://docs.aws.amazon.com/cli/latest/reference/cloudformation/package.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.documents import dump_json
from redrive.core.errors import UserError
from redrive.languages.template import Node, read_root
from redrive.languages.template.source import read_source
from redrive.packaging.bundle import Bundler

BUCKET = "redrive-assets"
"""The bucket of uploaded archives; the engine knows this name."""

TEMPLATE_BYTES_MAX = 51_200
"""Longer templates are given by a URL, as on AWS."""

Bring = Callable[[bytes], str]
"""Uploads an archive; returns its key."""

NESTED: Mapping[str, str] = {
    "AWS::CloudFormation::Stack": "TemplateURL",
    "AWS::Serverless::Application": "Location",
}
"""The types whose template may be local: the property that names it."""

_LAYER_FOLDERS = {"python": "python/", "nodejs": "nodejs/"}
_LOOP = "Fn::ForEach::"
_BUILDERS_ELSEWHERE = frozenset({"makefile", "dotnet", "go1.x", "rust-cargolambda"})
_ESBUILD = "esbuild"


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource type whose code may be local: the property with the path, and the form of the uploaded location."""

    property: str
    bucket: str
    key: str
    is_layer: bool = False


KINDS: Mapping[str, Kind] = {
    "AWS::Lambda::Function": Kind("Code", "S3Bucket", "S3Key"),
    "AWS::Lambda::LayerVersion": Kind("Content", "S3Bucket", "S3Key", is_layer=True),
    "AWS::Serverless::Function": Kind("CodeUri", "Bucket", "Key"),
    "AWS::Serverless::LayerVersion": Kind("ContentUri", "Bucket", "Key", is_layer=True),
}


@dataclass(frozen=True, slots=True)
class Local:
    """A resource with local code: its logical id, its properties, and the path of the code."""

    logical_id: str
    kind: Kind
    properties: dict[str, Node]
    source: Path
    runtime: str
    builder: str
    built_by: Mapping[str, Node]


def local_code(root: Mapping[str, Node], directory: Path, parameters: Mapping[str, str]) -> list[Local]:
    """The resources of a template with local code, in order.

    Removes defaults for local code from the template's Globals.
    """
    shared = _object(_object(root.get("Globals")).get("Function"))
    default = shared.pop("CodeUri", None)
    found = []
    for logical_id, resource in _resources(_object(root.get("Resources"))):
        kind = KINDS.get(str(resource.get("Type")))
        if kind is None:
            continue
        properties = resource.setdefault("Properties", {})
        if not isinstance(properties, dict):
            continue
        source = properties.get(kind.property)
        if kind.property == "CodeUri" and source is None:
            source = _source_of_function(properties, shared, default)
        if not isinstance(source, str) or source.startswith(("s3://", "https://", "http://")):
            if source is not None:
                properties[kind.property] = source
            continue
        metadata = _object(resource.get("Metadata"))
        builder = str(metadata.get("BuildMethod", ""))
        runtime = _runtime(properties, shared, kind, builder, root, parameters)
        place, built_by = (directory / source).resolve(), _object(metadata.get("BuildProperties"))
        found.append(Local(logical_id, kind, properties, place, runtime, builder, built_by))
    return found


def packaged(
    text: str, directory: Path, bundler: Bundler, bring: Bring, *, parameters: Mapping[str, str], is_built: bool = False
) -> str:
    """The template with what was brought in the place of what is local; one without anything local stays as it is.

    Local are code, the definitions of state machines, and the templates of nested stacks. `is_built`: `sam build` wrote
    the template, and has installed dependencies. Errors: UserError; TemplateError.
    """
    return _packaged(text, directory, Packing(bundler, bring, parameters, is_built), ())


@dataclass(frozen=True, slots=True)
class Packing:
    """What is the same for a template and for those that are nested in it."""

    bundler: Bundler
    bring: Bring
    parameters: Mapping[str, str]
    is_built: bool


def _packaged(text: str, directory: Path, packing: Packing, above: tuple[Path, ...]) -> str:
    root = read_root(text)
    locals_ = local_code(root, directory, packing.parameters)
    is_changed = take_in_definitions(root, directory)
    is_changed = _bring_nested(root, directory, packing, above) or is_changed
    if not locals_:
        return dump_json(root) if is_changed else text
    brought: dict[tuple[Path, str, str, str], str] = {}
    for local in locals_:
        _check_builder(local, is_built=packing.is_built)
        esbuild = local.built_by if local.builder == _ESBUILD and not packing.is_built else None
        below = "" if packing.is_built else _folder_in_layer(local)
        key = (local.source, local.runtime, below, "" if esbuild is None else dump_json(esbuild))
        if key not in brought:
            is_plain = packing.is_built or (local.kind.is_layer and not below)
            content = packing.bundler.bundle(
                local.source, local.runtime, below=below, is_built=is_plain, esbuild=esbuild
            )
            brought[key] = packing.bring(content)
        local.properties[local.kind.property] = {local.kind.bucket: BUCKET, local.kind.key: brought[key]}
    return dump_json(root)


def _folder_in_layer(local: Local) -> str:
    """Where in a layer that is to be built everything lies; empty for functions, and for layers as they are."""
    if not local.kind.is_layer:
        return ""
    return next((folder for start, folder in _LAYER_FOLDERS.items() if local.builder.startswith(start)), "")


def _bring_nested(root: Mapping[str, Node], directory: Path, packing: Packing, above: tuple[Path, ...]) -> bool:
    """Bring the local templates of nested stacks, with what they name. Errors: UserError; TemplateError."""
    found = False
    for logical_id, resource in _resources(_object(root.get("Resources"))):
        name = NESTED.get(str(resource.get("Type")))
        properties = _object(resource.get("Properties"))
        place = None if name is None else properties.get(name)
        if name is None or not isinstance(place, str) or "://" in place:
            continue
        file = (directory / place).resolve()
        if file in above:
            raise UserError(f"{logical_id} nests {file}, which nests this template.", exit_code=2)
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"The template of {logical_id} cannot be read: {error}.", exit_code=2) from error
        key = packing.bring(_packaged(text, file.parent, packing, (*above, file)).encode())
        properties[name] = f"https://s3.amazonaws.com/{BUCKET}/{key}"
        found = True
    return found


def take_in_definitions(root: Mapping[str, Node], directory: Path) -> bool:
    """Copy the local definitions of state machines into the template itself. Errors: UserError; TemplateError."""
    found = False
    for logical_id, resource in _resources(_object(root.get("Resources"))):
        properties = _object(resource.get("Properties"))
        place = properties.get("DefinitionUri")
        if resource.get("Type") != "AWS::Serverless::StateMachine" or not isinstance(place, str) or "://" in place:
            continue
        try:
            definition = read_source((directory / place).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"The definition of {logical_id} cannot be read: {error}.", exit_code=2) from error
        del properties["DefinitionUri"]
        properties["Definition"] = definition
        found = True
    return found


def _check_builder(local: Local, *, is_built: bool) -> None:
    if local.builder in _BUILDERS_ELSEWHERE and not is_built:
        raise UserError(
            f"{local.logical_id} is to be built by {local.builder}, which redrive does not do.",
            next_step="Run `sam build`, then deploy .aws-sam/build/template.yaml.", exit_code=2,
        )  # fmt: skip


def _resources(section: dict[str, Node]) -> Iterator[tuple[str, dict[str, Node]]]:
    """The resources, including those in loops."""
    for name, node in section.items():
        if name.startswith(_LOOP) and isinstance(node, list) and node and isinstance(node[-1], dict):
            yield from _resources(node[-1])
        elif isinstance(node, dict):
            yield name, node


def _source_of_function(properties: dict[str, Node], shared: dict[str, Node], default: Node) -> Node:
    """The path of a SAM function's code if the function itself has none; None if there is none, or it is an image."""
    if "InlineCode" in properties or "ImageUri" in properties:
        return None
    if properties.get("PackageType", shared.get("PackageType")) == "Image":
        return None
    return "." if default is None else default


def _runtime(
    properties: dict[str, Node], shared: dict[str, Node], kind: Kind, builder: str, root: Mapping[str, Node],
    parameters: Mapping[str, str],
) -> str:  # fmt: skip
    """The runtime for which code is packed; empty if it is known only after the template is deployed."""
    if kind.is_layer:
        compatible = properties.get("CompatibleRuntimes")
        first = compatible[0] if isinstance(compatible, list) and compatible else ""
        return builder if builder.startswith(tuple(_LAYER_FOLDERS)) else str(first)
    runtime = properties.get("Runtime", shared.get("Runtime"))
    if isinstance(runtime, dict) and isinstance(runtime.get("Ref"), str):
        name = str(runtime["Ref"])
        declared = _object(_object(root.get("Parameters")).get(name))
        runtime = parameters.get(name, declared.get("Default"))
    return runtime if isinstance(runtime, str) else ""


def _object(node: Node) -> dict[str, Node]:
    return node if isinstance(node, dict) else {}
