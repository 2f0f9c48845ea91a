"""CDK apps after `cdk synth`: the stacks in a cdk.out, in the order of deployment, and their files.

Files are uploaded to the bucket and key that the templates name, so that the templates are deployed unchanged.
Source: https://github.com/aws/aws-cdk-cli/tree/main/packages/%40aws-cdk/cloud-assembly-schema
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redrive.cli.surface import Surface
from redrive.core.errors import UserError
from redrive.invoke.runtime.npm import Npm
from redrive.packaging.files import archive_of, files_of
from redrive.packaging.node import with_sdk

MANIFEST = "manifest.json"
_STACK = "aws:cloudformation:stack"
_ASSETS = "cdk:asset-manifest"
# What is assumed of JavaScript in an app: its assets do not say for which runtime they are.
_NODE = "nodejs22.x"


@dataclass(frozen=True, slots=True)
class SynthesizedStack:
    """One stack of an app. `template_url` is the URL of its uploaded template; empty if there is none."""

    name: str
    template: Path
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    template_url: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of an app, or a directory to upload as an archive."""

    path: Path
    is_archive: bool
    bucket: str
    key: str


def is_assembly(path: Path) -> bool:
    """Whether a path is an output of `cdk synth`."""
    return (path / MANIFEST).is_file()


def read_stacks(assembly: Path, *, account: str, region: str) -> list[SynthesizedStack]:
    """The stacks of an app, each after its dependencies. Errors: UserError."""
    artifacts = _read(assembly / MANIFEST).get("artifacts", {})
    stacks = []
    for name in _in_order(artifacts):
        if artifacts[name].get("type") != _STACK:
            continue
        properties = artifacts[name].get("properties", {})
        url = str(properties.get("stackTemplateAssetObjectUrl") or "").removeprefix("s3://")
        stacks.append(
            SynthesizedStack(
                name=str(properties.get("stackName") or name),
                template=assembly / properties["templateFile"],
                parameters={key: str(value) for key, value in properties.get("parameters", {}).items()},
                tags={key: str(value) for key, value in properties.get("tags", {}).items()},
                template_url=_filled(f"https://s3.amazonaws.com/{url}", account, region) if url else "",
            )
        )
    return stacks


def read_files(assembly: Path, *, account: str, region: str) -> Iterator[File]:
    """The files of an app. Errors: UserError for a container image, which redrive cannot run."""
    for name, artifact in _read(assembly / MANIFEST).get("artifacts", {}).items():
        if artifact.get("type") != _ASSETS:
            continue
        manifest = _read(assembly / artifact["properties"]["file"])
        if manifest.get("dockerImages"):
            raise UserError(
                f"{name} of {assembly} has container images, which redrive does not run.",
                next_step="Package the function as a directory: lambda.Code.from_asset.", exit_code=2,
            )  # fmt: skip
        for file in manifest.get("files", {}).values():
            source = file["source"]
            if "path" not in source:
                raise UserError(f"A file of {name} is made by a command, which redrive does not run.", exit_code=2)
            for destination in file["destinations"].values():
                yield File(
                    assembly / source["path"], source.get("packaging") == "zip",
                    _filled(destination["bucketName"], account, region),
                    _filled(destination["objectKey"], account, region),
                )  # fmt: skip


def upload_files(files: Iterator[File], endpoint_url: str, account: str, npm: Npm) -> int:
    """Upload the files of an app to a server; answers how many. Errors: UserError.

    Archives of Node.js code get the packages of AWS's SDK that they use, which AWS has in the runtime.
    """
    count = 0
    for file in files:
        content = _archive(file.path, npm) if file.is_archive else file.path.read_bytes()
        Surface(endpoint_url).put_asset(bucket=file.bucket, key=file.key, content=content, account=account)
        count += 1
    return count


def _in_order(artifacts: Mapping[str, Any]) -> Sequence[str]:
    """The names of artifacts, each after its dependencies."""
    done: dict[str, None] = {}
    waiting = list(artifacts)
    while waiting:
        ready = [
            name
            for name in waiting
            if all(each in done or each not in artifacts for each in artifacts[name].get("dependencies", ()))
        ]
        if not ready:
            raise UserError(f"The artifacts {', '.join(waiting)} depend on one another in a circle.", exit_code=2)
        done |= dict.fromkeys(ready)
        waiting = [name for name in waiting if name not in done]
    return list(done)


def _filled(text: str, account: str, region: str) -> str:
    """A name after its placeholders for account, region and partition are replaced."""
    for place, value in (("AccountId", account), ("Region", region), ("Partition", "aws")):
        text = text.replace(f"${{AWS::{place}}}", value)
    return text


def _archive(directory: Path, npm: Npm) -> bytes:
    """A directory as an archive, with the same bytes for the same files; a file that is an archive stays unchanged."""
    if directory.is_file():
        return directory.read_bytes()
    return archive_of(with_sdk(files_of(directory, ()), _NODE, npm))


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}.", next_step="Run: cdk synth", exit_code=2) from error
    return document
