"""The structure of a template, and CloudFormation's sentence for each mistake in it."""

from __future__ import annotations

import json

import pytest

from redrive.languages.template import TemplateError, load_declared, load_template

WHOLE = """
AWSTemplateFormatVersion: 2010-09-09
Description: Orders
Metadata: {Author: us}
Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod], NoEcho: true}
Rules:
  Any: {Assertions: [{Assert: !Equals [a, a]}]}
Mappings:
  Sizes: {dev: {Batch: 1}, prod: {Batch: 10}}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Condition: IsProd
    DependsOn: Dlq
    DeletionPolicy: Retain
    UpdateReplacePolicy: Snapshot
    CreationPolicy: {ResourceSignal: {Count: 1}}
    UpdatePolicy: {EnableVersionUpgrade: true}
    Metadata: {Note: x}
    Properties: {QueueName: !Sub "${Stage}-orders"}
  Dlq:
    Type: AWS::SQS::Queue
Outputs:
  Url: {Value: !Ref Dlq, Description: where, Export: {Name: !Sub "${AWS::StackName}-url"}, Condition: IsProd}
"""


def test_every_section_and_attribute_is_read() -> None:
    template = load_template(WHOLE)

    queue, dlq = template.resources["Queue"], template.resources["Dlq"]
    assert (template.format_version, template.description) == ("2010-09-09", "Orders")
    assert template.metadata == {"Author": "us"}
    assert (template.parameters["Stage"].default, template.parameters["Stage"].no_echo) == ("dev", True)
    assert template.mappings == {"Sizes": {"dev": {"Batch": 1}, "prod": {"Batch": 10}}}
    assert template.conditions == {"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}}
    assert list(template.rules) == ["Any"]
    assert list(template.resources) == ["Queue", "Dlq"]
    assert (queue.type, queue.condition, queue.depends_on) == ("AWS::SQS::Queue", "IsProd", ("Dlq",))
    assert (queue.deletion_policy, queue.update_replace_policy) == ("Retain", "Snapshot")
    assert (queue.creation_policy, queue.update_policy) == (
        {"ResourceSignal": {"Count": 1}},
        {"EnableVersionUpgrade": True},
    )
    assert queue.metadata == {"Note": "x"}
    assert queue.properties == {"QueueName": {"Fn::Sub": "${Stage}-orders"}}
    assert (dlq.deletion_policy, dlq.properties, dlq.depends_on) == ("Delete", {}, ())
    output = template.outputs["Url"]
    assert (output.value, output.description, output.condition) == ({"Ref": "Dlq"}, "where", "IsProd")
    assert output.export_name == {"Fn::Sub": "${AWS::StackName}-url"}


def message_of(text: str) -> str:
    with pytest.raises(TemplateError) as error:
        load_template(text)
    return error.value.message


def with_resource(fields: str) -> str:
    return f"Resources:\n  Queue: {{{fields}}}\n"


QUEUE = "Resources: {Queue: {Type: AWS::SQS::Queue}}\n"
FORMAT = "Template format error: "
ON_QUEUE = FORMAT + "[/Resources/Queue] "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT + "unsupported structure."),
        ("just text", FORMAT + "unsupported structure."),
        ("[a]", FORMAT + "unsupported structure."),
        (QUEUE + "Colour: red\nShape: x\n", "Invalid template property or properties [Colour, Shape]"),
        ("Description: x", FORMAT + "At least one Resources member must be defined."),
        ("Resources: {}", FORMAT + "At least one Resources member must be defined."),
        ("Resources: [a]", FORMAT + "Resources must be an object."),
        (
            QUEUE + "AWSTemplateFormatVersion: 2012-10-17",
            FORMAT + "unsupported value for AWSTemplateFormatVersion.",
        ),
        (QUEUE + "Description: [a]", FORMAT + "every Description member must be a string."),
        (QUEUE + f"Description: {'x' * 1025}", FORMAT + "'Description' length is greater than 1024."),
        ("Resources: {my-queue: {Type: X}}", FORMAT + "Resource name my-queue is non alphanumeric."),
        (QUEUE + "Parameters: {a_b: {Type: String}}", FORMAT + "Parameter name a_b is non alphanumeric."),
        (QUEUE + "Outputs: {a-b: {Value: x}}", FORMAT + "Output name a-b is non alphanumeric."),
        ("Resources: {Queue: x}", ON_QUEUE + "Every Resources member must be an object."),
        (with_resource("Properties: {}"), ON_QUEUE + "Every Resources object must contain a Type member."),
        (with_resource("Type: {Ref: X}"), ON_QUEUE + "Every Type member must be a string."),
        (with_resource("Type: X, Properties: [a]"), ON_QUEUE + "Every Properties member must be an object."),
        (with_resource("Type: X, QueueName: q"), "Invalid template resource property 'QueueName'"),
        (with_resource("Type: X, DependsOn: {Ref: Y}"), ON_QUEUE + "Every DependsOn value must be a string."),
        (with_resource("Type: X, Condition: {Ref: Y}"), FORMAT + "Every Condition member must be a string."),
        (
            with_resource("Type: X, DeletionPolicy: Keep"),
            FORMAT + "Unrecognized DeletionPolicy Keep for resource Queue",
        ),
        (
            with_resource("Type: X, UpdateReplacePolicy: RetainExceptOnCreate"),
            FORMAT + "Unrecognized UpdateReplacePolicy RetainExceptOnCreate for resource Queue",
        ),
        (QUEUE + "Outputs: {A: {}}", FORMAT + "Every Outputs member must contain a Value object"),
        (QUEUE + "Outputs: {A: x}", FORMAT + "Every Outputs member must contain a Value object"),
        (QUEUE + "Outputs: {A: {Value: x, Name: y}}", "Invalid template output property 'Name'"),
        (
            QUEUE + "Outputs: {A: {Value: x, Export: y}}",
            FORMAT + "Output A is malformed. An Export must contain a Name.",
        ),
        (QUEUE + "Mappings: {M: x}", FORMAT + "Every Mappings member must be an object."),
        (QUEUE + "Mappings: {M: {a: x}}", FORMAT + "Every Mappings member M must be a map of maps."),
        (
            QUEUE + "Mappings: {M: {a: {b: {Ref: Queue}}}}",
            FORMAT + "Every Mappings attribute must be a String or a List.",
        ),
        (QUEUE + "Conditions: {C: yes}", FORMAT + "Every Conditions member must be an object."),
        (QUEUE + "Rules: {R: [x]}", FORMAT + "Every Rules member must be an object."),
        (
            QUEUE + "Transform: [AWS::LanguageExtensions]",
            "Template error: the transforms of the template have not been carried out.",
        ),
    ],
)
def test_mistake_in_the_structure_is_named(text: str, message: str) -> None:
    assert message_of(text) == message


