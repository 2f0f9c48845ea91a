"""Packages that are not there: the command that installs all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from redrive.prove.project.packages import advice_on_import, missing_modules, together
from tests.unit.prove.project.conftest import Command, Project

CODE = """
import json
import boto3
import cv2
from PIL import Image
import helper
try:
    import ujson
except ImportError:
    ujson = None
"""


def advice(directory: Path, name: str) -> str:
    told = f"Runtime.ImportModuleError: Unable to import module 'app': No module named '{name}'"
    return advice_on_import(told, directory / "app.py", [directory])


def test_all_missing_packages_are_told_at_once_by_the_names_of_their_distributions(project: Project) -> None:
    directory = project({"app.py": CODE, "helper.py": "import skimage\n"})

    assert missing_modules(directory / "app.py", [directory]) == ["cv2", "PIL", "skimage"]
    assert advice(directory, "cv2").endswith(" -m pip install opencv-python-headless Pillow scikit-image")


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("jwt", "PyJWT"), ("sklearn", "scikit-learn"), ("bs4", "beautifulsoup4"), ("Crypto", "pycryptodome"),
        ("psycopg2", "psycopg2-binary"), ("dotenv", "python-dotenv"), ("aws_xray_sdk", "aws-xray-sdk"),
        ("some_thing", "some-thing"),
    ],
)  # fmt: skip
def test_distribution_of_a_module(project: Project, module: str, distribution: str) -> None:
    directory = project({"app.py": ""})

    assert advice(directory, module) == f"Install what it imports: {sys.executable} -m pip install {distribution}"


def test_module_of_python_2_is_no_package(project: Project) -> None:
    directory = project({"app.py": ""})

    assert advice(directory, "urllib2") == (
        "The code is written for Python 2, which has urllib2: port it to a Python that Lambda has."
    )


def test_module_of_the_handler_itself_is_no_package(project: Project) -> None:
    assert "its handler is index.NAME" in advice(project({}), "app")


def test_name_that_an_installed_package_lacks_is_one_of_another_version(project: Project) -> None:
    directory = project({"app.py": "", "requirements.txt": "pydantic==1.10\n"})
    told = "cannot import name 'BaseModel' from 'pydantic.generics' (/lib/site-packages/pydantic/generics.py)"

    found = advice_on_import(told, directory / "app.py", [directory])

    assert found.startswith("Install the versions that the project asks for: ")
    assert found.endswith(" -m pip install -r requirements.txt")


def test_requirements_beside_the_code_come_first_if_they_have_the_package(project: Project) -> None:
    directory = project({"src/app.py": "", "requirements.txt": "boto3\nPyJWT>=2 ; python_version > '3'\n"})

    named = advice(directory / "src", "jwt")
    other = advice(directory / "src", "cv2_of_nobody")

    assert named.endswith("-m pip install -r requirements.txt")
    assert other.endswith("-m pip install cv2-of-nobody")


def test_module_elsewhere_in_the_project_is_no_package(project: Project) -> None:
    directory = project({"src/app.py": "import shared\n", "layers/common/shared/__init__.py": ""})

    found = advice(directory / "src", "shared")

    assert found == "shared lies in layers/common: give that folder with --root layers/common."


def test_what_several_functions_lack_is_one_command() -> None:
    told = [
        "Install what it imports: python -m pip install a b", "Install what it imports: python -m pip install b c",
        "Install what the project asks for: python -m pip install -r x/requirements.txt", "Give the event.",
    ]  # fmt: skip

    assert together(told).endswith(" -m pip install a b c -r x/requirements.txt")
    assert together(told[:1]) == ""


@pytest.mark.filterwarnings("ignore:coroutine 'handler' was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_coroutine_function_is_refused_with_what_lambda_does(project: Project, prove: Command) -> None:
    project({"app.py": "async def handler(event, context):\n    return 1\n"})

    found = prove("app:handler")

    assert found.exit_code == 2
    assert "Runtime.MarshalError" in found.stderr
    assert "asyncio.run(handle(event, context))" in found.stderr
