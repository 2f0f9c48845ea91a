"""Parses a template's text, YAML or JSON, into plain values in source order.

Every scalar that is not clearly a number, a Boolean or null is a string: dates and versions stay as they are
written. The short forms of functions (`!Ref x`) become their long forms (`{"Ref": "x"}`).
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html
"""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn, TypeAlias

import yaml

from redrive.core.documents import refuse_half_pairs
from redrive.languages.template.errors import TemplateError

Node: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"

SHORT_FORMS = frozenset(
    {
        "And",
        "Base64",
        "Cidr",
        "Condition",
        "Equals",
        "FindInMap",
        "GetAZs",
        "GetAtt",
        "If",
        "ImportValue",
        "Join",
        "Not",
        "Or",
        "Ref",
        "Select",
        "Split",
        "Sub",
        "Transform",
    }
)
_YAML_TAG = "tag:yaml.org,2002:"
_WITHOUT_PREFIX = frozenset({"Condition", "Ref"})

DEPTH_MAX = 100
"""The most levels of nesting; deeper templates are refused before they exhaust the stack."""


def read_source(text: str) -> Node:
    """Parse the text of a template. A text that begins with `{` is JSON, everything else YAML.

    Of a repeated key in one object, the last value counts.

    Errors: TemplateError if it is not well-formed, or uses a YAML alias.
    """
    node = _read_json(text) if text.lstrip().startswith("{") else _read_yaml(text)
    _check_depth(node, DEPTH_MAX)
    try:
        refuse_half_pairs(node)
    except ValueError:
        raise TemplateError("Template format error: a text has half of a surrogate pair.") from None
    return node


def _check_depth(node: Node, levels: int) -> None:
    if levels < 0:
        raise _too_deep()
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for value in inner:
        _check_depth(value, levels - 1)


def _too_deep() -> TemplateError:
    return TemplateError(f"Template format error: the template is nested deeper than {DEPTH_MAX} levels.")


def _read_json(text: str) -> Node:
    try:
        node: Node = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        place = f"(line {error.lineno}, column {error.colno})"
        raise TemplateError(f"Template format error: JSON not well-formed. {place}") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise TemplateError(f"Template format error: JSON not well-formed. ({error})") from None
    return node


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read_yaml(text: str) -> Node:
    try:
        root = _Loader(text).get_single_node()
        return None if root is None else _plain(root)
    except yaml.MarkedYAMLError as error:
        raise _not_well_formed(error.problem_mark) from None
    except yaml.YAMLError:
        raise _not_well_formed(None) from None
    except RecursionError:
        raise _too_deep() from None


def compose(text: str) -> yaml.Node | None:
    """The nodes of a text with their places; JSON is close enough to YAML. Errors: yaml.YAMLError; TemplateError."""
    node: yaml.Node | None = _Loader(text).get_single_node()
    return node


def _not_well_formed(mark: yaml.Mark | None) -> TemplateError:
    place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return TemplateError(f"Template format error: YAML not well-formed.{place}")


class _Loader(yaml.SafeLoader):
    """PyYAML's parser with CloudFormation's rules for scalars, and without aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise TemplateError("Template error: YAML aliases are not allowed in CloudFormation templates.")
        return super().compose_node(parent, index)

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        """Open a flow collection, but not inside too many: for each further token PyYAML looks at all open ones."""
        if self.flow_level > DEPTH_MAX:
            raise _too_deep()
        super().fetch_flow_collection_start(token)


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    # Digits after a leading zero are an account id or a code, not an octal number.
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"{_YAML_TAG}{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _plain(node: yaml.Node) -> Node:
    value = _untagged(node)
    tag = str(node.tag)
    return _long_form(tag[1:], value, node) if tag.startswith("!") else value


def _untagged(node: yaml.Node) -> Node:
    match node:
        case yaml.MappingNode():
            return _mapping(node)
        case yaml.SequenceNode():
            return [_plain(item) for item in node.value]
        case _:
            return _scalar(node)


def _mapping(node: yaml.MappingNode) -> dict[str, Node]:
    mapping: dict[str, Node] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _not_well_formed(key_node.start_mark)
        mapping[key_node.value] = _plain(value_node)
    return mapping


def _scalar(node: yaml.Node) -> Node:
    text = str(node.value)
    try:
        match str(node.tag).removeprefix(_YAML_TAG):
            case "bool":
                return text.lower() in ("yes", "true", "on")
            case "int":
                return int(text)
            case "float":
                return _finite(text)
            case "null":
                return None
            case _:
                return text
    except ValueError:
        raise _not_well_formed(node.start_mark) from None


def _long_form(name: str, value: Node, node: yaml.Node) -> Node:
    if name not in SHORT_FORMS:
        raise _not_well_formed(node.start_mark)
    if name == "GetAtt" and isinstance(value, str):
        logical_id, dot, attribute = value.partition(".")
        value = [logical_id, attribute] if dot else value
    return {name if name in _WITHOUT_PREFIX else f"Fn::{name}": value}
