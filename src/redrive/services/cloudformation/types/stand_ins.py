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
        "AWS::Logs::QueryDefinition",
        "AWS::ResourceGroups::Group",
        "AWS::XRay::Group",
        "AWS::XRay::SamplingRule",
    }
)
_SHIFTING = frozenset({"AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup"})
"""They say how slowly an alias moves to a new version: SAM's DeploymentPreference makes them. Here it moves at once."""

_OBSERVING_PREFIXES = ("AWS::ServiceCatalogAppRegistry::",)


# Ref gives their ARN. Other resources take it for one: a function's permission names a topic so.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/ the page of each, "Return values".
_KNOWN_BY_ARN = frozenset(
    {
        "AWS::Batch::ComputeEnvironment",
        "AWS::Batch::JobDefinition",
        "AWS::Batch::JobQueue",
        "AWS::CertificateManager::Certificate",
        "AWS::ECS::Service",
        "AWS::ECS::TaskDefinition",
        "AWS::ElasticLoadBalancingV2::Listener",
        "AWS::ElasticLoadBalancingV2::LoadBalancer",
        "AWS::ElasticLoadBalancingV2::TargetGroup",
        "AWS::MSK::Cluster",
        "AWS::SecretsManager::Secret",
    }
)

# Whoever takes an ARN may ask for its form, as a rule does of its targets: the service in it, and what stands before
# the name. By type, or by type and attribute.
# https://docs.aws.amazon.com/service-authorization/latest/reference/ the page of each, "Resource types".
_ARN_FORMS = {
    "AWS::AppSync::GraphQLApi": ("appsync", "apis/"),
    "AWS::AppSync::GraphQLApi.GraphQLEndpointArn": ("appsync", "endpoints/graphql-api/"),
    "AWS::Batch::ComputeEnvironment": ("batch", "compute-environment/"),
    "AWS::Batch::JobDefinition": ("batch", "job-definition/"),
    "AWS::Batch::JobQueue": ("batch", "job-queue/"),
    "AWS::CodeBuild::Project": ("codebuild", "project/"),
    "AWS::ECS::Cluster": ("ecs", "cluster/"),
    "AWS::ECS::Service": ("ecs", "service/"),
    "AWS::ECS::TaskDefinition": ("ecs", "task-definition/"),
    "AWS::KinesisFirehose::DeliveryStream": ("firehose", "deliverystream/"),
}


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
    """Whether resources of a type only describe, observe or slow down others: nothing else differs without them."""
    return type_name in _OBSERVING or type_name in _SHIFTING or type_name.startswith(_OBSERVING_PREFIXES)


def _arn(place: Place, type_name: str, name: str, attribute: str = "") -> str:
    scope = place.caller.scope
    plain = (type_name.split("::")[1].lower(), "")
    service, prefix = _ARN_FORMS.get(f"{type_name}.{attribute}") or _ARN_FORMS.get(type_name, plain)
    return f"arn:aws:{service}:{scope.region}:{scope.account}:{prefix}{name}"


@lru_cache(maxsize=_TYPES_KEPT)
def stand_in(type_name: str) -> ResourceType:
    """Return the stand-in type for an unsupported type."""

    def create(place: Place, properties: Document) -> Existing:
        name = place.name(None, _NAME_LENGTH_MAX)
        return Existing(_arn(place, type_name, name) if type_name in _KNOWN_BY_ARN else name, properties, {})

    def warn(properties: Document) -> str:  # noqa: ARG001 -- the signature of every warning.
        return f"redrive does not serve {type_name}: this resource stands for one, and does nothing."

    return ResourceType(
        name=type_name, properties={}, create=create, update=not_updatable, delete=_delete, is_open=True,
        attribute_of=made_up, warn=warn,
    )  # fmt: skip


def _delete(place: Place, existing: Existing) -> None:
    """Nothing to delete: a stand-in exists only in its stack."""


def made_up(place: Place, type_name: str, existing: Existing, attribute: str) -> str:
    """Return an invented attribute of a stand-in, in the form that the name suggests; its addresses lead nowhere.

    Source: https://www.rfc-editor.org/rfc/rfc2606 for names that never exist.
    """
    service = type_name.split("::")[1].lower()
    if attribute.endswith("Arn"):
        is_arn = existing.physical_id.startswith("arn:")
        return existing.physical_id if is_arn else _arn(place, type_name, existing.physical_id, attribute)
    if attribute.endswith(("Url", "Endpoint", "DomainName", "Address")):
        host = f"{existing.physical_id.lower()}.{service}.invalid"
        return f"https://{host}/" if attribute.endswith("Url") else host
    return f"{existing.physical_id}-{attribute.replace('.', '-')}"
