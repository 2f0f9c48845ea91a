"""Values for parameters of a template that have no default and that nobody has given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from redrive.core.documents import Document
from redrive.languages.template import TemplateError, read_root
from redrive.prove.guess.variables import guessed_value

_LENGTH = "MinLength"


def missing_parameters(file: Path, given: Mapping[str, object]) -> dict[str, str]:
    """Values by name, from each parameter's allowed values, its type, or its name.

    Nothing for a template that cannot be read: deploying it tells why.
    """
    try:
        declared = read_root(file.read_text("utf-8")).get("Parameters")
    except (OSError, UnicodeDecodeError, TemplateError):
        return {}
    return {
        name: _value(name, parameter)
        for name, parameter in (declared.items() if isinstance(declared, dict) else ())
        if isinstance(parameter, dict) and "Default" not in parameter and name not in given
    }


def _value(name: str, parameter: Document) -> str:
    allowed = parameter.get("AllowedValues")
    if isinstance(allowed, list) and allowed:
        return str(allowed[0])
    if "Number" in str(parameter.get("Type")):
        return str(parameter.get("MinValue", 1))
    value = guessed_value(name)
    return value.ljust(int(parameter.get(_LENGTH, 0)), "x")
