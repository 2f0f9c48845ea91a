"""Terraform's files as a plan of them, without Terraform, providers or credentials: what the files alone say.

Values that a plan would read from AWS are unknown here. Modules from elsewhere are left out, unless
`terraform init` has brought them, or they are among those that are known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from redrive.languages.template import Node
from redrive.prove.guess.variables import ACCOUNT, REGION, guessed_value
from redrive.prove.project.hcl_evaluation import Evaluation
from redrive.prove.project.hcl_syntax import Block, Literal, MalformedConfiguration, Name, parse
from redrive.prove.project.hcl_values import Part, Unknown, Value, known, references_in, text_of

_DEPTH_MAX = 6
"""How deep modules nest."""
_INSTANCES_MAX = 50
"""How many resources a `count` or a `for_each` makes at most."""
_LOOKED_UP: Mapping[tuple[str, str], str] = {
    ("aws_caller_identity", "account_id"): ACCOUNT, ("aws_caller_identity", "id"): ACCOUNT,
    ("aws_region", "name"): REGION, ("aws_region", "id"): REGION, ("aws_region", "region"): REGION,
    ("aws_partition", "partition"): "aws", ("aws_partition", "dns_suffix"): "amazonaws.com",
}  # fmt: skip
"""What data of AWS is the same in every proof."""
_META = frozenset({"count", "for_each", "provider", "depends_on", "lifecycle", "source", "version", "providers"})
_FUNCTION = re.compile(r'resource\s+"aws_lambda_function"|source\s*=\s*"terraform-aws-modules/lambda/aws"')
_LOCAL = re.compile(r'\bsource\s*=\s*"(\.\.?/[^"]*)"')
_SAMPLES = frozenset({"example", "examples"})


def has_functions(folder: Path, depth: int = 0) -> bool:
    """Whether the files of a folder, or of the local modules that they call, declare a function."""
    text = "\n".join(_texts(folder))
    if _FUNCTION.search(text):
        return True
    return depth < _DEPTH_MAX and any(has_functions(one, depth + 1) for one in _called(folder, text))


def roots_among(folders: Sequence[Path]) -> list[Path]:
    """The folders from which Terraform is run: with functions, and called as modules by none of the others.

    Of several that call the same modules, such as one for each environment, the first is taken; samples of a module
    only where there is nothing else.
    """
    made = [one for one in folders if has_functions(one)]
    plain = [one for one in made if not _SAMPLES & {*one.parts[-2:]}] or made
    called = {inner for one in plain for inner in _called(one, "\n".join(_texts(one)))}
    found: dict[object, Path] = {}
    for one in plain:
        if one.resolve() not in called:
            inside = frozenset(_called(one, "\n".join(_texts(one))))
            found.setdefault(inside or one, one)
    return [*found.values()]


def main_file(folder: Path) -> Path:
    """The file that stands for a folder of Terraform's files."""
    files = sorted(folder.glob("*.tf"))
    with_functions = [file for file in files if _FUNCTION.search(file.read_text("utf-8", "replace"))]
    return next((file for file in files if file.name == "main.tf"), [*with_functions, *files][0])


def plan_of(file: Path) -> dict[str, Node]:
    """The files beside this one as `terraform show -json` prints a plan. Errors: MalformedConfiguration."""
    folder = file.resolve().parent
    given = _given(folder)
    module = _Module(folder, folder, "", given, 0)
    planned, read, configuration = module.written()
    return {
        "format_version": "1.2",
        "variables": {name: {"value": known(one)} for name, one in module.variables.items()},
        "guesses": {name: known(module.variables[name]) for name in module.made_up},
        "planned_values": {"root_module": planned},
        "prior_state": {"values": {"root_module": read}},
        "configuration": {"root_module": configuration},
    }


