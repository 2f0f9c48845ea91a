"""Dashboards: their name, and their body, which is checked as far as AWS's page describes it.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.services.cloudwatch import limits

WIDGETS = ("alarm", "explorer", "log", "metric", "text")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}", re.ASCII)
_VIEWS = ("bar", "gauge", "pie", "singleValue", "table", "timeSeries")
_REQUIRED = {"alarm": "alarms", "text": "markdown", "log": "query", "metric": "region"}


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard. `body` is the text as it was given. Dashboards belong to an account, not to a region."""

    KIND: ClassVar[str] = "cloudwatch.dashboard"

    name: str
    body: str
    modified_at: Instant
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The length of the body in bytes."""
        return len(self.body.encode())


class Finding(NamedTuple):
    """Something about a body. An error refuses the body; a warning says that a widget might not be drawn."""

    path: str
    message: str
    is_error: bool


def dashboard_scope(scope: Scope) -> Scope:
    """The scope in which an account's dashboards are stored: they are the same in all regions."""
    return Scope(scope.account, "global")


def dashboard_arn(scope: Scope, name: str) -> str:
    """The ARN of a dashboard, without a region."""
    return f"arn:aws:cloudwatch::{scope.account}:dashboard/{name}"


def is_dashboard_name(name: str) -> bool:
    """Whether a text may be a dashboard's name."""
    return _NAME.fullmatch(name) is not None


def findings_in(body: str) -> list[Finding]:
    """What is wrong with a body, or doubtful, in the order of the text."""
    try:
        document = load_json(body)
    except ValueError:
        return [Finding("", "The field DashboardBody must be a valid JSON object", is_error=True)]
    if not isinstance(document, dict):
        return [Finding("", "The field DashboardBody must be a valid JSON object", is_error=True)]
    if "widgets" not in document:
        return [Finding("", "Should have property widgets", is_error=False)]
    widgets = document["widgets"]
    if not isinstance(widgets, list):
        return [Finding("/widgets", "Should be array", is_error=True)]
    found = []
    if len(widgets) > limits.WIDGETS_MAX:
        message = f"Should not have more than {limits.WIDGETS_MAX} items"
        found.append(Finding("/widgets", message, is_error=True))
    for number, widget in enumerate(widgets):
        found += _in_widget(widget, f"/widgets/{number}")
    return found


def _in_widget(widget: object, path: str) -> Iterator[Finding]:
    if not isinstance(widget, dict):
        yield Finding(path, "Should be object", is_error=True)
        return
    kind = widget.get("type")
    if kind not in WIDGETS:
        message = f"Should match exactly one schema in oneOf: type must be one of {', '.join(WIDGETS)}"
        yield Finding(f"{path}/type", message, is_error=True)
        return
    yield from _in_place(widget, path)
    properties = widget.get("properties")
    if not isinstance(properties, dict):
        yield Finding(f"{path}/properties", "Should be object", is_error=True)
        return
    required = _REQUIRED.get(kind)
    if required is not None and required not in properties:
        yield Finding(f"{path}/properties", f"Should have required property '{required}'", is_error=True)
    if kind == "metric":
        yield from _in_metric(properties, f"{path}/properties")


def _in_place(widget: Document, path: str) -> Iterator[Finding]:
    """The place of a widget in the grid; without x and y it is placed behind the others."""
    bounds = {
        "x": (0, limits.GRID_WIDTH - 1), "y": (0, 10**9), "width": (1, limits.GRID_WIDTH),
        "height": (1, limits.GRID_HEIGHT_MAX),
    }  # fmt: skip
    for member, (low, high) in bounds.items():
        value = widget.get(member)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            yield Finding(f"{path}/{member}", "Should be integer", is_error=True)
        elif value < low:
            yield Finding(f"{path}/{member}", f"Should be >= {low}", is_error=True)
        elif value > high:
            yield Finding(f"{path}/{member}", f"Should be <= {high}", is_error=True)
    if ("x" in widget) != ("y" in widget):
        yield Finding(path, "Should have both properties x and y, or none of them", is_error=True)


def _in_metric(properties: Document, path: str) -> Iterator[Finding]:
    metrics, annotations = properties.get("metrics"), properties.get("annotations")
    if metrics is None and not annotations:
        yield Finding(path, "Should have property metrics or annotations", is_error=True)
        return
    if metrics is not None and not isinstance(metrics, list):
        yield Finding(f"{path}/metrics", "Should be array", is_error=True)
        return
    for number, metric in enumerate(metrics or ()):
        if not isinstance(metric, list) or not metric:
            yield Finding(f"{path}/metrics/{number}", "Should be a non-empty array", is_error=True)
    view = properties.get("view")
    if view is not None and view not in _VIEWS:
        yield Finding(
            f"{path}/view", f"Should be equal to one of the allowed values: {', '.join(_VIEWS)}", is_error=True
        )
    if properties.get("stat") is not None and not isinstance(properties["stat"], str):
        yield Finding(f"{path}/stat", "Should be string", is_error=True)
    for name in sorted(properties.keys() - _METRIC_PROPERTIES):
        yield Finding(f"{path}/{name}", "Is not a known property of metric widgets", is_error=False)


_METRIC_PROPERTIES = frozenset(
    {
        "accountId", "annotations", "end", "labels", "legend", "liveData", "metrics", "period", "region",
        "setPeriodToTimeRange", "singleValueFullPrecision", "sparkline", "stacked", "start", "stat", "table",
        "timezone", "title", "trend", "view", "yAxis",
    }
)  # fmt: skip
