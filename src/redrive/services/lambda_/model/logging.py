"""How a function's log is written: as text, or as JSON from a level on. Pure.

Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.documents import Document

TEXT, JSON = "Text", "JSON"
LEVEL_DEFAULT = "INFO"


@dataclass(frozen=True, slots=True)
class LoggingSettings:
    """The part of a function's `LoggingConfig` that is not the log group. Levels are empty where the format is Text."""

    format: str = TEXT
    application_level: str = ""
    system_level: str = ""

    DEFAULT: ClassVar[LoggingSettings]

    def changed(self, given: Document) -> LoggingSettings:
        """The settings with the parts of a `LoggingConfig` that are given. Only JSON has levels, INFO by default."""
        chosen = str(given.get("LogFormat") or self.format)
        if chosen != JSON:
            return LoggingSettings(chosen)
        return LoggingSettings(
            chosen,
            str(given.get("ApplicationLogLevel") or self.application_level or LEVEL_DEFAULT),
            str(given.get("SystemLogLevel") or self.system_level or LEVEL_DEFAULT),
        )

    def document(self) -> Document:
        """The settings as AWS shows them."""
        document: Document = {"LogFormat": self.format}
        if self.format == JSON:
            document |= {"ApplicationLogLevel": self.application_level, "SystemLogLevel": self.system_level}
        return document


LoggingSettings.DEFAULT = LoggingSettings()
