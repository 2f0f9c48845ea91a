"""A plan of Terraform in JSON: its resources, and what their values refer to where only a deployment knows them.

Source: https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from redrive.languages.template import Node

_INDEX = re.compile(r"\[[^\]]*\]")
_DEPTH_MAX = 12
"""How many variables and outputs of modules a reference is followed through."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What an expression refers to: a resource's address, without an index, and the attribute; empty for all of it."""

    address: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A resource of a plan. `module` is the address of its module, without indexes; empty for the root."""

    address: str
    module: str
    type: str
    name: str
    values: Mapping[str, Node]
    expressions: Mapping[str, Node] = field(default_factory=dict)

    @property
    def plain_address(self) -> str:
        """The address without indexes."""
        return _INDEX.sub("", self.address)


class Plan:
    """The resources of a plan, with the data that it has read."""

    def __init__(self, document: Mapping[str, Node]) -> None:
        self._modules: dict[str, Mapping[str, Node]] = {}
        self._calls: dict[str, Mapping[str, Node]] = {}
        configuration = _object(document.get("configuration"))
        self._keep("", _object(configuration.get("root_module")))
        variables = _object(document.get("variables"))
        self.variables = {name: _object(one).get("value") for name, one in variables.items()}
        self.guesses = _object(document.get("guesses"))
        """Values of variables that were made up, where Terraform's files were read instead of a plan."""
        before = _object(_object(document.get("prior_state")).get("values"))
        planned = _object(document.get("planned_values"))
        self.data = list(self._resources(_object(before.get("root_module")), "data"))
        self.resources = list(self._resources(_object(planned.get("root_module")), "managed"))

    def source_of(self, module: str) -> str:
        """Where a module comes from, as the configuration says; empty for the root."""
        source = self._calls.get(module, {}).get("source")
        return source if isinstance(source, str) else ""

    def constant(self, module: str, name: str) -> Node:
        """What the call of a module gives for a variable, if it is written there."""
        expression = _object(_object(self._calls.get(module, {}).get("expressions")).get(name))
        return expression.get("constant_value")

    def references(self, resource: Planned, *path: str | int) -> list[Reference]:
        """The resources that an argument of a resource refers to, through variables and outputs of modules."""
        node = self.written(resource, *path)
        return list(dict.fromkeys(self._followed(resource.module, list(_references_in(node)), 0)))

    def written(self, resource: Planned, *path: str | int) -> Node:
        """What the configuration has for an argument; None if it has nothing."""
        return inside(dict(resource.expressions), path)

    def named(self, module: str, reference: str) -> list[Reference]:
        """The resources behind a reference as it stands in the source of a module."""
        return list(dict.fromkeys(self._followed(module, [reference], 0)))

    def _keep(self, module: str, content: Mapping[str, Node]) -> None:
        self._modules[module] = content
        for name, call in _object(content.get("module_calls")).items():
            inner = f"{module}.module.{name}" if module else f"module.{name}"
            self._calls[inner] = _object(call)
            self._keep(inner, _object(_object(call).get("module")))

    def _resources(self, module: Mapping[str, Node], mode: str) -> Iterator[Planned]:
        address = _INDEX.sub("", str(module.get("address", "")))
        known = {
            str(_object(one).get("address")): _object(_object(one).get("expressions"))
            for one in _list(self._modules.get(address, {}).get("resources"))
        }
        for one in map(_object, _list(module.get("resources"))):
            if one.get("mode") != mode:
                continue
            inner = f"{one['type']}.{one['name']}"
            expressions = known.get(f"data.{inner}" if mode == "data" else inner, {})
            yield Planned(
                str(one["address"]),
                address,
                str(one["type"]),
                str(one["name"]),
                _object(one.get("values")),
                expressions,
            )
        for child in _list(module.get("child_modules")):
            yield from self._resources(_object(child), mode)

    def _followed(self, module: str, references: list[str], depth: int) -> Iterator[Reference]:
        if depth > _DEPTH_MAX:
            return
        # Terraform names `a.b.attribute` and then `a.b`: the longer form says all.
        wanted = [one for one in references if not any(other.startswith(f"{one}.") for other in references)]
        for reference in wanted:
            words = _INDEX.sub("", reference).split(".")
            match words:
                case ["var", name, *keys] if module:
                    call = _object(_object(self._calls.get(module, {}).get("expressions")).get(name))
                    for key in keys:  # Only what is read from Terraform's files says it of each key.
                        call = _object(call[key]) if key in call else call
                    outer = module.rpartition(".module.")[0] if ".module." in module else ""
                    yield from self._followed(outer, list(_references_in(call)), depth + 1)
                case ["module", name, output, *_]:
                    inner = f"{module}.module.{name}" if module else f"module.{name}"
                    outputs = _object(self._modules.get(inner, {}).get("outputs"))
                    expression = _object(outputs.get(output)).get("expression")
                    yield from self._followed(inner, list(_references_in(expression)), depth + 1)
                case ["data", type_name, name, *rest]:
                    yield Reference(".".join(filter(None, [module, "data", type_name, name])), ".".join(rest))
                case [type_name, name, *rest] if "_" in type_name:
                    yield Reference(".".join(filter(None, [module, type_name, name])), ".".join(rest))
                case _:
                    pass


def inside(node: Node, path: Sequence[str | int]) -> Node:
    """The node at the end of a path of names and indexes; None if there is none."""
    for step in path:
        match node, step:
            case dict(), str():
                node = node.get(step)
            case list(), int():
                node = node[step] if step < len(node) else None
            case _:
                node = None
    return node


def _references_in(node: Node) -> Iterator[str]:
    match node:
        case {"references": list(found)}:
            yield from map(str, found)
        case dict():
            for value in node.values():
                yield from _references_in(value)
        case list():
            for member in node:
                yield from _references_in(member)
        case _:
            pass


def _object(node: Node) -> dict[str, Node]:
    return node if isinstance(node, dict) else {}


def _list(node: Node) -> list[Node]:
    return node if isinstance(node, list) else []
