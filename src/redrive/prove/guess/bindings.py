"""What an environment variable is used for, by the calls that its value ends in; and a value that fits.

A value is followed by name: through constants of modules, attributes, parameters of the user's own functions, f-strings
and conversions. Where no use is found, the variable's own name decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.prove.guess.reading import nodes_of, own_files, parsed, variable_of
from redrive.prove.guess.variables import ACCOUNT, REGION, guessed_value, of_destination

PASSES = 4
"""How many times a name may be given on to another name."""

_AWS = f"{REGION}:{ACCOUNT}"
_QUEUE = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/"
_BY_PARAMETER: Mapping[str, str] = {
    "TableName": "sample-table", "QueueUrl": _QUEUE + "sample-queue", "QueueName": "sample-queue",
    "TopicArn": f"arn:aws:sns:{_AWS}:sample-topic", "Bucket": "sample-bucket", "SecretId": "sample-secret",
    "StateMachineArn": f"arn:aws:states:{_AWS}:stateMachine:sample-machine",
    "stateMachineArn": f"arn:aws:states:{_AWS}:stateMachine:sample-machine", "FunctionName": "sample-function",
    "EventBusName": "default", "StreamName": "sample-stream", "DeliveryStreamName": "sample-delivery-stream",
    "StreamARN": f"arn:aws:kinesis:{_AWS}:stream/sample-stream", "KeyId": "alias/sample-key",
    "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/sample-role", "LogGroupName": "sample-logs",
    "logGroupName": "sample-logs", "UserPoolId": f"{REGION}_sample", "region_name": REGION,
    "Source": "sender@example.com", "GroupName": "default",
    "taskDefinition": "sample-task:1", "cluster": "sample-cluster",
    "IndexName": "sample-index",
    "Namespace": "sample", "jobName": "sample-job", "JobName": "sample-job",
}  # fmt: skip
"""Values by the parameters of boto3's calls."""
_QUEUES_OWN = frozenset(
    {"change_message_visibility", "change_message_visibility_batch", "delete_message", "delete_message_batch"}
)
"""Methods that take the receipt of a message: their queue is the one that the message came from."""
_BY_METHOD: Mapping[str, str] = {
    "Table": "sample-table", "Topic": f"arn:aws:sns:{_AWS}:sample-topic", "Queue": _QUEUE + "sample-queue",
    "Bucket": "sample-bucket", "int": "10", "float": "10", "Decimal": "10", "loads": "{}", "bool": "1",
    "get_queue_by_name": "sample-queue", "Secret": "sample-secret", "ZoneInfo": "UTC", "timezone": "UTC",
}  # fmt: skip
"""Values by the method or the function whose first argument a variable is."""
_PARAMETER_STORE = frozenset({"get_parameter", "get_parameters", "put_parameter", "get_parameters_by_path"})
_HTTP = frozenset({"get", "post", "put", "patch", "delete", "request", "urlopen", "Request"})
_HTTP_HOLDERS = ("requests", "http", "session", "client", "urllib", "httpx", "pool")


@dataclass(frozen=True, slots=True)
class Fitting:
    """A value, and where it is used; `use` is empty if the variable's name decided."""

    value: str
    use: str = ""

    def because(self, place: str) -> str:
        """Why the value was chosen, for the user."""
        return f"because {self.use}" if self.use else f"because {place} reads it"


def variables_for(file: Path, names: Iterable[str], *, own_queue: str = "") -> dict[str, Fitting]:
    """Values that fit what the file, and its own imports, do with these variables."""
    uses = _Uses(file, own_queue)
    found = {name: uses.found.get(name) or Fitting(guessed_value(name)) for name in names}
    return {name: replace(one, value=of_destination(name, one.value)) for name, one in found.items()}