def _texts(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*.tf")) if folder.is_dir() else ():
        try:
            yield file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue


def _called(folder: Path, text: str) -> list[Path]:
    return [(folder / place).resolve() for place in _LOCAL.findall(text)]


def _parsed(folder: Path) -> Block:
    """All files of a folder as one. Errors: MalformedConfiguration."""
    whole = Block()
    for file in sorted(folder.glob("*.tf")):
        try:
            one = parse(file.read_text("utf-8"))
        except MalformedConfiguration as error:
            raise MalformedConfiguration(f"{file.name}, {error}") from error
        except (OSError, UnicodeDecodeError):
            continue
        whole.blocks += one.blocks
    return whole


def _given(folder: Path) -> dict[str, Value]:
    """The values of variables that Terraform takes from files by itself."""
    given: dict[str, Value] = {}
    for file in [folder / "terraform.tfvars", *sorted(folder.glob("*.auto.tfvars"))]:
        if file.is_file():
            block = parse(file.read_text("utf-8", "replace"))
            given |= {name: Evaluation(lambda _: None, folder).value(one) for name, one in block.attributes.items()}
    return given


@dataclass(slots=True)
class _Instance:
    """One of the resources that a block makes: its index, and what `each` or `count` is in it."""

    index: str = ""
    bound: Mapping[tuple[str, ...], Value] = field(default_factory=dict)


class _Module:
    def __init__(self, folder: Path, root: Path, address: str, given: Mapping[str, Value], depth: int) -> None:
        self._folder, self._root, self._address, self._depth = folder, root, address, depth
        self._content = _parsed(folder)
        self._locals = {
            name: one for block in self._content.inner("locals") for name, one in block.attributes.items()
        }  # fmt: skip
        self._asked: set[str] = set()
        self.made_up: list[str] = []
        self.variables: dict[str, Value] = {}
        for block in self._content.inner("variable"):
            self.variables[block.labels[0]] = self._variable(block, given)

    def _variable(self, block: Block, given: Mapping[str, Value]) -> Value:
        name = block.labels[0]
        if name in given:
            return given[name]
        if "default" in block.attributes:
            return Evaluation(lambda _: None, self._folder).value(block.attributes["default"])
        if self._address:
            return None
        self.made_up.append(name)
        match block.attributes.get("type"):
            case Name("number"):
                return 1
            case Name("bool"):
                return True
            case Name("string") | None:
                return REGION if "region" in name else guessed_value(name)
            case _:
                return []

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation(self._named, self._root)

    def _named(self, words: tuple[str, ...]) -> Value | None:
        match words:
            case ("var", name):
                return self.variables.get(name)
            case ("local", name) if name in self._locals and name not in self._asked:
                self._asked.add(name)
                try:
                    return self._evaluation.value(self._locals[name])
                finally:
                    self._asked.discard(name)
            case ("path", "module"):
                return self._relative
            case ("path", "root" | "cwd"):
                return "."
            case ("terraform", "workspace"):
                return "default"
            case ("data", type_name, _, attribute) if (type_name, attribute) in _LOOKED_UP:
                return _LOOKED_UP[type_name, attribute]
            case _:
                return None

    @property
    def _relative(self) -> str:
        """The folder as seen from where Terraform runs."""
        if self._folder == self._root:
            return "."
        return str(self._folder) if not self._folder.is_relative_to(self._root) else str(
            self._folder.relative_to(self._root)
        )  # fmt: skip

    def written(self) -> tuple[dict[str, Node], dict[str, Node], dict[str, Node]]:
        """The module's resources, its data, and its configuration, each as a plan has it."""
        planned, read, written = list[Node](), list[Node](), list[Node]()
        for block in [*self._content.inner("resource"), *self._content.inner("data")]:
            if len(block.labels) != 2:
                continue
            made = [self._resource(block, one) for one in self._instances(block)]
            (planned if block.type == "resource" else read).extend(values for values, _ in made)
            written += [expressions for _, expressions in made[:1]]
        calls: dict[str, Node] = {}
        planned_inside, read_inside = list[Node](), list[Node]()
        for block in self._content.inner("module"):
            self._call(block, planned_inside, read_inside, calls)
        address: dict[str, Node] = {"address": self._address} if self._address else {}
        return (
            {**address, "resources": planned, "child_modules": planned_inside},
            {**address, "resources": read, "child_modules": read_inside},
            {"resources": written, "outputs": self._outputs(), "module_calls": calls},
        )

    def _outputs(self) -> Node:
        found = {block.labels[0]: block.attributes.get("value") for block in self._content.inner("output")}
        return {
            name: {"expression": _expression(self._evaluation.value(one))}
            for name, one in found.items()
            if one is not None
        }

    def _call(self, block: Block, planned: list[Node], read: list[Node], calls: dict[str, Node]) -> None:
        name, source = block.labels[0], block.attributes.get("source")
        place = source.value if isinstance(source, Literal) and isinstance(source.value, str) else ""
        folder = self._module_folder(name, place)
        instances = self._instances(block)
        if folder is None or self._depth >= _DEPTH_MAX or not instances:
            return
        evaluation = self._bound(instances[0])
        given = {key: evaluation.value(one) for key, one in block.attributes.items() if key not in _META}
        inner = f"{self._address}.module.{name}" if self._address else f"module.{name}"
        named = {key: _renamed(value, f"var.{key}") for key, value in given.items()}
        made, seen, configuration = _Module(folder, self._root, inner, named, self._depth + 1).written()
        planned.append(made)
        read.append(seen)
        calls[name] = {
            "source": str(folder), "module": configuration,
            "expressions": {key: _expression(value) for key, value in given.items()},
        }  # fmt: skip

    def _module_folder(self, name: str, source: str) -> Path | None:
        """The folder of a module: a local one, or what `terraform init` has fetched."""
        if source.startswith(("./", "../")):
            folder = (self._folder / source).resolve()
            return folder if folder.is_dir() else None
        key = ".".join([*re.findall(r"module\.([^.]+)", self._address), name])
        listed = self._root / ".terraform" / "modules" / "modules.json"
        try:
            modules = json.loads(listed.read_text("utf-8"))["Modules"]
        except (OSError, ValueError, KeyError):
            modules = []
        found = [self._root / one["Dir"] for one in modules if one.get("Key") == key]
        fetched = [one.resolve() for one in found if one.is_dir()]
        known_here = Path(__file__).parent / "modules" / "-".join(source.split("//", maxsplit=1)[0].split("/")[:2])
        return fetched[0] if fetched else known_here if source and known_here.is_dir() else None

    def _instances(self, block: Block) -> list[_Instance]:
        counted, each = block.attributes.get("count"), block.attributes.get("for_each")
        if counted is not None:
            number = self._evaluation.value(counted)
            many = number if isinstance(number, int) else 1
            return [_Instance(f"[{at}]", {("count", "index"): at}) for at in range(min(many, _INSTANCES_MAX))]
        if each is None:
            return [_Instance()]
        over = self._evaluation.value(each)
        if isinstance(over, list):
            over = {text_of(one): one for one in over}
        if not isinstance(over, dict):
            nobody_knows = Unknown()
            return [_Instance("", {("each", "key"): nobody_knows, ("each", "value"): nobody_knows})]
        return [
            _Instance(f"[{json.dumps(key)}]", {("each", "key"): key, ("each", "value"): value})
            for key, value in list(over.items())[:_INSTANCES_MAX]
        ]

    def _bound(self, instance: _Instance) -> Evaluation:
        def names(words: tuple[str, ...]) -> Value | None:
            return instance.bound[words] if words in instance.bound else self._named(words)

        return Evaluation(names, self._evaluation.folder)

    def _resource(self, block: Block, instance: _Instance) -> tuple[Node, Node]:
        type_name, name = block.labels
        values, expressions = _content(block, self._bound(instance))
        mode = "managed" if block.type == "resource" else "data"
        plain = f"{type_name}.{name}" if mode == "managed" else f"data.{type_name}.{name}"
        address = ".".join(filter(None, [self._address, plain]))
        return (
            {"address": address + instance.index, "mode": mode, "type": type_name, "name": name, "values": values},
            {"address": plain, "expressions": expressions},
        )


def _content(block: Block, evaluation: Evaluation) -> tuple[dict[str, Node], dict[str, Node]]:
    """What a block says: the values that are known, and the references."""
    values, expressions = dict[str, Node](), dict[str, Node]()
    for name, expression in block.attributes.items():
        if name not in _META:
            value = evaluation.value(expression)
            if not isinstance(value, Unknown):
                values[name] = known(value)
            expressions[name] = _expression(value)
    for name, inner, within in _inner(block, evaluation):
        found, said = _content(inner, within)
        for listed, one in ((values, found), (expressions, said)):
            members = listed.setdefault(name, [])
            if isinstance(members, list):
                members.append(one)
    return values, expressions


def _inner(block: Block, evaluation: Evaluation) -> Iterator[tuple[str, Block, Evaluation]]:
    """The blocks in a block, those that are made for each member of a value among them."""
    for inner in block.blocks:
        if inner.type != "dynamic":
            yield inner.type, inner, evaluation
            continue
        each = inner.attributes.get("for_each")
        over = None if each is None else evaluation.value(each)
        iterator = inner.attributes.get("iterator")
        name = iterator.name if isinstance(iterator, Name) else inner.labels[0]
        members: list[tuple[Value, Value]] = [(Unknown(), Unknown())]
        if isinstance(over, dict):
            members = [*over.items()]
        elif isinstance(over, list):
            members = [(one, one) for one in over]
        for key, value in members:
            for content in inner.inner("content"):
                yield inner.labels[0], content, _iterated(evaluation, name, key, value)


def _iterated(evaluation: Evaluation, name: str, key: Value, value: Value) -> Evaluation:
    def names(words: tuple[str, ...]) -> Value | None:
        match words:
            case (first, "key") if first == name:
                return key
            case (first, "value") if first == name:
                return value
            case _:
                return evaluation.names(words)

    return Evaluation(names, evaluation.folder)


def _expression(value: Value) -> Node:
    """The references in a value, as a plan has them; those of an object by its keys, which a plan does not say."""
    if isinstance(value, dict) and references_in(value):
        return {name: _expression(one) for name, one in value.items()}
    references: list[Node] = [*references_in(value)]
    if isinstance(value, Unknown) and value.parts:
        return {"references": references, "parts": [_part(one) for one in value.parts]}
    return {"references": references} if references else {"constant_value": known(value)}


def _renamed(value: Value, name: str) -> Value:
    """A value as a module sees it: what it refers to has the name of the module's variable there."""
    match value:
        case Unknown():
            return Unknown((name,))
        case list():
            return [_renamed(one, f"{name}[{at}]") for at, one in enumerate(value)]
        case dict():
            return {key: _renamed(one, f"{name}.{key}") for key, one in value.items()}
        case _:
            return value


def _part(part: Part) -> Node:
    return {"reference": part.reference} if part.reference else part.text


def is_configuration(file: Path) -> bool:
    """Whether a file is one of Terraform's."""
    return file.suffix == ".tf"
