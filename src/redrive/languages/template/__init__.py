"""CloudFormation templates: parses and checks them, decides their conditions, orders and resolves their resources.

Pure: text and values in, values out. It must not know stacks, resource types or stores.
"""

from __future__ import annotations

from redrive.languages.template.active import ActiveTemplate, activate
from redrive.languages.template.declarations import resolve_parameters
from redrive.languages.template.errors import TemplateError
from redrive.languages.template.load import load_declared, load_template, read_root
from redrive.languages.template.model import Output, Parameter, ParameterValue, Resource, Template
from redrive.languages.template.order import dependencies, dependency_order
from redrive.languages.template.pseudo import PSEUDO_PARAMETERS, PseudoParameters
from redrive.languages.template.resolve import ResolutionScope, resolve
from redrive.languages.template.source import Node

__all__ = [
    "PSEUDO_PARAMETERS",
    "ActiveTemplate",
    "Node",
    "Output",
    "Parameter",
    "ParameterValue",
    "PseudoParameters",
    "ResolutionScope",
    "Resource",
    "Template",
    "TemplateError",
    "activate",
    "dependencies",
    "dependency_order",
    "load_declared",
    "load_template",
    "read_root",
    "resolve",
    "resolve_parameters",
]
