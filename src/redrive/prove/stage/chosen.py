"""The function of a template under proof, and the code that stands for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import UserError
from redrive.invoke.sandbox.unpack import unpack
from redrive.languages.template import Node
from redrive.packaging.kept import NOTHING_KEPT, Kept
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.project.choosing import module_of, named, of_handler, only
from redrive.prove.project.functions import ProjectFunction
from redrive.prove.project.nodes import properties_of, resources_of
from redrive.prove.project.source import ProjectTemplate, read_template
from redrive.prove.stage.stage import SCOPE
from redrive.prove.stage.trigger import Kind

_ANSWERS = '''
"""Answers the request of a custom resource."""
import json
import urllib.request

SUCCESS, FAILED = "SUCCESS", "FAILED"


def send(event, context, responseStatus, responseData, physicalResourceId=None, noEcho=False, reason=None):
    answer = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer |= {
        "Status": responseStatus, "Data": responseData, "NoEcho": noEcho, "Reason": reason or "See the log",
        "PhysicalResourceId": physicalResourceId or context.log_stream_name,
    }
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), method="PUT"))
'''
"""The module that Lambda puts beside code that stands in a template, besides its file index.py.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/cfn-lambda-function-code-cfnresponsemodule.html
"""


_FEEDS = {Kind.FIFO: "sqs", Kind.SNS: "topic", Kind.LAMBDA: "caller", Kind.API: "caller"}
"""The feeds that have other names than the triggers that they are."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A template, and of it the function under proof; None if only a deployment tells which. `is_bare`: it has none."""

    template: ProjectTemplate
    function: ProjectFunction | None
    subject: Subject | None
    is_bare: bool = False


def chosen(
    file: Path, parameters: Mapping[str, str], subject: Subject | None, directory: Path, *, logical_id: str = "",
    kind: Kind | None = None, rule: str | None = None, kept: Kept = NOTHING_KEPT,
) -> Chosen:  # fmt: skip
    """Read a template, and choose by what the user has named. Code is unpacked under `directory`. Errors: UserError."""
    template = read_template(file, parameters, SCOPE, kept)
    functions = template.functions
    if not functions and subject is not None:
        return Chosen(template, None, subject, is_bare=True)
    if logical_id:
        if logical_id in template.refused:
            raise UserError(f"{logical_id}: {template.refused[logical_id]}", exit_code=2)
        function = named(functions, logical_id, file)
    else:
        found = None if rule is not None else _found(functions, subject, kind)
        if found is None:
            return Chosen(template, None, subject)
        function = found
    if subject is None:
        return Chosen(template, function, subject_of_function(template, function, directory))
    if isinstance(subject, NamedSubject) and function.logical_id in template.piped:
        subject = subject.of_pipe()
    return Chosen(template, function, subject)


def _found(functions: list[ProjectFunction], subject: Subject | None, kind: Kind | None) -> ProjectFunction | None:
    feed = "" if kind is None else _FEEDS.get(kind, kind.value)
    fed = [one for one in functions if one.feed_of(feed) is not None] or functions
    if subject is None:
        return only(fed)
    module = subject.file if isinstance(subject, NamedSubject) else None
    return of_handler(fed, subject.name, module) or of_handler(functions, subject.name, module) or only(fed)


def subject_of_function(template: ProjectTemplate, function: ProjectFunction, directory: Path) -> NamedSubject | None:
    """The handler of a function; None if its code stands in the template and only a deployment knows it.

    Errors: UserError, which says what to add, if there is no code here that Python can run.
    """
    found = _subject_of(template, function, directory)
    return found if found is None or function.logical_id not in template.piped else found.of_pipe()


def _subject_of(template: ProjectTemplate, function: ProjectFunction, directory: Path) -> NamedSubject | None:
    require_provable(template, function)
    module, _, name = function.handler.rpartition(".")
    if function.is_inline:
        code = _inline_code(template.root, function.logical_id)
        if code is None:
            return None
        folder = _own_folder(directory, function)
        (folder / "index.py").write_text(code, "utf-8")
        (folder / "cfnresponse.py").write_text(_ANSWERS, "utf-8")
        return NamedSubject(module, name, folder, function.layers)
    place = function.code
    assert place is not None, "required above"
    if place.is_file() and place.suffix != ".py":
        folder = _own_folder(directory, function)
        unpack(place.read_bytes(), folder)
        return NamedSubject(module.replace("/", "."), name, folder, function.layers)
    root = place if place.is_dir() else place.parent
    built = template.file.resolve().parent / ".aws-sam" / "build" / function.logical_id
    packages = built if built.is_dir() else None
    return NamedSubject(module.replace("/", "."), name, root, function.layers, packages)


def require_provable(template: ProjectTemplate, function: ProjectFunction) -> None:
    """Refuse a function whose code Python cannot run here. Errors: UserError, which says what to add."""
    name, file = function.logical_id, template.file
    by_hand = f"redrive prove path/to/file.py:handler --template {file} --function {name}"
    if not function.is_python:
        raise UserError(
            f"{name} runs {function.runtime}, and only handlers in Python are proved.", exit_code=2
        )  # fmt: skip
    if function.is_image:
        raise UserError(
            f"{name} is a container image, and no CMD in a Dockerfile of the project names a handler that is here.",
            next_step=f"Name the handler in it: {by_hand}", exit_code=2
        )  # fmt: skip
    if function.is_inline:
        return
    if function.code is None:
        raise UserError(
            f"{name}: the code of the function is not in {file}, nor beside it.",
            next_step=f"Name its handler: {by_hand}", exit_code=2,
        )  # fmt: skip
    if not function.code.exists():
        raise UserError(
            f"{name}: there is no {function.code}, where {file} has its code.",
            next_step=f"Build the project, or name the handler: {by_hand}", exit_code=2,
        )  # fmt: skip
    module = module_of(function)
    if module is not None and not module.is_file() and not module.with_suffix("").is_dir():
        raise UserError(
            f"{name}: its handler is {function.handler}, and there is no file {module}.",
            next_step=f"Name the handler: {by_hand}", exit_code=2,
        )  # fmt: skip


def _inline_code(root: Mapping[str, Node], logical_id: str) -> str | None:
    code = properties_of(dict(resources_of(root))[logical_id]).get("Code")
    text = code.get("ZipFile") if isinstance(code, dict) else None
    return text if isinstance(text, str) else None


def _own_folder(directory: Path, function: ProjectFunction) -> Path:
    folder = directory / function.logical_id
    folder.mkdir(parents=True, exist_ok=True)
    return folder
