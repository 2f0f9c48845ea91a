"""The format of a function's log: text, or JSON with a minimum level. All functions here are pure.

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
    """A function's `LoggingConfig` without the log group. Levels are empty if the format is Text."""

    format: str = TEXT
    application_level: str = ""
    system_level: str = ""

    DEFAULT: ClassVar[LoggingSettings]

    def changed(self, given: Document) -> LoggingSettings:
        """Return the settings after the given parts of a `LoggingConfig` are applied.

        Only JSON has levels; INFO is the default.
        """
        chosen = str(given.get("LogFormat") or self.format)
        if chosen != JSON:
            return LoggingSettings(chosen)
        return LoggingSettings(
            chosen,
            str(given.get("ApplicationLogLevel") or self.application_level or LEVEL_DEFAULT),
            str(given.get("SystemLogLevel") or self.system_level or LEVEL_DEFAULT),
        )

    def document(self) -> Document:
        """The settings in AWS's form."""
        document: Document = {"LogFormat": self.format}
        if self.format == JSON:
            document |= {"ApplicationLogLevel": self.application_level, "SystemLogLevel": self.system_level}
        return document


LoggingSettings.DEFAULT = LoggingSettings()
