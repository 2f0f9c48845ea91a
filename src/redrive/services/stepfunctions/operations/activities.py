"""The operations on activities, and the long poll by which workers ask for tasks."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.pages import encode_token
from redrive.core.scope import Caller
from redrive.delivery.operation import Wait, operation
from redrive.languages.iam import request_tags
from redrive.services.stepfunctions.limits import ACTIVITIES_MAX, PAGE_DEFAULT, POLL_MS
from redrive.services.stepfunctions.model.activity import Activity
from redrive.services.stepfunctions.model.arns import ACTIVITY, StatesArn, activity_arn, read_arn
from redrive.services.stepfunctions.model.requests import check_name, read_page
from redrive.services.stepfunctions.model.tags import merged_tags
from redrive.services.stepfunctions.running import take_activity_task
from redrive.store.api import Transaction


@operation("CreateActivity")
def create_activity(
    tx: Transaction, caller: Caller, *, name: str, tags: Sequence[Document] = (),
    encryption_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Create an activity. A second creation with the same name answers with the first one.

    Errors: InvalidName; ActivityLimitExceeded; TooManyTags.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateActivity.html
    """
    check_name(name)
    arn = activity_arn(caller.scope, name)
    wanted = {str(tag.get("key", "")): str(tag.get("value", "")) for tag in tags}
    tx.services.authorize(tx, caller, "states:CreateActivity", arn, context=request_tags(wanted))
    known = tx.resources.get(Activity, caller.scope, name)
    if known is None:
        if tx.resources.count(Activity, caller.scope) >= ACTIVITIES_MAX:
            raise ServiceError("ActivityLimitExceeded", f"Activity Limit Exceeded: '{name}'")
        known = Activity(name, tx.now, merged_tags({}, tags, arn), encryption_configuration or {})
        tx.resources.put(caller.scope, known)
    elif known.encryption != (encryption_configuration or {}):
        raise ServiceError("ActivityAlreadyExists", f"Activity Already Exists: '{arn}'")
    return {"activityArn": arn, "creationDate": known.created_at}


@operation("DeleteActivity")
def delete_activity(tx: Transaction, caller: Caller, *, activity_arn: str) -> Document:
    """Delete an activity. Tasks that nobody has taken are never taken; an unknown activity is no error.

    Errors: InvalidArn.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DeleteActivity.html
    """
    arn = read_arn(activity_arn, ACTIVITY)
    tx.services.authorize(tx, caller, "states:DeleteActivity", activity_arn)
    if tx.resources.delete(Activity, arn.scope, arn.name):
        tx.executions.drop_tasks(activity_arn)
    return {}


@operation("DescribeActivity")
def describe_activity(tx: Transaction, caller: Caller, *, activity_arn: str) -> Document:
    """Show an activity.

    Errors: ActivityDoesNotExist; InvalidArn.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeActivity.html
    """
    arn = read_arn(activity_arn, ACTIVITY)
    tx.services.authorize(tx, caller, "states:DescribeActivity", activity_arn)
    activity = _the_activity(tx, arn, activity_arn)
    shown = {**_shown(activity_arn, activity)}
    return {**shown, "encryptionConfiguration": activity.encryption} if activity.encryption else shown


@operation("ListActivities")
def list_activities(
    tx: Transaction, caller: Caller, *, max_results: int | None = None, next_token: str | None = None
) -> Document:
    """List the activities of the account in this region, sorted by name.

    Errors: InvalidToken.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListActivities.html
    """
    tx.services.authorize(tx, caller, "states:ListActivities", "*")
    after, limit = read_page(next_token, "ListActivities"), max_results or PAGE_DEFAULT
    found = tx.resources.list(Activity, caller.scope, after=after, limit=limit + 1)
    answer: Document = {"activities": [_shown(one.arn(caller.scope), one) for one in found[:limit]]}
    if len(found) > limit:
        answer["nextToken"] = encode_token(found[limit - 1].name, "ListActivities")
    return answer


@operation("GetActivityTask")
def get_activity_task(
    tx: Transaction, caller: Caller, *, activity_arn: str, worker_name: str | None = None
) -> Document | Wait:
    """Wait up to a minute for a task of an activity, and take it. Without a task the answer is empty.

    Errors: ActivityDoesNotExist; InvalidArn.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetActivityTask.html
    """
    arn = read_arn(activity_arn, ACTIVITY)
    tx.services.authorize(tx, caller, "states:GetActivityTask", activity_arn)
    _the_activity(tx, arn, activity_arn)
    taken = take_activity_task(tx, activity_arn, worker_name)
    if taken is not None:
        return taken
    return Wait({}, topics=(activity_arn,), until=tx.now + POLL_MS)


def _the_activity(tx: Transaction, arn: StatesArn, text: str) -> Activity:
    activity = tx.resources.get(Activity, arn.scope, arn.name)
    if activity is None:
        raise ServiceError("ActivityDoesNotExist", f"Activity Does Not Exist: '{text}'")
    return activity


def _shown(arn: str, activity: Activity) -> Document:
    return {"activityArn": arn, "name": activity.name, "creationDate": activity.created_at}
