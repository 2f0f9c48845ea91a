"""A project's template, of whatever kind, as CloudFormation after its transforms; where its code lies.

SAM and CloudFormation are read as they are, the output of the CDK with its assets; a plan of Terraform and a service of
the Serverless Framework are translated.
What AWS would look up elsewhere (exports, parameters, secrets) is made up, and said so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from redrive.core.documents import dump_json, load_json
from redrive.core.errors import ServiceError, UserError
from redrive.core.scope import Scope
from redrive.languages.template import Node, ParameterValue, PseudoParameters, TemplateError, read_root
from redrive.packaging.kept import NOTHING_KEPT, Kept
from redrive.packaging.template import NESTED, local_code, take_in_definitions
from redrive.prove.guess.reading import read_handler
from redrive.prove.guess.variables import guessed_value
from redrive.prove.project.assets import asset_code
from redrive.prove.project.choosing import module_of
from redrive.prove.project.functions import FUNCTION, ProjectFunction, functions_of
from redrive.prove.project.images import images_as_archives
from redrive.prove.project.nodes import STUB, items_of, mentioned, properties_of, replaced, resources_of, stubbed
from redrive.prove.project.parameters import missing_parameters, parameters_of
from redrive.prove.project.pipes import take_in_pipes
from redrive.prove.project.serverless import is_service, service_template
from redrive.prove.project.terraform import is_plan, translated
from redrive.services.cloudformation.model.stack import Blueprint
from redrive.services.cloudformation.transforms.expansion import expanded
from redrive.services.cloudformation.transforms.serverless import translate, translator_version
from redrive.services.lambda_.limits import RUNTIMES_RETIRED

_SAM_FUNCTION = "AWS::Serverless::Function"
_LAYER = "AWS::Serverless::LayerVersion"
_APIS = ("AWS::Serverless::Api", "AWS::Serverless::HttpApi")
_STATE_MACHINE = "AWS::Serverless::StateMachine"
_INVALID = re.compile(r"Resource with id \[(?P<name>[^\]]+)\] is invalid")
_LOOKED_UP = re.compile(r"\{\{resolve:(?P<place>[^}]*)\}\}")
_RUNTIME = "python3.12"
_TRIES_MAX = 30
"""After so many resources that SAM refuses, the template is refused."""


@dataclass(frozen=True, slots=True)
class ProjectTemplate:
    """A template after its transforms.

    `code` and `layers` are where code lies on this machine, by the logical ids of functions; `refused` are the
    functions that SAM refuses, with its reasons; `nested` are the templates of nested stacks, by logical id.
    `parameters` are given or made up; `guesses` say what was made up.
    """

    file: Path
    root: dict[str, Node]
    code: Mapping[str, Path] = field(default_factory=dict)
    layers: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    guesses: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, Path] = field(default_factory=dict)
    piped: frozenset[str] = frozenset()
    """The functions that pipes give lists of records."""

    @property
    def functions(self) -> list[ProjectFunction]:
        """The functions of the template itself."""
        return functions_of(self.root, self.code, self.layers, parameters_of(self.root, self.parameters))


def read_template(
    file: Path, given: Mapping[str, str], scope: Scope, kept: Kept = NOTHING_KEPT
) -> ProjectTemplate:  # fmt: skip
    """Read a template. What SAM's translator makes of it is `kept`. Errors: UserError."""
    try:
        text = file.read_text("utf-8")
        root = read_root(text)
        if is_plan(root):
            found = translated(root, file)
            found.code.update(images_as_archives(found.root, file.resolve().parent))
            return _looked_up(ProjectTemplate(file, found.root, found.code, found.layers, {}, found.guesses))
        if is_service(root):
            service = service_template(root, file.resolve().parent)
            read = _read(file, service.root, given, scope, kept)
            return replace(read, guesses={**service.guesses, **read.guesses})
        return _read(file, root, given, scope, kept)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The template {file} cannot be read: {error}.", exit_code=2) from error
    except TemplateError as error:
        raise UserError(f"The template {file} cannot be used: {error}", exit_code=2) from error
    except ServiceError as error:
        raise UserError(f"The template {file} cannot be used: {error.message}", exit_code=2) from error


