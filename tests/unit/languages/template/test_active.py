"""Conditions, rules, and what exists once they are decided; and the order in which it is made."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.template import (
    ActiveTemplate,
    Node,
    PseudoParameters,
    TemplateError,
    activate,
    dependencies,
    dependency_order,
    load_template,
    resolve_parameters,
)

PSEUDO = PseudoParameters("123456789012", "us-east-1", "orders", "arn:aws:cloudformation:us-east-1:1:stack/orders/1")
STAGE = "Parameters: {Stage: {Type: String, Default: dev}, Zones: {Type: CommaDelimitedList, Default: 'a,b'}}\n"
QUEUE = "Resources: {Queue: {Type: X}}\n"


def active(text: str, **given: str) -> ActiveTemplate:
    template = load_template(text)
    return activate(template, resolve_parameters(template, given), PSEUDO)


def order(text: str) -> list[str]:
    return dependency_order(load_template(text), active(text))


def message_of(text: str, **given: str) -> str:
    with pytest.raises(TemplateError) as error:
        order(text) if not given else active(text, **given)
    return error.value.message


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("!Equals [!Ref Stage, prod]", True),
        ("!Equals [!Ref Stage, dev]", False),
        ("!Equals [!Ref AWS::Region, us-east-1]", True),
        ("!Equals [true, 'true']", True),
        ("!Equals [1, '1']", True),
        ("!Equals [!FindInMap [M, !Ref Stage, size], 10]", True),
        ("!Equals [!Select [1, !Ref Zones], b]", True),
        ("!Equals [!Join ['-', !Ref Zones], a-b]", True),
        ("!Not [!Equals [a, a]]", False),
        ("!And [!Equals [a, a], !Equals [b, b]]", True),
        ("!And [!Equals [a, a], !Equals [b, c]]", False),
        ("!Or [!Equals [a, b], !Equals [b, b]]", True),
        ("!Or [!Equals [a, b], !Equals [b, c]]", False),
        ("!Not [!Condition Other]", True),
        ("{Condition: Other}", False),
    ],
)
def test_condition_is_decided_by_parameters(condition: str, expected: bool) -> None:
    text = (
        STAGE
        + QUEUE
        + f"Mappings: {{M: {{prod: {{size: 10}}}}}}\nConditions: {{C: {condition}, Other: !Equals [x, y]}}"
    )

    assert active(text, Stage="prod").conditions["C"] is expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "!Sub x",
            "Template format error: Conditions can only be boolean operations on parameters and other conditions",
        ),
        (
            "{'Fn::Contains': [[a], a]}",
            "Template format error: Conditions can only be boolean operations on parameters and other conditions",
        ),
        ("!Not [a, b]", "Template error: every Fn::Not object requires one boolean parameter."),
        ("!Equals [a]", "Template error: every Fn::Equals object requires a list of 2 string parameters."),
        (
            "!And [!Equals [a, a]]",
            "Template error: every Fn::And object requires a list of at least 2 and at most 10 boolean parameters.",
        ),
        (
            "!Condition Missing",
            "Template format error: Unresolved condition dependency Missing in the Conditions block of the template",
        ),
        ("!Not [!Condition C]", "Template error: Circular dependency between conditions: [C]"),
        ("!Not [!Condition D]", "Template error: Circular dependency between conditions: [C, D]"),
        (
            "!Equals [!ImportValue x, y]",
            "Template format error: Fn::ImportValue cannot be used in the Conditions block of the template",
        ),
        (
            "!Equals [!If [C, a, b], y]",
            "Template format error: Fn::If cannot be used in the Conditions block of the template",
        ),
    ],
)
def test_malformed_condition_is_refused(condition: str, message: str) -> None:
    assert message_of(QUEUE + f"Conditions: {{C: {condition}, D: !Not [!Condition C]}}") == message


CONDITIONAL = """
Parameters: {Stage: {Type: String}}
Conditions: {IsProd: !Equals [!Ref Stage, prod]}
Resources:
  Topic: {Type: X, Condition: IsProd}
  Queue: {Type: X, DependsOn: Topic, Properties: {P: !If [IsProd, !GetAtt Topic.Arn, !Ref AWS::NoValue]}}
Outputs:
  TopicArn: {Value: !Ref Topic, Condition: IsProd}
  QueueUrl: {Value: !Ref Queue}
"""


def test_what_is_conditional_on_a_false_condition_does_not_exist() -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/conditions-section-structure.html"""
    prod, dev = active(CONDITIONAL, Stage="prod"), active(CONDITIONAL, Stage="dev")

    assert (prod.resources, prod.outputs) == (("Topic", "Queue"), ("TopicArn", "QueueUrl"))
    assert (dev.resources, dev.outputs) == (("Queue",), ("QueueUrl",))


