"""The transform AWS::Serverless-2016-10-31, carried out by the translator that AWS publishes.

The first such template imports the translator, which takes half a second. Servers without SAM templates do not need the
package.
Source: https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification.html
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

from redrive.languages.template import ParameterValue, PseudoParameters
from redrive.languages.template.source import Node
from redrive.services.cloudformation.transforms.failure import TransformFailure

NAME = "AWS::Serverless-2016-10-31"

INTERNAL_FAILURE = "Internal transform failure."
"""AWS's message for an unexpected error inside the translator."""

NOT_INSTALLED = (
    "the translator of SAM templates is not installed where redrive runs. Install it with: pip install 'redrive[sam]'"
)
_VERSION = re.compile(r"""^__version__ = ['"]([^'"]+)['"]""", re.MULTILINE)
_APPLICATION = "AWS::Serverless::Application"


def translate(
    root: Mapping[str, Node], parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> dict[str, Node]:
    """Translate a SAM template to plain CloudFormation. Errors: TransformFailure, with SAM's message."""
    try:
        from redrive.services.cloudformation.transforms.translator import (  # noqa: PLC0415 - It takes half a second.
            InternalFailure,
            RefusedBySam,
            run_translator,
        )
    except ImportError:
        raise TransformFailure(NAME, NOT_INSTALLED) from None
    _refuse_applications(root)
    try:
        return run_translator(root, parameters, pseudo)
    except RefusedBySam as error:
        raise TransformFailure(NAME, str(error)) from None
    except InternalFailure:
        raise TransformFailure(NAME, INTERNAL_FAILURE) from None


def translator_version() -> str:
    """The version of the translator, from its text, without importing it; empty if it is not installed."""
    spec = importlib.util.find_spec("samtranslator")
    text = Path(spec.origin).read_text("utf-8") if spec is not None and spec.origin is not None else ""
    found = _VERSION.search(text)
    return "" if found is None else found[1]


def _refuse_applications(root: Mapping[str, Node]) -> None:
    """Refuse applications of the Serverless Application Repository, which the translator would download from AWS."""
    resources = root.get("Resources")
    for name, resource in resources.items() if isinstance(resources, dict) else ():
        if not isinstance(resource, dict) or resource.get("Type") != _APPLICATION:
            continue
        properties = resource.get("Properties")
        if not isinstance(properties, dict) or not isinstance(properties.get("Location"), str):
            raise TransformFailure(
                NAME,
                f"Resource with id [{name}] is invalid. Applications of the Serverless Application Repository are not "
                "available in redrive.",
            )
