"""The operations on trails: to create, change, describe and delete one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags
from redrive.services.cloudtrail.limits import TRAILS_MAX
from redrive.services.cloudtrail.model.tags import merged_tags
from redrive.services.cloudtrail.model.trail import Trail, place_of, refuse_bad_name, trail_arn
from redrive.services.cloudtrail.trails import find_trail, own_trail, refuse_token, trails_of
from redrive.store.api import Transaction


@operation("CreateTrail")
def create_trail(
    tx: Transaction, caller: Caller, *, name: str, s3_bucket_name: str, s3_key_prefix: str | None = None,
    sns_topic_name: str | None = None, include_global_service_events: bool | None = None,
    is_multi_region_trail: bool | None = None, enable_log_file_validation: bool | None = None,
    cloud_watch_logs_log_group_arn: str | None = None, cloud_watch_logs_role_arn: str | None = None,
    kms_key_id: str | None = None, is_organization_trail: bool | None = None,
    tags_list: Sequence[Document] | None = None, recursive_logging: bool | None = None,
) -> Document:  # fmt: skip
    """Create a trail, which does not log yet. Nothing is written to its bucket; the bucket need not exist.

    Errors: TrailAlreadyExistsException; MaximumNumberOfTrailsExceededException (5 for each region);
    InvalidTrailNameException; InvalidParameterCombinationException (all regions without services that have none);
    OrganizationsNotInUseException; TagsLimitExceededException; InvalidTagParameterException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_CreateTrail.html
    """
    tags = merged_tags({}, tags_list)
    refuse_bad_name(name)
    arn = trail_arn(caller.scope, name)
    tx.services.authorize(tx, caller, "cloudtrail:CreateTrail", arn, context=request_tags(tags))
    if is_organization_trail:
        raise _no_organization()
    if tx.resources.get(Trail, caller.scope, name) is not None:
        message = f"Trail {name} already exists for customer: {caller.account}"
        raise ServiceError("TrailAlreadyExistsException", message)
    known = len(trails_of(tx, caller.scope, with_shadows=True))
    if tx.services.limits is Limits.STRICT and known >= TRAILS_MAX:
        message = f"User: {caller.account} already has {known} trails in {caller.region}."
        raise ServiceError("MaximumNumberOfTrailsExceededException", message)
    settings = _settings(
        s3_bucket_name, s3_key_prefix, sns_topic_name, cloud_watch_logs_log_group_arn, cloud_watch_logs_role_arn,
        kms_key_id, enable_log_file_validation, recursive_logging,
    )  # fmt: skip
    trail = _sound(
        Trail(
            name, bool(is_multi_region_trail), include_global_service_events is not False, settings, tags=tags
        )
    )  # fmt: skip
    tx.resources.put(caller.scope, trail)
    return _shown(caller.scope, trail)


@operation("UpdateTrail")
def update_trail(
    tx: Transaction, caller: Caller, *, name: str, s3_bucket_name: str | None = None,
    s3_key_prefix: str | None = None, sns_topic_name: str | None = None,
    include_global_service_events: bool | None = None, is_multi_region_trail: bool | None = None,
    enable_log_file_validation: bool | None = None, cloud_watch_logs_log_group_arn: str | None = None,
    cloud_watch_logs_role_arn: str | None = None, kms_key_id: str | None = None,
    is_organization_trail: bool | None = None, recursive_logging: bool | None = None,
) -> Document:  # fmt: skip
    """Change settings of a trail; those that are not sent stay as they are.

    Errors: TrailNotFoundException; InvalidHomeRegionException; InvalidParameterCombinationException;
    OrganizationsNotInUseException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_UpdateTrail.html
    """
    home, trail = own_trail(tx, caller, name, "cloudtrail:UpdateTrail")
    if is_organization_trail:
        raise _no_organization()
    settings = _settings(
        s3_bucket_name, s3_key_prefix, sns_topic_name, cloud_watch_logs_log_group_arn, cloud_watch_logs_role_arn,
        kms_key_id, enable_log_file_validation, recursive_logging,
    )  # fmt: skip
    changed = _sound(
        replace(
            trail, settings={**trail.settings, **settings},
            is_multi_region=trail.is_multi_region if is_multi_region_trail is None else is_multi_region_trail,
            includes_global=(
                trail.includes_global if include_global_service_events is None else include_global_service_events
            ),
        )
    )  # fmt: skip
    tx.resources.put(home, changed)
    return _shown(home, changed)


@operation("DeleteTrail")
def delete_trail(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete a trail.

    Errors: TrailNotFoundException; InvalidHomeRegionException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_DeleteTrail.html
    """
    home, trail = own_trail(tx, caller, name, "cloudtrail:DeleteTrail")
    tx.resources.delete(Trail, home, trail.name)
    return {}