def test_branch_not_taken_and_dropped_depends_on_are_no_dependency() -> None:
    template = load_template(CONDITIONAL)

    assert dependencies(template, active(CONDITIONAL, Stage="dev")) == {"Queue": frozenset()}
    assert dependencies(template, active(CONDITIONAL, Stage="prod"))["Queue"] == {"Topic"}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            "!Ref Topic",
            "Template format error: Unresolved resource dependencies [Topic] in the Resources block of the template",
        ),
        (
            "!Sub '${Topic}'",
            "Template format error: Unresolved resource dependencies [Topic] in the Resources block of the template",
        ),
        ("!GetAtt Topic.Arn", "Template error: instance of Fn::GetAtt references undefined resource Topic"),
    ],
)
def test_reference_to_a_dropped_resource_is_an_error(reference: str, message: str) -> None:
    text = CONDITIONAL.replace("Outputs:", f"  Other: {{Type: X, Properties: {{P: {reference}}}}}\nOutputs:")

    assert message_of(text, Stage="dev") == message
    assert "Other" in active(text, Stage="prod").resources


def test_output_of_a_dropped_resource_is_an_error() -> None:
    text = CONDITIONAL.replace(", Condition: IsProd}\n  QueueUrl", "}\n  QueueUrl")

    assert message_of(text, Stage="dev") == (
        "Template format error: Unresolved resource dependencies [Topic] in the Outputs block of the template"
    )


@pytest.mark.parametrize(
    ("assertion", "is_kept"),
    [
        ("{'Fn::Contains': [[dev, prod], !Ref Stage]}", True),
        ("{'Fn::Contains': [[prod], !Ref Stage]}", False),
        ("{'Fn::EachMemberIn': [!Ref Zones, [a, b, c]]}", True),
        ("{'Fn::EachMemberIn': [!Ref Zones, [a]]}", False),
        ("{'Fn::EachMemberEquals': [!Ref Zones, a]}", False),
        ("!Not [!Equals [!Ref Stage, prod]]", True),
    ],
)
def test_rule_asserts_something_about_the_parameters(assertion: str, is_kept: bool) -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/rules-section-structure.html"""
    text = STAGE + QUEUE + f"Rules: {{R: {{Assertions: [{{Assert: {assertion}, AssertDescription: wrong stage}}]}}}}"

    if is_kept:
        assert active(text).resources == ("Queue",)
    else:
        assert message_of(text) == "Rule R failed: wrong stage"


def test_rule_applies_only_where_its_condition_holds() -> None:
    text = (
        STAGE
        + QUEUE
        + ("Rules: {R: {RuleCondition: !Equals [!Ref Stage, prod], Assertions: [{Assert: !Equals [a, b]}]}}")
    )

    assert active(text, Stage="dev").resources == ("Queue",)
    assert message_of(text, Stage="prod") == "Rule R failed: an assertion does not hold"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{}", "Template format error: Rule R must contain a list of Assertions"),
        ("{Assertions: []}", "Template format error: Rule R must contain a list of Assertions"),
        ("{Assertions: [{Test: x}]}", "Template format error: Rule R must contain a list of Assertions"),
        ("{Assertions: [{Assert: !Condition C}]}", "Template format error: Rules cannot refer to the condition C"),
        (
            "{Assertions: [{Assert: !Equals [!Ref Queue, x]}]}",
            (
                "Template format error: Unresolved dependencies [Queue]. "
                "Cannot reference resources in the Rules block of the template"
            ),
        ),
        (
            "{Assertions: [{Assert: !Equals [{'Fn::ValueOf': [a, b]}, x]}]}",
            "Template error: Fn::ValueOf cannot be used here",
        ),
        (
            "{Assertions: [{Assert: !Equals [!If [C, a, b], x]}]}",
            "Template error: unresolved condition dependency C in Fn::If",
        ),
        (
            "{Assertions: [{Assert: {'Fn::Contains': [a]}}]}",
            "Template error: every Fn::Contains object requires a list of 2 parameters.",
        ),
    ],
)
def test_malformed_rule_is_refused(rule: str, message: str) -> None:
    assert message_of(QUEUE + f"Rules: {{R: {rule}}}") == message


def test_order_follows_every_kind_of_reference() -> None:
    text = """
    Resources:
      ByDependsOn: {Type: X, DependsOn: [BySub, Free]}
      BySub: {Type: X, Properties: {P: !Sub "${ByGetAtt.Arn}/${AWS::Region}"}}
      ByGetAtt: {Type: X, Properties: {P: [{Q: !GetAtt ByRef.Arn}]}}
      ByRef: {Type: X, Metadata: {M: !Ref Last}}
      Free: {Type: X}
      Last: {Type: X}
    """

    assert order(text) == ["Free", "Last", "ByRef", "ByGetAtt", "BySub", "ByDependsOn"]


def test_order_is_source_order_where_there_is_a_choice() -> None:
    assert order("Resources: {C: {Type: X}, A: {Type: X}, B: {Type: X}}") == ["C", "A", "B"]
    assert order("Resources: {A: {Type: X, DependsOn: B}, B: {Type: X}, C: {Type: X}}") == ["B", "A", "C"]


@pytest.mark.parametrize(
    ("resources", "named"),
    [
        ("{A: {Type: X, DependsOn: A}}", "A"),
        ("{A: {Type: X, DependsOn: B}, B: {Type: X, Properties: {P: !Ref A}}}", "A, B"),
        (
            (
                "{Before: {Type: X}, A: {Type: X, DependsOn: [C, Before]}, After: {Type: X, DependsOn: A}, "
                "B: {Type: X, DependsOn: A}, C: {Type: X, DependsOn: B}}"
            ),
            "A, B, C",
        ),
    ],
)
def test_circle_of_dependencies_is_named(resources: str, named: str) -> None:
    assert message_of(f"Resources: {resources}") == f"Circular dependency between resources: [{named}]"


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Resources in any order; each depends on some that come later in a hidden order, so there is no circle."""
    names = [f"R{number}" for number in range(draw(st.integers(1, 8)))]
    edges = {
        name: draw(st.lists(st.sampled_from(names[index + 1 :]), unique=True)) if names[index + 1 :] else []
        for index, name in enumerate(names)
    }
    return {name: edges[name] for name in draw(st.permutations(names))}


