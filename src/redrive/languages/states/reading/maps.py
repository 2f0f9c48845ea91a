"""Reads what only a Map has: its processor, and in distributed mode where items come from and results go."""

from __future__ import annotations

from collections.abc import Callable

from redrive.languages.states.definition import Branch, ItemBatcher, ItemReader, Map, Mode, ResultWriter
from redrive.languages.states.reading.fields import Fields
from redrive.languages.states.templates import Template

LABEL_CHARACTERS_MAX = 40
INPUT_BYTES_MAX = 262_144
ITEMS_MAX = 2**53
INPUT_TYPES = ("CSV", "JSON", "JSONL", "PARQUET", "MANIFEST")
DELIMITERS = ("COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB")
S3_GET = "s3:getObject"
S3_LIST = "s3:listObjectsV2"

ReadBranch = Callable[[Fields], Branch]


def read_map(fields: Fields, common: dict[str, object], read_branch: ReadBranch) -> Map:
    """The state. `common` are the fields that every state has."""
    name = "Iterator" if fields.has("Iterator") and not fields.has("ItemProcessor") else "ItemProcessor"
    mode, execution_type, branch = _processor(fields, name, read_branch)
    return Map(
        **common,  # type: ignore[arg-type]  # They are those of State.
        processor=branch,
        mode=mode,
        execution_type=execution_type,
        items=_items(fields),
        item_selector=_selector(fields),
        concurrency_max=fields.computed("MaxConcurrency", lambda one: fields.integer(one, 0, ITEMS_MAX)),
        **_distributed(fields, mode),  # type: ignore[arg-type]  # As above.
    )


def _processor(fields: Fields, name: str, read_branch: ReadBranch) -> tuple[Mode, str | None, Branch]:
    if not fields.has(name):
        fields.fault("These fields are required: [ItemProcessor]")
        return Mode.INLINE, None, Branch("", {})
    processor = fields.inner(name)
    mode, execution_type = Mode.INLINE, None
    if processor.has("ProcessorConfig"):
        config = processor.inner("ProcessorConfig")
        mode = Mode(config.chosen("Mode", [one.value for one in Mode]) or "INLINE")
        execution_type = config.chosen("ExecutionType", ["STANDARD", "EXPRESS"])
        if mode is Mode.DISTRIBUTED and not config.has("ExecutionType"):
            config.fault("These fields are required: [ExecutionType]")
        config.refuse_others()
    return mode, execution_type, read_branch(processor)


def _items(fields: Fields) -> Template | None:
    if not fields.is_jsonata:
        return fields.whole("ItemsPath")
    return fields.template("Items")


def _selector(fields: Fields) -> Template | None:
    if fields.has("ItemSelector") or fields.is_jsonata:
        return fields.template("ItemSelector")
    return fields.template("Parameters")


def _distributed(fields: Fields, mode: Mode) -> dict[str, object]:
    if mode is Mode.INLINE:
        return {}
    label = fields.text("Label")
    if label is not None and not 0 < len(label) <= LABEL_CHARACTERS_MAX:
        fields.fault(f"Label cannot exceed {LABEL_CHARACTERS_MAX} characters", "Label")
    return {
        "label": label,
        "item_reader": _reader(fields.inner("ItemReader")) if fields.has("ItemReader") else None,
        "item_batcher": _batcher(fields.inner("ItemBatcher")) if fields.has("ItemBatcher") else None,
        "result_writer": _writer(fields.inner("ResultWriter")) if fields.has("ResultWriter") else None,
        "tolerated_count": fields.computed("ToleratedFailureCount", lambda one: fields.integer(one, 0, ITEMS_MAX)),
        "tolerated_percentage": fields.computed("ToleratedFailurePercentage", lambda one: fields.number(one, 0, 100)),
    }


def _reader(fields: Fields) -> ItemReader:
    fields.require(["Resource"])
    resource = fields.text("Resource") or ""
    parameters = fields.template("Arguments" if fields.is_jsonata else "Parameters")
    if not fields.has("ReaderConfig"):
        fields.refuse_others()
        return ItemReader(resource, parameters)
    config = fields.inner("ReaderConfig")
    headers = config.array("CSVHeaders")
    pointer = config.text("ItemsPointer")
    reader = ItemReader(
        resource,
        parameters,
        config.chosen("InputType", INPUT_TYPES),
        config.chosen("CSVHeaderLocation", ["FIRST_ROW", "GIVEN"]),
        tuple(str(header) for header in headers),
        config.chosen("CSVDelimiter", DELIMITERS) or "COMMA",
        config.computed("MaxItems", lambda one: _items_max(config, one)),
        pointer,
        config.chosen("ManifestType", ["S3_INVENTORY", "ATHENA_DATA"]),
        config.chosen("Transformation", ["NONE", "LOAD_AND_FLATTEN"]),
    )
    if reader.header_location == "GIVEN" and not headers:
        config.fault("These fields are required: [CSVHeaders]")
    if len(set(reader.headers)) < len(headers):
        config.fault("CSV headers cannot contain duplicates", "CSVHeaders")
    config.refuse_others()
    fields.refuse_others()
    return reader


def _items_max(config: Fields, name: str) -> object:
    """A negative number fails when the state runs, as on AWS."""
    return config.integer(name, -ITEMS_MAX, ITEMS_MAX)


def _batcher(fields: Fields) -> ItemBatcher:
    batcher = ItemBatcher(
        fields.computed("MaxItemsPerBatch", lambda one: fields.integer(one, 1, ITEMS_MAX)),
        fields.computed("MaxInputBytesPerBatch", lambda one: fields.integer(one, 1, INPUT_BYTES_MAX)),
        fields.template("BatchInput"),
    )
    if batcher.items_max is None and batcher.bytes_max is None:
        fields.fault("One of the fields [MaxItemsPerBatch, MaxInputBytesPerBatch] is required")
    fields.refuse_others()
    return batcher


def _writer(fields: Fields) -> ResultWriter:
    resource = fields.text("Resource")
    parameters = fields.template("Arguments" if fields.is_jsonata else "Parameters")
    transformation = output_type = None
    if fields.has("WriterConfig"):
        config = fields.inner("WriterConfig")
        transformation = config.chosen("Transformation", ["NONE", "COMPACT", "FLATTEN"])
        output_type = config.chosen("OutputType", ["JSON", "JSONL"])
        config.refuse_others()
    elif resource is None:
        fields.fault("These fields are required: [Resource]")
    fields.refuse_others()
    return ResultWriter(resource, parameters, transformation, output_type)
