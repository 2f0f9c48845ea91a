"""The function of a template that is invoked by a topic, a bucket, a schedule, a task or an API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.core.documents import Document
from redrive.core.errors import ServiceError, UserError
from redrive.prove.guess.contents import PLAIN_FILE, content_for
from redrive.prove.guess.web_samples import Route
from redrive.prove.stage.inputs import ANYWHERE, Place, awaiting_of, called_trigger, inputs_for
from redrive.prove.stage.invoked import invoked_asynchronously
from redrive.prove.stage.retriers import Awaiting
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.prove.stage.state_machines import tasks_of
from redrive.prove.stage.trigger import Kind, Trigger

_GATEWAY = "apigateway.amazonaws.com"
_NEW_API = "AWS::ApiGatewayV2::Api"
_ROUTE = re.compile(r":execute-api:[^/]*/[^/]*/(?P<method>[A-Z*]+)(?P<path>/.*)?$")


@dataclass(frozen=True, slots=True)
class _Fed:
    """A function, what invokes it, and what is known of its input."""

    kind: Kind
    function: Document
    place: Place = ANYWHERE
    awaiting: Awaiting | None = None
    told: str = ""

    @property
    def handler(self) -> str:
        return str(self.function["Handler"])

    @property
    def name(self) -> str:
        return str(self.function["FunctionName"])


def is_direct(kind: Kind | None) -> bool:
    """Whether a kind is one of this module."""
    return kind in {Kind.LAMBDA, Kind.S3, Kind.SNS, Kind.SCHEDULE, Kind.TASK, Kind.API}


def direct_handlers(stage: Stage, stack: str) -> list[str]:
    """The handlers of all functions of a stack that are invoked so."""
    return [one.handler for one in _all_fed(stage, stack)]


def direct_trigger(
    stage: Stage, stack: str, file: Path, handler: str, given: tuple[str, ...] | None, kind: Kind | None,
    wanted: Callable[[Document], Wanted],
) -> tuple[Trigger, str]:  # fmt: skip
    """The trigger of the function, and the name of its handler. `handler` selects one of several functions.

    Errors: UserError.
    """
    fed = _pick(stage, stack, file, handler, kind)
    return _trigger(stage, fed, given, wanted(fed.function)), fed.handler


def trigger_of(
    stage: Stage, stack: str, function_name: str, kind: Kind, given: tuple[str, ...] | None, wanted: Wanted,
    key: tuple[str, str] = ("", ""),
) -> Trigger:  # fmt: skip
    """The trigger of a function of a stack that is invoked in this way, whether or not the stack says so.

    `key` is how the names of objects begin and end that its bucket tells of.
    """
    found = (one for one in _all_fed(stage, stack) if one.kind is kind and one.name == function_name)
    function = stage.call("lambda", "GetFunctionConfiguration", FunctionName=function_name)
    return _trigger(stage, next(found, _Fed(kind, function, Place(key=key))), given, wanted)


def _trigger(stage: Stage, fed: _Fed, given: tuple[str, ...] | None, wanted: Wanted) -> Trigger:
    file = PLAIN_FILE if wanted.file is None else content_for(wanted.file)
    events, guesses = inputs_for(fed.kind, given, wanted, file=file, place=fed.place)
    told = {**({fed.kind.value: fed.told} if fed.told else {}), **guesses}
    if fed.kind.is_awaited:
        awaiting = fed.awaiting or awaiting_of(fed.kind, events)
        return called_trigger(fed.name, int(fed.function["Timeout"]), fed.kind, events, awaiting, told)
    trigger = invoked_asynchronously(stage, fed.function, fed.kind, events)
    return replace(trigger, given=events, guesses=told)


def _pick(stage: Stage, stack: str, file: Path, handler: str, kind: Kind | None) -> _Fed:
    """The only function that is invoked in this way, or the one with this handler, in whatever way it is invoked."""
    found = [one for one in _all_fed(stage, stack) if kind is None or one.kind is kind]
    fed = {one.name: one for one in reversed(found)}
    others = [] if kind is None else [_Fed(kind, one) for one in _functions(stage) if one["FunctionName"] not in fed]
    wanted = handler.replace(":", ".")
    named = [one for one in (*fed.values(), *others) if wanted and wanted.endswith(one.handler)]
    several = list(fed.values()) or others
    if len(named) == 1 or len(several) == 1:
        return named[0] if len(named) == 1 else several[0]
    if not several:
        raise UserError(f"The template {file} has no function.", exit_code=2)
    names = ", ".join(sorted(one.handler for one in several))
    raise UserError(
        f"The template {file} has several functions that could be meant, with the handlers {names}.",
        next_step="Name one of them as module:function.", exit_code=2,
    )  # fmt: skip


def _all_fed(stage: Stage, stack: str) -> Iterator[_Fed]:
    functions = {str(one["FunctionName"]): one for one in _functions(stage)}
    template = _template(stage, stack)
    yield from _of_tasks(stage, stack, template, functions)
    yield from _of_schedules(stage, functions)
    yield from _of_topics(stage, functions)
    yield from _of_buckets(stage, functions)
    yield from _of_apis(stage, template, functions)


def _of_tasks(stage: Stage, stack: str, template: Document, functions: dict[str, Document]) -> Iterator[_Fed]:
    found = stage.call("cloudformation", "DescribeStackResources", StackName=stack)["StackResources"]
    names = {
        str(one["LogicalResourceId"]): str(one["PhysicalResourceId"])
        for one in found
        if one["ResourceType"] == "AWS::Lambda::Function"
    }
    for one in tasks_of(template, names):
        told = f"the state {one.name} of {one.machine}: {one.awaiting.told}"
        place = Place(payload=one.payload)
        yield _Fed(Kind.TASK, functions[names[one.function]], place, one.awaiting, told)


def _of_schedules(stage: Stage, functions: dict[str, Document]) -> Iterator[_Fed]:
    for one in stage.call("scheduler", "ListSchedules")["Schedules"]:
        found = stage.call("scheduler", "GetSchedule", Name=one["Name"], GroupName=one["GroupName"])
        function = _function(functions, str(found["Target"]["Arn"]))
        if function is not None:
            place = Place(schedule_arn=str(found["Arn"]), target=dict(found["Target"]))
            yield _Fed(Kind.SCHEDULE, function, place, told=f"the schedule {one['Name']}")


def _of_topics(stage: Stage, functions: dict[str, Document]) -> Iterator[_Fed]:
    for one in stage.call("sns", "ListSubscriptions")["Subscriptions"]:
        function = _function(functions, str(one["Endpoint"])) if one["Protocol"] == "lambda" else None
        if function is not None:
            yield _Fed(Kind.SNS, function, told=f"the topic {str(one['TopicArn']).rpartition(':')[2]}")


def _of_buckets(stage: Stage, functions: dict[str, Document]) -> Iterator[_Fed]:
    for bucket in stage.call("s3", "ListBuckets")["Buckets"]:
        told = stage.call("s3", "GetBucketNotificationConfiguration", Bucket=bucket["Name"])
        for one in told.get("LambdaFunctionConfigurations") or ():
            function = _function(functions, str(one["LambdaFunctionArn"]))
            if function is not None:
                yield _Fed(Kind.S3, function, told=f"the bucket {bucket['Name']}")


def _of_apis(stage: Stage, template: Document, functions: dict[str, Document]) -> Iterator[_Fed]:
    resources = template.get("Resources") or {}
    is_new = any(one.get("Type") == _NEW_API for one in resources.values() if isinstance(one, dict))
    for name, function in functions.items():
        if stage.call("lambda", "ListFunctionUrlConfigs", FunctionName=name)["FunctionUrlConfigs"]:
            yield _Fed(Kind.API, function, Place(is_v2=True), told="its function URL")
            continue
        routes = [route for route in map(_route_of, _statements(stage, name)) if route is not None]
        if routes:
            changing = min(routes, key=lambda one: one.method == "GET")
            place = Place(route=changing if changing.path else None, is_v2=is_new)
            yield _Fed(Kind.API, function, place, told=f"{changing.method} {changing.path or 'of any path'}")


def _statements(stage: Stage, function_name: str) -> list[Document]:
    try:
        policy = json.loads(stage.call("lambda", "GetPolicy", FunctionName=function_name)["Policy"])
    except ServiceError:
        return []  # It has none.
    return list(policy.get("Statement") or ())


def _route_of(statement: Document) -> Route | None:
    """The route that a permission is for; with an empty path if it is for all of an API."""
    principal = statement.get("Principal")
    if not isinstance(principal, dict) or principal.get("Service") != _GATEWAY:
        return None
    conditions = (statement.get("Condition") or {}).values()
    sources = [str(value) for one in conditions for name, value in one.items() if name.lower() == "aws:sourcearn"]
    match = _ROUTE.search(sources[0]) if sources else None
    if match is None or not match["path"] or "*" in match["path"]:
        return Route("POST", "")
    return Route("POST" if match["method"] == "*" else match["method"], match["path"])


def _functions(stage: Stage) -> list[Document]:
    return list(stage.call("lambda", "ListFunctions")["Functions"])


def _function(functions: dict[str, Document], arn: str) -> Document | None:
    """The function of an ARN, which may name an alias or a version."""
    prefix = f"arn:aws:lambda:{SCOPE.region}:{SCOPE.account}:function:"
    return functions.get(arn.removeprefix(prefix).partition(":")[0]) if arn.startswith(prefix) else None


def _template(stage: Stage, stack: str) -> Document:
    """The template of a stack after its transforms."""
    body = stage.call("cloudformation", "GetTemplate", StackName=stack, TemplateStage="Processed")["TemplateBody"]
    return dict(body) if isinstance(body, dict) else dict(json.loads(str(body)))
