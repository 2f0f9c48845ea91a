"""The operations of our own surface on captured e-mail and text messages."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.surface import MISSING, own_operation, refusal, scope_asked
from redrive.services.sns.limits import MAILS_KEPT_MAX
from redrive.services.sns.model.mail import Mail
from redrive.store.api import Transaction

PAGE = 100


@own_operation("ListMail")
def list_mail(
    tx: Transaction, caller: Caller, *, address: str = "", region: str | None = None, account: str | None = None,
    limit: int = PAGE, after: str = "",
) -> Document:  # fmt: skip
    """List captured mail, oldest first. Errors: AccessDeniedException."""
    scope = scope_asked(caller, account, region)
    stored = tx.resources.list(Mail, scope, after=after, limit=MAILS_KEPT_MAX)
    found = [mail for mail in stored if not address or mail.address == address]
    page = found[:limit]
    return {"mail": [mail.shown() for mail in page], "after": page[-1].name if len(found) > limit else None}


@own_operation("GetMail")
def get_mail(
    tx: Transaction, caller: Caller, *, id: str, region: str | None = None, account: str | None = None
) -> Document:  # fmt: skip
    """Return one captured mail. Errors: AccessDeniedException; ResourceNotFoundException."""
    mail = tx.resources.get(Mail, scope_asked(caller, account, region), id)
    if mail is None:
        raise refusal(f"There is no mail {id[:200]}.", "See: redrive mailbox list", MISSING)
    return mail.shown()