def _read(
    file: Path, root: dict[str, Node], given: Mapping[str, str], scope: Scope, kept: Kept
) -> ProjectTemplate:  # fmt: skip
    directory = file.resolve().parent
    missing = missing_parameters(root, given)
    parameters = {**given, **missing}
    guesses = {
        f"parameter {name}": f"{value!r}, because the template has no default" for name, value in missing.items()
    }
    nested = _taken_out(root, directory)
    take_in_definitions(root, directory)
    _simplify(root)
    images = images_as_archives(root, directory)
    code: dict[str, Path] = {}
    contents: dict[str, Path] = {}
    for local in local_code(root, directory, parameters):
        (contents if local.kind.is_layer else code)[local.logical_id] = local.source
        # SAM requires a location; the code stays where it is.
        local.properties[local.kind.property] = {local.kind.bucket: "local", local.kind.key: "local"}
    assets = asset_code(root, directory)
    contents |= {name: place for name, place in assets.items() if name not in code}
    code |= {name: place for name, place in assets.items() if name not in code}
    code |= images
    layers = _layers_of(root, contents)
    found = ProjectTemplate(file, root, code, layers, parameters, guesses, {}, nested)
    return _expanded(_looked_up(found), scope, kept)


def _taken_out(root: Mapping[str, Node], directory: Path) -> dict[str, Path]:
    """Make stubs of nested stacks; returns the local templates of these."""
    nested: dict[str, Path] = {}
    for name, resource in list(resources_of(root, *NESTED)):
        properties = properties_of(resource)
        place = properties.get(NESTED[str(resource["Type"])])
        metadata = resource.get("Metadata")
        asset = metadata.get("aws:asset:path") if isinstance(metadata, dict) else None
        local = asset if isinstance(asset, str) else place
        if isinstance(local, str) and "://" not in local and (directory / local).is_file():
            nested[name] = directory / local
        resource.clear()
        resource |= {"Type": STUB}
    return nested


def _simplify(root: dict[str, Node]) -> None:
    """Leave out what SAM would fetch from elsewhere, and what no function is fed by."""
    for _, resource in resources_of(root, *_APIS):
        properties = properties_of(resource)
        for name in ("DefinitionBody", "DefinitionUri"):
            properties.pop(name, None)
    for _, resource in resources_of(root, _STATE_MACHINE):
        properties = properties_of(resource)
        if properties.pop("DefinitionUri", None) is not None or "Definition" not in properties:
            properties["Definition"] = {"StartAt": "Unread", "States": {"Unread": {"Type": "Succeed"}}}
    root.pop("Rules", None)  # Of parameters, such as the CDK's about its bootstrap; they hold for AWS.
    root.pop("Outputs", None)  # Nobody reads them, and they may refer to what is left out.


def _layers_of(root: Mapping[str, Node], contents: Mapping[str, Path]) -> dict[str, tuple[Path, ...]]:
    """The folders of imports of each function's layers, in their order."""
    shared = root.get("Globals")
    of_all = shared.get("Function") if isinstance(shared, dict) else None
    common = items_of(of_all.get("Layers")) if isinstance(of_all, dict) else []
    found = {}
    for name, resource in resources_of(root, FUNCTION, _SAM_FUNCTION):
        layers = [*common, *items_of(properties_of(resource).get("Layers"))]
        folders = [contents[one] for layer in layers for one in mentioned(layer) if one in contents]
        found[name] = tuple(dict.fromkeys(map(import_folder, folders)))
    return found


def import_folder(content: Path) -> Path:
    """The folder of a layer from which modules are imported: `python`, or all of one that SAM is to build."""
    return content / "python" if (content / "python").is_dir() else content


def _looked_up(template: ProjectTemplate) -> ProjectTemplate:
    """The template with values made up for what AWS would look up elsewhere."""
    guesses = dict(template.guesses)

    def change(node: Node) -> Node:
        match node:
            case {"Fn::ImportValue": name}:
                text = name if isinstance(name, str) else " ".join(_texts(name))
                guesses[f"export {text}"] = f"{guessed_value(text)!r}, because it is another stack's"
                return guessed_value(text)
            case str(text) if "{{resolve:" in text:
                return _LOOKED_UP.sub(make_up, text)
            case _:
                return node

    def make_up(found: re.Match[str]) -> str:
        name = found["place"].rstrip(":").replace("/", ":").split(":")[-1] or "value"
        value = guessed_value(name)
        guesses[f"value of {found['place']}"] = f"{value!r}, because the template asks AWS for it"
        return value

    changed = replaced(template.root, change)
    return replace(template, root=changed if isinstance(changed, dict) else {}, guesses=guesses)


