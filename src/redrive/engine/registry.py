"""The operations of all services, by name. Each is compared with AWS's model before its first use."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from redrive.core.documents import Document
from redrive.core.errors import Bug, ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import OPERATION_ATTRIBUTE, Answer
from redrive.engine.trails import Call, record_call, run_recorded, wants_data_record, wants_record
from redrive.services.cloudtrail.model.calls import CallKind, kind_of
from redrive.services.iam import access
from redrive.store.api import Transaction
from redrive.wire.model.answers import shown_answer
from redrive.wire.model.files import Models
from redrive.wire.model.inputs import InputReader, missing_members
from redrive.wire.model.names import snake_case
from redrive.wire.model.shapes import OperationModel
from redrive.wire.model.validate import Validator

Implementation = Callable[..., Answer]

_NAMED = re.compile(r"""^@\w*operation\("(\w+)"\)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """An implementation, its model, and the keyword for each member of its input; `kind` is for CloudTrail."""

    implementation: Implementation
    model: OperationModel
    keywords: Mapping[str, str]
    required: frozenset[str]
    kind: CallKind = CallKind.DATA


class Unserved(ServiceError):
    """AWS has this operation, perhaps, and no service here does. `told` is said of it in place of this error."""

    def __init__(self, service: str, operation: str, told: ServiceError | None = None) -> None:
        message = f"redrive does not implement {service} {operation}."
        super().__init__("UnknownOperationException", message, http_status=501)
        self.service = service
        self.operation = operation
        self.told = told

    def refuse(self, tx: Transaction, caller: Caller, params: Mapping[str, object]) -> NoReturn:
        """Refuse a call of it. Permissions come first, as on AWS. Errors: AccessDeniedException; what is told of it."""
        access.authorize_unserved(tx, caller, self.service, self.operation, params)
        raise self.told or self


