"""The functions of a deployed template: those that take part in a proof, and those that are left out, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError, UserError
from redrive.prove.guess.reading import Reading, read_handler
from redrive.prove.process.subject import NamedSubject
from redrive.prove.project.choosing import module_of
from redrive.prove.project.functions import ProjectFunction
from redrive.prove.project.source import ProjectTemplate
from redrive.prove.stage.chosen import subject_of_function
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.template import Declared, inline_subject
from redrive.prove.stage.trigger import Trigger

PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Part:
    """A function that takes part: it runs whenever the engine invokes it. `name` is its logical id."""

    name: str
    function: Document
    subject: NamedSubject
    reading: Reading
    invoking: Document = field(default_factory=dict)
    """The settings of its asynchronous invocations; empty if AWS's defaults hold."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that its code reads and nobody has set, with guessed values."""

    @property
    def function_name(self) -> str:
        """The physical name."""
        return str(self.function["FunctionName"])

    @property
    def function_arn(self) -> str:
        """The ARN without a qualifier."""
        return str(self.function["FunctionArn"])

    @property
    def timeout_ms(self) -> int:
        """How long a run may take."""
        return int(self.function["Timeout"]) * SECOND_MS

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that the template gives the function."""
        return cast("Mapping[str, str]", self.function.get("Environment", {}).get("Variables", {}))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A function that does nothing in a proof, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Parts:
    """The functions of a template, by their physical names."""

    taking_part: Mapping[str, Part]
    left_out: Sequence[LeftOut]

    def __getitem__(self, function_name: str) -> Part:
        return self.taking_part[function_name]

    def only(self, names: Collection[str]) -> Parts:
        """Those of these names."""
        return replace(self, taking_part={name: part for name, part in self.taking_part.items() if name in names})

    def changed(self, file: Path, text: str) -> Parts:
        """The same functions with another text of a file."""
        found = {
            name: replace(part, subject=part.subject.changed(file, text)) for name, part in self.taking_part.items()
        }  # fmt: skip
        return replace(self, taking_part=found)

    def of_arn(self, arn: str) -> Part | None:
        """The part with an ARN or a name, with or without a qualifier."""
        words = arn.split(":")
        name = words[6] if len(words) > 6 and arn.startswith("arn:") else words[0]
        return self.taking_part.get(name)


def functions_of(
    stage: Stage, template: ProjectTemplate, logical_ids: Mapping[str, str], unpacked: Path
) -> Parts:  # fmt: skip
    """The functions of a template that was deployed on a stage. Code of the template is unpacked below a directory.

    `logical_ids` are by physical name.
    """
    declared = {one.logical_id: one for one in template.functions}
    taking_part: dict[str, Part] = {}
    left_out: list[LeftOut] = []
    for function in stage.call("lambda", "ListFunctions")["Functions"]:
        name = str(function["FunctionName"])
        logical_id = logical_ids.get(name, "")
        if logical_id not in declared:
            continue
        found = _subject(stage, template, declared[logical_id], name, unpacked)
        if isinstance(found, str):
            left_out.append(LeftOut(logical_id, found))
        else:
            reading = read_handler(found.file, found.function)
            configured = stage.call("lambda", "GetFunctionConfiguration", FunctionName=name)
            told = found.told_from(_above(template.file, found))
            taking_part[name] = Part(logical_id, configured, told, reading, _invoking(stage, name))
    return Parts(taking_part, left_out)


def _above(template: Path, subject: NamedSubject) -> Path:
    """The folder from which the lines of a system are told: functions may have files of the same names."""
    folder = template.resolve().parent
    root = subject.root.resolve()
    return folder if root.is_relative_to(folder) else root.parent


def _invoking(stage: Stage, function_name: str) -> Document:
    try:
        return stage.call("lambda", "GetFunctionEventInvokeConfig", FunctionName=function_name)
    except ServiceError:
        return {}


def _subject(
    stage: Stage, template: ProjectTemplate, function: ProjectFunction, name: str, unpacked: Path
) -> NamedSubject | str:  # fmt: skip
    """The code of a function, or why it has none here."""
    if function.is_image:
        return "its code is an image"
    if not function.is_python:
        return f"its runtime is {function.runtime}"
    if not function.is_inline and function.code is None:
        return "its code is not in the template"
    module = module_of(function)
    if module is not None and not module.is_file() and not module.with_suffix("").is_dir():
        return f"there is no {module.name} in {module.parent}"
    try:
        found = subject_of_function(template, function, unpacked)
    except UserError as error:
        return error.what
    if found is not None:
        return found
    directory = unpacked / function.logical_id
    directory.mkdir(parents=True, exist_ok=True)
    return inline_subject(stage, Declared(Trigger(name, "", "", "", 0, 0, ()), function.handler), directory)
