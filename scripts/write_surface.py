"""What follows from the model of the server's own surface: its page, its OpenAPI document, and the CLI's client."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import yaml

from redrive.core.documents import Document
from redrive.wire.model.files import Models
from redrive.wire.model.names import snake_case
from redrive.wire.services import OWN_SERVICE

WIDTH = 120
JSON = "application/json"
WRITTEN = "Written by `make docs` from the model, `src/redrive/wire/data/redrive`."

_JSON_TYPES = {"boolean": "boolean", "double": "number", "integer": "integer", "long": "integer", "string": "string"}
_PYTHON_TYPES = {
    "blob": "bytes",
    "boolean": "bool",
    "double": "float",
    "integer": "int",
    "long": "int",
    "string": "str",
}

Node = Document


def _model() -> Node:
    return dict(Models().document(OWN_SERVICE.name))


def _call(operation: Node) -> str:
    return f"{operation['http']['method']} {operation['http']['requestUri']}"


def admin_page() -> str:
    """The page for people: all calls, then what each takes and answers."""
    model = _model()
    lede, *prose = model["documentation"].split("\n\n")
    also = f"[admin.openapi.yaml](admin.openapi.yaml) is the same for machines. {WRITTEN}"
    lines = ["# The server's own surface", "", lede, also, "", "| Call | Operation | What it does |", "|---|---|---|"]
    for name, operation in model["operations"].items():
        lines.append(f"| `{_call(operation)}` | [{name}](#{name.lower()}) | {operation['documentation']} |")
    for paragraph in prose:
        lines += ["", *textwrap.wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)]
    for name, operation in model["operations"].items():
        lines += ["", f"## {name}", "", f"`{_call(operation)}`"]
        for title, key in (("Takes", "input"), ("Answers", "output")):
            if key in operation:
                lines += ["", f"{title}:", "", *_members(model, operation[key]["shape"], depth=0)]
        errors = ", ".join(
            f"{error['shape']} ({_status(model, error['shape'])})" for error in operation.get("errors", ())
        )
        lines += ["", f"Errors: {errors}." if errors else "Errors: none."]
    return "\n".join(lines) + "\n"


def _members(model: Node, shape_name: str, *, depth: int) -> Iterator[str]:
    """The members of a structure, and below each of them those of the structure that it holds."""
    shape = model["shapes"][shape_name]
    for name, member in shape["members"].items():
        inner = model["shapes"][member["shape"]]
        held = inner["member"]["shape"] if inner["type"] == "list" else member["shape"]
        kind = inner["type"] if inner["type"] != "list" else f"list of {model['shapes'][held]['type']}s"
        marks = [kind, *(["required"] if depth == 0 and _is_input(member, shape, name) else [])]
        marks += ["or null"] if member.get("nullable") else []
        said = f": {member['documentation']}" if "documentation" in member else ""
        yield f"{'  ' * depth}* `{member.get('locationName', name)}` ({', '.join(marks)}){said}"
        if model["shapes"][held]["type"] == "structure":
            yield from _members(model, held, depth=depth + 1)


def _is_input(member: Node, shape: Node, name: str) -> bool:
    """Whether a caller has to give this member."""
    return name in shape.get("required", ()) and "nullable" not in member


def _status(model: Node, error: str) -> int:
    status: int = model["shapes"][error]["error"]["httpStatusCode"]
    return status


def openapi_page() -> str:
    """The same for machines."""
    model = _model()
    paths: dict[str, dict[str, object]] = {}
    for name, operation in model["operations"].items():
        http = operation["http"]
        paths.setdefault(http["requestUri"], {})[http["method"].lower()] = _path_item(model, name, operation)
    schemas = {
        name: _schema(model, shape)
        for name, shape in model["shapes"].items()
        if shape["type"] == "structure" and not name.endswith("Request") and not shape.get("payload")
    }
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "redrive's own surface of a server",
            "version": model["metadata"]["apiVersion"],
            "description": f"Everything else on the port is AWS's. {WRITTEN}",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return yaml.safe_dump(document, sort_keys=False, width=WIDTH, allow_unicode=True)


def _path_item(model: Node, name: str, operation: Node) -> dict[str, object]:
    item: dict[str, object] = {"operationId": name, "summary": operation["documentation"]}
    if operation.get("authtype") == "none":
        item["security"] = []
    if "input" in operation:
        item |= _request(model, model["shapes"][operation["input"]["shape"]])
    done = _response(model, operation["output"]["shape"]) if "output" in operation else {"description": "Done."}
    responses: dict[str, object] = {"200": done}
    for error in operation.get("errors", ()):
        status = str(_status(model, error["shape"]))
        described = model["shapes"][error["shape"]]["documentation"]
        if status in responses:
            continue  # Both errors of a status have the same members.
        responses[status] = {"description": described, "content": {JSON: {"schema": _reference(error["shape"])}}}
    return item | {"responses": responses}


def _request(model: Node, shape: Node) -> dict[str, object]:
    """The parameters and the body of a request."""
    parameters, members = [], {}
    for name, member in shape["members"].items():
        if "location" not in member:
            members[name] = member
            continue
        where = "path" if member["location"] == "uri" else "query"
        parameter = {"name": member["locationName"], "in": where, "required": name in shape.get("required", ())}
        schema = _schema_of(model, member["shape"])
        parameters.append(parameter | {"description": member["documentation"], "schema": schema})
    made: dict[str, object] = {"parameters": parameters} if parameters else {}
    if "payload" in shape:
        binary = {"schema": {"type": "string", "format": "binary"}}
        made["requestBody"] = {"required": True, "content": {"application/octet-stream": binary}}
    elif members:
        schema = _schema(model, {**shape, "members": members}) | {"additionalProperties": False}
        made["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return made


def _response(model: Node, shape_name: str) -> dict[str, object]:
    shape = model["shapes"][shape_name]
    described = shape.get("documentation", "Done.")
    if "payload" not in shape:
        return {"description": described, "content": {JSON: {"schema": _reference(shape_name)}}}
    kind = "application/zip" if "content_type" in shape["members"] else "application/octet-stream"
    return {"description": described, "content": {kind: {"schema": {"type": "string", "format": "binary"}}}}


def _reference(shape_name: str) -> dict[str, object]:
    return {"$ref": f"#/components/schemas/{shape_name}"}


def _schema(model: Node, shape: Node) -> dict[str, object]:
    """A structure."""
    properties: dict[str, object] = {}
    for name, member in shape["members"].items():
        schema = _schema_of(model, member["shape"])
        if member.get("nullable"):
            schema = {"oneOf": [schema, {"type": "null"}]}
        properties[name] = schema | _described(member)
    required = [name for name in shape["members"] if name in shape.get("required", ())]
    made: dict[str, object] = {"type": "object", **_described(shape)}
    return made | ({"required": required} if required else {}) | {"properties": properties}


def _described(node: Node) -> dict[str, object]:
    return {"description": node["documentation"]} if "documentation" in node else {}


def _schema_of(model: Node, shape_name: str) -> dict[str, object]:
    """A value of any shape."""
    shape = model["shapes"][shape_name]
    match shape["type"]:
        case "structure":
            return _reference(shape_name)
        case "list":
            return {"type": "array", "items": _schema_of(model, shape["member"]["shape"])}
        case "map":
            value = _schema_of(model, shape["value"]["shape"])
            nullable = {"oneOf": [value, {"type": "null"}]} if shape["value"].get("nullable") else value
            return {"type": "object", "additionalProperties": nullable}
        case kind:
            bounds = ("minLength", "maxLength") if kind == "string" else ("minimum", "maximum")
            schema: dict[str, object] = {"type": _JSON_TYPES[kind]}
            schema |= {bound: shape[key] for bound, key in zip(bounds, ("min", "max"), strict=True) if key in shape}
            return schema | ({"enum": list(shape["enum"])} if "enum" in shape else {})


def client_module() -> str:
    """The client of the command line: a method for each operation, a type for each answer."""
    model = _model()
    structures = _structures(model)
    lines = [
        '"""The operations of a server\'s own surface, by name: what each takes, and the type of what it answers.',
        "",
        f"{WRITTEN} Do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import NotRequired, TypedDict, cast",
        "",
        "from redrive.cli.endpoint import call, fetch_content",
    ]
    for name in structures:
        lines += ["", "", *_typed_dict(model, name)]
    lines += [
        "", "", "class Surface:",
        '    """A server\'s own surface. Errors of each method: UserError."""',
        "", "    def __init__(self, endpoint_url: str) -> None:", "        self._endpoint_url = endpoint_url",
    ]  # fmt: skip
    for name, operation in model["operations"].items():
        if operation.get("authtype") != "none" or "input" not in operation:
            lines += ["", *_method(model, name, operation)]
    return "\n".join(lines) + "\n"


