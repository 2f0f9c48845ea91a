"""A template after its parameters are known: rules are checked, conditions decided, resources included or dropped.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/conditions-section-structure.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.logic import CONDITION_TESTS, RULE_TESTS, conditions_named, holds
from redrive.languages.template.lookups import check_lookups
from redrive.languages.template.model import ParameterValue, Template
from redrive.languages.template.policies import Policies, policies_of
from redrive.languages.template.pseudo import PseudoParameters
from redrive.languages.template.references import check_active_references
from redrive.languages.template.source import Node
from redrive.languages.template.text import text_of


@dataclass(frozen=True, slots=True)
class ActiveTemplate:
    """Every condition's answer, and the resources and outputs that exist by them, in source order.

    `policies` are those of the resources that exist.
    """

    conditions: Mapping[str, bool]
    resources: tuple[str, ...]
    outputs: tuple[str, ...]
    policies: Mapping[str, Policies] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ParameterScope:
    """What is known without a stack: parameters, pseudo parameters and mappings; behind the conditions, those too."""

    template: Template
    parameters: Mapping[str, ParameterValue]
    pseudo: PseudoParameters
    block: str
    conditions: Mapping[str, bool] = field(default_factory=dict)

    @property
    def mappings(self) -> Mapping[str, Mapping[str, Mapping[str, Node]]]:
        return self.template.mappings

    def ref(self, name: str) -> Node:
        if name not in self.parameters:
            raise self._unresolved(name)
        value = self.parameters[name]
        return value if isinstance(value, str) else list(value)

    def get_att(self, logical_id: str, attribute: str) -> Node:
        raise self._unresolved(logical_id)

    def import_value(self, name: str) -> Node:
        raise TemplateError(
            f"Template format error: Fn::ImportValue cannot be used in the {self.block} block of the template"
        )

    def _unresolved(self, name: str) -> TemplateError:
        return TemplateError(
            f"Template format error: Unresolved dependencies [{name}]. "
            f"Cannot reference resources in the {self.block} block of the template"
        )


def activate(template: Template, parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters) -> ActiveTemplate:
    """Check the rules, decide the conditions, and drop everything with a false condition.

    Errors: TemplateError if a rule is broken, or something that exists refers to something that does not, be it an
    entry of a mapping.
    """
    check_rules(template, parameters, pseudo)
    conditions = evaluate_conditions(template, parameters, pseudo)
    resources = tuple(
        name for name, part in template.resources.items() if part.condition is None or conditions[part.condition]
    )
    outputs = tuple(
        name for name, part in template.outputs.items() if part.condition is None or conditions[part.condition]
    )
    check_active_references(template, conditions, frozenset(resources), outputs)
    scope = _ParameterScope(template, parameters, pseudo, "Resources", conditions)
    made = [template.resources[name] for name in resources]
    check_lookups([dict(one.properties) for one in made], scope, template.resources)
    check_lookups([template.outputs[name].value for name in outputs], scope, template.resources)
    policies = {one.logical_id: policies_of(one, scope, template.resources) for one in made}
    return ActiveTemplate(conditions, resources, outputs, policies)


def evaluate_conditions(
    template: Template, parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters
) -> dict[str, bool]:
    """The value of every condition. Errors: TemplateError if one is malformed or depends on itself."""
    scope = _ParameterScope(template, parameters, pseudo, "Conditions")
    answers: dict[str, bool] = {}
    for name in _condition_order(template):
        answers[name] = holds(template.conditions[name], scope, CONDITION_TESTS, answers.__getitem__)
    return {name: answers[name] for name in template.conditions}


def _condition_order(template: Template) -> list[str]:
    """The conditions, each after those that it names. Errors: TemplateError (a cycle; a missing condition).

    Without recursion: a chain of conditions may be longer than Python's stack.
    """
    order: dict[str, None] = {}
    for first in template.conditions:
        asking = {} if first in order else {first: _conditions_of(template, first)}
        while asking:
            name, others = next(reversed(asking.items()))
            other = next((each for each in others if each not in order), None)
            if other is None:
                order[name] = None
                del asking[name]
                continue
            if other in asking:
                path = list(asking)
                circle = ", ".join(path[path.index(other) :])
                raise TemplateError(f"Template error: Circular dependency between conditions: [{circle}]")
            asking[other] = _conditions_of(template, other)
    return list(order)


def _conditions_of(template: Template, name: str) -> Iterator[str]:
    if name not in template.conditions:
        raise TemplateError(
            f"Template format error: Unresolved condition dependency {name} in the Conditions block of the template"
        )
    return conditions_named(template.conditions[name])


def check_rules(template: Template, parameters: Mapping[str, ParameterValue], pseudo: PseudoParameters) -> None:
    """Check the assertions of every rule that applies.

    Errors: TemplateError with the assertion's description.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/rules-section-structure.html
    """
    scope = _ParameterScope(template, parameters, pseudo, "Rules")
    for name, rule in template.rules.items():
        condition, assertions = _rule_parts(name, rule)
        if condition is not None and not holds(condition, scope, RULE_TESTS, _no_condition):
            continue
        for test, description in assertions:
            if not holds(test, scope, RULE_TESTS, _no_condition):
                raise TemplateError(f"Rule {name} failed: {description}")


def _rule_parts(name: str, rule: Node) -> tuple[Node, list[tuple[Node, str]]]:
    """A rule's condition and its assertions with their descriptions."""
    if not isinstance(rule, dict) or not rule.keys() <= {"RuleCondition", "Assertions"}:
        raise _malformed_rule(name)
    assertions = rule.get("Assertions")
    if not isinstance(assertions, list) or not assertions:
        raise _malformed_rule(name)
    return rule.get("RuleCondition"), [_assertion(name, each) for each in assertions]


def _assertion(name: str, node: Node) -> tuple[Node, str]:
    if not isinstance(node, dict) or "Assert" not in node or not node.keys() <= {"Assert", "AssertDescription"}:
        raise _malformed_rule(name)
    return node["Assert"], text_of(node.get("AssertDescription", "an assertion does not hold"))


def _malformed_rule(name: str) -> TemplateError:
    return TemplateError(f"Template format error: Rule {name} must contain a list of Assertions")


def _no_condition(name: str) -> bool:
    raise TemplateError(f"Template format error: Rules cannot refer to the condition {name}")