@given(graph=graphs())
def test_order_is_topological_and_complete(graph: dict[str, list[str]]) -> None:
    resources: dict[str, Node] = {
        name: {"Type": "X", "Properties": {"P": [{"Ref": other} for other in needed]}} for name, needed in graph.items()
    }
    text = json.dumps({"Resources": resources})

    ordered = order(text)

    assert sorted(ordered) == sorted(graph)
    assert all(ordered.index(other) < ordered.index(name) for name, needed in graph.items() for other in needed)
    assert ordered == order(text)


LOOKUP = "Mappings: {M: {dev: {size: 1}}}\nConditions: {Big: !Equals [!Ref Stage, prod]}\nResources: {Q: {Type: X, "


@pytest.mark.parametrize(
    "properties",
    [
        "A: !FindInMap [M, !Ref Stage, size]",
        "A: !FindInMap [M, dev, colour]",
        "A: [!Sub ['${x}', {x: !FindInMap [M, other, size]}]]",
        "A: {Fn::If: [Big, 1, {B: !FindInMap [M, dev, colour]}]}",
    ],
)
def test_lookup_without_an_entry_is_found_before_anything_is_made(properties: str) -> None:
    stage = "prod" if "Stage" in properties else "dev"

    message = message_of(STAGE + LOOKUP + "Properties: {" + properties + "}}}", Stage=stage)

    assert message.startswith("Template error: Unable to get mapping for M::")


@pytest.mark.parametrize(
    "properties",
    [
        "A: !FindInMap [M, dev, size]",
        "A: {Fn::If: [Big, {B: !FindInMap [M, dev, colour]}, 1]}",
        "A: !FindInMap [M, !Ref Q, size]",
    ],
)
def test_lookup_on_a_branch_not_taken_or_of_a_resource_is_not_made(properties: str) -> None:
    assert active(STAGE + LOOKUP + "Properties: {" + properties + "}}}").resources == ("Q",)


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ("!Ref Fate", "Retain"),
        ("!If [Big, Retain, Delete]", "Delete"),
        ("!FindInMap [M, dev, fate]", "Retain"),
        ("!Ref AWS::NoValue", "Delete"),
    ],
)
def test_policy_is_what_its_function_gives(policy: str, word: str) -> None:
    text = (
        "Parameters: {Fate: {Type: String, Default: Retain}}\nMappings: {M: {dev: {fate: Retain}}}\n"
        f"Conditions: {{Big: !Equals [a, b]}}\nResources: {{Q: {{Type: X, DeletionPolicy: {policy}}}}}"
    )

    assert active(text).policies["Q"].deletion == word


def test_policy_cannot_follow_from_a_resource() -> None:
    text = "Resources: {Q: {Type: X, UpdateReplacePolicy: !Ref R}, R: {Type: X}}"

    assert message_of(text) == "Template error: Unsupported expression for UpdateReplacePolicy in resource Q"