def _structures(model: Node) -> list[str]:
    """The structures of answers, and those inside of requests, each after those that it holds."""
    found: dict[str, None] = {}

    def visit(shape_name: str) -> None:
        shape = model["shapes"][shape_name]
        match shape["type"]:
            case "list":
                visit(shape["member"]["shape"])
            case "structure" if "payload" not in shape and shape_name not in found:
                for member in shape["members"].values():
                    visit(member["shape"])
                found[shape_name] = None
            case _:
                pass

    for operation in model["operations"].values():
        if "output" in operation:
            visit(operation["output"]["shape"])
        if "input" in operation:
            for member in model["shapes"][operation["input"]["shape"]]["members"].values():
                visit(member["shape"])
    return list(found)


def _typed_dict(model: Node, shape_name: str) -> list[str]:
    shape = model["shapes"][shape_name]
    lines = [
        f"class {shape_name}(TypedDict):",
        f'    """{shape.get("documentation", f"`{shape_name}` of the model.")}"""',
        "",
    ]
    for name, member in shape["members"].items():
        kind = _python_type(model, member["shape"]) + (" | None" if member.get("nullable") else "")
        lines.append(f"    {name}: {kind if name in shape.get('required', ()) else f'NotRequired[{kind}]'}")
    return lines


def _python_type(model: Node, shape_name: str) -> str:
    shape = model["shapes"][shape_name]
    match shape["type"]:
        case "structure":
            return shape_name
        case "list":
            return f"list[{_python_type(model, shape['member']['shape'])}]"
        case "map":
            value = _python_type(model, shape["value"]["shape"])
            return f"dict[str, {value}{' | None' if shape['value'].get('nullable') else ''}]"
        case kind:
            return _PYTHON_TYPES[kind]


