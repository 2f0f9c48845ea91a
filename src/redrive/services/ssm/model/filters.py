"""The filters of DescribeParameters and GetParametersByPath.

Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_ParameterStringFilter.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.ssm.model.names import check_path, key_of
from redrive.services.ssm.model.parameter import Parameter

_TAG = "tag:"
_EQUALS = "Equals"
_OPTIONS = {
    "Name": (_EQUALS, "BeginsWith", "Contains"),
    "Path": ("Recursive", "OneLevel"),
    "Type": (_EQUALS, "BeginsWith"),
    "KeyId": (_EQUALS, "BeginsWith"),
    "Label": (_EQUALS,),
    "Tier": (_EQUALS,),
    "DataType": (_EQUALS,),
}
OF_DESCRIPTIONS = frozenset({"Name", "Path", "Type", "KeyId", "Tier", "DataType"})
OF_PATHS = frozenset({"Type", "KeyId", "Label"})


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: a parameter passes if one of the values fits."""

    key: str
    option: str
    values: tuple[str, ...]

    def passes(self, parameter: Parameter) -> bool:
        if self.key == "Path":
            return any(is_below(parameter.name, path, recursive=self.option == "Recursive") for path in self.values)
        if self.key.startswith(_TAG):
            value = parameter.tags.get(self.key.removeprefix(_TAG))
            return value is not None and (not self.values or value in self.values)
        fits = _FITS[self.option]
        return any(fits(text, value) for text in self._texts(parameter) for value in self._wanted())

    def _wanted(self) -> Sequence[str]:
        if self.key == "Name" and self.option != "Contains":
            return [key_of(value) for value in self.values]
        return self.values

    def _texts(self, parameter: Parameter) -> Sequence[str]:
        match self.key:
            case "Name":
                return [parameter.name]
            case "Type":
                return [parameter.type]
            case "KeyId":
                return [parameter.key_id or ""]
            case "Tier":
                return [parameter.tier]
            case "DataType":
                return [parameter.data_type]
            case _:
                return list(parameter.labels)


_FITS: dict[str, Callable[[str, str], bool]] = {
    _EQUALS: lambda text, value: text == value,
    "BeginsWith": lambda text, value: text.startswith(value),
    "Contains": lambda text, value: value in text,
}


def read_filters(given: Sequence[Document] | None, keys: frozenset[str]) -> list[Filter]:
    """Return the filters of a request. Errors: InvalidFilterKey; InvalidFilterOption; InvalidFilterValue."""
    return [_read(document, keys) for document in given or ()]


def _read(document: Document, keys: frozenset[str]) -> Filter:
    key = str(document["Key"])
    is_tag = key.startswith(_TAG) and keys is OF_DESCRIPTIONS
    if key not in keys and not is_tag:
        allowed = ", ".join(sorted(keys))
        raise ServiceError(
            "InvalidFilterKey", f"The following filter key is not valid: {key}. Valid keys: [{allowed}]."
        )
    options = (_EQUALS,) if is_tag else _OPTIONS[key]
    option = str(document.get("Option") or ("OneLevel" if key == "Path" else _EQUALS))
    if option not in options:
        message = f"The following filter option is not valid: {option}. Valid options include: [{', '.join(options)}]."
        raise ServiceError("InvalidFilterOption", message)
    values = tuple(str(value) for value in document.get("Values") or ())
    if not values and not is_tag:
        message = f"The following filter values are missing : null for filter key {key}"
        raise ServiceError("InvalidFilterValue", message)
    if key == "Path":
        for path in values:
            check_path(path)
    return Filter(key, option, values)


def of_old_form(given: Sequence[Document] | None) -> list[Filter]:
    """Return the filters that DescribeParameters took first: names begin with a value, the others equal it."""
    return [
        Filter(str(one["Key"]), "BeginsWith" if one["Key"] == "Name" else _EQUALS, tuple(str(v) for v in one["Values"]))
        for one in given or ()
    ]


def is_below(key: str, path: str, *, recursive: bool) -> bool:
    """Whether a parameter lies below a path; directly below it, if not recursive."""
    prefix = check_path(path)
    return key.startswith(prefix) and (recursive or "/" not in key[len(prefix) :])
