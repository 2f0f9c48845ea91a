"""The order in which resources are created: each after those that it refers to.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-dependson.html
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from redrive.languages.template.active import ActiveTemplate
from redrive.languages.template.errors import TemplateError
from redrive.languages.template.model import Template
from redrive.languages.template.references import AttributeOf, RefTo, resource_references


def dependencies(template: Template, active: ActiveTemplate) -> dict[str, frozenset[str]]:
    """The dependencies of each existing resource: by Ref, GetAtt, Sub and DependsOn.

    A DependsOn to a resource with a false condition is ignored.
    """
    return {name: _dependencies_of(template, active, name) for name in active.resources}


def dependency_order(template: Template, active: ActiveTemplate) -> list[str]:
    """The existing resources in topological order; ties are in source order.

    Errors: TemplateError if resources depend on each other in a cycle.
    """
    waiting = {name: set(needed) for name, needed in dependencies(template, active).items()}
    place = {name: index for index, name in enumerate(waiting)}
    needed_by: dict[str, list[str]] = {name: [] for name in waiting}
    for name, needed in waiting.items():
        for other in needed:
            needed_by[other].append(name)
    names = list(waiting)
    ready = [place[name] for name in names if not waiting[name]]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for other in needed_by[name]:
            waiting[other].discard(name)
            if not waiting[other]:
                heapq.heappush(ready, place[other])
    if len(order) < len(names):
        raise TemplateError(f"Circular dependency between resources: [{', '.join(_circle(waiting))}]")
    return order


def _dependencies_of(template: Template, active: ActiveTemplate, name: str) -> frozenset[str]:
    resource = template.resources[name]
    named = {
        reference.name
        for reference in resource_references(resource, active.conditions)
        if isinstance(reference, RefTo | AttributeOf)
    }
    return frozenset((named | set(resource.depends_on)) & set(active.resources))


def _circle(waiting: Mapping[str, set[str]]) -> list[str]:
    """The resources in cycles, without those that merely depend on a cycle."""
    circle = {name for name, needed in waiting.items() if needed}
    while True:
        wanted = {other for name in circle for other in waiting[name]}
        if circle <= wanted:
            return [name for name in waiting if name in circle]
        circle &= wanted
