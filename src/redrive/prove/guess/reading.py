"""What a handler reads, by its source: the keys of its event, and its environment variables.

The source is parsed, and never run. What is read in another way (a data class, a loop over keys) is not seen.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

EventKey = str | int
"""A key of an object, or an index of a list."""
EventPath = tuple[EventKey, ...]

_REPORTS = re.compile("batchItemFailures|batch_item_failures|BatchProcessor|process_partial_response|redrive.handler")

_DATA_CLASSES: tuple[tuple[str, str], ...] = (
    (
        (
            r"\b(S3Event|SQSEvent|SNSEvent|EventBridgeEvent|KinesisStreamEvent|DynamoDBStreamEvent|APIGatewayProxyEvent"
            r"(?:V2)?|APIGatewayRestResolver|APIGatewayHttpResolver|LambdaFunctionUrl(?:Event|Resolver))\b"
        ),
        "",
    ),
    (r"\bEventType\.KinesisDataStreams\b|\bKinesis(DataStream)?(Record)?(Model|Envelope)\b", "KinesisStreamEvent"),
    (r"\bEventType\.DynamoDBStreams\b|\bDynamoDBStream(Record)?(Model|Envelope)\b", "DynamoDBStreamEvent"),
    (r"\bEventType\.SQS\b|\bSqs(Record)?(Model|Envelope)\b|\bSnsSqsEnvelope\b", "SQSEvent"),
    (r"\bSns(Record)?(Model|Envelope)\b", "SNSEvent"),
    (r"\bEventBridge(Model|Envelope)\b", "EventBridgeEvent"),
    (r"\bS3(Record)?Model\b", "S3Event"),
)
"""The class of Powertools that reads an event, by the names of its records, models and envelopes."""

FILES_MAX = 40
"""How many files of the user's own are read at most."""
CALLS_MAX = 4
"""How deep calls of the module's own functions are followed."""
_TREES_KEPT = 256


