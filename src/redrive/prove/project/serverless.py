"""A project of the Serverless Framework, translated into a template of SAM: functions, events, resources, variables.

Variables are resolved as the framework does without options: the defaults, the values of the file itself and of files
beside it. What only AWS or the user's shell knows is made up, and said so.

Source: https://www.serverless.com/framework/docs/providers/aws/guide/serverless.yml
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redrive.languages.template import Node, TemplateError
from redrive.languages.template.source import read_source
from redrive.prove.guess.variables import ACCOUNT, REGION, guessed_value
from redrive.prove.project.nodes import items_of
from redrive.prove.project.serverless_events import Events

NAMES = ("serverless.yml", "serverless.yaml")
_VARIABLE = re.compile(r"\$\{([^{}]+)\}")
_PSEUDO = re.compile(r"^AWS::\w+$")
_DEPTH_MAX = 20
"""How deep variables stand for each other."""
_STAGE = "dev"
"""The framework's stage if nobody names one."""
_TIMEOUT_S = 6
"""The framework's timeout of a function: AWS's own is 3 s."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service as a template, and what was made up."""

    root: dict[str, Node]
    guesses: Mapping[str, str]


def is_service(root: Mapping[str, Node]) -> bool:
    """Whether a file is a service of the framework for AWS."""
    provider = root.get("provider")
    named = provider.get("name") if isinstance(provider, dict) else provider
    return "service" in root and named == "aws" and "Resources" not in root


def service_template(root: dict[str, Node], directory: Path) -> Service:
    """A service as a template of SAM, whose code lies in the directory."""
    variables = _Variables(root, directory)
    whole = variables.resolved(root)
    whole = whole if isinstance(whole, dict) else {}
    resources = _resources_of(whole)
    provider = _mapping(whole.get("provider"))
    for name, function in _functions_of(whole):
        logical_id = logical_id_of(name)
        made = _function(function, provider)
        events = Events(name, resources)
        made["Events"] = events.of(function.get("events"))
        made |= events.asynchronous(function)
        build = _build_of(function["image"], provider) if "image" in function else {}
        declared: dict[str, Node] = {"Type": "AWS::Serverless::Function", "Properties": _kept(made)}
        resources[logical_id] = {**declared, "Metadata": build} if build else declared
    template: dict[str, Node] = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
    for section in ("Parameters", "Conditions", "Mappings"):
        made = {name: node for part in _parts(whole) for name, node in _mapping(part.get(section)).items()}
        template |= {section: made} if made else {}
    return Service(template, variables.guesses)


def logical_id_of(name: str) -> str:
    """The logical id that the framework gives to a function: `HelloWorldLambdaFunction`.

    Source: https://www.serverless.com/framework/docs/providers/aws/guide/resources
    """
    plain = name.replace("-", "Dash").replace("_", "Underscore")
    return f"{plain[:1].upper()}{plain[1:]}LambdaFunction"


def _functions_of(whole: Mapping[str, Node]) -> Iterator[tuple[str, dict[str, Node]]]:
    """The functions, which may stand in several lists."""
    for part in items_of(whole.get("functions")):
        for name, function in part.items() if isinstance(part, dict) else ():
            if isinstance(function, dict) and ("handler" in function or "image" in function):
                yield name, function


def _parts(whole: Mapping[str, Node]) -> list[dict[str, Node]]:
    return [one for one in items_of(whole.get("resources")) if isinstance(one, dict)]


def _resources_of(whole: Mapping[str, Node]) -> dict[str, Node]:
    """The resources that the user declares, which may stand in several parts."""
    return {name: node for part in _parts(whole) for name, node in _mapping(part.get("Resources")).items()}


def _function(function: Mapping[str, Node], provider: Mapping[str, Node]) -> dict[str, Node]:
    """The properties of a function, without its events."""
    module = function.get("module")  # A folder of its own, for the plugin serverless-python-requirements.
    variables = _mapping(provider.get("environment")) | _mapping(function.get("environment"))
    made: dict[str, Node] = {
        "FunctionName": function.get("name"),
        "Timeout": function.get("timeout", provider.get("timeout", _TIMEOUT_S)),
        "Environment": {"Variables": {name: _text(value) for name, value in variables.items() if value is not None}},
    }
    if "image" in function:
        command = _mapping(function["image"]).get("command")
        config: dict[str, Node] = {"ImageConfig": {"Command": command}} if isinstance(command, list) else {}
        uri = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/sample:latest"
        return {**made, "PackageType": "Image", "ImageUri": uri, **config}
    return {
        **made,
        "Handler": function.get("handler"),
        "Runtime": function.get("runtime", provider.get("runtime")),
        "CodeUri": module if isinstance(module, str) else ".",
    }