def test_template_before_its_transforms_tells_parameters_and_types_whatever_else_it_holds() -> None:
    text = (
        "Transform: AWS::Serverless-2016-10-31\nGlobals: {Function: {Timeout: 3}}\nParameters: {P: {Type: String}}\n"
        "Resources:\n  F: {Type: 'AWS::Serverless::Function', Connectors: {}}\n  Fn::ForEach::L: [a, [b], {}]\n"
    )

    template = load_declared(text)

    assert list(template.parameters) == ["P"]
    assert {name: one.type for name, one in template.resources.items()} == {"F": "AWS::Serverless::Function"}
    assert template.transforms == ("AWS::Serverless-2016-10-31",)


@pytest.mark.parametrize(("count", "is_fine"), [(500, True), (501, False)])
def test_template_has_at_most_500_resources(count: int, is_fine: bool) -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html"""
    text = json.dumps({"Resources": {f"R{number}": {"Type": "X"} for number in range(count)}})

    if is_fine:
        assert len(load_template(text).resources) == count
    else:
        assert message_of(text) == FORMAT + "Number of resources, 501, is greater than maximum allowed, 500"


def property_of(value: str) -> str:
    return f"Resources: {{Queue: {{Type: X, Properties: {{P: {value}}}}}}}\nMappings: {{M: {{a: {{b: c}}}}}}\n"


TEMPLATE = "Template error: "


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("!Ref Missing", FORMAT + "Unresolved resource dependencies [Missing] in the Resources block of the template"),
        (
            "[!Ref B, !Sub '${A}', !Ref B]",
            FORMAT + "Unresolved resource dependencies [B, A] in the Resources block of the template",
        ),
        (
            "!Ref AWS::Nonsense",
            FORMAT + "Unresolved resource dependencies [AWS::Nonsense] in the Resources block of the template",
        ),
        ("!GetAtt Missing.Arn", TEMPLATE + "instance of Fn::GetAtt references undefined resource Missing"),
        (
            "!Sub '${Missing.Arn}'",
            TEMPLATE + "instance of Fn::Sub references invalid resource attribute Missing.Arn",
        ),
        (
            "!FindInMap [Nope, a, b]",
            TEMPLATE + "Mapping named 'Nope' is not present in the 'Mappings' section of template.",
        ),
        ("!If [C, a, b]", TEMPLATE + "unresolved condition dependency C in Fn::If"),
        (
            "!If [!Ref Queue, a, b]",
            TEMPLATE + "Fn::If requires a list argument with the first element being a condition",
        ),
        ("!If [C, a]", TEMPLATE + "Fn::If requires a list argument with three elements"),
        ("!Ref [Queue]", TEMPLATE + "every Ref object must have a single String value."),
        (
            "!GetAtt Queue",
            TEMPLATE + "if specifying one argument to Fn::GetAtt, "
            "that argument must be a non-empty string in format <LogicalId>.<Attribute>",
        ),
        (
            "!GetAtt [Queue]",
            TEMPLATE + "every Fn::GetAtt object requires two non-empty parameters, "
            "the resource name and the resource attribute",
        ),
        (
            "!Sub [!Ref Queue, {}]",
            TEMPLATE + "One or more Fn::Sub intrinsic functions don't specify expected arguments. Specify a string as "
            "first argument, and an optional second argument to specify a mapping of values to replace in the string",
        ),
        (
            "!Sub '${a-b}'",
            TEMPLATE + "variable names in Fn::Sub syntax must contain only alphanumeric characters, "
            "underscores, periods, and colons",
        ),
        (
            "!FindInMap [M, a]",
            TEMPLATE + "every Fn::FindInMap object requires three parameters, "
            "the map name, map key and the attribute for return value",
        ),
        ("{'Fn::Join': [',', [a]], Other: x}", TEMPLATE + "Fn::Join must be the only key of its object"),
        ("!Transform {Name: X}", TEMPLATE + "Fn::Transform has not been carried out here."),
    ],
)
def test_mistake_in_a_function_is_named(value: str, message: str) -> None:
    assert message_of(property_of(value)) == message


def test_unknown_function_is_answered_with_the_known_ones() -> None:
    message = message_of(property_of("{'Fn::Length': [a]}"))

    assert message.startswith(
        "Template error: Encountered unsupported function: Fn::Length Supported functions are: [Fn::Base64, "
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            with_resource("Type: X, DependsOn: [Queue2]"),
            FORMAT + "Unresolved resource dependencies [Queue2] in the Resources block of the template",
        ),
        (
            with_resource("Type: X, Condition: C"),
            FORMAT + "Unresolved condition dependency C in the Resources block of the template",
        ),
        (
            QUEUE + "Outputs: {A: {Value: x, Condition: C}}",
            FORMAT + "Unresolved condition dependency C in the Outputs block of the template",
        ),
        (
            QUEUE + "Outputs: {A: {Value: !Ref Missing}}",
            FORMAT + "Unresolved resource dependencies [Missing] in the Outputs block of the template",
        ),
        (
            QUEUE + "Conditions: {C: !Equals [!Ref Queue, x]}",
            FORMAT
            + "Unresolved dependencies [Queue]. Cannot reference resources in the Conditions block of the template",
        ),
        (
            QUEUE + "Conditions: {C: !Equals [!GetAtt Queue.Arn, x]}",
            FORMAT
            + "Unresolved dependencies [Queue]. Cannot reference resources in the Conditions block of the template",
        ),
    ],
)
def test_name_that_is_not_declared_is_found(text: str, message: str) -> None:
    assert message_of(text) == message


def test_names_are_checked_on_both_branches_of_an_if() -> None:
    text = property_of("!If [C, a, !Ref Missing]") + "Conditions: {C: !Equals [a, a]}"

    assert "Unresolved resource dependencies [Missing]" in message_of(text)


def test_names_in_the_map_of_a_sub_need_no_declaration() -> None:
    text = property_of("!Sub ['${Local}/${Local.Part}', {Local: !Ref Queue2, Local.Part: x}]")

    assert message_of(text).endswith("Unresolved resource dependencies [Queue2] in the Resources block of the template")
    assert list(load_template(text.replace("!Ref Queue2", "!Ref AWS::Region")).resources) == ["Queue"]


def test_condition_element_of_a_policy_is_no_function() -> None:
    """`Condition` with siblings or an object, as in an IAM statement, is a plain property."""
    text = property_of("{Condition: {StringEquals: {'aws:SourceAccount': !Ref AWS::AccountId}}}")

    assert load_template(text).resources["Queue"].properties["P"] is not None
