"""Finds service models on disk and reads each at its first use: botocore's models, and that of our own surface.

botocore is never imported: the import system finds its data folder, and the files are JSON. Our own model is in
`data`, in the same layout, so that botocore can read it too.
"""

from __future__ import annotations

import gzip
import importlib.util
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from redrive.core.errors import UserError
from redrive.wire.model.shapes import Constraints, ErrorTraits, Member, OperationModel, ServiceModel, Shape
from redrive.wire.services import OWN_SERVICE, SERVICES, ServiceSpec

OWN_DATA = Path(__file__).parents[1] / "data"

_MODEL_FILE = "service-2.json.gz"
_OWN_MODEL_FILE = "service-2.json"

_VERSION = re.compile(r"""^__version__ = ['"](\d+(?:\.\d+)*)['"]""", re.MULTILINE)

WRITTEN_WITH = (1, 44, 5)
"""A test compares the operations with the models of this botocore. An older botocore lacks some of their members."""


class Models:
    """The models of a table of services. Reading one takes some milliseconds, once."""

    def __init__(
        self, services: Iterable[ServiceSpec] = (*SERVICES, OWN_SERVICE), *, folder: Path | None = None
    ) -> None:
        self.specs: Mapping[str, ServiceSpec] = {spec.name: spec for spec in services}
        self._folder = folder
        self._is_current = folder is not None or _botocore_version() >= WRITTEN_WITH
        self._loaded: dict[str, ServiceModel] = {}

    def service(self, name: str) -> ServiceModel:
        """The model of a service. Errors: KeyError (not in the table), UserError (botocore has no model of it)."""
        model = self._loaded.get(name)
        if model is None:
            # Two threads may both read a model; all callers get the first one stored.
            model = self._loaded.setdefault(name, self._read(self.specs[name]))
        return model

    def api_version(self, name: str) -> str:
        """The newest version of a service's API, such as `2012-11-05`, without reading the model. Errors: UserError."""
        return self._newest(self.specs[name]).parent.name

    def document(self, name: str) -> Mapping[str, Any]:
        """The whole model of a service with its documentation, as it is in the file. Errors: as those of `service`."""
        return _read_document(self._newest(self.specs[name]))

    def _read(self, spec: ServiceSpec) -> ServiceModel:
        file = self._newest(spec)
        is_current = self._is_current or bool(spec.root)
        return _Builder(_read_document(file), spec, is_current=is_current).service(file.parent.name)

    def _newest(self, spec: ServiceSpec) -> Path:
        """The file of a service's newest model."""
        if spec.root:
            return max((OWN_DATA / spec.name).glob(f"*/{_OWN_MODEL_FILE}"), key=lambda path: path.parent.name)
        if self._folder is None:
            self._folder = _botocore_data()
        files = list((self._folder / spec.name).glob(f"*/{_MODEL_FILE}"))
        if not files:
            raise UserError(
                f"botocore has no model of the service {spec.name} in {self._folder}.",
                next_step="Install a current botocore: pip install -U botocore",
            )
        return max(files, key=lambda path: path.parent.name)


def _read_document(file: Path) -> Mapping[str, Any]:
    content = file.read_bytes()
    document: Mapping[str, Any] = orjson.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    return document


def _botocore_data() -> Path:
    spec = importlib.util.find_spec("botocore")
    if spec is None or not spec.submodule_search_locations:
        raise UserError("botocore is not installed; its service models are needed.", next_step="pip install botocore")
    return Path(spec.submodule_search_locations[0]) / "data"


def _botocore_version() -> tuple[int, ...]:
    """The version of the installed botocore; () if unknown. Does not use importlib.metadata, which would take 20 ms."""
    found = _VERSION.search((_botocore_data().parent / "__init__.py").read_text("utf-8"))
    return () if found is None else tuple(map(int, found[1].split(".")))


