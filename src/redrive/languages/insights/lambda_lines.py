"""Fields in the lines that Lambda writes, found without a `parse`.

    REPORT RequestId: 8f5b…  Duration: 102.25 ms  Billed Duration: 103 ms  Memory Size: 128 MB  Max Memory Used: 35 MB

Durations are in milliseconds, memory is in bytes, a megabyte being a million of them.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_AnalyzeLogData-discoverable-fields.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_KINDS = ("REPORT", "START", "END")
_MEGABYTE = 1_000_000
_HEAD_MAX = 256
_REQUEST = re.compile(r"RequestId: ([0-9a-fA-F-]{36})")
_ID_ALONE = re.compile(r"(?:^|\t)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:\t|$)")

Take = Callable[[str], "str | int | float | None"]


def _type(message: str) -> str | None:
    for kind in _KINDS:
        if message.startswith(kind) and message.startswith(" RequestId:", len(kind)):
            return kind
    return None


def _request_id(message: str) -> str | None:
    head = message[:_HEAD_MAX]
    found = _REQUEST.search(head) or _ID_ALONE.search(head)
    return None if found is None else found[1]


def _figure(label: str, unit: str, factor: int = 1) -> Take:
    """The figure after a label in a line of REPORT."""
    pattern = re.compile(rf"\t{label}: (\d+(?:\.\d+)?) {unit}\b")

    def take(message: str) -> float | None:
        if not message.startswith("REPORT RequestId:"):
            return None
        found = pattern.search(message)
        if found is None:
            return None
        figure = float(found[1]) * factor
        return int(figure) if figure.is_integer() else figure

    return take


def _text_after(label: str) -> Take:
    pattern = re.compile(rf"\t{label}: (\S+)")

    def take(message: str) -> str | None:
        found = pattern.search(message) if message.startswith("REPORT RequestId:") else None
        return None if found is None else found[1]

    return take


def _trailing(take: Take) -> Take:
    """As `take`, of lines whose parts are divided by more than a tab, as real ones are."""
    return lambda message: take(message.replace("\t\n", "\t").replace("\nXRAY", "\tXRAY"))


FIELDS: Mapping[str, Take] = {
    "@type": _type,
    "@requestId": _request_id,
    "@duration": _figure("Duration", "ms"),
    "@billedDuration": _figure("Billed Duration", "ms"),
    "@initDuration": _figure("Init Duration", "ms"),
    "@memorySize": _figure("Memory Size", "MB", _MEGABYTE),
    "@maxMemoryUsed": _figure("Max Memory Used", "MB", _MEGABYTE),
    "@xrayTraceId": _trailing(_text_after("XRAY TraceId")),
    "@xraySegmentId": _text_after("SegmentId"),
}