def _method(model: Node, name: str, operation: Node) -> list[str]:
    shape = model["shapes"][operation["input"]["shape"]] if "input" in operation else {"members": {}}
    required = [member for member in shape["members"] if member in shape.get("required", ())]
    optional = [member for member in shape["members"] if member not in required]
    kinds = {member: _python_type(model, shape["members"][member]["shape"]) for member in shape["members"]}
    parameters = [f"{member}: {kinds[member]}" for member in required]
    parameters += [f"{member}: {kinds[member]} | None = None" for member in optional]
    answer = operation["output"]["shape"]
    is_bytes = "payload" in model["shapes"][answer]
    head = f"    def {snake_case(name)}(self"
    kind = "bytes" if is_bytes else answer
    lines = [f"{', '.join([head, '*', *parameters])}) -> {kind}:" if parameters else f"{head}) -> {kind}:"]
    if len(lines[0]) > WIDTH:
        lines = [f"{head[: -len('self')]}", "        self,", "        *,"]
        lines += [f"        {parameter}," for parameter in parameters]
        lines += [f"    ) -> {kind}:"]
    lines.append(f'        """{_first_clause(operation["documentation"])}."""')
    given = "{" + ", ".join(f'"{member}": {member}' for member in [*required, *optional]) + "}"
    called = f'{"fetch_content" if is_bytes else "call"}(self._endpoint_url, "{name}", {given})'
    lines += _wrapped(called if is_bytes else f"cast({answer}, {called})", [*required, *optional])
    return lines


def _first_clause(text: str) -> str:
    """The beginning of a text, as far as it stands in one line."""
    sentence = text.split(": ", maxsplit=1)[0].split("; ", maxsplit=1)[0].split(". ", maxsplit=1)[0].rstrip(".")
    while len(sentence) > WIDTH - len('        """."""'):
        sentence = sentence.rpartition(", ")[0]
    return sentence


def _wrapped(value: str, members: list[str]) -> list[str]:
    """A return statement, in two where one line is too long."""
    if len(value) + len("        return ") <= WIDTH:
        return [f"        return {value}"]
    given = [
        "        given: dict[str, object] = {",
        *(f'            "{member}": {member},' for member in members),
        "        }",
    ]
    written = "{" + ", ".join(f'"{member}": {member}' for member in members) + "}"
    return [*given, f"        return {value.replace(written, 'given')}"]
