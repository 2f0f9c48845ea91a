"""The operations through boto3: answers, errors with their words, lists and pages, client tokens."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope

SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule"
GROUP = "arn:aws:scheduler:us-east-1:000000000000:schedule-group"
START = datetime(2025, 1, 1, tzinfo=UTC)
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:dummy"


def without_metadata(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "ResponseMetadata"}


def test_created_schedule_is_shown_with_everything_it_was_given(desk: Any) -> None:
    target = desk.target(
        Input="hello", RetryPolicy={"MaximumRetryAttempts": 3, "MaximumEventAgeInSeconds": 60},
        DeadLetterConfig={"Arn": desk.dead},
    )  # fmt: skip
    key = "arn:aws:kms:us-east-1:000000000000:key/1"
    chosen = desk.params(
        "cron(0 9 * * ? *)", ScheduleExpressionTimezone="Europe/London", Description="Every morning", State="DISABLED",
        StartDate=START, EndDate=START + timedelta(days=9), Target=target, KmsKeyArn=key,
        FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5}, ActionAfterCompletion="DELETE",
    )  # fmt: skip

    arn = desk.scheduler.create_schedule(**chosen)["ScheduleArn"]

    shown = without_metadata(desk.scheduler.get_schedule(Name="nightly"))
    assert arn == f"{SCHEDULE}/default/nightly"
    assert shown == {
        **chosen, "Arn": arn, "GroupName": "default", "CreationDate": START, "LastModificationDate": START,
    }  # fmt: skip


def test_schedule_has_the_defaults_of_aws(desk: Any) -> None:
    desk.create()

    shown = desk.scheduler.get_schedule(Name="nightly", GroupName="default")

    assert (shown["State"], shown["ScheduleExpressionTimezone"]) == ("ENABLED", "UTC")
    assert (shown["ActionAfterCompletion"], shown["FlexibleTimeWindow"]) == ("NONE", {"Mode": "OFF"})
    assert shown["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 185}
    assert not {"Description", "StartDate", "EndDate", "KmsKeyArn"} & shown.keys()


def test_update_replaces_everything_and_keeps_the_creation(desk: Any) -> None:
    """What an update does not send goes back to its default.

    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_UpdateSchedule.html
    """
    desk.create(Description="gone soon", State="DISABLED", ScheduleExpressionTimezone="Europe/London")
    desk.world.advance(hours=1)

    answer = desk.scheduler.update_schedule(**desk.params("rate(2 hours)"))

    shown = desk.scheduler.get_schedule(Name="nightly")
    assert without_metadata(answer) == {"ScheduleArn": f"{SCHEDULE}/default/nightly"}
    assert "Description" not in shown
    assert (shown["State"], shown["ScheduleExpressionTimezone"]) == ("ENABLED", "UTC")
    assert (shown["CreationDate"], shown["LastModificationDate"]) == (START, START + timedelta(hours=1))


def test_same_name_in_two_groups_is_two_schedules(desk: Any) -> None:
    desk.scheduler.create_schedule_group(Name="other")
    desk.create()

    assert desk.create(GroupName="other") == f"{SCHEDULE}/other/nightly"
    assert desk.names() == ["nightly", "nightly"]


class TestRefusals:
    """Codes, messages and statuses; nothing is stored by a refused request."""

    @pytest.mark.parametrize(
        "expression",
        [
            "cron(0 1 * * * *)", "cron(INVALID)", "cron()", "rate(10 seconds)", "rate(10)", "rate( 10 minutes )",
            " rate(10 minutes)", "at(2021-12-31T23:59:59Z)", "at(2021-12-31)",
        ],
    )  # fmt: skip
    def test_invalid_expression_is_refused_before_the_role_is_looked_at(
        self, desk: Any, refusal: Any, expression: str
    ) -> None:
        target = desk.target(RoleArn="arn:aws:iam::000000000000:role/nobody")
        params = desk.params(expression, Target=target)

        assert refusal(desk.scheduler.create_schedule, **params) == (
            "ValidationException", f"Invalid Schedule Expression {expression}.", 400,
        )  # fmt: skip
        assert desk.names() == []

    def test_role_that_cannot_be_assumed_is_refused(self, desk: Any, refusal: Any) -> None:
        sentence = "The execution role you provide must allow AWS EventBridge Scheduler to assume the role."
        roles = ["arn:aws:iam::000000000000:role/nobody", desk.make_role("tidy", service="lambda.amazonaws.com")]

        for role in roles:
            params = desk.params(Target=desk.target(RoleArn=role))
            assert refusal(desk.scheduler.create_schedule, **params) == ("ValidationException", sentence, 400)

    def test_trust_policy_sees_the_group_as_its_source(self, desk: Any, refusal: Any) -> None:
        """`aws:SourceArn` is the ARN of the schedule group, not of the schedule.

        Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
        """
        of_group = desk.make_role("group", condition={"StringEquals": {"aws:SourceArn": f"{GROUP}/default"}})
        own_arn = f"{SCHEDULE}/default/nightly"
        of_schedule = desk.make_role("one", condition={"StringEquals": {"aws:SourceArn": own_arn}})

        desk.create(Name="fine", Target=desk.target(RoleArn=of_group))
        params = desk.params(Target=desk.target(RoleArn=of_schedule))

        assert refusal(desk.scheduler.create_schedule, **params)[0] == "ValidationException"

    def test_role_of_another_account_is_refused_though_it_trusts_the_service(self, desk: Any, refusal: Any) -> None:
        arn = desk.role.replace("000000000000", "222222222222")
        statement = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
        desk.world.client("iam", account="222222222222").create_role(
            RoleName="runs", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        )

        assert refusal(desk.scheduler.create_schedule, **desk.params(Target=desk.target(RoleArn=arn))) == (
            "AccessDeniedException", "Cross-account pass role is not allowed.", 403,
        )  # fmt: skip

    @pytest.mark.parametrize(
        "expression",
        [
            "cron(0 0 1 1 ? 2020)", "cron(0 0 1 1 ? 2024)", "cron(0 0 1 1 ? 1969)", "cron(0 0 1 1 ? 2200)",
            "cron(0 0 30 2 ? *)",
        ],
    )  # fmt: skip
    def test_cron_that_can_never_fire_is_refused(self, desk: Any, refusal: Any, expression: str) -> None:
        code, message, status = refusal(desk.scheduler.create_schedule, **desk.params(expression))

        assert (code, status) == ("ValidationException", 400)
        assert f"{expression} will never schedule" in message

    def test_cron_that_ends_before_its_start_date_is_refused(self, desk: Any, refusal: Any) -> None:
        desk.create("cron(0 0 1 1 ? 2026)")
        params = desk.params("cron(0 0 1 1 ? 2026)", StartDate=START + timedelta(days=366))

        _, message, _ = refusal(desk.scheduler.update_schedule, **params)

        assert message.endswith("will never schedule with StartDate 2026-01-02T00:00:00Z.")

    def test_unknown_time_zone_is_refused(self, desk: Any, refusal: Any) -> None:
        params = desk.params(ScheduleExpressionTimezone="Mars/Olympus")

        assert refusal(desk.scheduler.create_schedule, **params) == (
            "ValidationException", "Invalid Schedule Expression Timezone Mars/Olympus.", 400,
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("start_s", "end_s", "message"),
        [
            (-301, None, "The StartDate you specify cannot be earlier than 5 minutes ago."),
            (None, 0, "The EndDate you specify must be in the future."),
            (60, 60, "The StartDate you specify must come before the EndDate."),
        ],
    )
    def test_dates_out_of_order_are_refused(
        self, desk: Any, refusal: Any, start_s: int | None, end_s: int | None, message: str
    ) -> None:
        given = {"StartDate": start_s, "EndDate": end_s}
        dates = {name: START + timedelta(seconds=after) for name, after in given.items() if after is not None}

        assert refusal(desk.scheduler.create_schedule, **desk.params(**dates))[1] == message
        desk.create("at(2025-01-01T00:00:00)", **dates)

    def test_start_date_five_minutes_ago_is_fine(self, desk: Any) -> None:
        desk.create(StartDate=START - timedelta(minutes=5))

        assert desk.names() == ["nightly"]

    @pytest.mark.parametrize(
        ("window", "message"),
        [
            (
                {"Mode": "FLEXIBLE"},
                "MaximumWindowInMinutes must be provided when FlexibleTimeWindowMode is set to FLEXIBLE",
            ),
            (
                {"Mode": "OFF", "MaximumWindowInMinutes": 5},
                "MaximumWindowInMinutes must not be provided when FlexibleTimeWindowMode is set to OFF.",
            ),
        ],
    )
    def test_window_and_its_minutes_belong_together(
        self, desk: Any, refusal: Any, window: dict[str, Any], message: str
    ) -> None:
        params = desk.params(FlexibleTimeWindow=window)

        assert refusal(desk.scheduler.create_schedule, **params) == ("ValidationException", message, 400)

    def test_target_that_does_not_exist_is_accepted(self, desk: Any) -> None:
        desk.create(Target=desk.target(FUNCTION, Input='{"n":1}'))

        assert desk.names() == ["nightly"]

    def test_fifo_dead_letter_queue_is_refused_by_its_shape(self, desk: Any, refusal: Any) -> None:
        params = desk.params(Target=desk.target(DeadLetterConfig={"Arn": f"{desk.dead}.fifo"}))

        assert refusal(desk.scheduler.create_schedule, **params)[0] == "ValidationException"

    def test_name_that_is_taken_is_a_conflict(self, desk: Any, refusal: Any) -> None:
        desk.create()

        assert refusal(desk.scheduler.create_schedule, **desk.params("rate(2 hours)")) == (
            "ConflictException", "Schedule nightly already exists.", 409,
        )  # fmt: skip

    def test_unknown_schedule_is_not_found(self, desk: Any, refusal: Any) -> None:
        expected = ("ResourceNotFoundException", "Schedule nightly does not exist.", 404)

        assert refusal(desk.scheduler.get_schedule, Name="nightly") == expected
        assert refusal(desk.scheduler.delete_schedule, Name="nightly") == expected
        assert refusal(desk.scheduler.update_schedule, **desk.params()) == expected

    def test_unknown_group_is_not_found(self, desk: Any, refusal: Any) -> None:
        expected = ("ResourceNotFoundException", "Schedule group x does not exist.", 404)

        assert refusal(desk.scheduler.create_schedule, **desk.params(GroupName="x")) == expected
        assert refusal(desk.scheduler.list_schedules, GroupName="x") == expected
        assert refusal(desk.scheduler.get_schedule_group, Name="x") == expected
        assert refusal(desk.scheduler.delete_schedule_group, Name="x") == expected
        assert refusal(desk.scheduler.list_tags_for_resource, ResourceArn=f"{GROUP}/x") == expected

    def test_next_token_that_is_none_of_ours_is_refused(self, desk: Any, refusal: Any) -> None:
        expected = ("ValidationException", "Invalid NextToken.", 400)

        for token in ("a", "\u00fc", "!!!!", "YWJj"):
            assert refusal(desk.scheduler.list_schedules, NextToken=token) == expected
            assert refusal(desk.scheduler.list_schedule_groups, NextToken=token) == expected

    def test_next_token_is_for_the_list_and_the_filters_that_it_came_from(self, desk: Any, refusal: Any) -> None:
        for name in ("a", "b", "c"):
            desk.create(Name=name)
        token = desk.scheduler.list_schedules(MaxResults=1, State="ENABLED")["NextToken"]
        expected = ("ValidationException", "Invalid NextToken.", 400)

        assert desk.names(MaxResults=2, State="ENABLED", NextToken=token) == ["b", "c"]
        assert refusal(desk.scheduler.list_schedules, NextToken=token) == expected
        assert refusal(desk.scheduler.list_schedules, NextToken=token, State="DISABLED") == expected
        assert refusal(desk.scheduler.list_schedules, NextToken=f"{token}!", State="ENABLED") == expected
        assert refusal(desk.scheduler.list_schedule_groups, NextToken=token) == expected


class TestLists:
    """ListSchedules and ListScheduleGroups: filters, order, pages."""

    def test_order_is_that_of_the_text_of_group_and_name(self, desk: Any) -> None:
        for group in ("a", "a-b", "b"):
            desk.world.call("scheduler", "CreateScheduleGroup", Name=group)
            desk.create(Name="same", GroupName=group)

        groups = [one["GroupName"] for one in desk.scheduler.list_schedules()["Schedules"]]

        assert groups == ["a-b", "a", "b"]

    def test_pages_hold_all_schedules_in_order_of_name(self, desk: Any) -> None:
        for name in ("c", "a", "e", "b", "d"):
            desk.create(Name=name)

        pages = list(desk.scheduler.get_paginator("list_schedules").paginate(PaginationConfig={"PageSize": 2}))

        assert [[one["Name"] for one in page["Schedules"]] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
        assert "NextToken" not in pages[-1]

    def test_full_last_page_has_no_next_token(self, desk: Any) -> None:
        desk.create(Name="a")
        desk.create(Name="b")

        assert "NextToken" not in desk.scheduler.list_schedules(MaxResults=2)

    def test_schedules_are_filtered_by_group_prefix_and_state(self, desk: Any) -> None:
        desk.scheduler.create_schedule_group(Name="other")
        desk.create(Name="in-default")
        desk.create(Name="in-other", GroupName="other")
        desk.create(Name="out-other", GroupName="other", State="DISABLED")

        assert desk.names(GroupName="other") == ["in-other", "out-other"]
        assert desk.names(NamePrefix="in") == ["in-default", "in-other"]
        assert desk.names(NamePrefix="in", GroupName="other") == ["in-other"]
        assert desk.names(State="DISABLED") == ["out-other"]
        assert desk.names(State="ENABLED", GroupName="other") == ["in-other"]

    def test_group_whose_name_begins_another_is_kept_apart(self, desk: Any) -> None:
        desk.scheduler.create_schedule_group(Name="a")
        desk.scheduler.create_schedule_group(Name="a-b")
        desk.create(Name="x", GroupName="a-b")

        assert desk.names(GroupName="a") == []

    def test_filter_finds_matches_beyond_the_first_thousand(self, desk: Any) -> None:
        for number in range(1_001):
            desk.world.call("scheduler", "CreateSchedule", **desk.params(Name=f"a{number:04}", State="DISABLED"))
        desk.create(Name="z")

        assert desk.names(State="ENABLED") == ["z"]

    def test_summary_shows_the_target_by_arn_alone(self, desk: Any) -> None:
        desk.create()

        (summary,) = desk.scheduler.list_schedules()["Schedules"]

        assert summary == {
            "Arn": f"{SCHEDULE}/default/nightly", "Name": "nightly", "GroupName": "default", "State": "ENABLED",
            "CreationDate": START, "LastModificationDate": START, "Target": {"Arn": desk.orders},
        }  # fmt: skip

    def test_groups_are_listed_with_the_default_group_by_prefix_and_page(self, desk: Any) -> None:
        for name in ("zeta", "alpha", "alps"):
            desk.scheduler.create_schedule_group(Name=name)

        pages = desk.scheduler.get_paginator("list_schedule_groups").paginate(PaginationConfig={"PageSize": 3})

        names = [[one["Name"] for one in page["ScheduleGroups"]] for page in pages]
        prefixed = desk.scheduler.list_schedule_groups(NamePrefix="alp")["ScheduleGroups"]
        assert names == [["alpha", "alps", "default"], ["zeta"]]
        assert [one["Name"] for one in prefixed] == ["alpha", "alps"]


class TestGroups:
    """Schedule groups: made, shown, tagged, deleted with all that is in them."""

    def test_default_group_is_always_there_and_stays(self, desk: Any, refusal: Any) -> None:
        sentence = "This operation cannot be performed on schedule group default."
        shown = desk.scheduler.get_schedule_group(Name="default")

        assert (shown["Arn"], shown["State"]) == (f"{GROUP}/default", "ACTIVE")
        for refused in (desk.scheduler.create_schedule_group, desk.scheduler.delete_schedule_group):
            assert refusal(refused, Name="default") == ("ValidationException", sentence, 400)

    def test_created_group_is_shown(self, desk: Any) -> None:
        answer = desk.scheduler.create_schedule_group(Name="other")

        assert answer["ScheduleGroupArn"] == f"{GROUP}/other"
        assert without_metadata(desk.scheduler.get_schedule_group(Name="other")) == {
            "Arn": f"{GROUP}/other", "Name": "other", "State": "ACTIVE", "CreationDate": START,
            "LastModificationDate": START,
        }  # fmt: skip

    def test_group_name_that_is_taken_is_a_conflict(self, desk: Any, refusal: Any) -> None:
        desk.scheduler.create_schedule_group(Name="other")

        assert refusal(desk.scheduler.create_schedule_group, Name="other") == (
            "ConflictException", "Schedule group other already exists.", 409,
        )  # fmt: skip

    def test_deleted_group_is_deleting_until_its_schedules_are_gone(self, desk: Any, refusal: Any) -> None:
        """Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_DeleteScheduleGroup.html"""
        desk.scheduler.create_schedule_group(Name="other")
        for number in range(450):
            params = desk.params("at(2025-02-01T00:00:00)", Name=f"s{number}", GroupName="other")
            desk.world.call("scheduler", "CreateSchedule", **params)
        desk.create(Name="kept", State="DISABLED")

        desk.scheduler.delete_schedule_group(Name="other")
        during = desk.scheduler.get_schedule_group(Name="other")["State"]
        conflict = refusal(desk.scheduler.create_schedule, **desk.params(GroupName="other"))
        again = refusal(desk.scheduler.delete_schedule_group, Name="other")
        desk.world.settle()

        assert during == "DELETING"
        assert conflict == again == ("ConflictException", "Schedule group other is being deleted.", 409)
        assert refusal(desk.scheduler.get_schedule_group, Name="other")[0] == "ResourceNotFoundException"
        assert desk.names() == ["kept"]
        desk.world.advance(days=40)
        assert desk.bodies() == []

    def test_tags_of_a_group_are_added_replaced_and_removed(self, desk: Any) -> None:
        arn = desk.scheduler.create_schedule_group(Name="other", Tags=[{"Key": "a", "Value": "1"}])["ScheduleGroupArn"]

        desk.scheduler.tag_resource(ResourceArn=arn, Tags=[{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}])
        both = desk.scheduler.list_tags_for_resource(ResourceArn=arn)["Tags"]
        desk.scheduler.untag_resource(ResourceArn=arn, TagKeys=["a", "absent"])

        assert both == [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]
        assert desk.scheduler.list_tags_for_resource(ResourceArn=arn)["Tags"] == [{"Key": "b", "Value": "3"}]

    def test_too_many_tags_and_equal_keys_are_refused(self, desk: Any, refusal: Any) -> None:
        many = [{"Key": str(number), "Value": "v"} for number in range(51)]
        equal = [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]

        for tags in (many, equal):
            code, _, _ = refusal(desk.scheduler.tag_resource, ResourceArn=f"{GROUP}/default", Tags=tags)
            assert code == "ValidationException"

    @pytest.mark.parametrize("key", ["aws:owner", "AWS:owner"])
    def test_tag_keys_of_aws_are_reserved(self, desk: Any, refusal: Any, key: str) -> None:
        """Source: https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html"""
        tags = [{"Key": key, "Value": "v"}]

        created = refusal(desk.scheduler.create_schedule_group, Name="other", Tags=tags)
        tagged = refusal(desk.scheduler.tag_resource, ResourceArn=f"{GROUP}/default", Tags=tags)

        assert created == tagged == (
            "ValidationException", "Tag keys that begin with aws: are reserved for AWS.", 400,
        )  # fmt: skip
        assert refusal(desk.scheduler.get_schedule_group, Name="other")[0] == "ResourceNotFoundException"

    def test_tags_of_another_accounts_group_are_neither_read_nor_changed(self, desk: Any, refusal: Any) -> None:
        desk.scheduler.tag_resource(ResourceArn=f"{GROUP}/default", Tags=[{"Key": "a", "Value": "1"}])
        strangers = [desk.world.client("scheduler", account="222222222222")]
        strangers.append(desk.world.client("scheduler", region="eu-west-1"))

        for stranger, code in zip(strangers, ("AccessDeniedException", "ResourceNotFoundException"), strict=True):
            stranger.get_schedule_group(Name="default")
            tags = [{"Key": "a", "Value": "2"}]
            assert refusal(stranger.list_tags_for_resource, ResourceArn=f"{GROUP}/default")[0] == code
            assert refusal(stranger.tag_resource, ResourceArn=f"{GROUP}/default", Tags=tags)[0] == code
            assert refusal(stranger.untag_resource, ResourceArn=f"{GROUP}/default", TagKeys=["a"])[0] == code
        kept = desk.scheduler.list_tags_for_resource(ResourceArn=f"{GROUP}/default")["Tags"]
        assert kept == [{"Key": "a", "Value": "1"}]

    def test_five_hundred_groups_are_the_most(self, desk: Any, refusal: Any) -> None:
        for number in range(500):
            desk.world.call("scheduler", "CreateScheduleGroup", Name=f"g{number}")

        code, _, status = refusal(desk.scheduler.create_schedule_group, Name="more")

        assert (code, status) == ("ServiceQuotaExceededException", 402)


class TestClientTokens:
    """A token makes a request idempotent for a day."""

    def test_same_request_with_the_same_token_gives_the_same_answer(self, desk: Any) -> None:
        first = desk.scheduler.create_schedule(**desk.params(), ClientToken="t")
        second = desk.scheduler.create_schedule(**desk.params(), ClientToken="t")
        for _ in range(2):
            desk.scheduler.delete_schedule(Name="nightly", ClientToken="t")

        assert first["ScheduleArn"] == second["ScheduleArn"]
        assert desk.names() == []

    def test_other_request_with_the_same_token_is_a_conflict(self, desk: Any, refusal: Any) -> None:
        desk.scheduler.create_schedule(**desk.params(), ClientToken="t")

        code, _, status = refusal(desk.scheduler.create_schedule, **desk.params("rate(9 days)"), ClientToken="t")

        assert (code, status) == ("ConflictException", 409)

    def test_failed_request_leaves_its_token_free(self, desk: Any, refusal: Any) -> None:
        refusal(desk.scheduler.create_schedule, **desk.params("rate()"), ClientToken="t")

        desk.scheduler.create_schedule(**desk.params(), ClientToken="t")

        assert desk.names() == ["nightly"]

    def test_token_is_forgotten_after_a_day(self, desk: Any, refusal: Any) -> None:
        params = desk.params("at(2026-01-01T00:00:00)")
        desk.scheduler.create_schedule(**params, ClientToken="t")
        desk.world.advance(hours=24)

        code, _, _ = refusal(desk.scheduler.create_schedule, **params, ClientToken="t")

        assert code == "ConflictException"


def test_callers_role_needs_permission_for_the_operation_and_to_pass_the_role(desk: Any, refusal: Any) -> None:
    """A caller must be allowed both `scheduler:CreateSchedule` and `iam:PassRole`."""
    trusted = {"service": "lambda.amazonaws.com"}
    for name, actions in (("none", []), ("half", ["scheduler:*"]), ("whole", ["scheduler:*", "iam:PassRole"])):
        desk.make_role(name, *actions, **trusted)

    codes = [_code_as(desk, name) for name in ("none", "half", "whole")]

    assert codes == ["AccessDeniedException", "AccessDeniedException", "OK"]


def _code_as(desk: Any, role: str) -> str:
    caller = Caller(Scope("000000000000", "us-east-1"), "request", f"arn:aws:iam::000000000000:role/{role}", "session")
    try:
        desk.world.engine.call(caller, "scheduler", "CreateSchedule", desk.params())
    except ServiceError as error:
        return error.code
    return "OK"
