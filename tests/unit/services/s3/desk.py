"""A world with S3, and its callers: the account, roles, users, other accounts, services, and nobody in particular."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import ANONYMOUS, Caller, Scope
from redrive.testing.world import World

ACCOUNT, OTHER = "000000000000", "111111111111"


class Desk:
    """Calls operations of S3 for whom a test says."""

    def __init__(self) -> None:
        self.world = World(seed=1)

    @property
    def owner(self) -> Caller:
        """The account itself."""
        return self.world.caller()

    @property
    def anyone(self) -> Caller:
        """Somebody who has not signed."""
        return Caller(Scope(ANONYMOUS, "us-east-1"), new_uuid(self.world.entropy))

    def of(self, *, account: str = ACCOUNT, region: str = "us-east-1") -> Caller:
        """The root of an account, in a Region."""
        return self.world.caller(account=account, region=region)

    def service(self, name: str, source_arn: str) -> Caller:
        """An AWS service that acts for a resource."""
        return replace(self.owner, service=name, source_arn=source_arn)

    def role(self, name: str, *statements: dict[str, Any], account: str = ACCOUNT) -> Caller:
        """A session of a new role with these statements."""
        iam = self.world.client("iam", account=account)
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy(trust))
        if statements:
            iam.put_role_policy(RoleName=name, PolicyName="may", PolicyDocument=policy(*statements))
        return replace(self.of(account=account), role_arn=made["Role"]["Arn"], session_name="s")

    def call(self, operation: str, caller: Caller | None = None, **params: Any) -> dict[str, Any]:
        """Run an operation, for the account itself unless told."""
        return self.world.engine.call(caller or self.owner, "s3", operation, params)

    def refusal(self, operation: str, caller: Caller | None = None, **params: Any) -> ServiceError:
        """The error that an operation answers."""
        with pytest.raises(ServiceError) as caught:
            self.call(operation, caller, **params)
        return caught.value

    def code(self, operation: str, caller: Caller | None = None, **params: Any) -> str:
        """The code of the error that an operation answers; empty if it answers none."""
        try:
            self.call(operation, caller, **params)
        except ServiceError as error:
            return error.code
        return ""

    def bucket(self, name: str = "docs", **params: Any) -> str:
        """A new bucket."""
        self.call("CreateBucket", Bucket=name, **params)
        return name

    def put(self, key: str, body: bytes = b"x", *, bucket: str = "docs", **params: Any) -> dict[str, Any]:
        """Store an object."""
        return self.call("PutObject", Bucket=bucket, Key=key, Body=body, **params)

    def open_to_policies(self, bucket: str = "docs") -> None:
        """Let a bucket have public policies and ACLs."""
        self.call("DeletePublicAccessBlock", Bucket=bucket)
        controls = {"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}
        self.call("PutBucketOwnershipControls", Bucket=bucket, OwnershipControls=controls)

    def set_policy(self, *statements: dict[str, Any], bucket: str = "docs", caller: Caller | None = None) -> None:
        """Give a bucket a policy."""
        self.call("PutBucketPolicy", caller, Bucket=bucket, Policy=policy(*statements))


def policy(*statements: dict[str, Any]) -> str:
    """A policy document."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def allow(actions: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    """A statement that allows."""
    return {"Effect": "Allow", "Action": actions, "Resource": resource, **more}


def deny(actions: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    """A statement that denies."""
    return {"Effect": "Deny", "Action": actions, "Resource": resource, **more}


ANYBODY = {"Principal": "*"}
ALL = ["arn:aws:s3:::docs", "arn:aws:s3:::docs/*"]
