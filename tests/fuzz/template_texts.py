"""CloudFormation templates from seeds: functions nested anywhere, circles, aliases, depth, in YAML and in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.fuzz.furniture import ALLOW_ALL, CODE, TRUST
from tests.fuzz.values import Draw

NAMES = ("A", "B", "C", "Queue", "Role", "P", "Gone", "AWS::Region", "AWS::StackName", "AWS::NoValue", "AWS::AccountId")
SHORT = {
    "Ref": "!Ref",
    "Fn::GetAtt": "!GetAtt",
    "Fn::Sub": "!Sub",
    "Fn::If": "!If",
    "Fn::Join": "!Join",
    "Condition": "!Condition",
    "Fn::Select": "!Select",
    "Fn::Split": "!Split",
    "Fn::Equals": "!Equals",
    "Fn::And": "!And",
    "Fn::Not": "!Not",
    "Fn::Base64": "!Base64",
    "Fn::FindInMap": "!FindInMap",
    "Fn::ImportValue": "!ImportValue",
    "Fn::Cidr": "!Cidr",
}
PROPERTIES: Mapping[str, Mapping[str, object]] = {
    "AWS::SQS::Queue": {"QueueName": "made", "DelaySeconds": 1, "RedrivePolicy": {"maxReceiveCount": 3}},
    "AWS::SQS::QueuePolicy": {"Queues": ["q"], "PolicyDocument": ALLOW_ALL},
    "AWS::IAM::Role": {
        "AssumeRolePolicyDocument": TRUST,
        "Policies": [{"PolicyName": "p", "PolicyDocument": ALLOW_ALL}],
    },
    "AWS::IAM::Policy": {"PolicyName": "p", "PolicyDocument": ALLOW_ALL, "Roles": ["worker"]},
    "AWS::IAM::ManagedPolicy": {"PolicyDocument": ALLOW_ALL},
    "AWS::Lambda::Function": {
        "Runtime": "python3.12",
        "Handler": "index.handler",
        "Role": "r",
        "Code": {"ZipFile": CODE},
    },
    "AWS::Lambda::Permission": {"FunctionName": "echo", "Action": "lambda:InvokeFunction", "Principal": "a"},
    "AWS::Lambda::EventSourceMapping": {"FunctionName": "echo", "EventSourceArn": "q", "BatchSize": 1},
    "AWS::Lambda::EventInvokeConfig": {"FunctionName": "echo", "Qualifier": "$LATEST"},
    "AWS::Scheduler::Schedule": {
        "ScheduleExpression": "rate(1 hour)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": "q", "RoleArn": "r"},
    },
    "AWS::Scheduler::ScheduleGroup": {"Name": "g"},
    "AWS::DynamoDB::Table": {
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    },
    "AWS::Logs::LogGroup": {"RetentionInDays": 1},
    "AWS::Logs::LogStream": {"LogGroupName": "g"},
    "AWS::CloudFormation::WaitConditionHandle": {},
    "AWS::S3::Bucket": {},
    "Custom::Thing": {"ServiceToken": "t"},
    "": {},
}
LAUGHS = (
    "a: &a [x]\n"
    + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 8)}]\n"
        for before, name in zip("abcdefg", "bcdefgh", strict=True)
    )
    + "Resources: {A: {Type: AWS::SQS::Queue, Metadata: *h}}"
)
"""Each name is eight of the name before it: two million in two hundred characters."""

TEXTS = (
    "",
    "null",
    "{}",
    "[]",
    "a",
    "\0",
    "---\n---\n",
    "a: *x",
    "a: &x [*x]",
    "!!python/object:os.system ls",
    "!Ref",
    "!Sub []",
    "Resources: {A: {Type: AWS::SQS::Queue, <<: {a: b}}}",
    "? [a]\n: b",
    "a: 1\na: 2",
    "Resources:\n\tA: b",
    "%YAML 9.9\n---\na",
    "a: " + "[" * 3_000,
    "{" * 3_000,
    "- " * 3_000 + "a",
    "a: 2025-01-01",
    "a: 0o777",
    "a: 1_000",
    "a: .nan",
    "a: !!binary x",
    "&a [" + "&b [" * 50,
    "Resources: {A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${'}}}",
    "\ufeff{}",
    LAUGHS,
    json.dumps({"Resources": {f"Q{number}": {"Type": "AWS::SQS::Queue"} for number in range(501)}}),
    json.dumps(
        {
            "Resources": {
                "A": {"Type": "AWS::SQS::Queue", "DependsOn": "B"},
                "B": {"Type": "AWS::SQS::Queue", "DependsOn": "A"},
            }
        }
    ),
)
"""Texts on their own, each hostile in its way."""


class Templates:
    """Draws templates. `wildness` is the share of places that get what does not belong there."""

    def __init__(self, draw: Draw, wildness: float) -> None:
        self._draw = draw
        self._wildness = wildness
        self._names: tuple[str, ...] = NAMES

    def text(self) -> str:
        """A template as JSON, or as YAML with the short forms of functions."""
        if self._draw.chance(min(0.1, self._wildness)):
            return self._draw.choice(TEXTS)
        document = self._document()
        text = json.dumps(document, ensure_ascii=True) if self._draw.chance(0.4) else _yaml(document)
        text = text.encode("utf-8", "replace").decode()
        if self._draw.chance(min(0.15, self._wildness)):
            text = self._draw.changed(text.encode()).decode("utf-8", "replace")
        return text

    def _document(self) -> dict[str, object]:
        draw = self._draw
        chosen = draw.sample(NAMES[:5], draw.randrange(1, 4))
        self._names = NAMES if self._wildness else (*chosen, "P", "AWS::Region", "AWS::StackName", "AWS::AccountId")
        document: dict[str, object] = {"Resources": {name: self._resource(chosen) for name in chosen}}
        if draw.chance(0.6) or not self._wildness:
            document["Parameters"] = {
                "P": {"Type": draw.one_of("String", "Number", "CommaDelimitedList"), "Default": "1"}
            }
        if draw.chance(0.5) or not self._wildness:
            document["Conditions"] = {name: self._condition(0) for name in ("X", "Y", "Z")}
        if draw.chance(0.3):
            document["Mappings"] = {"M": {"us-east-1": {"k": draw.one_of("v", ["v"], 1)}}}
        if draw.chance(0.4):
            document["Outputs"] = {"O": {"Value": self._value("a", 0), "Export": {"Name": self._value("e", 1)}}}
        if draw.chance(self._wildness):
            document[draw.one_of("Rules", "Transform", "Metadata", "Hooks", "Resources", draw.text())] = _printable(
                draw.anything()
            )
        return {key: value for key, value in document.items() if not draw.chance(self._wildness / 8)}

    def _resource(self, others: list[str]) -> object:
        draw = self._draw
        if draw.chance(self._wildness / 4):
            return _printable(draw.anything())
        kind = draw.choice([*PROPERTIES][: None if self._wildness else -3])
        made: dict[str, object] = {"Type": kind, "Properties": self._value(PROPERTIES[kind], 0)}
        if draw.chance(0.3):
            made["DependsOn"] = draw.one_of(draw.choice(others), draw.sample(others, 1), draw.choice(self._names))
        if draw.chance(0.2):
            made["Condition"] = draw.one_of("X", "Y", "Gone" if self._wildness else "Z")
        if draw.chance(0.2):
            odd = {"Ref": "P"} if self._wildness else "Delete"
            made["DeletionPolicy"] = draw.one_of("Retain", "Delete", "RetainExceptOnCreate", odd)
        if draw.chance(self._wildness / 4):
            made[draw.text()] = _printable(draw.anything())
        return made

    def _value(self, value: object, depth: int) -> object:
        """A value, in which some places are functions, or what does not belong there."""
        draw = self._draw
        if draw.chance(self._wildness / 4):
            return _printable(draw.anything())
        if depth < 5 and draw.chance(0.15):
            return self._function(value, depth + 1)
        match value:
            case dict():
                return {key: self._value(item, depth + 1) for key, item in value.items()}
            case list():
                return [self._value(item, depth + 1) for item in value]
            case _:
                return value

    def _function(self, value: object, depth: int) -> dict[str, object]:
        draw = self._draw

        def inner(plain: object) -> object:
            return self._value(plain, depth)

        name = draw.choice(self._names)
        if not self._wildness:
            return draw.one_of(
                {"Ref": name},
                {"Fn::Sub": f"${{{name}}}-x"},
                {"Fn::If": ["X", inner(value), inner(value)]},
                {"Fn::If": ["Y", inner(value), {"Ref": "AWS::NoValue"}]},
                {"Fn::Join": ["", ["a", inner("b")]]},
                {"Fn::Select": ["0", [inner(value), "b"]]},
                {"Fn::Sub": ["${v}", {"v": inner("w")}]},
            )
        return draw.one_of(
            {"Ref": name},
            {"Fn::GetAtt": draw.one_of([name, "Arn"], f"{name}.Arn", [name, inner("QueueName")], [], "A")},
            {
                "Fn::Sub": draw.one_of(
                    "${AWS::StackName}-x", "${A}${B.Arn}${!c}", ["${v}", {"v": inner("w")}], "${", inner("x")
                )
            },
            {"Fn::If": [draw.one_of("X", "Gone", inner("Y")), inner(value), {"Ref": "AWS::NoValue"}]},
            {"Fn::Join": [inner(","), [inner("a"), inner("b")]]},
            {"Fn::Select": [draw.one_of(0, "1", 9, -1, inner("0")), draw.one_of(["a", inner("b")], inner([]))]},
            {"Fn::Split": [",", inner("a,b")]},
            {"Fn::Base64": inner("a")},
            {"Fn::FindInMap": ["M", inner("us-east-1"), inner("k")]},
            {"Fn::ImportValue": inner("shop-url")},
            {"Fn::Cidr": [inner("10.0.0.0/8"), inner(2), inner(8)]},
            {"Fn::Length": inner(["a"])},
            {"Fn::ToJsonString": inner(value)},
            {"Fn::GetAZs": inner("")},
            {"Fn::Transform": {"Name": "x"}},
            {"Fn::Unknown": 1},
            {"Ref": name, "Fn::Sub": "x"},
        )

    def _condition(self, depth: int) -> object:
        draw = self._draw
        if depth > 4 or draw.chance(0.4):
            name = draw.choice(NAMES) if self._wildness else "P"
            return {"Fn::Equals": [draw.one_of("a", "1"), {"Ref": name}]}
        count = draw.randrange(4) if self._wildness else 2
        deeper = [self._condition(depth + 1) for _ in range(count)]
        circle = {"Condition": draw.one_of("X", "Y", "Q")} if self._wildness else {"Fn::Not": deeper[:1]}
        return draw.one_of(
            {"Fn::And": deeper}, {"Fn::Or": deeper}, {"Fn::Not": deeper[: None if self._wildness else 1]}, circle
        )


def _printable(value: object) -> object:
    """A value that JSON can say."""
    match value:
        case dict():
            return {str(key): _printable(item) for key, item in value.items()}
        case list():
            return [_printable(item) for item in value]
        case str() | bool() | int() | float() | None:
            return value
        case _:
            return repr(value)


def _yaml(value: object, depth: int = 0) -> str:
    """YAML: blocks outside, and inside them flows with short forms of functions."""
    if isinstance(value, dict) and value and depth < 3:
        pad = "  " * depth
        return "".join(f"\n{pad}{json.dumps(str(key))}: {_yaml(item, depth + 1)}" for key, item in value.items())
    return _flow(value)


def _flow(value: object) -> str:
    match value:
        case dict():
            if len(value) == 1 and (name := next(iter(value))) in SHORT:
                return f"{SHORT[name]} {_flow(value[name])}"
            return "{" + ", ".join(f"{json.dumps(str(key))}: {_flow(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(_flow(item) for item in value) + "]"
        case _:
            return json.dumps(value, ensure_ascii=True)
