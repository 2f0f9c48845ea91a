"""From where a handler imports: its folder, its package, its layers, and what `sam build` has installed."""

from __future__ import annotations

from pathlib import Path

from redrive.prove.process.subject import NamedSubject, subject_of
from tests.unit.prove.project.conftest import Project


def answer(subject: NamedSubject) -> object:
    with subject.environment() as handler:
        return handler({}, None)


def test_relative_import_finds_the_package_and_what_lies_beside_the_file(project: Project) -> None:
    directory = project({
        "src/shop/__init__.py": "", "src/shop/names.py": "NAME = 'shop'", "src/shop/app.py": (
            "from . import names\nimport names as beside\ndef handler(event, context):\n"
            "    return __name__, names.NAME, beside.NAME\n"
        ),
    })  # fmt: skip

    subject = subject_of("src/shop/app.py:handler", directory)

    assert subject.name == "shop.app:handler"
    assert answer(subject) == ("shop.app", "shop", "shop")


def test_file_in_a_package_that_it_does_not_name_is_a_module_of_its_own_folder(project: Project) -> None:
    directory = project({"src/__init__.py": "", "src/app.py": "def handler(event, context):\n    return __name__\n"})

    assert answer(subject_of("src/app.py:handler", directory)) == "app"


def test_folder_above_that_has_what_is_imported_is_found(project: Project) -> None:
    directory = project({
        "src/utils/__init__.py": "NAME = 1", "src/functions/app.py": (
            "from utils import NAME\ndef handler(event, context):\n    return NAME\n"
        ),
    })  # fmt: skip

    assert answer(subject_of("src/functions/app.py:handler", directory)) == 1


def test_root_that_is_given_decides(project: Project) -> None:
    directory = project({"src/app.py": "def handler(event, context):\n    return __name__\n"})

    assert answer(subject_of("src/app.py:handler", directory, imports=directory)) == "src.app"


def test_folders_of_layers_are_imported_anew_and_built_packages_come_last(tmp_path: Path) -> None:
    code, layer, built = tmp_path / "code", tmp_path / "layer", tmp_path / "built"
    for folder, name in ((code, "code"), (layer, "layer"), (built, "built")):
        folder.mkdir()
        (folder / f"only_{name}_of_test_roots.py").write_text(f"FROM = {name!r}\nSEEN = []\n")
        (folder / "shared_of_test_roots.py").write_text(f"FROM = {name!r}\n")
    (code / "app.py").write_text(
        "import shared_of_test_roots as shared, only_layer_of_test_roots as layer, only_built_of_test_roots as built\n"
        "def handler(event, context):\n    layer.SEEN.append(1)\n    return shared.FROM, len(layer.SEEN), built.FROM\n"
    )
    subject = NamedSubject("app", "handler", code, (layer,), built)

    assert [answer(subject), answer(subject)] == [("code", 1, "built")] * 2


def test_packages_that_a_build_has_put_beside_the_code_are_not_the_users(tmp_path: Path) -> None:
    (tmp_path / "vendored_of_test_roots.py").write_text("SEEN = []\n")
    (tmp_path / "vendored-1.dist-info").mkdir()
    (tmp_path / "vendored-1.dist-info" / "RECORD").write_text("vendored_of_test_roots.py,sha256=x,9\n")
    (tmp_path / "app.py").write_text(
        "import vendored_of_test_roots as vendored\n"
        "def handler(event, context):\n    vendored.SEEN.append(1)\n    return len(vendored.SEEN)\n"
    )
    subject = NamedSubject("app", "handler", tmp_path)

    assert [answer(subject), answer(subject)] == [1, 2]


def test_files_beside_the_code_are_opened_by_their_names(project: Project) -> None:
    directory = project({
        "src/data.txt": "here",
        "src/app.py": "def handler(event, context):\n    with open('data.txt') as file:\n        return file.read()\n",
    })  # fmt: skip

    assert answer(subject_of("src/app.py:handler", directory)) == "here"
    assert Path.cwd() == directory
