"""Captured mail: what e-mail addresses and phones would have got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document


@dataclass(frozen=True, slots=True)
class Mail:
    """An e-mail or a text message. `link` confirms a subscription, in a mail that asks for that."""

    KIND: ClassVar[str] = "sns.mail"
    IS_STATE: ClassVar[bool] = True

    name: str
    at: Instant
    protocol: str
    address: str
    topic_arn: str
    text: str
    subject: str = ""
    link: str = ""
    message_id: str = ""

    def shown(self) -> Document:
        """The mail as our own surface shows it."""
        return {
            "id": self.name, "at": format_instant(self.at), "protocol": self.protocol, "address": self.address,
            "topic": self.topic_arn, "subject": self.subject, "text": self.text, "link": self.link,
            "message_id": self.message_id,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MailCount:
    """How many mails a scope has captured. The number of a mail is its name, so that names sort by arrival."""

    KIND: ClassVar[str] = "sns.mail_count"
    IS_STATE: ClassVar[bool] = True
    NAME: ClassVar[str] = "all"

    count: int = 0

    @property
    def name(self) -> str:
        """The name of the only document."""
        return self.NAME

    @property
    def mail_name(self) -> str:
        """The name of the latest mail."""
        return f"{self.count:012}"
