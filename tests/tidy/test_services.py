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
NEEDED = ("__init__.py", "limits.py", "model", "operations")
TRANSACTIONS = ("redrive.store.api.Transaction", "redrive.delivery.operation", "redrive.delivery.worker")


def odd_shapes(paths: Iterable[str]) -> Iterator[str]:
    """A service has `operations/`, `model/` and `limits.py`; other modules are named by what they are about."""
    services: dict[str, set[str]] = {}
    for path in paths:
        service, _, rest = path.partition("/")
        if rest:
            services.setdefault(service, set()).add(rest.partition("/")[0])
    for service, found in services.items():
        yield from (f"{service}/ has no {needed}" for needed in NEEDED if needed not in found)


def misplaced(source: Source) -> Iterator[str]:
    """The layer of a module is what it imports: operations, due work, or rules that need no transaction."""
    _, _, module = source.path.partition("/")
    names = {name for _, name in source.imports}
    layer = module.partition("/")[0]
    if names & set(OPERATION_MARKS) and layer != "operations":
        yield f"{source.path} has operations: they belong into operations/"
    claims = any(function.endswith(".claim") for function in source.functions)
    if claims != (layer == "workers") and not module.endswith("__init__.py"):
        yield f"{source.path}: what claims due work is in workers/, and nothing else is"
    if layer == "model":
        taken = sorted(name for name in names if name.startswith(TRANSACTIONS))
        yield from (f"{source.path} imports {name}: a model knows no transaction" for name in taken)


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
    assert list(odd_shapes(source.path for source in sources(SERVICES))) == []


def test_every_module_of_a_service_is_in_its_layer() -> None:
    assert findings(misplaced, SERVICES) == []


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
    assert list(unregistered(packages, ["sns"], {"sns": ["redrive.services.sns.operations.topics"]})) == []
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


def test_service_without_a_part_of_the_shape_is_seen() -> None:
    whole = ["sqs/__init__.py", "sqs/limits.py", "sqs/model/queue.py", "sqs/operations/queues.py"]

    assert list(odd_shapes(["__init__.py", *whole, "sqs/workers/move_tasks.py", "sqs/sampler.py"])) == []
    for index in range(4):
        assert len(list(odd_shapes(whole[:index] + whole[index + 1 :]))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sqs/queues.py", "from redrive.delivery.operation import operation"),
        ("sqs/model/queue.py", "from redrive.store.api import Transaction"),
        ("sqs/workers/queues.py", "from redrive.store.api import Transaction"),
        ("sqs/retention.py", "class RetentionWorker:\n    def claim(self): ..."),
    ],
)
def test_module_in_the_wrong_layer_is_seen(path: str, text: str) -> None:
    assert len(list(misplaced(Source(path, text)))) == 1


def test_service_that_only_one_table_knows_is_seen() -> None:
    modules = ["redrive.services.sns.operations.topics"]

    assert list(unregistered({"sns": modules}, [], {"sns": modules})) == [
        "sns: wire/services.py does not name it in SERVICES, so that no request finds it"
    ]
    assert list(unregistered({}, ["sns"], {})) == [
        "sns: engine/build.py does not name it in SERVICES, so that no request is answered"
    ]


def test_module_of_operations_that_nobody_registers_is_seen() -> None:
    modules = ["redrive.services.sns.operations.topics", "redrive.services.sns.operations.tags"]

    assert list(unregistered({"sns": modules}, ["sns"], {"sns": modules[:1]})) == [
        "redrive.services.sns.operations.tags has operations, and engine/build.py does not name it in SERVICES"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import redrive.services.sqs.model.queue",
        "from redrive.services import sqs",
        "from redrive.services.sqs.model.queue import Queue",
    ],
)
def test_import_of_a_neighbour_is_seen(text: str) -> None:
    assert len(list(neighbourly_imports(Source("scheduler/workers/schedules.py", text)))) == 1
    assert list(neighbourly_imports(Source("sqs/workers/retention.py", text))) == []
