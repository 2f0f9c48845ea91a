"""samconfig.toml, as SAM's own command reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.packaging.samconfig import SamConfig, find_config, read_config

CONFIG = """
version = 0.1
[default.global.parameters]
stack_name = "orders"
region = "eu-west-1"
[default.deploy.parameters]
capabilities = "CAPABILITY_IAM CAPABILITY_AUTO_EXPAND"
parameter_overrides = "Stage=\\"dev one\\" Size=2"
tags = "team=a"
[prod.deploy.parameters]
stack_name = "orders-prod"
capabilities = ["CAPABILITY_IAM"]
parameter_overrides = ["Stage=prod", "List=a,b"]
[old.deploy.parameters]
parameter_overrides = "ParameterKey=Stage,ParameterValue=x=y ParameterKey=Two,ParameterValue=2"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "samconfig.toml"
    path.write_text(CONFIG)
    return path


def test_default_environment_is_read_with_what_is_said_for_all_commands(file: Path) -> None:
    assert read_config(file, None) == SamConfig(
        stack_name="orders", region="eu-west-1", parameters={"Stage": "dev one", "Size": "2"}, tags={"team": "a"},
        capabilities=("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"),
    )  # fmt: skip


def test_environment_is_chosen_by_its_name(file: Path) -> None:
    found = read_config(file, "prod")

    assert (found.stack_name, found.parameters) == ("orders-prod", {"Stage": "prod", "List": "a,b"})


def test_parameters_may_have_the_long_form(file: Path) -> None:
    assert read_config(file, "old").parameters == {"Stage": "x=y", "Two": "2"}


def test_environment_that_is_not_there_is_refused_with_those_that_are(file: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_config(file, "test")

    assert caught.value.what == f"{file} has no environment test."
    assert caught.value.next_step == "It has: default, prod, old."


@pytest.mark.parametrize("text", ["[default", "x = 1\n[default.deploy.parameters]\nparameter_overrides = 'a'"])
def test_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "samconfig.toml"
    file.write_text(text)

    with pytest.raises(UserError):
        read_config(file, None)


def test_project_without_the_file_says_nothing_and_has_no_environments(tmp_path: Path) -> None:
    assert find_config(tmp_path / "template.yaml", None) is None
    assert read_config(None, None) == SamConfig()
    with pytest.raises(UserError, match="no environment prod"):
        read_config(None, "prod")


def test_file_of_the_project_is_found_from_what_sam_build_has_written(file: Path) -> None:
    built = file.parent / ".aws-sam" / "build"
    built.mkdir(parents=True)

    assert find_config(built / "template.yaml", None) == file
