"""Values for parameters of a template that have no default and that nobody has given."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document
from redrive.languages.template import Node
from redrive.prove.guess.variables import guessed_value

_LENGTH = "MinLength"
_LOOKED_UP = "AWS::SSM::Parameter::Value<"
"""The beginning of types whose value is the name of a parameter of Systems Manager."""
_EXAMPLES = {
    "AWS::EC2::Subnet::Id": "subnet-0123456789abcdef0", "AWS::EC2::VPC::Id": "vpc-0123456789abcdef0",
    "AWS::EC2::SecurityGroup::Id": "sg-0123456789abcdef0", "AWS::EC2::KeyPair::KeyName": "sample-key",
    "AWS::Route53::HostedZone::Id": "Z0123456789ABCDEFGHIJ", "AWS::EC2::AvailabilityZone::Name": "us-east-1a",
    "AWS::EC2::Image::Id": "ami-0123456789abcdef0",
}  # fmt: skip


def missing_parameters(root: Mapping[str, Node], given: Mapping[str, str]) -> dict[str, str]:
    """Values by name, from each parameter's allowed values, its type, or its name.

    A parameter whose value AWS would look up in Systems Manager becomes a text of the template.
    """
    declared = root.get("Parameters")
    found = {}
    for name, parameter in declared.items() if isinstance(declared, dict) else ():
        if not isinstance(parameter, dict):
            continue
        type_name = str(parameter.get("Type"))
        if type_name.startswith(_LOOKED_UP):
            parameter["Type"] = type_name.removeprefix(_LOOKED_UP).removesuffix(">")
            parameter.pop("Default", None)
        if name not in given and "Default" not in parameter:
            found[name] = _value(name, parameter)
    return found


def parameters_of(root: Mapping[str, Node], given: Mapping[str, str]) -> dict[str, str]:
    """The values of all parameters: given, or their defaults."""
    declared = root.get("Parameters")
    defaults = {
        name: str(parameter["Default"])
        for name, parameter in (declared.items() if isinstance(declared, dict) else ())
        if isinstance(parameter, dict) and "Default" in parameter
    }
    return {**defaults, **given}


def _value(name: str, parameter: Document) -> str:
    allowed = parameter.get("AllowedValues")
    if isinstance(allowed, list) and allowed:
        return str(allowed[0])
    type_name = str(parameter.get("Type")).removeprefix("List<").removesuffix(">")
    if type_name in _EXAMPLES:
        return _EXAMPLES[type_name]
    if "Number" in type_name:
        return str(parameter.get("MinValue", 1))
    value = guessed_value(name)
    return value.ljust(int(parameter.get(_LENGTH, 0)), "x")