class Registry:
    """The implementation of each operation.

    A module is imported when one of its operations is first used, and a service's model is read then. Startup does
    neither.
    """

    def __init__(self, models: Models, services: Mapping[str, Sequence[str]]) -> None:
        """`services` has the full names of each service's modules."""
        self._models = models
        self._modules = services
        self._implementations: dict[str, Mapping[str, Implementation]] = {}
        self._entries: dict[tuple[str, str], Entry] = {}
        self._validator = Validator()
        self._inputs: dict[str, InputReader] = {}

    @property
    def services(self) -> Mapping[str, Mapping[str, Implementation]]:
        """All implementations, by service and operation. Imports all services."""
        return {name: self._of_service(name) for name in self._modules}

    def entry(self, service: str, operation: str) -> Entry:
        """An operation's entry. Errors: Unserved if no service implements the operation."""
        key = (service, operation)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = self._checked(service, operation)
        return entry

    def begin(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Answer:
        """Validate the parameters as AWS does, and run the operation. Errors: ServiceError."""
        try:
            entry = self.entry(service, operation)
        except Unserved as unserved:
            unserved.refuse(tx, caller, params)
        try:
            self.check(entry, params)
        except (AttributeError, TypeError) as error:
            # These parameters were not decoded from a request, so a value may have a wrong type.
            raise ServiceError("SerializationException", f"A parameter of {operation} is of a wrong type.") from error
        return self.run(entry, tx, caller, params)

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        """Parameters from a JSON document; the unchanged document if no service implements the operation.

        Errors: SerializationException.
        """
        try:
            entry = self.entry(service, operation)
        except Unserved:
            return document  # There is no model. A call with this document is refused later.
        reader = self._inputs.get(service)
        if reader is None:
            reader = self._inputs.setdefault(service, InputReader(self._models.specs[service].wording))
        return reader.read(entry.model, document)

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        """The required members that a JSON document lacks; empty for a service that redrive does not serve.

        Errors: UnknownOperationException if AWS's model of a served service has no such operation.
        """
        if service not in self._models.specs:
            return ()
        model = self._models.service(service).operations.get(operation)
        if model is None:
            raise ServiceError("UnknownOperationException", f"{service} has no operation {operation}.")
        return missing_members(model, document)

    def shown(self, service: str, operation: str, answer: Mapping[str, object]) -> Document:
        """An answer of an operation as a document in the spelling of AWS's SDKs."""
        return shown_answer(self.entry(service, operation).model, answer)

    def declares(self, service: str, operation: str, code: str) -> bool:
        """Whether AWS's model of an operation has this error; False for an operation that no service implements."""
        try:
            model = self.entry(service, operation).model
        except Unserved:
            return False
        return any(shape.name == code for shape in model.errors)

    def check(self, entry: Entry, params: Mapping[str, object]) -> None:
        """Check parameters against AWS's constraints. Errors: ValidationException."""
        self._validator.check(entry.model, params)

    def run_client(
        self,
        entry: Entry,
        tx: Transaction,
        caller: Caller,
        params: Mapping[str, object],
        headers: Mapping[str, str],
    ) -> Answer | ServiceError:
        """Run an operation for a client, as `run` does. `headers` are those of the request.

        If CloudTrail records the call, an error is returned, not raised: raising would undo the record.
        """
        wants = wants_data_record if entry.kind is CallKind.DATA else wants_record
        if not wants(tx, caller, entry.model.service):
            return self.run(entry, tx, caller, params)
        call = self._call(entry, caller, params, headers.get("user-agent", ""))
        return run_recorded(tx, call, lambda: self.run(entry, tx, caller, params))

    def record_inner(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object],
        answer: Answer | ServiceError,
    ) -> None:  # fmt: skip
        """Record the answer to what one service has called at another, if a trail asks for that."""
        entry = self._entries.get((service, operation))
        if entry is None:
            return
        wants = wants_data_record if entry.kind is CallKind.DATA else wants_record
        if wants(tx, caller, service):
            record_call(tx, self._call(entry, caller, params, ""), answer)

    def _call(self, entry: Entry, caller: Caller, params: Mapping[str, object], user_agent: str) -> Call:
        spec = self._models.specs[entry.model.service]
        return Call(entry.model, f"{spec.signing_name}.amazonaws.com", entry.kind, caller, params, user_agent)

    @staticmethod
    def run(entry: Entry, tx: Transaction, caller: Caller, params: Mapping[str, object]) -> Answer:
        """Run an operation with validated parameters.

        Errors: those of the operation; MissingRequiredParameterException for a service that validates its parameters
        itself.
        """
        keywords = entry.keywords
        if not entry.required <= params.keys():
            missing = min(entry.required - params.keys())
            raise ServiceError(
                "MissingRequiredParameterException", f"The request must contain the parameter {missing}."
            )
        try:
            given = {keywords[member]: value for member, value in params.items()}
        except KeyError as error:
            what = f"redrive does not know the parameter {error.args[0]} of {entry.model.service} {entry.model.name}."
            raise ServiceError("UnknownOperationException", what, http_status=501) from None
        return entry.implementation(tx, caller, **given)

    def _implementation(self, service: str, operation: str) -> Implementation | None:
        """The implementation of an operation. Imports its module alone, if the module's text tells."""
        if service not in self._implementations:
            for module in self._modules.get(service, ()):
                if operation in operations_named(module):
                    found = collect((importlib.import_module(module),)).get(operation)
                    if found is not None:
                        return found
        return self._of_service(service).get(operation)

    def _of_service(self, service: str) -> Mapping[str, Implementation]:
        """The implementations of a service's operations; empty if the service does not exist."""
        found = self._implementations.get(service)
        if found is None:
            modules = tuple(map(importlib.import_module, self._modules.get(service, ())))
            # Two threads may both import first; all callers get the same mapping.
            found = self._implementations.setdefault(service, collect(modules))
        return found

    def _checked(self, service: str, operation: str) -> Entry:
        implementation = self._implementation(service, operation)
        if implementation is None:
            raise Unserved(service, operation)
        model = self._models.service(service).operations.get(operation)
        if model is None:
            message = f"The botocore that is installed knows no {service} {operation}; a newer one does."
            raise ServiceError("UnknownOperationException", message, http_status=501)
        members = {snake_case(member): member for member in (model.input.members if model.input else ())}
        parameters = _parameters(implementation)
        required = {name for name, is_required in parameters.items() if is_required}
        # Other versions of botocore have fewer or more members. Members that both sides know can be used.
        keywords = {member: keyword for keyword, member in members.items() if keyword in parameters}
        if not required <= members.keys():
            raise Bug(f"{operation}: AWS's model has no {sorted(required - members.keys())}")
        required_members = frozenset(members[name] for name in required)
        return Entry(implementation, model, keywords, required_members, kind_of(service, operation))


@functools.cache
def collect(modules: Sequence[ModuleType]) -> Mapping[str, Implementation]:
    """The functions that are marked with `@operation`, by operation name."""
    found: dict[str, Implementation] = {}
    for module in modules:
        for value in vars(module).values():
            name = getattr(value, OPERATION_ATTRIBUTE, None)
            if name is not None and getattr(value, "__module__", None) == module.__name__:
                found[name] = value
    return found


@functools.cache
def operations_named(module: str) -> frozenset[str]:
    """The operations that a module seems to have, by its text, without importing it; none if there is no text."""
    spec = importlib.util.find_spec(module)
    try:
        text = Path(spec.origin).read_text("utf-8") if spec is not None and spec.origin is not None else ""
    except OSError:
        text = ""
    return frozenset(_NAMED.findall(text))


def differences(implementation: Implementation, model: OperationModel) -> list[str]:
    """How a function's parameters differ from AWS's model. For a test with the newest models."""
    parameters = _parameters(implementation)
    members = {snake_case(member): member for member in (model.input.members if model.input else ())}
    wanted = {name: model.input is not None and members[name] in model.input.required for name in members}
    return sorted(name for name in parameters.keys() | wanted.keys() if parameters.get(name) != wanted.get(name))


@functools.cache
def _parameters(implementation: Implementation) -> Mapping[str, bool]:
    """An operation's parameters after the transaction and the caller, and whether each is required."""
    parameters = list(inspect.signature(implementation).parameters.values())[2:]
    return {parameter.name: parameter.default is inspect.Parameter.empty for parameter in parameters}
