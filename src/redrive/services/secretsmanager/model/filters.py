"""The filters of ListSecrets and BatchGetSecretValue. A value that begins with `!` excludes.

Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/manage_search-secret.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redrive.core.documents import Document
from redrive.services.secretsmanager.model.requests import invalid_parameter
from redrive.services.secretsmanager.model.secret import Secret


def passes(secret: Secret, region: str, filters: Sequence[Document]) -> bool:
    """Whether a secret passes all filters. Errors: InvalidParameterException."""
    return all(_passes(secret, region, one) for one in filters)


def _passes(secret: Secret, region: str, one: Document) -> bool:
    key, values = one.get("Key"), one.get("Values")
    if key is None or not values:
        raise invalid_parameter("Invalid filter: a filter needs a key and values.")
    excluded = [value[1:] for value in values if value.startswith("!")]
    included = [value for value in values if not value.startswith("!")]
    texts = _texts(secret, region, str(key))
    ignores_case = key in ("description", "all")
    is_in = not included or _any_begins(texts, included, ignores_case=ignores_case)
    return is_in and not (excluded and _any_begins(texts, excluded, ignores_case=ignores_case))


def _texts(secret: Secret, region: str, key: str) -> list[str]:
    words = (secret.description or "").split()
    match key:
        case "name":
            return [secret.name]
        case "description":
            return [secret.description or "", *words]
        case "tag-key":
            return list(secret.tags)
        case "tag-value":
            return list(secret.tags.values())
        case "primary-region":
            return [region]
        case "all":
            return [secret.name, *secret.name.split("/"), *words, *secret.tags, *secret.tags.values()]
        case _:
            return []  # No service owns secrets here.


def _any_begins(texts: Iterable[str], values: Sequence[str], *, ignores_case: bool) -> bool:
    if ignores_case:
        return any(text.lower().startswith(value.lower()) for text in texts for value in values)
    return any(text.startswith(value) for text in texts for value in values)
