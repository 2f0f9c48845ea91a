"""Says which web pages may use a bucket: the server asks before a page's request goes on."""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.delivery.web import BucketPage, PageHeaders
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.cors import (
    CORS,
    NOT_ALLOWED,
    NOT_ENABLED,
    PageRequest,
    answer_headers,
    refused_preflight,
)
from redrive.store.api import Transaction


def judge_page(tx: Transaction, page: BucketPage) -> PageHeaders | ServiceError | None:
    """The headers by which a bucket's rules let a page in; the refusal of a preflight; None where no rule is about it.

    Errors: none is raised. AccessForbidden is returned for a preflight that the rules of the bucket do not allow.
    """
    for name, is_object in page.named:
        bucket = tx.resources.get(Bucket, BUCKETS, name)
        if bucket is None:
            continue
        rules = bucket.settings.get(CORS, {}).get("CORSRules", ())
        headers = answer_headers(rules, PageRequest(page.origin, page.method, page.headers))
        if headers is None and page.is_preflight:
            why = NOT_ALLOWED if rules else NOT_ENABLED
            return refused_preflight(page.method, is_object=is_object, why=why)
        return headers
    return None
