"""Where the CDK has put a function's code: in the metadata of its template, or in the manifest of its assets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from redrive.languages.template import Node
from redrive.prove.project.nodes import properties_of, resources_of

_CODE = {"AWS::Lambda::Function": "Code", "AWS::Lambda::LayerVersion": "Content"}
_HASH = re.compile(r"\b(?P<hash>[0-9a-f]{64})\.zip\b")


def asset_code(root: Mapping[str, Node], directory: Path) -> dict[str, Path]:
    """The folder or archive of each function and layer whose code is an asset beside the template, by logical id."""
    found = {}
    for name, resource in resources_of(root, *_CODE):
        metadata = resource.get("Metadata")
        place = metadata.get("aws:asset:path") if isinstance(metadata, dict) else None
        if not isinstance(place, str):
            place = _of_hash(properties_of(resource).get(_CODE[str(resource["Type"])]), directory)
        if place and (directory / place).exists():
            found[name] = (directory / place).resolve()
    return found


def _of_hash(code: Node, directory: Path) -> str:
    """The place of an asset that is named by its hash alone."""
    named = _HASH.search(json.dumps(code))
    if named is None:
        return ""
    for manifest in sorted(directory.glob("*.assets.json")):
        try:
            files = json.loads(manifest.read_text("utf-8")).get("files", {})
        except (OSError, ValueError):
            continue
        if named["hash"] in files:
            return str(files[named["hash"]].get("source", {}).get("path", ""))
    folder = f"asset.{named['hash']}"
    return folder if (directory / folder).exists() else ""
