"""samconfig.toml: a project's settings for its deployment, as SAM's own command reads them.

Source: https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-sam-cli-config.html
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from redrive.core.errors import UserError

NAMES = ("samconfig.toml", "samconfig.yaml", "samconfig.yml")
DEFAULT_ENVIRONMENT = "default"
_LONG_FORM = re.compile(r"ParameterKey=(?P<key>[^,\s]+),ParameterValue=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SamConfig:
    """The settings; empty where the file has none."""

    stack_name: str = ""
    region: str = ""
    role_arn: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()


def find_config(template: Path, given: Path | None) -> Path | None:
    """The named file, or the one of the template's project. Errors: UserError (the named file does not exist)."""
    if given is not None:
        if not given.is_file():
            raise UserError(f"There is no {given}.", exit_code=2)
        return given
    directory = template.resolve().parent
    if directory.name == "build" and directory.parent.name == ".aws-sam":
        directory = directory.parent.parent
    return next((directory / name for name in NAMES if (directory / name).is_file()), None)


def read_config(file: Path | None, environment: str | None) -> SamConfig:
    """The settings of an environment in a file. Errors: UserError (unreadable; the environment does not exist)."""
    if file is None:
        if environment is not None:
            raise UserError(f"There is no samconfig.toml, and so no environment {environment}.", exit_code=2)
        return SamConfig()
    document = _document(file)
    name = environment or DEFAULT_ENVIRONMENT
    if name not in document:
        if environment is None:
            return SamConfig()
        known = ", ".join(key for key, value in document.items() if isinstance(value, Mapping))
        raise UserError(f"{file} has no environment {name}.", next_step=f"It has: {known}.", exit_code=2)
    said = {**_parameters(document[name], "global"), **_parameters(document[name], "deploy")}
    return SamConfig(
        stack_name=str(said.get("stack_name", "")),
        region=str(said.get("region", "")),
        role_arn=str(said.get("role_arn", "")),
        parameters=_pairs(file, said.get("parameter_overrides")),
        tags=_pairs(file, said.get("tags")),
        capabilities=tuple(_words(said.get("capabilities"))),
    )


def _document(file: Path) -> Mapping[str, object]:
    try:
        text = file.read_text("utf-8")
        document = tomllib.loads(text) if file.suffix == ".toml" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{file} cannot be read: {error}.", exit_code=2) from error
    if not isinstance(document, Mapping):
        raise UserError(f"{file} is no table of environments.", exit_code=2)
    return document


def _parameters(environment: object, command: str) -> Mapping[str, object]:
    said = environment.get(command) if isinstance(environment, Mapping) else None
    parameters = said.get("parameters") if isinstance(said, Mapping) else None
    return parameters if isinstance(parameters, Mapping) else {}


def _words(value: object) -> list[str]:
    """A list, or a text of words that may be quoted."""
    if isinstance(value, list):
        return [str(one) for one in value]
    return shlex.split(value) if isinstance(value, str) else []


def _pairs(file: Path, value: object) -> dict[str, str]:
    """`A=1 B="two words"`, a list of such texts, a table, or the form with ParameterKey and ParameterValue."""
    if isinstance(value, Mapping):
        return {str(key): str(one) for key, one in value.items()}
    pairs: dict[str, str] = {}
    try:
        words = _words(value)
    except ValueError as error:
        raise UserError(f"{file}: {value!r} cannot be read: {error}.", exit_code=2) from error
    for word in words:
        long_form = _LONG_FORM.fullmatch(word)
        key, equals, text = (long_form["key"], "=", long_form["value"]) if long_form else word.partition("=")
        if not key or not equals:
            raise UserError(f"{file}: {word!r} is not KEY=VALUE.", exit_code=2)
        pairs[key] = text
    return pairs