def _build_of(image: Node, provider: Mapping[str, Node]) -> dict[str, Node]:
    """What SAM's metadata would say of an image that the provider builds; empty of one that lies elsewhere.

    Source: https://www.serverless.com/framework/docs/providers/aws/guide/functions#referencing-container-image-as-a-target
    """
    name = image.get("name") if isinstance(image, dict) else image
    build = _mapping(_mapping(_mapping(provider.get("ecr")).get("images")).get(str(name)))
    if not build or "uri" in build:
        return {}
    options = [str(one) for one in items_of(build.get("buildOptions"))]
    stage = options[options.index("--target") + 1] if "--target" in options[:-1] else ""
    return {
        "DockerContext": build.get("path", "."), "Dockerfile": build.get("file", "Dockerfile"),
        "DockerBuildTarget": stage,
    }  # fmt: skip


def _text(value: Node) -> Node:
    """Values of variables are texts, or what makes one."""
    return value if isinstance(value, dict) else str(value).lower() if isinstance(value, bool) else str(value)


def _kept(properties: Mapping[str, Node]) -> dict[str, Node]:
    return {name: value for name, value in properties.items() if value not in (None, {}, "")}


def _mapping(node: Node) -> dict[str, Node]:
    return node if isinstance(node, dict) else {}


@dataclass(slots=True)
class _Variables:
    """Resolves `${…}` in a service. `guesses` are the values that were made up."""

    root: Mapping[str, Node]
    directory: Path
    guesses: dict[str, str] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    """What is being resolved."""

    def resolved(self, node: Node, depth: int = 0) -> Node:
        """The node with values for its variables. One that is all of a text gives its value as it is."""
        match node:
            case dict():
                return {str(name): self.resolved(value, depth) for name, value in node.items()}
            case list():
                return [self.resolved(one, depth) for one in node]
            case str() if depth < _DEPTH_MAX and "${" in node:
                return self._in_text(node, depth)
            case _:
                return node

    def _in_text(self, text: str, depth: int) -> Node:
        for found in _VARIABLE.finditer(text):  # The innermost first: `${self:custom.${sls:stage}}`.
            if _PSEUDO.match(found[1]) or ":" not in found[1]:
                continue  # CloudFormation's own, in Fn::Sub.
            value = self._value(found[1], depth)
            if found[0] == text:
                return self.resolved(value, depth + 1)
            plain = value if isinstance(value, str) else "" if value is None else json.dumps(value).strip('"')
            return self._in_text(text.replace(found[0], plain, 1), depth + 1) if depth < _DEPTH_MAX else text
        return text

    def _value(self, expression: str, depth: int) -> Node:
        """The first alternative that has a value; a made-up one if none has."""
        alternatives = [one.strip() for one in _split(expression)]
        for one in alternatives:
            if one in self._open:  # It asks for itself, as where an option is named before a default.
                continue
            self._open.add(one)
            value = self._known(one, depth)
            self._open.discard(one)
            if value is not None:
                return value
        name = re.split(r"[:/.]", alternatives[0])[-1] or "value"
        made = _STAGE if name == "stage" else guessed_value(name)
        self.guesses[f"variable {alternatives[0]}"] = f"{made!r}, because serverless.yml asks for it elsewhere"
        return made

    def _known(self, alternative: str, depth: int) -> Node:
        if len(alternative) > 1 and alternative[0] == alternative[-1] and alternative[0] in "'\"":
            return alternative[1:-1]
        if re.fullmatch(r"\d+|true|false", alternative):
            return json.loads(alternative)  # type: ignore[no-any-return] # A number or a truth.
        source, _, address = alternative.partition(":")
        fixed = {
            "sls:stage": _STAGE, "aws:region": REGION, "aws:accountId": ACCOUNT, "sls:instanceId": "sample",
        }  # fmt: skip
        if alternative in fixed:
            own = None if source == "aws" else self._at(dict(self.root), f"provider.{address}", depth)
            return fixed[alternative] if own is None else own
        match source:
            case "self":
                return self._at(dict(self.root), address, depth)
            case "param":
                params = _mapping(self.root.get("params"))
                found = [_mapping(params.get(stage)).get(address) for stage in (_STAGE, "default")]
                return next((self.resolved(one, depth + 1) for one in found if one is not None), None)
            case _ if source.startswith("file("):
                return self._at(self._file(source[len("file(") :].rstrip(")")), address, depth)
            case _:
                return None

    def _at(self, node: Node, address: str, depth: int) -> Node:
        for step in address.split(".") if address else ():
            node = self.resolved(node, depth + 1) if isinstance(node, str) else node
            if isinstance(node, list) and step.isdigit() and int(step) < len(node):
                node = node[int(step)]
            else:
                node = node.get(step) if isinstance(node, dict) else None
        return self.resolved(node, depth + 1) if depth < _DEPTH_MAX else node

    def _file(self, name: str) -> Node:
        place = (self.directory / name.removeprefix("./")).resolve()
        try:
            text = place.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if place.suffix not in (".yml", ".yaml", ".json"):
            return None if place.suffix in (".js", ".cjs", ".mjs", ".ts") else text
        try:
            return read_source(text)
        except TemplateError:
            return None


def _split(expression: str) -> Iterator[str]:
    """The alternatives of a variable, which commas outside of quotes and parentheses separate."""
    depth, quote, begin = 0, "", 0
    for at, sign in enumerate(expression):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "," and not depth:
            yield expression[begin:at]
            begin = at + 1
    yield expression[begin:]
