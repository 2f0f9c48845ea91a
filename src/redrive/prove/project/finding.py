"""What of a project can be proved: its templates, and without any its handlers."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from redrive.packaging.samconfig import NAMES
from redrive.prove.guess.reading import parsed
from redrive.prove.project.configuration import main_file, roots_among
from redrive.prove.project.serverless import NAMES as SERVICES

_USUAL = ("template.yaml", "template.yml", "template.json")
_MARKS = re.compile(r"AWSTemplateFormatVersion|AWS::Serverless-2016-10-31|[\"']?Type[\"']?\s*:\s*[\"']?AWS::")
_RESOURCES = re.compile(r"^\s*\{?\s*[\"']?Resources[\"']?\s*:\s*(\{|$)", re.MULTILINE)
_SERVICE = re.compile(r"^functions\s*:", re.MULTILINE)
_SKIPPED = frozenset({
    "node_modules", "venv", "site-packages", "cdk.out", "tests", "test", "__pycache__", "build", "dist", "docs",
})  # fmt: skip
_DEPTH_MAX = 3
"""How far below the project's folder a template or a handler is looked for."""
_FOLDERS_MAX = 2_000
_BYTES_MAX = 20_000_000
_EVENTS = frozenset({"event", "_event", "events", "evt"})
_CONTEXTS = frozenset({"context", "_context", "ctx", "_ctx", "_", "__", "lambda_context", "_lambda_context"})


@dataclass(frozen=True, slots=True)
class HandlerFile:
    """A function `(event, context)` of a file."""

    file: Path
    function: str


def find_templates(directory: Path) -> list[Path]:
    """The templates of a project, the likeliest kind alone: SAM and CloudFormation, the Serverless
    Framework's service, the CDK's output, Terraform's plan or its files.

    What `sam build` has written is not taken: the histories are to name the lines that a person changes.
    """
    for found in (
        _configured(directory), _of_folder(directory), _services(directory), _of_cdk(directory), _plans(directory),
        _configurations([directory]),
    ):  # fmt: skip
        if found:
            return found
    return _below(directory)


def hint_for(directory: Path) -> str:
    """How a project comes to a template that this can read; empty if it does not look like one that needs a step."""
    if (directory / "cdk.json").is_file():
        return "This is a project of the CDK without cdk.out: run `cdk synth` first, then `redrive prove`."
    if any(directory.glob("*.tf")):
        return (
            "This is a project of Terraform: `terraform plan -out plan.tfplan && terraform show -json plan.tfplan > "
            "plan.json`, then `redrive prove`."
        )
    if any((directory / f"serverless.{end}").is_file() for end in ("ts", "js")):
        return (
            "This is a project of the Serverless Framework: `serverless package`, then `redrive prove --template "
            ".serverless/cloudformation-template-update-stack.json`."
        )
    return ""


def find_handlers(directory: Path) -> list[HandlerFile]:
    """The functions of a project that look like handlers, those of tests left out."""
    return [
        HandlerFile(file, name)
        for folder in _folders(directory)
        for file in sorted(folder.glob("*.py"))
        if not file.name.startswith(("test_", "conftest")) and not file.name.endswith("_test.py")
        for name in _handlers_in(file)
    ]


def _handlers_in(file: Path) -> Iterator[str]:
    tree = parsed(file)
    for node in () if tree is None else tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [argument.arg for argument in node.args.posonlyargs + node.args.args]
            if len(names) == 2 and names[0] in _EVENTS and names[1] in _CONTEXTS:
                yield node.name


def _configured(directory: Path) -> list[Path]:
    """The template that samconfig.toml names, for any of its commands."""
    for name in NAMES:
        file = directory / name
        if file.is_file():
            for place in _named_templates(_document(file)):
                found = (directory / place).resolve()
                if found.is_file() and ".aws-sam" not in found.parts:
                    return [found]
    return []


def _document(file: Path) -> object:
    try:
        text = file.read_text("utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        return {}


def _named_templates(document: object) -> Iterator[str]:
    for key, value in document.items() if isinstance(document, Mapping) else ():
        if key in {"template_file", "template"} and isinstance(value, str):
            yield value
        yield from _named_templates(value)


def _of_folder(directory: Path) -> list[Path]:
    usual = [directory / name for name in _USUAL if (directory / name).is_file() and _is_template(directory / name)]
    if usual:
        return usual[:1]
    others = [file for pattern in ("*.yaml", "*.yml", "*.json", "*.template") for file in directory.glob(pattern)]
    others = [file for file in others if file.name not in {"packaged.yaml", "packaged.yml", *SERVICES}]
    return sorted(filter(_is_template, others))


def _services(directory: Path) -> list[Path]:
    """The file of a service of the Serverless Framework."""
    return [
        file
        for name in SERVICES
        if (file := directory / name).is_file() and _SERVICE.search(file.read_text("utf-8", "replace"))
    ][:1]


def _is_template(file: Path) -> bool:
    try:
        if file.stat().st_size > _BYTES_MAX:
            return False
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return _RESOURCES.search(text) is not None and _MARKS.search(text) is not None


def _of_cdk(directory: Path) -> list[Path]:
    """The templates of all stacks of a cloud assembly, without those of nested stacks."""
    output = directory / "cdk.out"
    manifest = _json(output / "manifest.json")
    artifacts = manifest.get("artifacts") if isinstance(manifest, dict) else None
    named = [
        output / str(artifact["properties"]["templateFile"])
        for artifact in (artifacts.values() if isinstance(artifacts, dict) else ())
        if artifact.get("type") == "aws:cloudformation:stack" and "templateFile" in artifact.get("properties", {})
    ]
    stages = [one for one in sorted(output.glob("assembly-*")) for one in sorted(one.glob("*.template.json"))]
    found = [file for file in named if file.is_file()] or sorted(output.glob("*.template.json"))
    return [file for file in [*found, *stages] if not file.name.endswith(".nested.template.json")]


def _plans(directory: Path) -> list[Path]:
    found = sorted(directory.glob("*.json"))
    return [file for file in found if "plan" in file.name and _is_plan(_json(file))][:1]


def _is_plan(document: object) -> bool:
    return isinstance(document, dict) and "planned_values" in document


def _json(file: Path) -> object:
    try:
        return json.loads(file.read_text("utf-8")) if file.stat().st_size <= _BYTES_MAX else None
    except (OSError, ValueError):
        return None


def _below(directory: Path) -> list[Path]:
    """Templates in folders below, as where several services share a repository."""
    folders = [one for one in _folders(directory) if one != directory]
    readers = (_of_folder, _services, _of_cdk, _plans)
    found = [next((files for read in readers if (files := read(folder))), []) for folder in folders]
    planned = {file.parent for files in found for file in files}
    written = [file for file in _configurations(folders) if file.parent not in planned]
    return [*(file for files in found for file in files), *written]


def _configurations(folders: Sequence[Path]) -> list[Path]:
    """Terraform's files, one for each folder from which it is run."""
    return [main_file(folder) for folder in roots_among([one for one in folders if any(one.glob("*.tf"))])]


def _folders(directory: Path) -> Iterator[Path]:
    """The folder and those below it, without hidden ones and those of installed packages."""
    waiting = [(directory, 0)]
    for _ in range(_FOLDERS_MAX):
        if not waiting:
            return
        current, depth = waiting.pop(0)
        yield current
        if depth < _DEPTH_MAX:
            inner = sorted(one for one in current.iterdir() if one.is_dir() and not one.is_symlink())
            waiting += [(one, depth + 1) for one in inner if one.name not in _SKIPPED and not one.name.startswith(".")]
