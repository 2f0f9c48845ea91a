"""The functions of a template: their code, and what feeds each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.languages.template import Node
from redrive.prove.project.nodes import items_of, mentioned, properties_of, resources_of, text_of

FUNCTION = "AWS::Lambda::Function"
MAPPING = "AWS::Lambda::EventSourceMapping"
RULE = "AWS::Events::Rule"
SCHEDULE = "AWS::Scheduler::Schedule"
BUCKET = "AWS::S3::Bucket"
SUBSCRIPTION = "AWS::SNS::Subscription"
TOPIC = "AWS::SNS::Topic"
PERMISSION = "AWS::Lambda::Permission"
_QUALIFIED = ("AWS::Lambda::Alias", "AWS::Lambda::Version")
_STATE_MACHINE = "AWS::StepFunctions::StateMachine"
_SOURCES = {
    "AWS::SQS::Queue": "sqs", "AWS::Kinesis::Stream": "kinesis", "AWS::DynamoDB::Table": "dynamodb",
    "AWS::DynamoDB::GlobalTable": "dynamodb",
}  # fmt: skip
_TOLD_OF_SOURCES = {"sqs": "queue", "kinesis": "stream", "dynamodb": "stream of the table"}
_CALLERS = {
    "apigateway.amazonaws.com": "an API", "elasticloadbalancing.amazonaws.com": "a load balancer",
    "cognito-idp.amazonaws.com": "Cognito", "iot.amazonaws.com": "a rule of IoT",
    "logs.amazonaws.com": "a subscription to logs", "config.amazonaws.com": "AWS Config",
    "ses.amazonaws.com": "SES", "secretsmanager.amazonaws.com": "Secrets Manager",
    "bedrock.amazonaws.com": "an agent of Bedrock", "lex.amazonaws.com": "Lex", "alexa-appkit.amazon.com": "Alexa",
    "vpc-lattice.amazonaws.com": "VPC Lattice", "codepipeline.amazonaws.com": "CodePipeline",
}  # fmt: skip
"""Services that call a function, by the principal of the permission that they need."""
_CALLING_TYPES = (
    ("AWS::ApiGateway", "an API"), ("AWS::Lambda::Url", "its URL"), ("AWS::AppSync::", "a GraphQL API"),
    ("AWS::Cognito::UserPool", "Cognito"), ("AWS::ElasticLoadBalancingV2::", "a load balancer"),
    ("AWS::CloudFront::", "CloudFront"), ("AWS::SecretsManager::RotationSchedule", "Secrets Manager"),
    ("AWS::Logs::SubscriptionFilter", "a subscription to logs"), ("AWS::IoT::", "a rule of IoT"),
    ("AWS::KinesisFirehose::", "a delivery stream"), ("AWS::Pipes::", "a pipe"), ("AWS::Bedrock::", "Bedrock"),
    ("AWS::CloudFormation::CustomResource", "a custom resource"), ("Custom::", "a custom resource"),
)  # fmt: skip
"""Types of resources that call functions which they mention, by the beginning of their names."""
_OF_CDK = re.compile(
    r"^(CustomCDKBucketDeployment|Custom\w*CustomResourceProvider|BucketNotificationsHandler|LogRetention)[0-9A-Za-z]{8,}$"
)
_TOLD_BY_CDK = re.compile(r"^AWS CDK |\(@aws-cdk/")
"""How functions are called and described that the CDK adds by itself."""
_ORDER = ("sqs", "dynamodb", "kinesis", "eventbridge", "s3", "topic", "schedule", "task", "caller")


@dataclass(frozen=True, slots=True)
class Feed:
    """What gives a function its events.

    `kind` is a value of `_ORDER`; `told` names it to the user; `resource` is the logical id of the mapping, the rule or
    the schedule. `source` is the logical id of the queue or the stream, empty if the template does not have it.
    """

    kind: str
    told: str
    resource: str = ""
    source: str = ""
    is_implied: bool = False
    """Whether only a permission tells of it."""
    key: tuple[str, str] = ("", "")
    """How the names of objects begin and end that a bucket tells of."""


@dataclass(frozen=True, slots=True)
class ProjectFunction:
    """A function as a template declares it; `code` is a directory, a file or an archive."""

    logical_id: str
    handler: str
    runtime: str
    is_image: bool
    is_inline: bool
    code: Path | None
    layers: tuple[Path, ...]
    feeds: tuple[Feed, ...]
    is_of_cdk: bool = False
    """Whether the CDK has added it by itself: nobody of the project has written it."""

    @property
    def is_python(self) -> bool:
        """Whether it runs Python; one whose runtime is not known may do so."""
        return not self.runtime or self.runtime.startswith("python")

    @property
    def feed(self) -> Feed:
        """What feeds it, first those that deliver again by themselves."""
        return self.feeds[0] if self.feeds else Feed("caller", "nothing in the template invokes it")

    def feed_of(self, kind: str) -> Feed | None:
        """The first of its feeds of this kind."""
        return next((feed for feed in self.feeds if feed.kind == kind), None)


def functions_of(
    root: Mapping[str, Node], code: Mapping[str, Path], layers: Mapping[str, tuple[Path, ...]],
    parameters: Mapping[str, str],
) -> list[ProjectFunction]:  # fmt: skip
    """The functions of a template after its transforms, in its order."""
    feeds = feeds_of(root, parameters)
    found = []
    for name, resource in resources_of(root, FUNCTION):
        properties = properties_of(resource)
        inner = properties.get("Code")
        found.append(
            ProjectFunction(
                name,
                text_of(properties.get("Handler"), parameters),
                text_of(properties.get("Runtime"), parameters),
                properties.get("PackageType") == "Image" or (isinstance(inner, dict) and "ImageUri" in inner),
                isinstance(inner, dict) and "ZipFile" in inner,
                code.get(name),
                layers.get(name, ()),
                tuple(sorted(feeds.get(name, ()), key=_place_of)),
                bool(_OF_CDK.match(name) or _TOLD_BY_CDK.search(str(properties.get("Description", "")))),
            )
        )
    return found


def _place_of(feed: Feed) -> tuple[int, bool]:
    """What delivers again by itself comes first, and of a kind what the template itself has."""
    return _ORDER.index(feed.kind), not feed.resource


def feeds_of(root: Mapping[str, Node], parameters: Mapping[str, str]) -> dict[str, list[Feed]]:
    """What feeds each function, by its logical id."""
    targets = _targets(root)
    feeds: dict[str, list[Feed]] = {name: [] for name, _ in resources_of(root, FUNCTION)}
    for node, feed in _all_feeds(root, parameters):
        for name in dict.fromkeys(targets[one] for one in mentioned(node) if one in targets):
            if feed not in feeds[name]:
                feeds[name].append(feed)
    return {name: _without_implied(found) for name, found in feeds.items()}


def _without_implied(feeds: list[Feed]) -> list[Feed]:
    """What a permission tells of is left out where the template itself has something of that kind."""
    kinds = {feed.kind for feed in feeds if not feed.is_implied}
    return [feed for feed in feeds if not feed.is_implied or feed.kind not in kinds]


def _targets(root: Mapping[str, Node]) -> dict[str, str]:
    """The function behind each logical id of a function, a version or an alias."""
    targets = {name: name for name, _ in resources_of(root, FUNCTION)}
    for _ in _QUALIFIED:  # An alias may name its function by a version.
        for name, resource in resources_of(root, *_QUALIFIED):
            behind = [targets[one] for one in mentioned(properties_of(resource).get("FunctionName")) if one in targets]
            if behind:
                targets[name] = behind[0]
    return targets


def _all_feeds(root: Mapping[str, Node], parameters: Mapping[str, str]) -> Iterator[tuple[Node, Feed]]:
    """Values that name functions, with what feeds these."""
    types = {name: str(resource.get("Type")) for name, resource in resources_of(root)}
    for name, resource in resources_of(root):
        properties, type_name = properties_of(resource), types[name]
        match type_name:
            case "AWS::Lambda::EventSourceMapping":
                yield properties.get("FunctionName"), _of_mapping(name, properties, types, parameters)
            case "AWS::Events::Rule":
                for target in items_of(properties.get("Targets")):
                    if isinstance(target, dict):
                        yield target.get("Arn"), Feed("eventbridge", f"rule {name}", name)
            case "AWS::Scheduler::Schedule":
                target = properties.get("Target")
                yield (
                    target.get("Arn") if isinstance(target, dict) else None,
                    Feed("schedule", f"schedule {name}", name),
                )
            case "AWS::S3::Bucket":
                told = properties.get("NotificationConfiguration")
                for one in items_of(told.get("LambdaConfigurations")) if isinstance(told, dict) else ():
                    yield one, Feed("s3", f"bucket {name}", key=_key_of(one))
            case "AWS::SNS::Subscription" if properties.get("Protocol") == "lambda":
                yield properties.get("Endpoint"), Feed("topic", _named("topic", properties.get("TopicArn"), types))
            case "AWS::SNS::Topic":
                yield properties.get("Subscription"), Feed("topic", f"topic {name}")
            case "AWS::StepFunctions::StateMachine":
                yield properties, Feed("task", f"state machine {name}")
            case "AWS::Lambda::Permission":
                yield properties.get("FunctionName"), _of_permission(properties, types)
            case _:
                caller = next((told for start, told in _CALLING_TYPES if type_name.startswith(start)), "")
                if caller:
                    yield properties, Feed("caller", caller)


def _key_of(configuration: Node) -> tuple[str, str]:
    """The prefix and the suffix of the names that a configuration of a bucket's notifications asks for."""
    node: Node = configuration
    for name in ("Filter", "S3Key", "Rules"):
        node = node.get(name) if isinstance(node, dict) else None
    rules = {str(one.get("Name")).lower(): one.get("Value") for one in items_of(node) if isinstance(one, dict)}
    begin, end = (rules.get(name) for name in ("prefix", "suffix"))
    return begin if isinstance(begin, str) else "", end if isinstance(end, str) else ""


