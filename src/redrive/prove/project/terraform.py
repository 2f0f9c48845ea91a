"""A plan of Terraform as a CloudFormation template: the resources that redrive serves, and what they refer to.

Resources of other types are left out. What only they would know is made up, by the name of the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redrive.languages.template import Node
from redrive.prove.guess.variables import guessed_value
from redrive.prove.project.hcl import Sources, number_in, variables_in
from redrive.prove.project.nodes import properties_of
from redrive.prove.project.plans import Plan, Planned, Reference, inside
from redrive.prove.project.resources import ATTRIBUTES, SCHEDULER_ROLE, TRANSLATED, Arguments, scheduler_role

_WORDS = re.compile(r"[^A-Za-z0-9]+")
_EXPRESSION = re.compile(r"\$\{(?P<inner>[^}]+)\}")
_PLAIN = re.compile(r'"(?P<text>[^"]*)"$')
RECEIVES_MAX = 3
_LINKS = frozenset({
    "function_name", "arn", "event_source_arn", "endpoint", "topic_arn", "target_arn", "destination_arn",
    "lambda_function_arn", "destination", "event_bus_name",
})  # fmt: skip
"""Arguments that name another resource: what they refer to says more than the name that a plan knows."""
_BUILDING = frozenset({"docker_image", "docker_registry_image"})
"""The resources that build images. Source: https://registry.terraform.io/providers/kreuzwerker/docker/latest/docs"""


_NAMELESS = frozenset({"this", "main", "default", "lambda", "function", "lambda_function"})
_CODE = ("filename", "s3_key", "source_code_hash")
"""Arguments of a function that tell where its code comes from."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A plan as a template, with where the code of its functions lies, and what was made up."""

    root: dict[str, Node]
    code: dict[str, Path] = field(default_factory=dict)
    layers: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    guesses: dict[str, str] = field(default_factory=dict)


def is_plan(root: Mapping[str, Node]) -> bool:
    """Whether a document is what `terraform show -json` prints of a plan."""
    return "planned_values" in root and "format_version" in root


def translated(root: Mapping[str, Node], file: Path) -> Translated:
    """Translate a plan. `file` is where it lies: paths of code are relative to its folder."""
    return _Translation(Plan(root), file.resolve().parent).done()


