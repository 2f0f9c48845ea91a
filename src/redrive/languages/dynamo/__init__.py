"""DynamoDB's languages: attribute values, expressions, and the legacy parameters that expressions have replaced.

Everything is pure. A request is processed in this order: `read_item` validates items from the wire; one
`Placeholders` and the `parse_…` functions turn texts into trees, then `check_all_used`; `holds`, `project`
and `apply_update` use the trees on items. Trees are immutable, so a caller may cache them. Every refusal is
a `ServiceError` with the code ValidationException and AWS's text.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
"""

from __future__ import annotations

from redrive.languages.dynamo.apply import apply_update, creates_item, touched_paths
from redrive.languages.dynamo.data.codec import dump_item, encode_key, encoded_item, load_item
from redrive.languages.dynamo.data.sizes import (
    HASH_KEY_BYTES_MAX,
    RANGE_KEY_BYTES_MAX,
    EmptyKey,
    check_hash_key,
    check_item_size,
    check_range_key,
    check_updated_size,
    item_size,
    value_size,
)
from redrive.languages.dynamo.data.values import (
    AttributeValue,
    Item,
    check_nesting,
    compare,
    equal,
    read_item,
    read_value,
    type_of,
)
from redrive.languages.dynamo.evaluate import holds
from redrive.languages.dynamo.expressions.conditions import parse_condition
from redrive.languages.dynamo.expressions.keys import (
    KeyBounds,
    KeyCondition,
    KeyTerm,
    RangeCondition,
    RangeOperator,
    bounds_of,
    check_key_types,
    keys_condition,
    parse_key_condition,
    parse_key_terms,
)
from redrive.languages.dynamo.expressions.legacy import (
    AttributeUpdate,
    ExpectedAttribute,
    LegacyCondition,
    attribute_updates,
    attributes_to_get,
    check_expressions_given,
    check_not_mixed,
    expected_condition,
    filter_condition,
    legacy_key_condition,
    legacy_key_terms,
)
from redrive.languages.dynamo.expressions.placeholders import Placeholders
from redrive.languages.dynamo.expressions.projections import parse_projection, project, project_paths
from redrive.languages.dynamo.expressions.tree import Condition, Path, Projection, Update
from redrive.languages.dynamo.expressions.updates import parse_update
from redrive.languages.dynamo.paths import lookup

__all__ = [
    "HASH_KEY_BYTES_MAX",
    "RANGE_KEY_BYTES_MAX",
    "AttributeUpdate",
    "AttributeValue",
    "Condition",
    "EmptyKey",
    "ExpectedAttribute",
    "Item",
    "KeyBounds",
    "KeyCondition",
    "KeyTerm",
    "LegacyCondition",
    "Path",
    "Placeholders",
    "Projection",
    "RangeCondition",
    "RangeOperator",
    "Update",
    "apply_update",
    "attribute_updates",
    "attributes_to_get",
    "bounds_of",
    "check_expressions_given",
    "check_hash_key",
    "check_item_size",
    "check_key_types",
    "check_nesting",
    "check_not_mixed",
    "check_range_key",
    "check_updated_size",
    "compare",
    "creates_item",
    "dump_item",
    "encode_key",
    "encoded_item",
    "equal",
    "expected_condition",
    "filter_condition",
    "holds",
    "item_size",
    "keys_condition",
    "legacy_key_condition",
    "legacy_key_terms",
    "load_item",
    "lookup",
    "parse_condition",
    "parse_key_condition",
    "parse_key_terms",
    "parse_projection",
    "parse_update",
    "project",
    "project_paths",
    "read_item",
    "read_value",
    "touched_paths",
    "type_of",
    "value_size",
]
