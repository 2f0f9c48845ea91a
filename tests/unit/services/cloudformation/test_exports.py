"""Exports tie stacks together: their names are unique, and who is used cannot go."""

from __future__ import annotations

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue

EXPORT = {"Name": {"Value": {"Fn::GetAtt": ["Q", "QueueName"]}, "Export": {"Name": "orders-name"}}}
IMPORT = {"Q": queue(QueueName={"Fn::Join": ["-", [{"Fn::ImportValue": "orders-name"}, "copy"]]})}


def test_exported_value_can_be_imported_by_another_stack(stacks: Stacks, world: World) -> None:
    stack_id = stacks.create("shop", {"Q": queue(QueueName="orders")}, outputs=EXPORT)

    stacks.create("copy", IMPORT)

    assert stacks.physical_id("copy", "Q").endswith("/orders-copy")
    assert stacks.client.list_exports()["Exports"] == [
        {"ExportingStackId": stack_id, "Name": "orders-name", "Value": "orders"}
    ]
    assert stacks.client.list_imports(ExportName="orders-name")["Imports"] == ["copy"]


def test_stack_whose_export_is_used_is_not_deleted(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue(QueueName="orders")}, outputs=EXPORT)
    copy = stacks.create("copy", IMPORT)

    stacks.delete("shop")

    assert stacks.describe("shop")["StackStatus"] == "CREATE_COMPLETE"
    reason = "Export orders-name cannot be deleted as it is in use by copy"
    assert stacks.events("shop")[-1] == ("shop", "CREATE_COMPLETE", reason)

    stacks.delete("copy")
    stacks.delete("shop")
    assert stacks.client.describe_stacks()["Stacks"] == []
    assert stacks.status(copy) == "DELETE_COMPLETE"
    assert stacks.client.list_exports()["Exports"] == []


def test_export_in_use_is_neither_changed_nor_taken_away(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue(QueueName="orders")}, outputs=EXPORT)
    stacks.create("copy", IMPORT)

    stacks.update("shop", {"Q": queue(QueueName="invoices")}, outputs=EXPORT)

    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.reason("shop", "shop", "UPDATE_ROLLBACK_IN_PROGRESS") == (
        "Export orders-name cannot be updated as it is in use by copy. "
    )
    stacks.update("shop", {"Q": queue(QueueName="orders")})
    assert stacks.reason("shop", "shop", "UPDATE_ROLLBACK_IN_PROGRESS") == (
        "Export orders-name cannot be deleted as it is in use by copy. "
    )
    assert stacks.outputs("shop") == {"Name": "orders"}


def test_export_that_is_no_longer_used_can_go(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue(QueueName="orders")}, outputs=EXPORT)
    stacks.create("copy", IMPORT)

    stacks.update("copy", {"Q": queue(QueueName="mine")})
    stacks.update("shop", {"Q": queue(QueueName="orders")})

    assert stacks.client.list_exports()["Exports"] == []


def test_export_of_a_name_that_is_taken_fails_the_stack(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue()}, outputs=EXPORT)

    stacks.create("other", {"Q": queue()}, outputs=EXPORT)

    assert stacks.reason("other", "other", "ROLLBACK_IN_PROGRESS") == (
        "Export with name orders-name is already exported by stack shop. Rollback requested by user."
    )


def test_two_outputs_of_a_stack_do_not_export_one_name(stacks: Stacks) -> None:
    again = {"Value": "1", "Export": {"Name": "orders-name"}}

    stacks.create("shop", {"Q": queue()}, outputs={**EXPORT, "Again": again})

    assert stacks.reason("shop", "shop", "ROLLBACK_IN_PROGRESS") == (
        "Export with name orders-name is already exported by this stack. Rollback requested by user."
    )


def test_exports_are_of_one_region(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": queue()}, outputs=EXPORT)

    assert world.client("cloudformation", region="eu-west-1").list_exports()["Exports"] == []


def test_export_that_nobody_imports_is_an_error(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()}, outputs=EXPORT)

    assert refusal(stacks.client.list_imports, ExportName="orders-name") == (
        "ValidationError", "Export 'orders-name' is not imported by any stack.",
    )  # fmt: skip
