"""When two values of JSON are the same: 1 and 1.0 are, 1 and true are not, and the order of members does not count."""

from __future__ import annotations

from redrive.core.documents import dump_json


def key_of(value: object) -> str:
    """A text that equal values share, and no others."""
    match value:
        case float() if value.is_integer():
            return str(int(value))
        case list():
            return f"[{','.join(map(key_of, value))}]"
        case dict():
            return f"{{{','.join(sorted(f'{dump_json(name)}:{key_of(one)}' for name, one in value.items()))}}}"
        case _:
            return dump_json(value)