@operation("DescribeTrails")
def describe_trails(
    tx: Transaction, caller: Caller, *, trail_name_list: Sequence[str] | None = None,
    include_shadow_trails: bool | None = None,
) -> Document:  # fmt: skip
    """Describe the trails of a region, those of other regions that apply to all regions included.

    Names of trails that do not exist are left out.
    Errors: InvalidTrailNameException; CloudTrailARNInvalidException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_DescribeTrails.html
    """
    tx.services.authorize(tx, caller, "cloudtrail:DescribeTrails", "*")
    found = trails_of(tx, caller.scope, with_shadows=include_shadow_trails is not False)
    if trail_name_list:
        wanted = {place_of(caller.scope, written) for written in trail_name_list}
        found = [(home, trail) for home, trail in found if (home, trail.name) in wanted]
    return {"trailList": [_described(home, trail) for home, trail in found]}


@operation("GetTrail")
def get_trail(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Describe one trail.

    Errors: TrailNotFoundException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_GetTrail.html
    """
    home, trail = find_trail(tx, caller, name, "cloudtrail:GetTrail")
    return {"Trail": _described(home, trail)}


@operation("ListTrails")
def list_trails(tx: Transaction, caller: Caller, *, next_token: str | None = None) -> Document:
    """List the trails of the account that have their home in this region or apply to all regions.

    All are on one page.
    Errors: InvalidTokenException, because no page has a token.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_ListTrails.html
    """
    refuse_token(next_token)
    tx.services.authorize(tx, caller, "cloudtrail:ListTrails", "*")
    found = trails_of(tx, caller.scope, with_shadows=True)
    return {
        "Trails": [
            {"TrailARN": trail_arn(home, trail.name), "Name": trail.name, "HomeRegion": home.region}
            for home, trail in found
        ]
    }


def _settings(
    bucket: str | None, prefix: str | None, topic: str | None, group: str | None, role: str | None, key: str | None,
    validates: bool | None, recursive: bool | None,
) -> Document:  # fmt: skip
    """What a request says of a trail that is only kept."""
    given: Document = {
        "S3BucketName": bucket, "S3KeyPrefix": prefix, "SnsTopicName": topic, "CloudWatchLogsLogGroupArn": group,
        "CloudWatchLogsRoleArn": role, "KmsKeyId": key, "LogFileValidationEnabled": validates,
        "RecursiveLogging": recursive,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def _sound(trail: Trail) -> Trail:
    """The trail itself. Errors: InvalidParameterCombinationException."""
    if trail.is_multi_region and not trail.includes_global:
        raise ServiceError(
            "InvalidParameterCombinationException", "Multi-Region trail must include global service events."
        )
    return trail


def _shown(home: Scope, trail: Trail) -> Document:
    """A trail as CreateTrail answers it."""
    settings = {name: value for name, value in trail.settings.items() if value != ""}
    topic = settings.get("SnsTopicName")
    if topic is not None:
        name = str(topic).rsplit(":", 1)[-1]
        settings |= {"SnsTopicName": name, "SnsTopicARN": f"arn:aws:sns:{home.region}:{home.account}:{name}"}
    return {
        "Name": trail.name, "IncludeGlobalServiceEvents": trail.includes_global,
        "IsMultiRegionTrail": trail.is_multi_region, "TrailARN": trail_arn(home, trail.name),
        "LogFileValidationEnabled": False, "IsOrganizationTrail": False, **settings,
    }  # fmt: skip


def _described(home: Scope, trail: Trail) -> Document:
    """A trail as DescribeTrails answers it."""
    has_own = bool(trail.selectors or trail.advanced)
    return {
        **_shown(home, trail), "HomeRegion": home.region, "HasCustomEventSelectors": has_own,
        "HasInsightSelectors": False,
    }  # fmt: skip


def _no_organization() -> ServiceError:
    message = "The account is no member of an organization, so it cannot have an organization trail."
    return ServiceError("OrganizationsNotInUseException", message)