class _Builder:
    """Turns one model document into shapes and operations."""

    def __init__(self, document: Mapping[str, Any], spec: ServiceSpec, *, is_current: bool) -> None:
        self._is_current = is_current
        self._document = document
        self._spec = spec
        self._shapes: dict[str, Shape] = {}

    def service(self, api_version: str) -> ServiceModel:
        metadata = self._document["metadata"]
        for name in self._document["shapes"]:
            self._shape(name)
        return ServiceModel(
            spec=self._spec,
            api_version=api_version,
            json_version=metadata.get("jsonVersion", "1.0"),
            is_query_compatible="awsQueryCompatible" in metadata,
            xml_namespace=self._spec.xml_namespace or metadata.get("xmlNamespace", ""),
            operations={name: self._operation(raw) for name, raw in self._document["operations"].items()},
            shapes=self._shapes,
            errors=self._errors(),
        )

    def _operation(self, raw: Mapping[str, Any]) -> OperationModel:
        http = raw["http"]
        return OperationModel(
            service=self._spec.name,
            name=raw["name"],
            method=http["method"],
            uri=http["requestUri"],
            success_status=http.get("responseCode", 200),
            input=self._shapes[raw["input"]["shape"]] if "input" in raw else None,
            output=self._shapes[raw["output"]["shape"]] if "output" in raw else None,
            errors=tuple(self._shapes[error["shape"]] for error in raw.get("errors", ())),
            result_wrapper=raw.get("output", {}).get("resultWrapper", f"{raw['name']}Result"),
            validation_code=self._spec.validation_code,
            is_deprecated=raw.get("deprecated", False),
        )

    def _errors(self) -> dict[str, Shape]:
        """Error shapes by both names: the shape's name, which takes precedence, and the query protocol's code."""
        errors = [shape for shape in self._shapes.values() if shape.error is not None]
        by_code = {shape.error.query_code: shape for shape in errors if shape.error is not None}
        return by_code | {shape.name: shape for shape in errors}

    def _shape(self, name: str) -> Shape:
        if name in self._shapes:
            return self._shapes[name]
        raw = self._document["shapes"][name]
        members: dict[str, Member] = {}
        parts: dict[str, Member] = {}
        shape = self._shapes[name] = Shape(
            name=name,
            type=raw["type"],
            constraints=Constraints(raw.get("min"), raw.get("max"), raw.get("pattern"), tuple(raw.get("enum", ()))),
            members=members,
            parts=parts,
            required=frozenset(raw.get("required", ())),
            is_flattened=raw.get("flattened", False),
            is_document=raw.get("document", False),
            is_sensitive=raw.get("sensitive", False),
            is_event_stream=raw.get("eventstream", False),
            payload=raw.get("payload"),
            timestamp_format=raw.get("timestampFormat"),
            error=self._error_traits(name, raw) if raw.get("exception") else None,
            is_current=self._is_current,
            namespace=_namespace(raw.get("xmlNamespace")),
        )
        # A shape may contain itself, so it is registered before its members are built.
        for member, reference in raw.get("members", {}).items():
            members[member] = self._member(name, member, member, reference)
        for part in ("member", "key", "value"):
            if part in raw:
                parts[part] = self._member(name, part, "", raw[part])
        return shape

    def _member(self, owner: str, name: str, wire_name: str, reference: Mapping[str, Any]) -> Member:
        location_name = reference.get("locationName", wire_name)
        return Member(
            name=name,
            shape=self._shape(reference["shape"]),
            location=reference.get("location"),
            location_name=location_name,
            query_name=self._spec.query_names.get((owner, name), location_name),
            is_flattened=reference.get("flattened", False),
            timestamp_format=reference.get("timestampFormat"),
            is_event_payload=reference.get("eventpayload", False),
            is_attribute=reference.get("xmlAttribute", False),
            is_streaming=reference.get("streaming", False),
        )

    def _error_traits(self, name: str, raw: Mapping[str, Any]) -> ErrorTraits:
        error = raw.get("error", {})
        own = self._spec.query_errors.get(name)
        status = error.get("httpStatusCode", 500 if raw.get("fault") else None)
        code = own.code if own is not None else error.get("code", name)
        return ErrorTraits(http_status=status, query_code=code)


def _namespace(raw: object) -> tuple[str, str] | None:
    """The prefix and the URI of a namespace that a shape declares for its own names."""
    return (str(raw["prefix"]), str(raw["uri"])) if isinstance(raw, dict) and "prefix" in raw else None
