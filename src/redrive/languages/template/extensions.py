"""The transform AWS::LanguageExtensions: loops, lengths, JSON texts, defaults of mappings, functions in more places.

Values that depend on parameters, mappings and conditions alone are resolved here; values that depend on the stack's
resources stay functions. It must not know stacks.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-languageextensions.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from redrive.languages.template.active import evaluate_conditions
from redrive.languages.template.errors import TemplateError
from redrive.languages.template.loops import Loops
from redrive.languages.template.model import ParameterValue, Template
from redrive.languages.template.pseudo import NO_VALUE, PseudoParameters
from redrive.languages.template.resolve import resolve
from redrive.languages.template.source import Node

_POLICIES = ("DeletionPolicy", "UpdateReplacePolicy")


class _NotYet(TemplateError):
    """A value that depends on the stack's resources."""


def extend(
    root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> dict[str, Node]:
    """The template without the functions of the extensions. Errors: TemplateError."""
    scope = _Scope(root, parameters, pseudo)
    looped = Loops(lambda node: resolve(_extended(node, scope), scope)).expand(dict(root))
    assert isinstance(looped, dict)
    scope.root = looped
    made = {
        key: value if key in ("Parameters", "Mappings", "Transform") else _extended(value, scope)
        for key, value in looped.items()
    }
    resources = made.get("Resources")
    for resource in resources.values() if isinstance(resources, dict) else ():
        for policy in _POLICIES if isinstance(resource, dict) else ():
            if isinstance(resource, dict) and isinstance(resource.get(policy), dict):
                resource[policy] = resolve(resource[policy], scope)
    return made


def resolved_early(
    node: Node, root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> Node:
    """Resolve a value of a template before there is a stack. Errors: TemplateError (it needs the stack's resources)."""
    return resolve(node, _Scope(root, parameters, pseudo))


class _Scope:
    """The scope before there is a stack: parameters, pseudo parameters, mappings, conditions."""

    def __init__(
        self, root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
    ) -> None:
        self.root = root
        self._parameters = parameters
        self._pseudo = pseudo
        self._conditions: dict[str, bool] | None = None

    @property
    def pseudo(self) -> PseudoParameters:
        return self._pseudo

    @property
    def mappings(self) -> Mapping[str, Mapping[str, Mapping[str, Node]]]:
        found: dict[str, dict[str, dict[str, Node]]] = {}
        for name, mapping in _object(self.root.get("Mappings")).items():
            found[name] = {key: _object(values) for key, values in _object(mapping).items()}
        return found

    @property
    def conditions(self) -> Mapping[str, bool]:
        if self._conditions is None:
            template = Template({}, {}, self.mappings, _object(self.root.get("Conditions")), {}, {}, {})
            self._conditions = evaluate_conditions(template, self._parameters, self._pseudo)
        return self._conditions

    def ref(self, name: str) -> Node:
        if name not in self._parameters:
            raise _NotYet(f"Template error: {name} is not known before its stack is made")
        value = self._parameters[name]
        return value if isinstance(value, str) else list(value)

    def get_att(self, logical_id: str, attribute: str) -> Node:
        raise _NotYet(f"Template error: {logical_id}.{attribute} is not known before its stack is made")

    def import_value(self, name: str) -> Node:
        raise _NotYet(f"Template error: the export {name} is not known before its stack is made")


def _object(node: object) -> dict[str, Node]:
    return node if isinstance(node, dict) else {}


def _extended(node: Node, scope: _Scope) -> Node:
    """A value with the functions of the extensions replaced by their results, from the inside outwards."""
    if isinstance(node, list):
        return [_extended(item, scope) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) != 1:
        return {key: _extended(value, scope) for key, value in node.items()}
    [(name, argument)] = node.items()
    argument = _extended(argument, scope)
    match name, argument:
        case "Fn::Length", _:
            return _length(argument, scope)
        case "Fn::ToJsonString", _:
            return _json_text(argument, scope)
        case "Fn::FindInMap", [first, second, third, {"DefaultValue": default}]:
            return _found(first, second, third, default, scope)
        case "Fn::FindInMap", [_, _, _] if any(isinstance(part, dict) for part in argument):
            return _if_known({name: argument}, scope)
        case "Ref", dict():
            return {name: resolve(argument, scope)}
        case "Fn::GetAtt", [dict() as logical_id, attribute]:
            return {name: [resolve(logical_id, scope), attribute]}
        case _:
            return {name: argument}


def _if_known(node: Node, scope: _Scope) -> Node:
    try:
        return resolve(node, scope)
    except _NotYet:
        return node


def _length(argument: Node, scope: _Scope) -> Node:
    # The length of a list does not depend on values that are not known yet.
    found = argument if isinstance(argument, list) else resolve(argument, scope)
    if not isinstance(found, list):
        raise TemplateError("Fn::Length is incorrectly set: it needs a list")
    return len(found)


def _found(first: Node, second: Node, third: Node, default: Node, scope: _Scope) -> Node:
    """The value in a mapping, or the default if the key is missing."""
    name, key, attribute = (str(resolve(part, scope)) for part in (first, second, third))
    return scope.mappings.get(name, {}).get(key, {}).get(attribute, default)


def _json_text(argument: Node, scope: _Scope) -> Node:
    """A value as compact JSON. A Sub inserts the parts that are not known yet."""
    if not isinstance(argument, dict | list):
        raise TemplateError("Fn::ToJsonString is incorrectly set: it needs an object or a list")
    later: dict[str, Node] = {}
    text = _JsonText(scope, later).write(argument)
    return {"Fn::Sub": [text, later]} if later else text.replace("${!", "${")


class _JsonText:
    """Writes JSON as the text of a Sub; `later` collects the Sub's variables."""

    def __init__(self, scope: _Scope, later: dict[str, Node]) -> None:
        self._scope = scope
        self._later = later

    def write(self, node: Node) -> str:
        match node:
            case dict() if len(node) == 1 and _is_call(next(iter(node))):
                return self._call(node)
            case dict():
                members = (
                    f"{_dumped(key)}:{self.write(value)}" for key, value in node.items() if value != {"Ref": NO_VALUE}
                )
                return f"{{{','.join(members)}}}"
            case list():
                return f"[{','.join(self.write(item) for item in node if item != {'Ref': NO_VALUE})}]"
            case _:
                return _dumped(node)

    def _call(self, node: dict[str, Node]) -> str:
        if "Condition" in node:
            raise TemplateError("Fn::ToJsonString does not support Condition intrinsic function")
        try:
            return _dumped(resolve(node, self._scope))
        except _NotYet:
            name = f"Later{len(self._later)}"
            self._later[name] = node
            return f'"${{{name}}}"'


def _is_call(name: str) -> bool:
    return name in ("Ref", "Condition") or name.startswith("Fn::")


def _dumped(value: Node) -> str:
    """A known value as JSON; `${` is escaped for Sub."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("${", "${!")
