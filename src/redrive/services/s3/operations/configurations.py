"""The operations on configurations of which a bucket may have many: metrics, analytics, inventories, tiering.

They are kept and answered as AWS does. No metrics, analyses or inventories come of them.
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.configurations import ANALYTICS, INVENTORY, METRICS, TIERING, delete, get, page, put
from redrive.store.api import Transaction


@operation("PutBucketMetricsConfiguration")
def put_bucket_metrics_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, metrics_configuration: Document,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Keep a configuration of a bucket: the metrics of requests of some of its objects.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument; TooManyConfigurations.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketMetricsConfiguration.html
    """
    return put(tx, caller, bucket, METRICS, id, metrics_configuration, expected_bucket_owner)


@operation("GetBucketMetricsConfiguration")
def get_bucket_metrics_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketMetricsConfiguration.html
    """
    return get(tx, caller, bucket, METRICS, id, expected_bucket_owner)


@operation("DeleteBucketMetricsConfiguration")
def delete_bucket_metrics_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Delete a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketMetricsConfiguration.html
    """
    return delete(tx, caller, bucket, METRICS, id, expected_bucket_owner)


@operation("ListBucketMetricsConfigurations")
def list_bucket_metrics_configurations(
    tx: Transaction, caller: Caller, *, bucket: str, continuation_token: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """List such configurations of a bucket, by their ids.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBucketMetricsConfigurations.html
    """
    return page(tx, caller, bucket, METRICS, continuation_token, expected_bucket_owner)


@operation("PutBucketAnalyticsConfiguration")
def put_bucket_analytics_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, analytics_configuration: Document,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Keep a configuration of a bucket: the analysis of some of its objects.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument; TooManyConfigurations.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketAnalyticsConfiguration.html
    """
    return put(tx, caller, bucket, ANALYTICS, id, analytics_configuration, expected_bucket_owner)


@operation("GetBucketAnalyticsConfiguration")
def get_bucket_analytics_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketAnalyticsConfiguration.html
    """
    return get(tx, caller, bucket, ANALYTICS, id, expected_bucket_owner)


@operation("DeleteBucketAnalyticsConfiguration")
def delete_bucket_analytics_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Delete a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketAnalyticsConfiguration.html
    """
    return delete(tx, caller, bucket, ANALYTICS, id, expected_bucket_owner)


@operation("ListBucketAnalyticsConfigurations")
def list_bucket_analytics_configurations(
    tx: Transaction, caller: Caller, *, bucket: str, continuation_token: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """List such configurations of a bucket, by their ids.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBucketAnalyticsConfigurations.html
    """
    return page(tx, caller, bucket, ANALYTICS, continuation_token, expected_bucket_owner)


@operation("PutBucketInventoryConfiguration")
def put_bucket_inventory_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, inventory_configuration: Document,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Keep a configuration of a bucket: a list of its objects that is written regularly.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument; TooManyConfigurations.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketInventoryConfiguration.html
    """
    return put(tx, caller, bucket, INVENTORY, id, inventory_configuration, expected_bucket_owner)


@operation("GetBucketInventoryConfiguration")
def get_bucket_inventory_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketInventoryConfiguration.html
    """
    return get(tx, caller, bucket, INVENTORY, id, expected_bucket_owner)


@operation("DeleteBucketInventoryConfiguration")
def delete_bucket_inventory_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Delete a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketInventoryConfiguration.html
    """
    return delete(tx, caller, bucket, INVENTORY, id, expected_bucket_owner)


@operation("ListBucketInventoryConfigurations")
def list_bucket_inventory_configurations(
    tx: Transaction, caller: Caller, *, bucket: str, continuation_token: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """List such configurations of a bucket, by their ids.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBucketInventoryConfigurations.html
    """
    return page(tx, caller, bucket, INVENTORY, continuation_token, expected_bucket_owner)


@operation("PutBucketIntelligentTieringConfiguration")
def put_bucket_intelligent_tiering_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, intelligent_tiering_configuration: Document,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Keep a configuration of a bucket: the archiving of some of its objects.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument; TooManyConfigurations.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketIntelligentTieringConfiguration.html
    """
    return put(tx, caller, bucket, TIERING, id, intelligent_tiering_configuration, expected_bucket_owner)


@operation("GetBucketIntelligentTieringConfiguration")
def get_bucket_intelligent_tiering_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketIntelligentTieringConfiguration.html
    """
    return get(tx, caller, bucket, TIERING, id, expected_bucket_owner)


@operation("DeleteBucketIntelligentTieringConfiguration")
def delete_bucket_intelligent_tiering_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, id: str, expected_bucket_owner: str | None = None
) -> Document:
    """Delete a configuration of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketIntelligentTieringConfiguration.html
    """
    return delete(tx, caller, bucket, TIERING, id, expected_bucket_owner)


@operation("ListBucketIntelligentTieringConfigurations")
def list_bucket_intelligent_tiering_configurations(
    tx: Transaction, caller: Caller, *, bucket: str, continuation_token: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """List such configurations of a bucket, by their ids.

    Errors: NoSuchBucket; AccessDenied; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBucketIntelligentTieringConfigurations.html
    """
    return page(tx, caller, bucket, TIERING, continuation_token, expected_bucket_owner)
