"""Functions whose code is a container image: the handler that the template or a Dockerfile names, and its folder here.

The image itself is never run. A handler in Python is proved as it lies in the project, as that of an archive is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.languages.template import Node
from redrive.prove.project.nodes import properties_of, resources_of

_TYPES = {"AWS::Serverless::Function": "CodeUri", "AWS::Lambda::Function": "Code"}
_LOCATIONS = {
    "CodeUri": {"Bucket": "local", "Key": "local"}, "Code": {"S3Bucket": "local", "S3Key": "local"},
}  # fmt: skip
_RUNTIME = "python3.12"
_DOCKERFILES = ("Dockerfile", "*/Dockerfile", "*/*/Dockerfile")
_INSTRUCTION = re.compile(r"^\s*(FROM|CMD|COPY|ADD)\s+(.+)$", re.IGNORECASE | re.MULTILINE)
_HANDLER = re.compile(r"[\w/-]+(\.[\w-]+)+$")


@dataclass(frozen=True, slots=True)
class _Build:
    """The Dockerfile of an image, the folder that it is built from, and the stage that is meant; empty: the last."""

    dockerfile: Path
    context: Path
    stage: str = ""


def images_as_archives(root: dict[str, Node], directory: Path) -> dict[str, Path]:
    """Declare images whose handler is found as archives; returns the folders of their code, by logical id."""
    shared = root.get("Globals")
    of_all = shared.get("Function") if isinstance(shared, dict) else None
    common = of_all if isinstance(of_all, dict) else {}
    code = {}
    for name, resource in resources_of(root, *_TYPES):
        properties = properties_of(resource)
        if not _is_image(properties, common):
            continue
        found = _handler_of(properties, resource, directory)
        if found is None:
            continue
        handler, code[name] = found
        location = _TYPES[str(resource["Type"])]
        for other in ("ImageUri", "ImageConfig"):
            properties.pop(other, None)
        properties |= {
            "PackageType": "Zip", "Handler": handler, "Runtime": _RUNTIME, location: dict(_LOCATIONS[location]),
        }  # fmt: skip
    if code and common.get("PackageType") == "Image":
        for other in ("PackageType", "ImageUri", "ImageConfig"):
            common.pop(other, None)
    return code


def _is_image(properties: Mapping[str, Node], common: Mapping[str, Node]) -> bool:
    inner = properties.get("Code")
    return (
        properties.get("PackageType", common.get("PackageType")) == "Image"
        or "ImageUri" in properties
        or (isinstance(inner, dict) and "ImageUri" in inner)
    )


def _handler_of(
    properties: Mapping[str, Node], resource: Mapping[str, Node], directory: Path
) -> tuple[str, Path] | None:
    """The handler of an image, and the folder from which it is imported; None if nothing here names both."""
    config = properties.get("ImageConfig")
    command = config.get("Command") if isinstance(config, dict) else None
    named = str(command[0]) if isinstance(command, list) and command else ""
    for build in _builds(resource, directory):
        text = _text_of(build)
        handler = named or _command_in(text)
        if _HANDLER.match(handler):
            module = handler.rpartition(".")[0].replace(".", "/")
            for folder in _folders(text, build):
                if (folder / f"{module}.py").is_file():
                    return handler, folder.resolve()
    return None


def _builds(resource: Mapping[str, Node], directory: Path) -> Iterator[_Build]:
    """What the image may be built from: what its metadata says, or else the only Dockerfile beside the template."""
    metadata = resource.get("Metadata")
    said = metadata if isinstance(metadata, dict) else {}
    context = said.get("DockerContext", said.get("aws:asset:path"))
    if isinstance(context, str):
        file = said.get("Dockerfile", said.get("aws:asset:dockerfile-path", "Dockerfile"))
        stage = said.get("DockerBuildTarget", said.get("aws:asset:docker-build-target", ""))
        yield _Build(directory / context / str(file), directory / context, str(stage))
        return
    found = [file for pattern in _DOCKERFILES for file in sorted(directory.glob(pattern))]
    if len(found) == 1:
        yield _Build(found[0], found[0].parent)
        yield _Build(found[0], directory)


def _text_of(build: _Build) -> str:
    """A Dockerfile's text up to the end of the stage that is meant, with its lines joined."""
    try:
        text = build.dockerfile.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    text = re.sub(r"\\\r?\n", " ", text)
    if not build.stage:
        return text
    begin = re.search(rf"^\s*FROM\s.*\sAS\s+{re.escape(build.stage)}\s*$", text, re.IGNORECASE | re.MULTILINE)
    after = None if begin is None else re.compile(r"^\s*FROM\s", re.IGNORECASE | re.MULTILINE).search(text, begin.end())
    return text if after is None else text[: after.start()]


def _command_in(text: str) -> str:
    """The first word of the last CMD; empty if there is none."""
    commands = [found[2] for found in _INSTRUCTION.finditer(text) if found[1].upper() == "CMD"]
    words = _words(commands[-1]) if commands else []
    return words[0] if words else ""


def _folders(text: str, build: _Build) -> Iterator[Path]:
    """The folders that code may be imported from: that of the build, then those that are copied into the image."""
    yield build.context
    for found in _INSTRUCTION.finditer(text):
        if found[1].upper() in ("COPY", "ADD"):
            for word in _words(found[2])[:-1]:
                place = build.context / word.lstrip("/")
                if "*" not in word and place.exists():
                    yield place if place.is_dir() else place.parent
    yield build.dockerfile.parent


def _words(text: str) -> list[str]:
    """The words of an instruction, as a list of JSON or apart by spaces, without its flags."""
    try:
        listed = json.loads(text)
    except ValueError:
        listed = text.split()
    return [str(word) for word in listed if not str(word).startswith("--")] if isinstance(listed, list) else []
