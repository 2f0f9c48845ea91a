"""`redrive deploy TEMPLATE`: what `aws cloudformation deploy` does, without the aws CLI."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import click
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from redrive.cli.assembly import is_assembly, read_files, read_stacks, upload_files
from redrive.cli.endpoint import ask, endpoint_option
from redrive.core.errors import UserError
from redrive.core.leniency import OnUnknown

TEMPLATE_BYTES_MAX = 51_200
"""Longer templates are given by a URL, as on AWS."""

CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


@click.command()
@click.argument("template", type=click.Path(path_type=Path))
@click.option("--stack", help="The stack's name; otherwise that of the template's folder.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("--role-arn", help="The role with whose rights the stack is made, now and later; otherwise yours.")
@click.option("--region", envvar="AWS_DEFAULT_REGION", default="us-east-1", show_default=True, help="The region.")
@click.option(
    "--on-unknown", type=click.Choice([one.value for one in OnUnknown]),
    help="What becomes of what AWS has and redrive does not serve; otherwise the server's setting holds.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print the outputs.")
@endpoint_option
def command(
    template: Path, stack: str | None, parameters: tuple[str, ...], role_arn: str | None, region: str,
    on_unknown: str | None, output: str, endpoint_url: str,
) -> None:  # fmt: skip
    """Deploy a CloudFormation template to a server, creating the stack or updating it.

    TEMPLATE may be a cdk.out, too: all stacks of the app are deployed, or the one that --stack names, with their files.
    Prints what happens to each resource, then the stack's outputs.
    """
    ask(endpoint_url, "health")
    session = boto3.session.Session(
        os.environ.get("AWS_ACCESS_KEY_ID", "test"), os.environ.get("AWS_SECRET_ACCESS_KEY", "test"),
        os.environ.get("AWS_SESSION_TOKEN"), region_name=region,
    )  # fmt: skip
    config = Config(retries={"total_max_attempts": 1})
    client = session.client("cloudformation", endpoint_url=endpoint_url, config=config)
    tags = {} if on_unknown is None else {"redrive:on-unknown": on_unknown}
    more: dict[str, object] = {} if role_arn is None else {"RoleARN": role_arn}
    if is_assembly(template):
        for each, settings in _of_assembly(template, stack, session, endpoint_url):
            own = {key: value for key, value in settings.items() if key != "Tags"}
            given = own | {"Parameters": _parameters(parameters)} if parameters else own
            _deploy_one(client, template, each, given | more | _tagged(dict(settings.get("Tags", {})) | tags), output)
        return
    given = {"TemplateBody": _read(template), "Parameters": _parameters(parameters)} | more | _tagged(tags)
    _deploy_one(client, template, stack or template.resolve().parent.name, given, output)


def _of_assembly(
    assembly: Path, only: str | None, session: Any, endpoint_url: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The stacks of an app with what they are deployed with, once the app's files are uploaded. Errors: UserError."""
    account = session.client("sts", endpoint_url=endpoint_url).get_caller_identity()["Account"]
    region = session.region_name
    stacks = read_stacks(assembly, account=account, region=region)
    chosen = [each for each in stacks if only in (None, each.name)]
    if not chosen:
        known = ", ".join(each.name for each in stacks)
        raise UserError(f"{assembly} has no stack {only}.", next_step=f"There is: {known}.", exit_code=2)
    count = upload_files(read_files(assembly, account=account, region=region), endpoint_url, account)
    click.echo(f"{count} files of {assembly} are uploaded.", err=True)
    for each in chosen:
        text = _read(each.template)
        is_long = len(text.encode()) > TEMPLATE_BYTES_MAX and each.template_url
        yield (
            each.name,
            {
                **({"TemplateURL": each.template_url} if is_long else {"TemplateBody": text}),
                "Parameters": [
                    {"ParameterKey": key, "ParameterValue": value} for key, value in each.parameters.items()
                ],
                "Tags": each.tags,
            },
        )


def _tagged(tags: Mapping[str, str]) -> dict[str, object]:
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]} if tags else {}


def _deploy_one(client: Any, template: Path, name: str, settings: Mapping[str, object], output: str) -> None:
    """Deploy one stack and print its outputs. Errors: UserError if it was not deployed."""
    try:
        status = _deploy(client, name, {"StackName": name, **settings})
    except (ClientError, BotoCoreError) as error:
        message = error.response["Error"]["Message"] if isinstance(error, ClientError) else str(error)
        raise UserError(f"{template} was not deployed: {message}", exit_code=1) from error
    made = client.describe_stacks(StackName=name)["Stacks"][0]
    _print(made, output)
    if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        next_step = f"Delete it before you deploy anew: aws cloudformation delete-stack --stack-name {name}"
        raise UserError(f"The stack {name} ended as {status}.", next_step=next_step, exit_code=1)


def _deploy(client: Any, name: str, settings: Mapping[str, object]) -> str:
    """Create or update the stack and follow it to its end; answers its status."""
    given = {**settings, "Capabilities": CAPABILITIES}
    seen = {event["EventId"] for event in _events(client, name)}
    try:
        if seen:
            client.update_stack(**given)
        else:
            client.create_stack(**given)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            click.echo(f"The stack {name} is up to date.", err=True)
            return "UPDATE_COMPLETE"
        raise
    while True:
        # While a stack is under way, the server holds this answer until something changes.
        status: str = client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
        for event in reversed(_events(client, name)):
            if event["EventId"] not in seen:
                seen.add(event["EventId"])
                reason = event.get("ResourceStatusReason", "")
                click.echo(f"{event['ResourceStatus']:<20} {event['LogicalResourceId']}  {reason}".rstrip(), err=True)
        if not status.endswith("_IN_PROGRESS"):
            return status


def _events(client: Any, name: str) -> list[Any]:
    """The stack's events, newest first; none if there is no such stack."""
    try:
        pages = client.get_paginator("describe_stack_events").paginate(StackName=name)
        return [event for page in pages for event in page["StackEvents"]]
    except ClientError:
        return []


def _read(template: Path) -> str:
    try:
        return template.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The template {template} cannot be read: {error}.", exit_code=2) from error


def _parameters(given: tuple[str, ...]) -> list[dict[str, str]]:
    pairs = [text.partition("=") for text in given]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise UserError(f"--parameter {key!r} is not KEY=VALUE.", exit_code=2)
    return [{"ParameterKey": key, "ParameterValue": value} for key, _, value in pairs]


def _print(stack: Any, output: str) -> None:
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    if output == "json":
        click.echo(
            json.dumps({"stack": stack["StackName"], "status": stack["StackStatus"], "outputs": outputs}, indent=2)
        )
        return
    table = Table("output", "value", title=f"{stack['StackName']}: {stack['StackStatus']}", title_justify="left")
    for key, value in outputs.items():
        table.add_row(key, value)
    Console().print(table)
