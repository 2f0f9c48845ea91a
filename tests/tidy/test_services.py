"""Services have one shape and do not know one another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from redrive.engine.build import SERVICES as ENGINE_SERVICES
from redrive.wire.services import OWN_SERVICE
from redrive.wire.services import SERVICES as WIRE_SERVICES
from tests.tidy.source import PACKAGE, ROOT, Source, findings, sources
from tests.tidy.test_docstrings import undocumented
from tests.tidy.test_tests import unspoken_rules

SERVICES = PACKAGE / "services"
OPERATION_MARKS = ("redrive.delivery.operation.operation", "redrive.delivery.surface.own_operation")
NOUNS = ("api", "model", "limits", "workers", "source")

# Modules of a service beside the nouns above, as `service/module.py`, with the reason.
SHAPE_EXCEPTIONS: dict[str, str] = {
    "cloudformation/transforms/__init__.py": "what transforms are",
    "cloudformation/transforms/expansion.py": "the order in which transforms are carried out",
    "cloudformation/transforms/failure.py": "why a transform failed",
    "cloudformation/transforms/macros.py": "what macros are asked and answer",
    "cloudformation/transforms/serverless.py": "the transform of one service",
    "cloudformation/transforms/translator.py": "AWS's translator, apart from what is imported at start",
    "cloudformation/types/__init__.py": "the table of the resource types",
    "cloudformation/types/cloudformation.py": "the resource types of one service",
    "cloudformation/types/custom.py": "resource types that functions back",
    "cloudformation/types/dynamodb.py": "the resource types of one service",
    "cloudformation/types/iam.py": "the resource types of one service",
    "cloudformation/types/iam_users.py": "the resource types of one service",
    "cloudformation/types/inline_code.py": "code in a template as an archive",
    "cloudformation/types/lambda_.py": "the resource types of one service",
    "cloudformation/types/logs.py": "the resource types of one service",
    "cloudformation/types/nested.py": "the resource type of stacks",
    "cloudformation/types/macro.py": "the resource type of macros",
    "cloudformation/types/resource.py": "what a resource type is",
    "cloudformation/types/scheduler.py": "the resource types of one service",
    "cloudformation/types/schema.py": "the kinds of a type's properties",
    "cloudformation/types/sqs.py": "the resource types of one service",
    "cloudformation/types/stand_ins.py": "what stands for types that are not served",
    "cloudformation/types/waits.py": "the resource types that wait for signals",
    "iam/access.py": "no operation and no model: the engine asks it whether a role may make a call",
}


def odd_shapes(paths: Iterable[str]) -> Iterator[str]:
    """A service is a package of `__init__`, `api*`, `model*`, `limits`, and `workers*` if it has due work."""
    packages: dict[str, set[str]] = {}
    for path in paths:
        service, _, module = path.partition("/")
        if module:
            packages.setdefault(service, set()).add(module)
    for service, modules in packages.items():
        for module in sorted(modules - {"__init__.py"}):
            if module.removesuffix(".py").split("_")[0] not in NOUNS:
                yield f"{service}/{module} is none of {', '.join(NOUNS)}, nor one split by noun (api_queues)"
        for needed in ("__init__", "api", "model", "limits"):
            if not any(module == f"{needed}.py" or module.startswith(f"{needed}_") for module in modules):
                yield f"{service}/ has no {needed}.py"


def unregistered(
    packages: Mapping[str, Iterable[str]], wire: Iterable[str], engine: Mapping[str, Iterable[str]]
) -> Iterator[str]:
    """What is known to one of the tables of services and not to the others.

    `packages` has the modules of operations of each package in services/, by full name; `wire` the names in the wire's
    table; `engine` the modules of each service in the engine's.
    """
    registered = {module for modules in engine.values() for module in modules}
    for package, modules in packages.items():
        if not any(module.startswith(f"redrive.services.{package}.") for module in registered):
            yield f"services/{package}: engine/build.py does not name it in SERVICES"
        else:
            for module in sorted(set(modules) - registered):
                yield f"{module} has operations, and engine/build.py does not name it in SERVICES"
    for name in sorted(set(engine) - set(wire)):
        yield f"{name}: wire/services.py does not name it in SERVICES, so that no request finds it"
    for name in sorted(set(wire) - set(engine)):
        yield f"{name}: engine/build.py does not name it in SERVICES, so that no request is answered"


def modules_of_operations(folder: Path) -> dict[str, list[str]]:
    """The packages in a folder of services, and in each the modules that hold operations, by full name."""
    packages: dict[str, list[str]] = {}
    for source in sources(folder):
        package, _, module = source.path.removesuffix(".py").partition("/")
        if module:
            modules = packages.setdefault(package, [])
            if any(name in OPERATION_MARKS for _, name in source.imports):
                modules.append(f"redrive.services.{package}.{module}".replace("/", "."))
    return packages


def neighbourly_imports(source: Source) -> Iterator[str]:
    """A service reaches another through the transaction, never by import."""
    service, _, module = source.path.partition("/")
    for line, name in source.imports:
        match name.split("."):
            case ["redrive", "services", other, *_] if module and other != service:
                yield f"{source.path} line {line} imports {name}: call it through tx.services"


def new_service(name: str, root: Path) -> subprocess.CompletedProcess[str]:
    """Run `make new-service` without make, for another root."""
    command = [sys.executable, str(ROOT / "scripts" / "new_service.py"), name, "--root", str(root)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_every_service_has_the_one_shape() -> None:
    paths = [source.path for source in sources(SERVICES)]
    found = {finding.split()[0]: finding for finding in odd_shapes(paths)}

    assert [found[place] for place in found if place not in SHAPE_EXCEPTIONS] == []
    assert [place for place in SHAPE_EXCEPTIONS if place not in found] == []


def test_every_service_is_registered_with_the_wire_and_the_engine() -> None:
    """Both tables name the same services, and all packages and modules that have operations."""
    wire = [spec.name for spec in (*WIRE_SERVICES, OWN_SERVICE)]

    assert list(unregistered(modules_of_operations(SERVICES), wire, ENGINE_SERVICES)) == []


def test_services_do_not_import_one_another() -> None:
    assert findings(neighbourly_imports, SERVICES) == []


def test_new_service_is_born_tidy(tmp_path: Path) -> None:
    """`make new-service` lays out files that pass every rule for them."""
    new_service("sns", tmp_path)

    laid_out = tmp_path / "src" / "redrive" / "services"
    assert list(odd_shapes(source.path for source in sources(laid_out))) == []
    assert findings(undocumented, laid_out) == []
    assert findings(unspoken_rules, tmp_path / "tests") == []
    assert (tmp_path / "docs" / "semantics" / "sns.md").exists()


def test_new_service_is_found_out_until_it_is_registered(tmp_path: Path) -> None:
    """`make new-service` says where that is done."""
    said = new_service("sns", tmp_path).stdout
    packages = modules_of_operations(tmp_path / "src" / "redrive" / "services")

    assert list(unregistered(packages, [], {})) == ["services/sns: engine/build.py does not name it in SERVICES"]
    assert list(unregistered(packages, ["sns"], {"sns": ["redrive.services.sns.api"]})) == []
    assert "src/redrive/wire/services.py" in said
    assert "src/redrive/engine/build.py" in said


@pytest.mark.parametrize("name", ["", "Sns", "s-n-s", "../sns", "class"])
def test_new_service_refuses_what_is_no_package_name(name: str, tmp_path: Path) -> None:
    run = new_service(name, tmp_path)

    assert run.returncode == 2
    assert "make new-service NAME=" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_new_service_overwrites_nothing_that_exists(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "semantics" / "sns.md"
    page.parent.mkdir(parents=True)
    page.write_text("Ours.")

    run = new_service("sns", tmp_path)

    assert run.returncode == 2
    assert page.read_text() == "Ours."
    assert not (tmp_path / "src").exists()


def test_service_without_a_noun_of_the_shape_is_seen() -> None:
    whole = ["sqs/__init__.py", "sqs/api_queues.py", "sqs/limits.py", "sqs/model.py", "sqs/workers.py"]

    assert list(odd_shapes(["__init__.py", *whole])) == []
    for index in range(4):
        assert len(list(odd_shapes(whole[:index] + whole[index + 1 :]))) == 1


def test_service_that_only_one_table_knows_is_seen() -> None:
    modules = ["redrive.services.sns.api"]

    assert list(unregistered({"sns": modules}, [], {"sns": modules})) == [
        "sns: wire/services.py does not name it in SERVICES, so that no request finds it"
    ]
    assert list(unregistered({}, ["sns"], {})) == [
        "sns: engine/build.py does not name it in SERVICES, so that no request is answered"
    ]


def test_module_of_operations_that_nobody_registers_is_seen() -> None:
    modules = ["redrive.services.sns.api_topics", "redrive.services.sns.api_tags"]

    assert list(unregistered({"sns": modules}, ["sns"], {"sns": modules[:1]})) == [
        "redrive.services.sns.api_tags has operations, and engine/build.py does not name it in SERVICES"
    ]


@pytest.mark.parametrize("module", ["queues.py", "apis.py", "http/app.py"])
def test_module_outside_the_shape_is_seen(module: str) -> None:
    whole = ["sqs/__init__.py", "sqs/api.py", "sqs/limits.py", "sqs/model.py"]

    assert len(list(odd_shapes([*whole, f"sqs/{module}"]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import redrive.services.sqs.model",
        "from redrive.services import sqs",
        "from redrive.services.sqs.model import Queue",
    ],
)
def test_import_of_a_neighbour_is_seen(text: str) -> None:
    assert len(list(neighbourly_imports(Source("scheduler/workers.py", text)))) == 1
    assert list(neighbourly_imports(Source("sqs/workers.py", text))) == []
