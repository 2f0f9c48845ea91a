"""The intrinsic functions: their names, the shapes of their arguments, and the error message for each shape.

It knows shapes, not values: `resolve` computes results, `references` finds names.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.source import Node

FUNCTIONS = (
    "Fn::Base64",
    "Fn::GetAtt",
    "Fn::GetAZs",
    "Fn::ImportValue",
    "Fn::Join",
    "Fn::Split",
    "Fn::FindInMap",
    "Fn::Select",
    "Ref",
    "Fn::Equals",
    "Fn::If",
    "Fn::Not",
    "Condition",
    "Fn::And",
    "Fn::Or",
    "Fn::Contains",
    "Fn::EachMemberEquals",
    "Fn::EachMemberIn",
    "Fn::ValueOf",
    "Fn::ValueOfAll",
    "Fn::RefAll",
    "Fn::Sub",
    "Fn::Cidr",
)

JOIN_SHAPE = (
    "Template error: every Fn::Join object requires two parameters, (1) a string delimiter and "
    "(2) a list of strings to be joined or a function that returns a list of strings "
    "(such as Fn::GetAZs) to be joined."
)
SELECT_SHAPE = "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"
CIDR_SHAPE = (
    "Template error: every Fn::Cidr object requires three parameters, "
    "(1) an IP address block, (2) the number of CIDRs and (3) the number of CIDR bits"
)

_SUB_NAME = re.compile(r"[A-Za-z0-9_.:]+")


def function_of(node: Node) -> tuple[str, Node] | None:
    """The name and argument of a function call, or None if the node is a plain value.

    Errors: TemplateError for an unknown function, and for a function beside other keys in one object.
    """
    if not isinstance(node, dict):
        return None
    for name, argument in node.items():
        if name != "Ref" and not name.startswith("Fn::"):
            continue
        if name == "Fn::Transform":
            raise TemplateError("Template error: Fn::Transform has not been carried out here.")
        if name not in FUNCTIONS:
            supported = ", ".join(FUNCTIONS)
            raise TemplateError(
                f"Template error: Encountered unsupported function: {name} Supported functions are: [{supported}]"
            )
        if len(node) == 1:
            return name, argument
        if name.startswith("Fn::"):
            raise TemplateError(f"Template error: {name} must be the only key of its object")
    return None


def ref_name(argument: Node) -> str:
    """The name in a Ref."""
    if not isinstance(argument, str) or not argument:
        raise TemplateError("Template error: every Ref object must have a single String value.")
    return argument


def get_att_arguments(argument: Node) -> tuple[str, Node]:
    """The logical id and the attribute of a GetAtt; the attribute may be a function."""
    match argument:
        case str():
            logical_id, _, attribute = argument.partition(".")
            if logical_id and attribute:
                return logical_id, attribute
            raise TemplateError(
                "Template error: if specifying one argument to Fn::GetAtt, "
                "that argument must be a non-empty string in format <LogicalId>.<Attribute>"
            )
        case [str() as logical_id, str() | dict() as attribute] if logical_id and attribute:
            return logical_id, attribute
        case [str() as logical_id, *attributes] if len(attributes) > 1:
            # !GetAtt [Stack, Outputs, Name] means the attribute Outputs.Name of Stack.
            return logical_id, ".".join(map(str, attributes))
        case _:
            raise TemplateError(
                "Template error: every Fn::GetAtt object requires two non-empty parameters, "
                "the resource name and the resource attribute"
            )


def if_arguments(argument: Node) -> tuple[str, Node, Node]:
    """The condition's name and the two branches of an If."""
    match argument:
        case [str() as condition, then, otherwise]:
            return condition, then, otherwise
        case [str(), *_]:
            raise TemplateError("Template error: Fn::If requires a list argument with three elements")
        case _:
            raise TemplateError(
                "Template error: Fn::If requires a list argument with the first element being a condition"
            )


def find_in_map_arguments(argument: Node) -> tuple[Node, Node, Node]:
    """The map's name and the two keys of a FindInMap."""
    match argument:
        case [name, first, second]:
            return name, first, second
        case _:
            raise TemplateError(
                "Template error: every Fn::FindInMap object requires three parameters, "
                "the map name, map key and the attribute for return value"
            )


def join_arguments(argument: Node) -> tuple[str, Node]:
    """The delimiter and the list of a Join; the list may be a function."""
    match argument:
        case [str() as delimiter, list() | dict() as items]:
            return delimiter, items
        case _:
            raise TemplateError(JOIN_SHAPE)


def split_arguments(argument: Node) -> tuple[str, Node]:
    """The delimiter and the text of a Split."""
    match argument:
        case [str() as delimiter, str() | dict() as text] if delimiter:
            return delimiter, text
        case _:
            raise TemplateError(
                "Template error: every Fn::Split object requires two parameters, (1) a string delimiter and "
                "(2) a string to be split or a function that returns a string to be split."
            )


def select_arguments(argument: Node) -> tuple[Node, Node]:
    """The index and the list of a Select; both may be functions."""
    match argument:
        case [str() | int() | dict() as index, list() | dict() as items]:
            return index, items
        case _:
            raise TemplateError(SELECT_SHAPE)


def sub_arguments(argument: Node) -> tuple[str, dict[str, Node]]:
    """The text and the map of a Sub; the map is empty if not given."""
    match argument:
        case str():
            return argument, {}
        case [str() as text]:
            return text, {}
        case [str() as text, dict() as values]:
            return text, values
        case _:
            raise TemplateError(
                "Template error: One or more Fn::Sub intrinsic functions don't specify expected arguments. "
                "Specify a string as first argument, and an optional second argument to specify a mapping of "
                "values to replace in the string"
            )


def cidr_arguments(argument: Node) -> tuple[Node, Node, Node]:
    """The block, the count and the bits of a Cidr."""
    match argument:
        case [block, count, bits]:
            return block, count, bits
        case _:
            raise TemplateError(CIDR_SHAPE)


def sub_pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """A Sub's text in pieces: the plain text before each variable, and the variable's name.

    The last piece has no name. `${!x}` is the plain text `${x}`.
    """
    plain: list[str] = []
    position = 0
    while (opening := text.find("${", position)) >= 0:
        closing = text.find("}", opening)
        if closing < 0:
            break  # Nothing after this is closed: the rest is plain text, however many `${` it has.
        plain.append(text[position:opening])
        position = closing + 1
        name = text[opening + 2 : closing]
        if name.startswith("!"):
            plain.append("${" + name[1:] + "}")
            continue
        if not _SUB_NAME.fullmatch(name.strip()):
            raise TemplateError(
                "Template error: variable names in Fn::Sub syntax must contain only alphanumeric characters, "
                "underscores, periods, and colons"
            )
        yield "".join(plain), name.strip()
        plain = []
    yield "".join(plain) + text[position:], None
