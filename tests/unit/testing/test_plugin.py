"""The pytest plugin as a user's test suite meets it."""

from __future__ import annotations

import pytest

from redrive.testing.world import World

pytest_plugins = ["pytester"]

TEMPLATE = """
Parameters:
  Delay: {Type: Number, Default: 0}
Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties: {QueueName: orders, DelaySeconds: !Ref Delay}
Outputs:
  Url: {Value: !Ref Orders}
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run the suite that was written, in this process."""
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def test_fixture_gives_an_engine_in_virtual_time_with_boto3_clients(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_delayed_message_arrives_after_its_delay(redrive):
            sqs = redrive.client("sqs")
            queue = sqs.create_queue(QueueName="orders")["QueueUrl"]
            sqs.send_message(QueueUrl=queue, MessageBody="hello", DelaySeconds=900)
            assert "Messages" not in sqs.receive_message(QueueUrl=queue)
            redrive.advance(minutes=15)
            assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == "hello"

        def test_each_test_has_an_engine_of_its_own(redrive, redrive_clock):
            assert redrive.client("sqs").list_queues().get("QueueUrls", []) == []
            assert redrive_clock.now() == redrive.now
        """
    )

    run(pytester).assert_outcomes(passed=2)


def test_client_of_the_code_under_test_reaches_the_engine_whenever_it_was_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        app="""
        import boto3

        EARLY = boto3.client("sqs", region_name="us-east-1")

        def orders(name):
            return EARLY.create_queue(QueueName=name)["QueueUrl"]

        def late(name):
            return boto3.resource("sqs").get_queue_by_name(QueueName=name).url
        """,
        test_app="""
        import app

        def test_one(redrive):
            assert app.late("a") if app.orders("a") else False

        def test_another(redrive):
            app.orders("b")
            assert [url[-1] for url in redrive.client("sqs").list_queues()["QueueUrls"]] == ["b"]
        """,
    )

    run(pytester).assert_outcomes(passed=2)


def test_engine_is_there_before_other_fixtures_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import boto3
        import pytest

        @pytest.fixture
        def orders():
            return boto3.resource("sqs").create_queue(QueueName="orders")

        def test_asked_for_last(orders, redrive):
            assert redrive.client("sqs").list_queues()["QueueUrls"] == [orders.url]
        """
    )

    run(pytester).assert_outcomes(passed=1)


def test_marker_deploys_a_template_that_lies_beside_the_test_or_in_the_root(pytester: pytest.Pytester) -> None:
    pytester.mkdir("tests").joinpath("template.yaml").write_text(TEMPLATE, "utf-8")
    pytester.path.joinpath("root.yaml").write_text(TEMPLATE, "utf-8")
    pytester.path.joinpath("tests", "test_marked.py").write_text(
        """if True:
        import boto3
        import pytest

        @pytest.mark.redrive(template="template.yaml", parameters={"Delay": "60"}, start="2026-02-28T00:00:00Z")
        def test_with_the_fixture(redrive):
            attributes = redrive.client("sqs").get_queue_attributes(
                QueueUrl=redrive.outputs["Url"], AttributeNames=["DelaySeconds", "CreatedTimestamp"]
            )["Attributes"]
            assert attributes == {"DelaySeconds": "60", "CreatedTimestamp": "1772236800"}

        @pytest.mark.redrive(template="root.yaml")
        def test_without_the_fixture():
            assert len(boto3.client("sqs").list_queues()["QueueUrls"]) == 1
        """,
        "utf-8",
    )

    run(pytester, "--strict-markers").assert_outcomes(passed=2)


def test_marker_that_asks_for_nothing_known_says_what_there_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.redrive(templates="x.yaml")
        def test_misspelt(redrive): ...

        @pytest.mark.redrive(template="missing.yaml")
        def test_missing(redrive): ...
        """
    )

    result = run(pytester)

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*does not take templates. It takes: redrive(template=None*"])
    result.stdout.fnmatch_lines(["*There is no template missing.yaml in *"])


def test_region_is_the_one_that_the_tests_are_run_with(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    pytester.makepyfile(
        """
        import boto3
        import pytest

        def test_region_of_the_environment(redrive):
            boto3.client("sqs").create_queue(QueueName="orders")
            assert len(redrive.client("sqs").list_queues()["QueueUrls"]) == 1
            assert len(boto3.client("sqs", region_name="eu-west-2").list_queues()["QueueUrls"]) == 1

        @pytest.mark.redrive(region="ap-south-1")
        def test_region_of_the_test(redrive):
            assert boto3.client("sqs").meta.region_name == redrive.client("sqs").meta.region_name == "ap-south-1"
        """
    )

    run(pytester).assert_outcomes(passed=2)


def test_rates_hold_where_a_test_asks_for_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def fill(redrive):
            kinesis = redrive.client("kinesis")
            kinesis.create_stream(StreamName="s", ShardCount=1)
            records = [{"PartitionKey": "k", "Data": b"x"}] * 500
            return sum(kinesis.put_records(StreamName="s", Records=records)["FailedRecordCount"] for _ in range(3))

        def test_no_rates(redrive):
            assert fill(redrive) == 0

        @pytest.mark.redrive(rates="always")
        def test_rates(redrive):
            assert fill(redrive) == 500

        @pytest.mark.redrive(rates="sometimes")
        def test_misspelt(redrive): ...
        """
    )

    result = run(pytester)

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*rates is 'sometimes'. Give 'real-time' or 'always'."])


def test_factory_makes_an_engine_of_any_scope(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", template=TEMPLATE)
    pytester.makepyfile(
        """
        import boto3
        import pytest

        @pytest.fixture(scope="module")
        def app(redrive_factory):
            with redrive_factory(template="template.yaml") as world:
                yield world

        def test_first(app):
            boto3.client("sqs").send_message(QueueUrl=app.outputs["Url"], MessageBody="kept")

        def test_own_engine_beside_it(app, redrive):
            assert boto3.client("sqs").list_queues().get("QueueUrls", []) == []

        def test_second(app):
            assert boto3.client("sqs").receive_message(QueueUrl=app.outputs["Url"])["Messages"][0]["Body"] == "kept"
        """
    )

    run(pytester).assert_outcomes(passed=3)


def test_test_that_asks_for_no_engine_imports_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_bystander():
            assert not [name for name in sys.modules if name.startswith(("redrive.engine", "boto3"))]
        """
    )

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_client_of_a_world_used_inside_a_function_makes_each_call_once() -> None:
    """A test's own client, used by a handler that runs in the world, is answered by one gateway, once."""
    world = World()
    sqs = world.client("sqs")
    queue_url = sqs.create_queue(QueueName="orders")["QueueUrl"]

    with world.reached():
        sqs.send_message(QueueUrl=queue_url, MessageBody="once")

    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"])
    assert attributes["Attributes"]["ApproximateNumberOfMessages"] == "1"
