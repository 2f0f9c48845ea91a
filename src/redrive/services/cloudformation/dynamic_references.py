"""Dynamic references: what AWS replaces by the value of an SSM parameter or of a secret, and what is said of them here.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_OPENING = re.compile(r"\{\{resolve:(?:ssm|ssm-secure|secretsmanager):")


def dynamic_reference(text: str) -> str | None:
    """The first dynamic reference in a text: from its opening to the next brace that closes, if another follows."""
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        closing = text.find("}", opening.end())
        if closing < 0:
            return None
        if text.startswith("}}", closing):
            return text[opening.start() : closing + 2]
        at = closing + 1  # For all openings before it, this is the brace that comes next.
    return None


def dynamic_reference_in(value: object) -> str | None:
    """The first dynamic reference in a value and all that it holds; None if there is none."""
    match value:
        case str():
            return dynamic_reference(value)
        case Mapping():
            return next((found for part in value.values() if (found := dynamic_reference_in(part)) is not None), None)
        case list() | tuple():
            return next((found for part in value if (found := dynamic_reference_in(part)) is not None), None)
        case _:
            return None


def dynamic_reference_refusal(found: str) -> str:
    """What is said of a dynamic reference, which would reach the resource as it is written."""
    service = "Secrets Manager" if found.startswith("{{resolve:secretsmanager:") else "SSM"
    return (
        f"redrive does not serve {service}, so the dynamic reference {found} has no value here. "
        "Put a parameter of the template in its place, and give the value as the parameter's."
    )
