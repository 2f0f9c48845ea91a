"""Templates on stages: deployed as by CloudFormation, once, and put into each further stage as they were left there."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from redrive.core.documents import dump_json
from redrive.core.errors import ServiceError, UserError
from redrive.languages.template import Node
from redrive.prove.project.focus import kept_still, needed
from redrive.prove.project.nodes import stubbed
from redrive.prove.project.source import ProjectTemplate, read_template
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.prove.stage.tape import Saved

STACK = "stack"
_STUBS = [{"Key": "redrive:on-unknown", "Value": "stub"}]
"""What redrive does not serve is stood in for: the handler's calls of it are answered as of any service not served."""
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
_CIRCLE = re.compile(r"Circular dependency between resources: \[(?P<names>[^\]]*)\]")
_STUBS_MAX = 25
"""After so many resources that cannot be made, the template is refused."""


class Deployments:
    """What was deployed on a new stage, for further new stages of the same seed: they would deploy it alike."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Saved, Mapping[str, str]]] = {}

    def deploy(
        self, stage: Stage, template: ProjectTemplate, root: dict[str, Node], kept: set[str] | None
    ) -> dict[str, str]:  # fmt: skip
        """Deploy a template; a resource that cannot be made becomes a stub, if it is none of those to be `kept`.

        Returns the stubs, each with the reason. Without `kept`, every resource has to be made. Errors: UserError.
        """
        key = (template.file, dump_json(root), dump_json(template.parameters), kept is None, *sorted(kept or ()))
        known = self._known.get(key)
        if known is None:
            stubs = _really_deployed(stage, template, root, kept)
            self._known[key] = stage.save(), stubs
            return stubs
        saved, stubs = known[0], dict(known[1])
        stage.load(saved)
        return stubs


def deploy(stage: Stage, file: Path, parameters: Mapping[str, str]) -> ProjectTemplate:
    """Deploy a whole template, with stubs for what cannot be made besides functions. Errors: UserError."""
    template = read_template(file, parameters, SCOPE)
    functions = {function.logical_id for function in template.functions}
    stubs = Deployments().deploy(stage, template, copy.deepcopy(template.root), functions)
    return replace(template, guesses={**template.guesses, **stubs})


def _really_deployed(
    stage: Stage, template: ProjectTemplate, root: dict[str, Node], kept: set[str] | None
) -> dict[str, str]:
    """Deploy a template, and return the stubs, each with the reason. Errors: UserError."""
    kept_still(root)
    stubs: dict[str, str] = {}
    before = stage.save()
    for _ in range(_STUBS_MAX):
        try:
            failed = _deployed(stage, template, root)
        except ServiceError as error:
            if not kept or not _reduced(root, kept, error.message):
                raise UserError(
                    f"The template {template.file} cannot be deployed: {error.message}", exit_code=2
                ) from error
            stage.load(before)
            continue
        resources = root["Resources"]
        free = [name for name in failed if kept is not None and name not in kept]
        if not failed:
            return stubs
        if not free or not isinstance(resources, dict):
            why = "; ".join(failed.values())
            raise UserError(f"The template {template.file} cannot be deployed: {why}", exit_code=2)
        for name in free:
            stubs[f"resource {name}"] = f"a stub, because it cannot be made: {failed[name]}"
            resources[name] = dict(stubbed(cast("dict[str, Node]", resources[name])))
        stage.load(before)
    raise UserError(f"The template {template.file} cannot be deployed: {'; '.join(stubs.values())}", exit_code=2)


def _reduced(root: dict[str, Node], kept: set[str], why: str) -> bool:
    """Leave out what a refused template does not need, or make stubs in its circle; returns whether that helps."""
    resources = needed(root, kept)
    circle = _CIRCLE.search(why)
    for name in () if circle is None else circle["names"].split(", "):
        if name in resources and name not in kept:
            resources[name] = dict(stubbed(cast("dict[str, Node]", resources[name])))
    is_other = resources != root["Resources"]
    root["Resources"] = resources
    return is_other


def _deployed(stage: Stage, template: ProjectTemplate, root: Mapping[str, Node]) -> dict[str, str]:
    """Deploy once; returns the reasons of the resources that could not be made. Errors: ServiceError."""
    declared = root.get("Parameters")
    known = declared if isinstance(declared, dict) else {}
    given = [
        {"ParameterKey": key, "ParameterValue": value} for key, value in template.parameters.items() if key in known
    ]
    stage.call(
        "cloudformation", "CreateStack", StackName=STACK, TemplateBody=dump_json(root), Parameters=given,
        Capabilities=_CAPABILITIES, Tags=_STUBS,
    )  # fmt: skip
    stage.settle()
    made = stage.call("cloudformation", "DescribeStacks", StackName=STACK)["Stacks"][0]
    if made["StackStatus"] == "CREATE_COMPLETE":
        return {}
    events = stage.call("cloudformation", "DescribeStackEvents", StackName=STACK)["StackEvents"]
    reasons = {
        str(event["LogicalResourceId"]): str(event.get("ResourceStatusReason"))
        for event in reversed(events)
        if event["ResourceStatus"] == "CREATE_FAILED" and "cancelled" not in str(event.get("ResourceStatusReason"))
    }
    reasons.pop(STACK, None)
    return reasons or {STACK: str(made.get("StackStatusReason", f"it is {made['StackStatus']}"))}
