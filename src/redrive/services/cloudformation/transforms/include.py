"""The transform AWS::Include: a part of a template that lies in S3.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-include.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redrive.core.errors import ServiceError
from redrive.languages.template import Node, ParameterValue, PseudoParameters, TemplateError, read_root
from redrive.languages.template.extensions import resolved_early
from redrive.languages.template.transforms import CALL, Transform, fragment_of, replaced
from redrive.services.cloudformation.locations import BadLocation, Location, locate_uri
from redrive.services.cloudformation.transforms.failure import TransformFailure

NAME = "AWS::Include"

Fetch = Callable[[Location], str]
"""Returns the text of an object. Errors: BadLocation; ServiceError (S3's)."""


def nothing_to_fetch(location: Location) -> str:
    """The `Fetch` of those who read a template without a server."""
    raise BadLocation(f"s3://{location.bucket}/{location.key} can be read only by a server, when the stack is made.")


def include(
    root: dict[str, Node], transform: Transform, parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters,
    fetch: Fetch,
) -> Node:  # fmt: skip
    """Return the template with what the transform includes, beside what stands there already.

    Errors: TransformFailure; TemplateError (the location uses a value that is known later).
    """
    location = resolved_early(transform.parameters.get("Location"), root, parameters, pseudo)
    found = locate_uri(location) if isinstance(location, str) else None
    if found is None:
        raise TransformFailure(NAME, "The location parameter is not a valid S3 uri.")
    try:
        included = read_root(fetch(found))
    except BadLocation as error:
        raise TransformFailure(NAME, error.message) from None
    except ServiceError as error:
        raise TransformFailure(NAME, f"S3 Error Code: {error.code}. S3 Error Message: {error.message}") from None
    except TemplateError:
        raise TransformFailure(NAME, "The specified S3 object's content should be valid Yaml/JSON") from None
    if CALL in included:
        raise TransformFailure(NAME, f"{NAME} transforms cannot be nested in what they include.")
    fragment = fragment_of(root, transform)
    siblings = fragment if isinstance(fragment, dict) else {}
    return replaced(root, transform, _merged(siblings, included, is_template=not transform.is_embedded))


def _merged(fragment: dict[str, Node], included: dict[str, Node], *, is_template: bool) -> dict[str, Node]:
    """What is included goes beside what is there; for a whole template, section by section."""
    if not is_template:
        return {**fragment, **included}
    merged = dict(fragment)
    for name, section in included.items():
        old = merged.get(name)
        merged[name] = {**old, **section} if isinstance(old, dict) and isinstance(section, dict) else section
    return merged