def _of_mapping(
    name: str, properties: Mapping[str, Node], types: Mapping[str, str], parameters: Mapping[str, str]
) -> Feed:
    arn = properties.get("EventSourceArn")
    for source in mentioned(arn):
        kind = _SOURCES.get(types.get(source, ""))
        if kind is not None:
            return Feed(kind, f"{_TOLD_OF_SOURCES[kind]} {source}", name, source)
    text = text_of(arn, parameters) or str(arn)
    kind = next((kind for kind in _SOURCES.values() if f":{kind}:" in text), "")
    if not kind and arn is not None and "SelfManagedEventSource" not in properties:
        # Only a stream has a position where reading it starts.
        is_stream = "StartingPosition" in properties
        is_other = "Topics" in properties or "Queues" in properties
        kind = "" if is_other else ("dynamodb" if "stream/" in text else "kinesis") if is_stream else "sqs"
    if kind:
        return Feed(kind, f"a {_TOLD_OF_SOURCES[kind]} that the template does not have", name)
    return Feed("caller", "a mapping from a source that is no queue of SQS and no stream")


def _of_permission(properties: Mapping[str, Node], types: Mapping[str, str]) -> Feed:
    principal = str(properties.get("Principal"))
    match principal:
        case "s3.amazonaws.com":
            return Feed("s3", "S3's notifications", is_implied=True)
        case "sns.amazonaws.com":
            return Feed("topic", _named("topic", properties.get("SourceArn"), types), is_implied=True)
        case "states.amazonaws.com":
            return Feed("task", "a state machine", is_implied=True)
        case "events.amazonaws.com":
            return Feed("eventbridge", "a rule that the template does not have", is_implied=True)
        case "scheduler.amazonaws.com":
            return Feed("schedule", "a schedule that the template does not have", is_implied=True)
        case _:
            return Feed("caller", _CALLERS.get(principal, "another service"), is_implied=True)


def _named(noun: str, node: Node, types: Mapping[str, str]) -> str:
    return next((f"{noun} {name}" for name in mentioned(node) if name in types), f"a {noun}")
