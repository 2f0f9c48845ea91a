"""The definitions of state machines in a file: the file itself, or the machines of a template. Needs no server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from redrive.cli.template_rules import Names, plan_of
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError, UserError
from redrive.core.scope import Scope
from redrive.languages.template import Node, TemplateError, read_root, resolve
from redrive.packaging.template import take_in_definitions
from redrive.services.cloudformation.templates import Plan

MACHINE = "AWS::StepFunctions::StateMachine"
SCOPE: Final = Scope("000000000000", "us-east-1")
_SUBSTITUTION = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
_FUNCTIONS = ("AWS::Lambda::Function", "AWS::Lambda::Version", "AWS::Lambda::Alias")


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in JSON, and how the user knows the machine."""

    name: str
    text: str


def definitions_of_file(file: Path, given: Sequence[str] = ()) -> Sequence[Definition]:
    """The definitions in a file, which is a definition in JSON or YAML, or a template. `given` are NAME=VALUE.

    Errors: UserError.
    """
    try:
        text = file.read_text("utf-8")
        root = read_root(text)
        if "Resources" not in root:
            # JSON stays as it is written: the diagnostics of its faults name lines.
            return [Definition(str(file), text if text.lstrip().startswith("{") else dump_json(root))]
        return _of_template(file, root, _parameters(given))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read: {error}.", exit_code=2) from error
    except (TemplateError, ServiceError) as error:
        raise UserError(f"{file} cannot be used: {error.message}", exit_code=2) from error


def _of_template(file: Path, root: dict[str, Node], parameters: Mapping[str, str]) -> Sequence[Definition]:
    take_in_definitions(root, file.parent)
    plan = plan_of(file, root, parameters, SCOPE)
    machines = [name for name in plan.active.resources if plan.template.resources[name].type == MACHINE]
    if not machines:
        raise UserError(f"{file} has no state machine.", next_step=f"They are resources of the type {MACHINE}.")
    return [Definition(f"{file}: {name}", _definition(file, plan, name)) for name in machines]


def _definition(file: Path, plan: Plan, logical_id: str) -> str:
    """The definition of a machine with its substitutions. Errors: UserError."""
    properties = resolve(dict(plan.template.resources[logical_id].properties), _Arns(plan))
    assert isinstance(properties, dict), "properties are an object"
    if properties.get("DefinitionString"):
        text = str(properties["DefinitionString"])
    elif properties.get("Definition"):
        text = dump_json(properties["Definition"])
    else:
        what = f"{file}: the definition of {logical_id} is not in the template or beside it."
        raise UserError(what, next_step="Give the file with the definition itself.", exit_code=2)
    named = properties.get("DefinitionSubstitutions")
    values: Document = named if isinstance(named, dict) else {}
    return _SUBSTITUTION.sub(lambda found: str(values.get(found[1], found[0])), text)


def _parameters(given: Sequence[str]) -> Mapping[str, str]:
    for one in given:
        if "=" not in one:
            raise UserError(f"--parameter {one} has no value.", next_step="Write NAME=VALUE.", exit_code=2)
    return dict(one.split("=", 1) for one in given)


class _Arns(Names):
    """Resolves references to ARNs as they would be."""

    def get_att(self, logical_id: str, attribute: str) -> Node:
        """An ARN of the kind that the resource has; any other attribute by its name."""
        name = super().get_att(logical_id, attribute)
        kind = self._plan.template.resources[logical_id].type
        if attribute not in ("Arn", "FunctionArn", "TopicArn"):
            return name
        service, before = ("lambda", "function:") if kind in _FUNCTIONS else (kind.split("::")[1].lower(), "")
        return f"arn:aws:{service}:{SCOPE.region}:{SCOPE.account}:{before}{name}"