class _Uses:
    """Finds where variables are used in the files of a handler."""

    def __init__(self, file: Path, own_queue: str) -> None:
        self._own_queue = own_queue
        self._trees = [(own.name, tree) for own in own_files(file) if (tree := parsed(own)) is not None]
        self._functions = {
            node.name: node
            for _, tree in self._trees
            for node in nodes_of(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self._names: dict[str, str] = {}
        self.found: dict[str, Fitting] = {}
        for _ in range(PASSES):
            known = len(self._names)
            for _, tree in self._trees:
                self._bind(tree)
            if len(self._names) == known:
                break
        for name, tree in self._trees:
            for variable, fitting in self._used(tree, name):
                self.found.setdefault(variable, fitting)

    def _bind(self, tree: ast.Module) -> None:
        """Note the names that have the value of a variable."""
        for node in nodes_of(tree):
            match node:
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    self._name(target, value)
                case ast.NamedExpr(target=target, value=value):
                    self._name(target, value)
                case ast.Call(func=func):
                    self._pass_on(node, _last_name(func))
                case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
                    with_default = arguments.args[len(arguments.args) - len(arguments.defaults) :]
                    for argument, default in zip(with_default, arguments.defaults, strict=True):
                        self._name(ast.Name(argument.arg), default)
                case _:
                    pass

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        variable = self._variable(value)
        if variable is None and isinstance(value, ast.Call) and _last_name(value.func) in ("int", "float", "Decimal"):
            return
        if variable is not None and (name := _last_name(target)):
            self._names.setdefault(name, variable)

    def _pass_on(self, node: ast.Call, called: str) -> None:
        """Follow a value into the parameter of a function of the user's own."""
        function = self._functions.get(called)
        if function is None:
            return
        for argument, given in zip(function.args.args, node.args, strict=False):
            self._name(ast.Name(argument.arg), given)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._name(ast.Name(keyword.arg), keyword.value)

    def _variable(self, node: ast.expr) -> str | None:
        """The variable whose value an expression has."""
        match node:
            case ast.Name() | ast.Attribute() if (name := _last_name(node)) in self._names:
                return self._names[name]
            case ast.BoolOp(op=ast.Or(), values=[first, *_]):
                return self._variable(first)
            case ast.Call(func=ast.Name(id="str"), args=[inner]):
                return self._variable(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="strip" | "rstrip"), args=_):
                return self._variable(inner)
            case _:
                return variable_of(node)

    def _used(self, tree: ast.Module, file: str) -> Iterator[tuple[str, Fitting]]:
        for node in nodes_of(tree):
            match node:
                case ast.Call():
                    yield from self._in_call(node, file)
                case ast.Dict(keys=keys, values=values):
                    for key, value in zip(keys, values, strict=True):
                        yield from self._as_parameter(key, value, file)
                case _:
                    pass

    def _in_call(self, node: ast.Call, file: str) -> Iterator[tuple[str, Fitting]]:
        called = _last_name(node.func)
        place = f"{file}:{node.lineno}"
        for keyword in node.keywords:
            variable = self._variable(keyword.value)
            if variable is None or keyword.arg is None:
                continue
            told = f"{place} gives it to {called} as {keyword.arg}"
            if keyword.arg == "QueueUrl" and called in _QUEUES_OWN and self._own_queue:
                yield variable, Fitting(self._own_queue, told)
            elif called in _PARAMETER_STORE and keyword.arg in ("Name", "Path"):
                yield variable, Fitting("/sample/parameter", told)
            elif keyword.arg in _BY_PARAMETER:
                yield variable, Fitting(_BY_PARAMETER[keyword.arg], told)
        if node.args and (variable := self._variable(node.args[0])) is not None:
            told = f"{place} gives it to {called}"
            holder = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if called in _BY_METHOD:
                yield variable, Fitting(_BY_METHOD[called], told)
            elif called in _HTTP and any(word in holder.lower() for word in _HTTP_HOLDERS):
                yield variable, Fitting("https://example.com/sample", told)
        if isinstance(node.func, ast.Attribute) and called == "split":
            variable = self._variable(node.func.value)
            if variable is not None:
                yield variable, Fitting(guessed_value(variable), f"{place} splits it")

    def _as_parameter(self, key: ast.expr | None, value: ast.expr, file: str) -> Iterator[tuple[str, Fitting]]:
        """A value in an object of parameters: `{"EventBusName": BUS}`."""
        variable = self._variable(value)
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        if variable is not None and name in _BY_PARAMETER:
            yield variable, Fitting(_BY_PARAMETER[name], f"{file}:{value.lineno} gives it as {name}")


def _last_name(node: ast.expr) -> str:
    """`table` of `self.settings.table`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