def _texts(node: Node) -> list[str]:
    match node:
        case str():
            return [node]
        case list():
            return [text for member in node for text in _texts(member)]
        case dict():
            return [text for value in node.values() for text in _texts(value)]
        case _:
            return []


def _expanded(template: ProjectTemplate, scope: Scope, kept: Kept) -> ProjectTemplate:
    """The template after its transforms, with stubs for what SAM refuses. Errors: UserError; TemplateError."""
    root, refused = template.root, dict[str, str]()
    for _ in range(_TRIES_MAX):
        blueprint = expanded(
            Blueprint(dump_json(root), template.parameters), scope, "stack", "stack", is_reviewed=True,
            translate=partial(_translated, kept),
        )  # fmt: skip
        if not blueprint.transform_failure:
            break
        resources = root.get("Resources")
        named = _INVALID.search(blueprint.transform_failure)
        resource = resources.get(named["name"]) if named is not None and isinstance(resources, dict) else None
        if named is None or not isinstance(resources, dict) or not isinstance(resource, dict):
            break
        if resource.get("Type") == _SAM_FUNCTION:
            refused[named["name"]] = blueprint.transform_failure
        resources[named["name"]] = dict(stubbed(resource))
    if blueprint.transform_failure:
        raise UserError(
            f"The template {template.file} cannot be used: {blueprint.transform_failure}", exit_code=2
        )  # fmt: skip
    if blueprint.awaits_macros:
        raise UserError(
            f"The template {template.file} asks for macros, whose functions do not run here.",
            next_step="Give the template as the macros leave it: aws cloudformation get-template "
            "--template-stage Processed", exit_code=2,
        )  # fmt: skip
    after = read_root(blueprint.body)
    retired = _with_served_runtimes(after)
    if refused and not any(True for _ in resources_of(after, FUNCTION)):
        raise UserError(
            f"The template {template.file} cannot be used: {next(iter(refused.values()))}", exit_code=2
        )  # fmt: skip
    found = replace(template, root=after, refused=refused, guesses={**template.guesses, **retired})
    return _with_pipes(found)


def _translated(
    kept: Kept, root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> dict[str, Node]:
    """What SAM's translator makes of a template: importing it takes longer than a short proof."""
    of = dump_json(["sam", translator_version(), root, parameters, pseudo.values()])
    translated_root: dict[str, Node] = load_json(
        kept.text(of, lambda: dump_json(translate(root, parameters, pseudo)))
    )  # fmt: skip
    return translated_root


def _with_pipes(template: ProjectTemplate) -> ProjectTemplate:
    """The template with pipes to functions as the mappings that they resemble."""
    functions = {one.logical_id: one for one in template.functions}

    def reports(name: str) -> bool:
        module = module_of(functions[name])
        return module is not None and read_handler(module, functions[name].handler.rpartition(".")[2]).reports_failures

    pipes = take_in_pipes(template.root, reports)
    return replace(template, guesses={**template.guesses, **pipes.guesses}, piped=frozenset(pipes.functions))


def _with_served_runtimes(root: Mapping[str, Node]) -> dict[str, str]:
    """Give functions of a Python that Lambda no longer takes a later one; returns what is told of it.

    A handler runs in the Python of the proof in any case: the runtime matters to the deployment alone.
    """
    told = {}
    for name, resource in resources_of(root, FUNCTION):
        properties = properties_of(resource)
        runtime = properties.get("Runtime")
        if isinstance(runtime, str) and runtime.startswith("python") and runtime in RUNTIMES_RETIRED:
            properties["Runtime"] = _RUNTIME
            told[f"runtime of {name}"] = f"{_RUNTIME}, because Lambda no longer takes {runtime}"
    return told
