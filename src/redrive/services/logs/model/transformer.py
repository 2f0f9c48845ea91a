"""Transformers of log groups, as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.languages.log_transform import MalformedTransformer, Transformer, read_transformer
from redrive.services.logs.model.group import invalid_parameter


@dataclass(frozen=True, slots=True)
class LogTransformer:
    """The transformer of a group. `config` is the list of its processors, as JSON."""

    KIND: ClassVar[str] = "logs.transformer"

    group_id: str
    config: str
    created_at: Instant
    updated_at: Instant

    @property
    def name(self) -> str:
        """The group's id."""
        return self.group_id

    def described(self, arn: str) -> Document:
        """The transformer as AWS shows it."""
        return {
            "logGroupIdentifier": arn, "creationTime": self.created_at, "lastModifiedTime": self.updated_at,
            "transformerConfig": load_json(self.config),
        }  # fmt: skip


def checked_transformer(config: Sequence[Document]) -> Transformer:
    """The transformer of a configuration. Errors: InvalidParameterException."""
    try:
        return read_transformer(config)
    except MalformedTransformer as error:
        raise invalid_parameter(f"Invalid transformer configuration: {error}.") from error


def configured_transformer(text: str) -> Transformer:
    """The transformer of a policy's document, which nothing has checked yet. Errors: InvalidParameterException."""
    try:
        config = load_json(text)
    except ValueError as error:
        raise invalid_parameter(f"The policy document is no JSON: {error}") from error
    if not isinstance(config, list) or not all(isinstance(one, dict) for one in config):
        raise invalid_parameter("The policy document of a transformer is a list of processors.")
    try:
        return checked_transformer(cast("list[Document]", config))
    except (KeyError, TypeError, AttributeError) as error:
        raise invalid_parameter(f"Invalid transformer configuration: a member is missing or wrong: {error}") from error
