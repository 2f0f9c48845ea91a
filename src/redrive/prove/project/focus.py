"""A template made ready for one function: what feeds it stays, and what would only get in the way becomes a stub.

The other functions stay as resources, and nothing feeds them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from redrive.languages.template import Node
from redrive.prove.project.functions import (
    FUNCTION,
    MAPPING,
    RULE,
    SCHEDULE,
    Feed,
    ProjectFunction,
)
from redrive.prove.project.nodes import items_of, mentioned, properties_of, resources_of, stubbed

NOT_HERE = "# The handler is taken from elsewhere.\n"
"""The code of a function whose code does not stand in the template."""
_ROLE = "RedriveProveRole"
_SOURCE = "RedriveProveSource"
_FED = "RedriveProveMapping"
_CALLS = "RedriveProveFailedCalls"
_ASSUMED_BY: Node = [f"{one}.amazonaws.com" for one in ("lambda", "scheduler", "events", "states")]
_OF_SERVICES: Node = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": _ASSUMED_BY}, "Action": "sts:AssumeRole"}],
}
_EVERYTHING: Node = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
MADE = (_ROLE, _SOURCE, _FED, _CALLS)
"""What is added to a template."""
_LAYER = "AWS::Lambda::LayerVersion"
_KEPT = (
    "FunctionName", "Handler", "Runtime", "Timeout", "MemorySize", "Environment", "DeadLetterConfig", "Code", "Role",
    "Description", "Architectures",
)  # fmt: skip
"""What a proof needs of a function; the rest (networks, file systems, layers, tracing) asks for what is not there."""
_NEVER = (
    "AWS::CloudFormation::CustomResource", "AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::Macro",
    "AWS::CloudFormation::Stack", "AWS::Lambda::LayerVersionPermission", "AWS::Lambda::CodeSigningConfig",
)  # fmt: skip
_PYTHON = "python3.12"
_VISIBILITY = 6
"""How many timeouts of its function a queue's visibility timeout is, by Lambda's guide."""
_RETENTION_S = 1_209_600


def kept_still(root: dict[str, Node]) -> None:
    """Disable schedules, leave out layers and custom resources, and give every function code that can be unpacked."""
    root.pop("Outputs", None)  # Nobody reads them, and they may refer to what is left out.
    resources = root.get("Resources")
    if not isinstance(resources, dict):
        return
    for name, resource in list(resources_of(root)):
        type_name, properties = str(resource.get("Type")), properties_of(resource)
        if type_name in _NEVER or type_name.startswith("Custom::") or type_name == _LAYER:
            resources[name] = dict(stubbed(resource))
        elif type_name == SCHEDULE or (type_name == RULE and "ScheduleExpression" in properties):
            properties["State"] = "DISABLED"
        elif type_name == FUNCTION:
            _make_deployable(properties)


def _make_deployable(properties: dict[str, Node]) -> None:
    for name in [name for name in properties if name not in _KEPT]:
        del properties[name]
    code = properties.get("Code")
    if not (isinstance(code, dict) and "ZipFile" in code):
        properties["Code"] = {"ZipFile": NOT_HERE}
        properties.setdefault("Handler", "index.handler")
    runtime = properties.get("Runtime")
    if not isinstance(runtime, str) or not runtime.startswith("python"):
        properties["Runtime"] = _PYTHON


def focus(root: dict[str, Node], function: ProjectFunction, feed: Feed) -> None:
    """Leave to a function, and to it alone, what feeds it."""
    resources = root["Resources"]
    if not isinstance(resources, dict):
        return
    functions = {name for name, _ in resources_of(root, FUNCTION)}
    for name, resource in list(resources_of(root)):
        match resource.get("Type"):
            case "AWS::Lambda::EventSourceMapping" if name == feed.resource:
                properties_of(resource)["FunctionName"] = {"Ref": function.logical_id}
            case "AWS::Lambda::Permission" if _is_of_api(properties_of(resource), function.logical_id):
                pass  # It has the route.
            case "AWS::Lambda::EventSourceMapping" | "AWS::Lambda::Permission":
                resources[name] = dict(stubbed(resource))
            case "AWS::Events::Rule" if name == feed.resource:
                _aim(properties_of(resource), function.logical_id, root)
            case "AWS::SNS::Subscription" if properties_of(resource).get("Protocol") == "lambda":
                resources[name] = dict(stubbed(resource))
            case "AWS::SNS::Topic":
                _drop(properties_of(resource), "Subscription", functions)
            case "AWS::S3::Bucket":
                told = properties_of(resource).get("NotificationConfiguration")
                if isinstance(told, dict):
                    told.pop("LambdaConfigurations", None)
            case "AWS::Lambda::Function":
                properties_of(resource)["Role"] = {"Fn::GetAtt": [_ROLE, "Arn"]}
            case _:
                pass
    resources[_ROLE] = _role()
    if feed.kind in {"sqs", "kinesis", "dynamodb"} and not feed.source:
        _make_source(root, function, feed)
    if feed.kind == "caller" and "DeadLetterConfig" not in properties_of(resources[function.logical_id]):
        # Who waits for an answer knows that a call has failed: nothing of it is lost.
        resources[_CALLS] = {"Type": "AWS::SQS::Queue", "Properties": {"MessageRetentionPeriod": _RETENTION_S}}
        dead: Node = {"TargetArn": {"Fn::GetAtt": [_CALLS, "Arn"]}}
        properties_of(resources[function.logical_id])["DeadLetterConfig"] = dead


def _is_of_api(permission: Mapping[str, Node], logical_id: str) -> bool:
    is_api = permission.get("Principal") == "apigateway.amazonaws.com"
    return is_api and logical_id in mentioned(permission.get("FunctionName"))


def needed(root: Mapping[str, Node], kept: Collection[str]) -> dict[str, Node]:
    """The resources of these names, and all that they refer to."""
    resources = dict(resources_of(root))
    found: dict[str, Node] = {}
    waiting = [name for name in kept if name in resources]
    while waiting:
        name = waiting.pop()
        if name not in found and name in resources:
            found[name] = {key: value for key, value in resources[name].items() if key != "DependsOn"}
            waiting += mentioned(found[name])
    return {name: found[name] for name in resources if name in found}


def _aim(rule: dict[str, Node], logical_id: str, root: Mapping[str, Node]) -> None:
    """Have a rule invoke one function, on a bus that the template has."""
    targets = [one for one in items_of(rule.get("Targets")) if isinstance(one, dict)]
    kept = [one for one in targets if logical_id in mentioned(one.get("Arn"))] or targets[:1]
    rule["Targets"] = [{**one, "Arn": {"Fn::GetAtt": [logical_id, "Arn"]}} for one in kept[:1]]
    for one in items_of(rule["Targets"]):
        if isinstance(one, dict):
            one.pop("DeadLetterConfig", None)
            one.pop("RoleArn", None)
    buses = {name for name, _ in resources_of(root, "AWS::Events::EventBus")}
    if not buses & set(mentioned(rule.get("EventBusName"))):
        rule.pop("EventBusName", None)
    rule.pop("RoleArn", None)


def _drop(properties: dict[str, Node], name: str, functions: set[str]) -> None:
    """Leave out the members that mention a function."""
    kept = [one for one in items_of(properties.get(name)) if not functions & set(mentioned(one))]
    properties.pop(name, None)
    if kept:
        properties[name] = kept


def _make_source(root: dict[str, Node], function: ProjectFunction, feed: Feed) -> None:
    """Add the queue or the stream that feeds a function, and that the template only names."""
    resources = root["Resources"]
    assert isinstance(resources, dict)
    timeout = properties_of(resources[function.logical_id]).get("Timeout")
    seconds = timeout if isinstance(timeout, int) else 3
    made: dict[str, dict[str, Node]] = {
        "sqs": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": _VISIBILITY * seconds}},
        "kinesis": {"Type": "AWS::Kinesis::Stream", "Properties": {"ShardCount": 1}},
        "dynamodb": {"Type": "AWS::DynamoDB::Table", "Properties": {
            "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
        }},
    }  # fmt: skip
    resources[_SOURCE] = dict(made[feed.kind])
    arn = "StreamArn" if feed.kind == "dynamodb" else "Arn"
    source: Node = {"Fn::GetAtt": [_SOURCE, arn]}
    if feed.resource:
        properties_of(resources[feed.resource])["EventSourceArn"] = source
        return
    mapping: dict[str, Node] = {"EventSourceArn": source, "FunctionName": {"Ref": function.logical_id}}
    if feed.kind != "sqs":
        mapping["StartingPosition"] = "TRIM_HORIZON"
    resources[_FED] = {"Type": MAPPING, "Properties": mapping}


def stood_in(resource: dict[str, Node]) -> tuple[dict[str, Node], str]:
    """What stands in for a resource that cannot be made, and its name for the user.

    A role or a policy allows everything, for functions cannot be made without their roles.
    """
    kept = {key: resource[key] for key in ("Condition",) if key in resource}
    match resource.get("Type"):
        case "AWS::IAM::Role":
            return {**_role(), **kept}, "a role that may do everything"
        case "AWS::IAM::ManagedPolicy" as policy:
            return {"Type": policy, "Properties": {"PolicyDocument": _EVERYTHING}, **kept}, "a policy that allows all"
        case _:
            return stubbed(resource), "a stub"


def _role() -> dict[str, Node]:
    """The role of every function: what it may do is not proved, and a template may name what is not here."""
    policies: Node = [{"PolicyName": "everything", "PolicyDocument": _EVERYTHING}]
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": _OF_SERVICES, "Policies": policies},
    }