@dataclass(slots=True)
class Reading:
    """What is read. `paths` are the keys of the event with the line that reads each; `compared` are the texts with
    which the value at a path is compared; `variables` are the names of variables without a default. `reports_failures`:
    it, or a library that it uses, may name in its answer what has failed of a batch. `data_class` is the class of
    Powertools that it reads its event with.
    """

    paths: dict[EventPath, str] = field(default_factory=dict)
    compared: dict[EventPath, list[str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    reports_failures: bool = False
    data_class: str = ""
    values: dict[EventPath, object] = field(default_factory=dict)
    """What stands at a path, if a run has shown it: no name decides it then."""
    is_list: bool = False
    """Whether the event itself is a list of records, as a pipe gives it: the paths begin as those of an envelope."""
    documents: set[EventPath] = field(default_factory=set)
    """The paths of texts that are read as JSON, other than a message's own body."""


def read_handler(file: Path, function: str) -> Reading:
    """Read the function of a file, with the files beside it that it imports. What cannot be parsed is left out."""
    reading = Reading()
    for own in own_files(file):
        tree = parsed(own)
        if tree is not None:
            reading.reports_failures |= _REPORTS.search(own.read_text("utf-8")) is not None
            reading.variables |= {name: f"{own.name}:{line}" for name, line in _variables(tree)}
    tree = parsed(file)
    if tree is not None:
        source = file.read_text("utf-8")
        found = ((re.search(pattern, source), name) for pattern, name in _DATA_CLASSES)
        reading.data_class = next((name or match[1] for match, name in found if match is not None), "")
        Events(tree, file.name, reading).follow(function)
        _take_list(reading)
    return reading


def _take_list(reading: Reading) -> None:
    """Read a list of records as those of an envelope, which has them in Records."""
    listed = {path: place for path, place in reading.paths.items() if path[0] == 0}
    if not listed or len(listed) < len(reading.paths):
        reading.paths = {path: place for path, place in reading.paths.items() if path not in listed}
        return
    reading.is_list = True
    reading.paths = {in_envelope(path): place for path, place in reading.paths.items()}
    reading.compared = {in_envelope(path): texts for path, texts in reading.compared.items()}


def in_envelope(path: EventPath) -> EventPath:
    """Where a path of a pipe's list of records is in a mapping's event, whose records have `kinesis` for the data."""
    of_kinesis = ("kinesis",) if path[1:2] == ("data",) else ()
    return ("Records", *path[:1], *of_kinesis, *path[1:])


def own_files(file: Path) -> Iterator[Path]:
    """The file, and those beside or below it that are imported from it."""
    waiting, seen = [file], {file}
    while waiting and len(seen) <= FILES_MAX:
        current = waiting.pop()
        yield current
        tree = parsed(current)
        for name in () if tree is None else _imported(tree):
            beside = file.parent / Path(*name.split("."))
            for found in (beside.with_suffix(".py"), beside / "__init__.py"):
                if found.is_file() and found not in seen:
                    seen.add(found)
                    waiting.append(found)


def parsed(file: Path) -> ast.Module | None:
    """The syntax tree of a file; None if it cannot be parsed."""
    try:
        return tree_of(file.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None


@functools.lru_cache(_TREES_KEPT)
def tree_of(source: str) -> ast.Module:
    """The syntax tree of a module's text, which nobody changes: a proof reads the same modules again and again.

    Errors: SyntaxError; ValueError.
    """
    return ast.parse(source)


@functools.lru_cache(_TREES_KEPT)
def nodes_of(tree: ast.Module) -> Sequence[ast.AST]:
    """All nodes of a module's tree."""
    return tuple(ast.walk(tree))


@functools.lru_cache(_TREES_KEPT)
def _imported(tree: ast.Module) -> Sequence[str]:
    names: list[str] = []
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def _variables(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """`os.environ["NAME"]`, `os.environ.get("NAME")` and `os.getenv("NAME")`, without a default or with None; fields of
    settings.
    """
    for node in nodes_of(tree):
        if isinstance(node, ast.expr) and (name := variable_of(node)) is not None:
            yield name, node.lineno
        elif isinstance(node, ast.ClassDef) and any(_ends_with(base, "BaseSettings") for base in node.bases):
            for member in node.body:
                match member:
                    case ast.AnnAssign(target=ast.Name(id=name), value=None):
                        yield name.upper(), member.lineno
                    case _:
                        pass


def variable_of(node: ast.expr) -> str | None:
    """The name of the environment variable that an expression reads without a default."""
    if isinstance(node, ast.Subscript) and _is_environ(node.value) and isinstance(node.ctx, ast.Load):
        return _text(node.slice)
    if isinstance(node, ast.Call) and not node.keywords and _gets_variable(node.func):
        match node.args:
            case [name] | [name, ast.Constant(value=None)]:
                return _text(name)
            case _:
                pass
    return None


def _ends_with(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )


def _gets_variable(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "getenv" or (node.attr == "get" and _is_environ(node.value))
    return isinstance(node, ast.Name) and node.id == "getenv"


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


_TEXTS = (("body",), ("Message",))
"""The ends of paths whose texts are documents themselves."""


class Events:
    """Follows the event through a module's functions."""

    def __init__(self, tree: ast.Module, name: str, reading: Reading) -> None:
        self._functions = {
            node.name: node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self._name = name
        self._reading = reading
        self._written: set[EventPath] = set()
        self._followed: set[tuple[str, tuple[tuple[str, EventPath], ...]]] = set()

    def follow(self, function: str) -> None:
        """Read the handler: its first parameter is the event."""
        found = self._functions.get(function.rpartition(".")[2])
        if found is not None and found.args.args:
            self._function(found, {found.args.args[0].arg: ()}, 0)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, known: Mapping[str, EventPath], depth: int
    ) -> None:
        place = (node.name, tuple(sorted(known.items())))
        if place in self._followed or depth > CALLS_MAX:
            return
        self._followed.add(place)
        names = dict(known)
        for statement in node.body:
            self._visit(statement, names, depth)

    def _visit(self, node: ast.AST, names: dict[str, EventPath], depth: int) -> None:
        """Read a statement or an expression, in the order of the source."""
        match node:
            case ast.For(target=target, iter=value):
                self._loop(target, value, [*node.body, *node.orelse], names, depth)
                return
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                self._comprehension(node.generators, [node.elt], dict(names), depth)
                return
            case ast.DictComp(key=key, value=value, generators=generators):
                self._comprehension(generators, [key, value], dict(names), depth)
                return
            case _:
                pass
        for child in ast.iter_child_nodes(node):
            self._visit(child, names, depth)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._bind(name, value, names)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._bind(name, value, names)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self._bind(name, value, names)
            case ast.Subscript(ctx=ast.Store()):
                path = self._path(node, names)
                if path and path not in self._reading.paths:
                    self._written.add(path)
            case ast.Subscript() | ast.Call():
                path = self._path(node, names)
                if path and path not in self._written and not _has_default(node):
                    self._note(path, node.lineno)
                if isinstance(node, ast.Call):
                    self._call(node, names, depth)
            case ast.Compare(left=left, comparators=others):
                self._compare(left, others, names)
            case _:
                pass

    def _loop(
        self, target: ast.expr, over: ast.expr, inner: Sequence[ast.AST], names: dict[str, EventPath], depth: int
    ) -> None:  # fmt: skip
        """Read a loop: its name is each member of a list, and what it was before no longer."""
        self._visit(over, names, depth)
        match target, over:
            case ast.Tuple(elts=[_, ast.Name(id=name)]), ast.Call(func=ast.Name(id="enumerate"), args=[listed, *_]):
                path = self._path(listed, names)
            case ast.Name(id=name), _:
                path = self._path(over, names)
            case _:
                name, path = "", None
        names.pop(name, None)
        if path:
            self._note((*path, 0), over.lineno)
        if path is not None:
            names[name] = (*path, 0)
        for one in inner:
            self._visit(one, names, depth)

    def _comprehension(
        self, generators: Sequence[ast.comprehension], made: Sequence[ast.expr], names: dict[str, EventPath], depth: int
    ) -> None:  # fmt: skip
        for each in generators:
            self._loop(each.target, each.iter, each.ifs, names, depth)
        for one in made:
            self._visit(one, names, depth)

    def _bind(self, name: str, value: ast.expr, names: dict[str, EventPath]) -> None:
        path = self._path(value, names)
        if path is not None:
            names[name] = path
        else:
            names.pop(name, None)

    def _call(self, node: ast.Call, names: Mapping[str, EventPath], depth: int) -> None:
        """Follow the event into a function of the same module."""
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        function = self._functions.get(called)
        if function is None:
            return
        paths = [self._path(argument, names) for argument in node.args]
        parameters = [argument.arg for argument in function.args.args]
        known = {name: path for name, path in zip(parameters, paths, strict=False) if path is not None}
        for keyword in node.keywords:
            path = self._path(keyword.value, names)
            if keyword.arg is not None and path is not None:
                known[keyword.arg] = path
        if known:
            self._function(function, known, depth + 1)

    def _compare(self, left: ast.expr, others: Sequence[ast.expr], names: Mapping[str, EventPath]) -> None:
        path = self._path(left, names)
        if not path:
            return
        texts = [text for other in others for text in _texts(other)]
        self._reading.compared.setdefault(path, []).extend(texts)

    def _note(self, path: EventPath, line: int) -> None:
        self._reading.paths.setdefault(path, f"{self._name}:{line}")

    def _path(self, node: ast.expr, names: Mapping[str, EventPath]) -> EventPath | None:
        """The path of an expression in the event; None if it is no part of the event."""
        match node:
            case ast.Name(id=name):
                return names.get(name)
            case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as step)):
                path = self._path(value, names)
                return None if path is None else (*path, step)
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value=str(step)), *_]):
                path = self._path(value, names)
                return None if path is None else (*path, step)
            case ast.Call(func=func, args=[*arguments]) if (text := _decoded(func, arguments)) is not None:
                path = self._path(text, names)
                return path if path is not None and ("kinesis" in path or path[-1:] in _TEXTS) else None
            case ast.BoolOp(op=ast.Or(), values=[value, *_]) | ast.NamedExpr(value=value):
                return self._path(value, names)
            case _:
                return None


def _decoded(func: ast.expr, arguments: Sequence[ast.expr]) -> ast.expr | None:
    """What a call decodes: the data of a record of Kinesis is JSON in base64, a message of a queue or topic is JSON."""
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if name in {"loads", "b64decode", "str"} and arguments:
        return arguments[0]
    return func.value if name == "decode" and isinstance(func, ast.Attribute) else None


def _has_default(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and len(node.args) > 1


def _texts(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Tuple(elts=members) | ast.List(elts=members) | ast.Set(elts=members):
            for member in members:
                yield from _texts(member)
        case _:
            pass
