"""The mailbox: e-mail and text messages are captured, for nothing leaves this machine."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.delivery.upkeep.worker import will_age
from redrive.services.sns import limits
from redrive.services.sns.model.delivered import Content
from redrive.services.sns.model.envelope import text_for
from redrive.services.sns.model.mail import Mail, MailCount
from redrive.services.sns.retention import RETENTION
from redrive.store.api import Transaction

MAILBOX = "sns:mailbox"
"""The topic that is notified when mail arrives."""

_DEFAULT_SUBJECT = "AWS Notification Message"
_CONFIRMATION_SUBJECT = "AWS Notification - Subscription Confirmation"


def put_mail(tx: Transaction, scope: Scope, content: Content) -> Document:
    """Capture what an address or a phone gets of a message."""
    message = content.message
    text = content.envelope if content.protocol == "email-json" else text_for(message, content.protocol)
    subject = "" if content.protocol == "sms" else str(message.get("subject", _DEFAULT_SUBJECT))
    return capture(
        tx, scope, protocol=content.protocol, address=content.endpoint, topic_arn=str(message["topic"]), text=text,
        subject=subject, message_id=str(message["id"]),
    )  # fmt: skip


def confirmation_mail(tx: Transaction, scope: Scope, protocol: str, address: str, envelope: Document) -> Document:
    """Capture the mail that asks an address to confirm its subscription."""
    return capture(
        tx, scope, protocol=protocol, address=address, topic_arn=str(envelope["TopicArn"]),
        text=str(envelope["Message"]), subject=_CONFIRMATION_SUBJECT, link=str(envelope["SubscribeURL"]),
        message_id=str(envelope["MessageId"]),
    )  # fmt: skip


def capture(
    tx: Transaction, scope: Scope, *, protocol: str, address: str, topic_arn: str, text: str, message_id: str,
    subject: str = "", link: str = "",
) -> Document:  # fmt: skip
    """Keep a mail; the oldest ones make room. Returns the id of the message."""
    number = MailCount((tx.resources.get(MailCount, scope, MailCount.NAME) or MailCount()).count + 1)
    tx.resources.put(scope, number)
    if tx.resources.count(Mail, scope) >= limits.MAILS_KEPT_MAX:
        for oldest in tx.resources.list(Mail, scope, limit=1):
            tx.resources.delete(Mail, scope, oldest.name)
    mail = Mail(number.mail_name, tx.now, protocol, address, topic_arn, text, subject, link, message_id)
    tx.resources.put(scope, mail)
    will_age(tx, RETENTION, tx.now + limits.MAIL_AGE_MS)
    tx.notify(MAILBOX)
    return {"MessageId": message_id}
