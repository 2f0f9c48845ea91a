"""Stand-ins: a stack records them in place of resources of unsupported types. They have no effect."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib import resources

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, not_updatable

# Ours: the id of a resource that exists only in its stack, and the size of the cache of stand-in types.
_NAME_LENGTH_MAX = 128
_TYPES_KEPT = 512

_OBSERVING = frozenset(
    {
        "AWS::ApplicationInsights::Application",
        "AWS::CloudWatch::Dashboard",
        "AWS::Logs::QueryDefinition",
        "AWS::ResourceGroups::Group",
        "AWS::XRay::Group",
        "AWS::XRay::SamplingRule",
    }
)
_OBSERVING_PREFIXES = ("AWS::ServiceCatalogAppRegistry::",)


@cache
def _known_types() -> frozenset[str]:
    text = resources.files(__package__).joinpath("known_types.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text))


def is_known_to_aws(type_name: str) -> bool:
    """Whether AWS has a type with this name, in some region."""
    return type_name in _known_types()


def is_third_party(type_name: str) -> bool:
    """Whether a type is a third party's. Each account registers such types itself."""
    return type_name.count("::") == 2 and not type_name.startswith(("AWS::", "Alexa::", "AMZN::"))


def only_observes(type_name: str) -> bool:
    """Whether resources of a type only describe or observe others, so that nothing else differs without them."""
    return type_name in _OBSERVING or type_name.startswith(_OBSERVING_PREFIXES)


@lru_cache(maxsize=_TYPES_KEPT)
def stand_in(type_name: str) -> ResourceType:
    """Return the stand-in type for an unsupported type."""

    def warn(properties: Document) -> str:  # noqa: ARG001 -- the signature of every warning.
        return f"redrive does not serve {type_name}: this resource stands for one, and does nothing."

    return ResourceType(
        name=type_name, properties={}, create=_create, update=not_updatable, delete=_delete, is_open=True,
        attribute_of=made_up, warn=warn,
    )  # fmt: skip


def _create(place: Place, properties: Document) -> Existing:
    return Existing(place.name(None, _NAME_LENGTH_MAX), properties, {})


def _delete(place: Place, existing: Existing) -> None:
    """Nothing to delete: a stand-in exists only in its stack."""


def made_up(place: Place, type_name: str, existing: Existing, attribute: str) -> str:
    """Return an invented attribute of a stand-in, in the form that the name suggests; its addresses lead nowhere.

    Source: https://www.rfc-editor.org/rfc/rfc2606 for names that never exist.
    """
    service = type_name.split("::")[1].lower()
    scope = place.caller.scope
    if attribute.endswith("Arn"):
        return f"arn:aws:{service}:{scope.region}:{scope.account}:{existing.physical_id}"
    if attribute.endswith(("Url", "Endpoint", "DomainName", "Address")):
        host = f"{existing.physical_id.lower()}.{service}.invalid"
        return f"https://{host}/" if attribute.endswith("Url") else host
    return f"{existing.physical_id}-{attribute.replace('.', '-')}"
