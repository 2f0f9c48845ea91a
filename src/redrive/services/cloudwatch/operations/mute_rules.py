"""The operations on alarm mute rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags, resource_tags
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.alarm import Alarm, alarm_arn
from redrive.services.cloudwatch.model.alarm_requests import read_alarm_tags
from redrive.services.cloudwatch.model.metric import validation_error
from redrive.services.cloudwatch.model.mute_rule import MUTE_TIMER, MuteRule, check_schedule, mute_rule_arn
from redrive.services.cloudwatch.model.tokens import read_token, write_token
from redrive.services.cloudwatch.muting import schedule_end, unmute
from redrive.store.api import Transaction


@operation("PutAlarmMuteRule")
def put_alarm_mute_rule(
    tx: Transaction, caller: Caller, *, name: str, rule: Document, description: str | None = None,
    mute_targets: Document | None = None, tags: Sequence[Mapping[str, str]] | None = None,
    start_date: Instant | None = None, expire_date: Instant | None = None,
) -> Document:  # fmt: skip
    """Create or update a mute rule. Alarms that an update leaves unmuted act now, if their state has changed.

    Errors: ValidationError (the schedule, alarms that do not exist).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutAlarmMuteRule.html
    """
    scope = caller.scope
    given = read_alarm_tags(tags)
    known = tx.resources.get(MuteRule, scope, name)
    _authorize(tx, caller, "PutAlarmMuteRule", name, known, given)
    schedule = dict(rule["Schedule"])
    check_schedule(schedule)
    names = tuple(dict.fromkeys((mute_targets or {}).get("AlarmNames") or ()))
    for alarm_name in names:
        tx.services.authorize(tx, caller, "cloudwatch:PutAlarmMuteRule", alarm_arn(scope, alarm_name))
        if tx.resources.get(Alarm, scope, alarm_name) is None:
            raise validation_error(f"The alarm {alarm_name} does not exist.")
    if start_date is not None and expire_date is not None and expire_date <= start_date:
        raise validation_error("The parameter ExpireDate must be later than the parameter StartDate.")
    made = MuteRule(
        name, schedule, tx.now, names, description, start_date, expire_date, given if known is None else known.tags
    )
    tx.resources.put(scope, made)
    schedule_end(tx, scope, made)
    if known is not None:
        unmute(tx, scope, known.alarm_names)
    return {}


@operation("GetAlarmMuteRule")
def get_alarm_mute_rule(tx: Transaction, caller: Caller, *, alarm_mute_rule_name: str) -> Document:
    """Return a mute rule with its status. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetAlarmMuteRule.html
    """
    rule = tx.resources.get(MuteRule, caller.scope, alarm_mute_rule_name)
    _authorize(tx, caller, "GetAlarmMuteRule", alarm_mute_rule_name, rule)
    if rule is None:
        raise ServiceError("ResourceNotFoundException", f"The mute rule {alarm_mute_rule_name} does not exist.")
    return {
        **_summary(rule, caller, tx.now),
        "Name": rule.name,
        "Description": rule.description,
        "Rule": {"Schedule": rule.schedule},
        "MuteTargets": {"AlarmNames": list(rule.alarm_names)} if rule.alarm_names else None,
        "StartDate": rule.start_at,
    }


@operation("ListAlarmMuteRules")
def list_alarm_mute_rules(
    tx: Transaction, caller: Caller, *, alarm_name: str | None = None, statuses: Sequence[str] | None = None,
    max_records: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """List mute rules by name: all, those of an alarm, or those with some statuses.

    Errors: ResourceNotFoundException (the alarm does not exist); InvalidNextToken.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListAlarmMuteRules.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:ListAlarmMuteRules", mute_rule_arn(caller.scope, "*"))
    if alarm_name is not None and tx.resources.get(Alarm, caller.scope, alarm_name) is None:
        raise ServiceError("ResourceNotFoundException", f"The alarm {alarm_name} does not exist.")
    request = [alarm_name, statuses]
    offset = 0 if next_token is None else read_token(next_token, request)
    if not isinstance(offset, int):
        raise ServiceError("InvalidNextToken", "The specified next token is invalid.")
    found = [
        rule
        for rule in tx.resources.list(MuteRule, caller.scope)
        if alarm_name in (None, *rule.alarm_names) and (not statuses or rule.status(tx.now) in statuses)
    ]
    end = offset + (max_records or limits.MUTE_RULES_PER_PAGE)
    return {
        "AlarmMuteRuleSummaries": [_summary(rule, caller, tx.now) for rule in found[offset:end]],
        "NextToken": write_token(request, end) if len(found) > end else None,
    }


@operation("DeleteAlarmMuteRule")
def delete_alarm_mute_rule(tx: Transaction, caller: Caller, *, alarm_mute_rule_name: str) -> Document:
    """Delete a mute rule, if there is one. Alarms that it muted act now, if their state has changed.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteAlarmMuteRule.html
    """
    rule = tx.resources.get(MuteRule, caller.scope, alarm_mute_rule_name)
    _authorize(tx, caller, "DeleteAlarmMuteRule", alarm_mute_rule_name, rule)
    if rule is not None:
        tx.resources.delete(MuteRule, caller.scope, rule.name)
        tx.timers.clear(MUTE_TIMER, f"{caller.scope}/{rule.name}")
        unmute(tx, caller.scope, rule.alarm_names)
    return {}


def _authorize(
    tx: Transaction, caller: Caller, operation_name: str, name: str, rule: MuteRule | None,
    tags: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    context = {} if rule is None else dict(resource_tags(rule.tags))
    if tags:
        context |= request_tags(tags)
    arn = mute_rule_arn(caller.scope, name)
    tx.services.authorize(tx, caller, f"cloudwatch:{operation_name}", arn, context=context)


def _summary(rule: MuteRule, caller: Caller, now: Instant) -> Document:
    return {
        "AlarmMuteRuleArn": rule.arn(caller.scope),
        "ExpireDate": rule.expires_at,
        "Status": rule.status(now),
        "MuteType": "ONE_TIME" if rule.is_once else "RECURRING",
        "LastUpdatedTimestamp": rule.updated_at,
    }