class _Translation:
    def __init__(self, plan: Plan, directory: Path) -> None:
        self._plan = plan
        self._directory = directory
        self._sources: dict[Path, Sources] = {}
        self._found = Translated({})
        self._ids = _logical_ids(plan)
        self._by_address: dict[str, Planned] = {}
        for resource in [*plan.data, *plan.resources]:
            self._by_address.setdefault(resource.plain_address, resource)

    def done(self) -> Translated:
        resources: dict[str, Node] = {}
        for resource in self._plan.resources:
            made = TRANSLATED.get(resource.type)
            if made is not None:
                type_name, properties = made(Arguments(resource, self._value, self.block_of(resource)))
                kept: Node = {name: value for name, value in properties.items() if value not in (None, "", [])}
                resources[self._ids[resource.address]] = {"Type": type_name, "Properties": kept}
        if any(isinstance(one, dict) and one["Type"] == "AWS::Scheduler::Schedule" for one in resources.values()):
            resources[SCHEDULER_ROLE] = scheduler_role()
        self._found.root["Resources"] = resources
        for name, value in self._plan.guesses.items():
            self._found.guesses[f"variable {name} of Terraform"] = f"{value!r}, because it has no default"
        for resource in self._plan.resources:
            self._join(resource, resources)
            if resource.type == "aws_lambda_function":
                self._place_code(resource, resources)
        return self._found

    def block_of(self, resource: Planned) -> str:
        """What the source says of a resource; empty if the source is not there."""
        folder = self._folder_of(resource.module)
        return self._sources.setdefault(folder, Sources(folder)).block(resource.type, resource.name)

    def _folder_of(self, module: str) -> Path:
        """The folder of a module's source, if it is a local one."""
        if not module:
            return self._directory
        outer, _, _ = module.rpartition(".module.") if ".module." in module else ("", "", "")
        return (self._folder_of(outer) / self._plan.source_of(module)).resolve()

    def _value(self, resource: Planned, *path: str | int) -> Node:
        """The value of an argument, or what it refers to; None if it has neither."""
        node = inside(dict(resource.values), path)
        found = self._plan.references(resource, *path)
        if node is None:
            return self._referred(found[0], resource) if found else None
        made = [one for one in found if self._is_made(one, resource)]
        return self._referred(made[0], resource) if made and path[-1] in _LINKS else node

    def _is_made(self, reference: Reference, asking: Planned) -> bool:
        """Whether the template will have the resource that a reference names."""
        target = self._target(reference.address, asking)
        return target is not None and (target.type in TRANSLATED or target.type == "aws_lambda_alias")

    def _referred(self, reference: Reference, asking: Planned) -> Node:
        """What an attribute of another resource comes to."""
        target = self._target(reference.address, asking)
        if target is None:
            return guessed_value(reference.address.rpartition(".")[2] + "_" + reference.attribute)
        if target.type == "aws_lambda_alias":
            return self._value(target, "function_name")
        known = target.values.get(reference.attribute)
        if isinstance(known, str | int) and target.type not in TRANSLATED:
            return known
        if target.type in TRANSLATED:
            logical_id = self._ids[target.address]
            attribute = ATTRIBUTES.get(target.type, {}).get(reference.attribute, "")
            return {"Fn::GetAtt": [logical_id, attribute]} if attribute else {"Ref": logical_id}
        return guessed_value(f"{target.name}_{reference.attribute}")

    def _target(self, address: str, asking: Planned) -> Planned | None:
        """The resource at an address; of several the one with the index of the asking one."""
        index = asking.address[len(asking.address.partition("[")[0]) :]
        same = [one for one in self._plan.resources if index and one.address == address + index]
        return same[0] if same else self._by_address.get(address)

    def _join(self, resource: Planned, resources: dict[str, Node]) -> None:
        """Put what Terraform declares apart into the resource that CloudFormation has it in."""
        match resource.type:
            case "aws_cloudwatch_event_target":
                rule = self._joined(resource, resources, "rule")
                target = _event_target(Arguments(resource, self._value, ""))
                _append(rule, "Targets", target)
            case "aws_s3_bucket_notification":
                bucket = self._joined(resource, resources, "bucket")
                for number, _ in enumerate(_blocks(resource, "lambda_function")):
                    function = self._value(resource, "lambda_function", number, "lambda_function_arn")
                    event: dict[str, Node] = {"Event": "s3:ObjectCreated:*", "Function": function}
                    rules: list[Node] = [
                        {"Name": name, "Value": value}
                        for name in ("prefix", "suffix")
                        if isinstance(value := self._value(resource, "lambda_function", number, f"filter_{name}"), str)
                    ]
                    if rules:
                        event["Filter"] = {"S3Key": {"Rules": rules}}
                    configuration = bucket.setdefault("NotificationConfiguration", {})
                    if isinstance(configuration, dict):
                        _append(configuration, "LambdaConfigurations", dict(event))
            case "aws_sqs_queue_redrive_policy":
                queue = self._joined(resource, resources, "queue_url")
                dead = self._plan.references(resource, "redrive_policy")
                count = number_in(self.block_of(resource), "maxReceiveCount") or RECEIVES_MAX
                if dead:
                    arn = self._referred(dead[0], resource)
                    queue["RedrivePolicy"] = {"deadLetterTargetArn": arn, "maxReceiveCount": count}
            case "aws_sfn_state_machine":
                made = properties_of(resources[self._ids[resource.address]])
                composed = self._composed(resource, "definition")
                if isinstance(composed, dict) and "Fn::Sub" in composed:
                    made["DefinitionString"] = composed
                else:
                    called = [self._referred(one, resource) for one in self._plan.references(resource, "definition")]
                    made["DefinitionSubstitutions"] = called
            case "aws_secretsmanager_secret_version":
                self._joined(resource, resources, "secret_id")["SecretString"] = resource.values.get("secret_string")
            case _:
                pass

    def _joined(self, resource: Planned, resources: Mapping[str, Node], argument: str) -> dict[str, Node]:
        """The properties of the resource that an argument refers to, or names; empty if it is not in the plan."""
        for reference in self._plan.references(resource, argument):
            target = self._target(reference.address, resource)
            if target is not None and self._ids.get(target.address, "") in resources:
                return properties_of(resources[self._ids[target.address]])
        return {}

    def _place_code(self, resource: Planned, resources: Mapping[str, Node]) -> None:
        logical_id = self._ids[resource.address]
        properties_of(resources[logical_id])["Environment"] = {"Variables": self._variables(resource)}
        if resource.values.get("package_type") == "Image":
            made = resources[logical_id]
            if isinstance(made, dict):
                made["Metadata"] = self._build_of(resource)
        place = self._code_of(resource)
        if place is not None:
            self._found.code[logical_id] = place
        layers = [self._code_of(one) for one in self._layers_of(resource)]
        folders = [one / "python" if (one / "python").is_dir() else one for one in layers if one and one.exists()]
        self._found.layers[logical_id] = tuple(folders)

    def _build_of(self, resource: Planned) -> dict[str, Node]:
        """What SAM's metadata would say of a function's image that the plan builds; empty if it builds none."""
        built = [one for one in self._plan.resources if one.type in _BUILDING and _blocks(one, "build")]
        named = self._named_by(resource, "image_uri")
        for one in [one for one in built if one.address in named] or (built if len(built) == 1 else []):
            build = _blocks(one, "build")[0]
            context = build.get("context") if isinstance(build, dict) else None
            place = self._existing(context, one) if isinstance(context, str) else None
            if isinstance(build, dict) and place is not None:
                return {
                    "DockerContext": str(place), "Dockerfile": build.get("dockerfile") or "Dockerfile",
                    "DockerBuildTarget": build.get("target") or "",
                }  # fmt: skip
        return {}

    def _named_by(self, resource: Planned, argument: str) -> set[str]:
        """The addresses of the resources that an argument refers to, and of those that these are named by."""
        found: set[str] = set()
        waiting = [(resource, argument)]
        while waiting:
            asking, path = waiting.pop()
            for reference in self._plan.references(asking, path):
                target = self._target(reference.address, asking)
                if target is not None and target.address not in found:
                    found.add(target.address)
                    waiting += [(target, "name"), (target, "source_image")]
        return found

    def _layers_of(self, resource: Planned) -> list[Planned]:
        found = [self._target(one.address, resource) for one in self._plan.references(resource, "layers")]
        return [one for one in found if one is not None and one.type == "aws_lambda_layer_version"]

    def _code_of(self, resource: Planned) -> Path | None:
        """The folder, file or archive with the code of a function or a layer."""
        given = self._plan.constant(resource.module, "source_path")
        given = given[0] if isinstance(given, list) and given else given
        given = given.get("path") if isinstance(given, dict) else given
        if isinstance(given, str) and (self._directory / given).exists():
            return (self._directory / given).resolve()
        said = [one for name in _CODE for one in self._archived(resource, name)]
        filename = resource.values.get("filename")
        said += [filename] if isinstance(filename, str) else []
        found = (place for text in said if (place := self._existing(text, resource)) is not None)
        return next(found, (self._directory / said[0]).resolve() if said else None)

    def _archived(self, resource: Planned, argument: str) -> Iterator[str]:
        """What goes into the archive that an argument refers to, itself or by an object that is made of the archive."""
        for reference in self._plan.references(resource, argument):
            archive = self._target(reference.address, resource)
            if archive is not None and archive.type in ("aws_s3_object", "aws_s3_bucket_object"):
                yield from self._archived(archive, "source")
            if archive is not None and archive.type == "archive_file":
                for name in ("source_dir", "source_file"):
                    source = archive.values.get(name)
                    if isinstance(source, str) and source:
                        yield source

    def _existing(self, text: str, resource: Planned) -> Path | None:
        """A path as Terraform was given it: from where it ran, or from the folder of the module."""
        for base in (self._directory, self._folder_of(resource.module)):
            place = (base / text).resolve()
            if place.exists():
                return place
            unpacked = place.with_suffix("")
            if place.suffix == ".zip" and unpacked.is_dir():
                return unpacked
        return None

    def _variables(self, resource: Planned) -> dict[str, Node]:
        """The environment variables: those of the plan, or of the source where the plan does not know all of them."""
        said = self._plan.written(resource, "environment", 0, "variables")
        if isinstance(said, dict) and not ({"references", "constant_value"} & said.keys()):
            found = {name: self._composed(resource, "environment", 0, "variables", name) for name in said}
            return {name: value for name, value in found.items() if value is not None}
        known = self._value(resource, "environment", 0, "variables")
        if isinstance(known, dict) and not ({"Ref", "Fn::GetAtt"} & known.keys()):
            return {name: value for name, value in known.items() if value is not None}
        written = variables_in(self.block_of(resource))
        found = {name: self._evaluated(text, resource) for name, text in written.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _composed(self, resource: Planned, *path: str | int) -> Node:
        """The value of an argument: a text with references in it keeps what is written around them."""
        said = self._plan.written(resource, *path)
        parts = said.get("parts") if isinstance(said, dict) else None
        if not isinstance(parts, list):
            return self._value(resource, *path)
        text, names = "", dict[str, Node]()
        for part in parts:
            if isinstance(part, dict):
                found = self._plan.named(resource.module, str(part.get("reference")))
                names[f"Part{len(names)}"] = self._referred(found[0], resource) if found else "sample"
                text += f"${{Part{len(names) - 1}}}"
            else:
                text += str(part).replace("${", "${!")
        return {"Fn::Sub": [text, dict(names)]}

    def _evaluated(self, expression: str, resource: Planned) -> Node:
        """What a plain expression of the source comes to; None for any other."""
        literal = _PLAIN.match(expression)
        if literal is None:
            return self._of_name(expression, resource)
        text = literal["text"]
        parts = _EXPRESSION.findall(text)
        values = [self._of_name(part.strip(), resource) for part in parts]
        if any(value is None for value in values):
            return None
        if len(parts) == 1 and text == f"${{{parts[0]}}}":
            return values[0]
        names = {f"Part{number}": value for number, value in enumerate(values)}
        for number, part in enumerate(parts):
            text = text.replace(f"${{{part}}}", f"${{Part{number}}}", 1)
        return {"Fn::Sub": [text, dict(names)]} if names else text

    def _of_name(self, name: str, resource: Planned) -> Node:
        if name.startswith("var.") and not resource.module:
            value = self._plan.variables.get(name.removeprefix("var."))
            return value if isinstance(value, str | int) else None
        if re.fullmatch(r"\d+|true|false", name):
            return name
        found = self._plan.named(resource.module, name) if re.fullmatch(r"[\w.\[\]*-]+", name) else []
        return self._referred(found[0], resource) if found else None


def _event_target(given: Arguments) -> Node:
    """The target of a rule."""
    target: dict[str, Node] = {"Id": given.text("target_id") or "target", "Arn": given.value("arn")}
    for name, argument in (("Input", "input"), ("InputPath", "input_path")):
        if given.text(argument):
            target[name] = given.text(argument)
    if given.block("input_transformer"):
        paths = given.value("input_transformer", 0, "input_paths")
        template = given.value("input_transformer", 0, "input_template")
        target["InputTransformer"] = {"InputPathsMap": paths or {}, "InputTemplate": template}
    return target


def _append(properties: dict[str, Node], name: str, value: Node) -> None:
    listed = properties.setdefault(name, [])
    if isinstance(listed, list):
        listed.append(value)


def _blocks(resource: Planned, name: str) -> list[Node]:
    found = resource.values.get(name)
    return found if isinstance(found, list) else []


def _logical_ids(plan: Plan) -> dict[str, str]:
    """Short names that CloudFormation takes: by the resource's name, and where two are alike also by its address.

    A function keeps the short name where no other function has it; one that is called as modules call their only one
    has the name of its module.
    """
    found: dict[str, str] = {}
    for is_function in (True, False):
        same = [one for one in plan.resources if (one.type == "aws_lambda_function") is is_function]
        short = {one.address: _camel(_named(one) if is_function else one.name) for one in same}
        taken = [*found.values(), *short.values()]
        found |= {
            address: name if taken.count(name) == 1 else _camel(address.replace("aws_", "", 1))
            for address, name in short.items()
        }
    return {one.address: found[one.address] for one in plan.resources}


def _named(function: Planned) -> str:
    return function.module.rpartition(".")[2] if function.name in _NAMELESS and function.module else function.name


def _camel(text: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _WORDS.split(text) if word) or "Resource"
