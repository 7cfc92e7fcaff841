# SPDX-License-Identifier: Apache-2.0
"""AWS, or what speaks its protocol: clients, who we are there, the role that functions run as."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from . import packages
from .problem import Problem

ROLE = "cppless-function"
LOCAL_ACCOUNT = "000000000000"
MARK = "cppless: "  # what we make says so at the start of its description
TRUST = {"Version": "2012-10-17",
         "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"},
                        "Action": "sts:AssumeRole"}]}
LOGGING_POLICY = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
INVOKING = {"Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": "*"}]}


def boto3() -> Any:
    try:
        import boto3 as module
    except ImportError:
        packages.ensure("aws")
        sys.path.append("/usr/lib/python3/dist-packages")
        try:
            import boto3 as module
        except ImportError as error:
            raise Problem(f"{sys.executable} cannot import boto3 ({error})",
                          f"{sys.executable} -m pip install boto3") from error
    return module


@dataclass
class Cloud:
    """Where requests go. Endpoints and regions are found as the library finds them."""

    region: str | None = None
    endpoint: str | None = None
    profile: str | None = None
    only_lambda: bool = False  # a local cloud without IAM, STS and CloudWatch Logs
    _clients: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self._session = boto3().session.Session(profile_name=self.profile)
        except errors() as error:  # no such profile
            raise Problem(str(error), "see ~/.aws/config and ~/.aws/credentials") from error
        self.region = self.region or os.environ.get("AWS_REGION") or self._session.region_name
        if not self.region and self.endpoint_of("lambda"):
            self.region = "us-east-1"
        if not self.region:
            raise Problem("no AWS region is set", "use --region, AWS_REGION or `aws configure`")
        if self._session.get_credentials() is None:
            raise Problem("no AWS credentials are found",
                          "run `aws configure`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
                          "`cppless platform start` runs a local cloud that needs no account")

    def endpoint_of(self, service: str) -> str | None:
        """None: AWS's own. Older boto3 does not read these variables itself."""
        return self.endpoint or os.environ.get(f"AWS_ENDPOINT_URL_{service.upper()}") \
            or os.environ.get("AWS_ENDPOINT_URL")

    @property
    def is_local(self) -> bool:
        host = urlsplit(self.endpoint_of("lambda") or "").hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    @property
    def place(self) -> str:
        return f"{self.endpoint_of('lambda') or 'AWS'}, {self.region}"

    def client(self, service: str) -> Any:
        if service not in self._clients:
            from botocore.config import Config

            # Not boto3's default of 10 connections: as many as `deploy` and `logs` use at once.
            attempts = 2 if self.is_local else 8
            config = Config(retries={"max_attempts": attempts, "mode": "standard"}, max_pool_connections=32)
            self._clients[service] = self._session.client(
                service, region_name=self.region, endpoint_url=self.endpoint_of(service), config=config)
        return self._clients[service]

    def account(self) -> str:
        """Who we are; the first request that is made, so it says what is wrong with reaching AWS."""
        from botocore.exceptions import ClientError

        try:
            try:
                return str(self.client("sts").get_caller_identity()["Account"])
            except errors():
                if not self.is_local:
                    raise
                self.client("lambda").list_functions(MaxItems=1)
                self.only_lambda = True
                return LOCAL_ACCOUNT
        except ClientError as error:
            raise Problem(f"{self.place} does not accept our credentials: {said(error)}",
                          "check AWS_ACCESS_KEY_ID, AWS_PROFILE and the clock") from error
        except errors() as error:
            raise Problem(f"{self.place} cannot be reached: {error}",
                          "check AWS_ENDPOINT_URL, or start it: `cppless platform start`"
                          if self.is_local else "check the network and the region's name") from error


def errors() -> tuple[type[Exception], ...]:
    """What boto3 raises: the service's refusals, trouble on the way, answers of something else."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    return ClientError, BotoCoreError, ResponseParserError


def said(error: Exception) -> str:
    """AWS's own words: "AccessDenied: User ... is not authorized ..."."""
    response = getattr(error, "response", None)
    if not response:
        return str(error)
    return f"{response['Error'].get('Code', '?')}: {response['Error'].get('Message', '')}"


def code(error: Exception) -> str:
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))


def find_role(cloud: Cloud, named: str | None) -> str | None:
    """The ARN of the role functions run as; None: there is none yet, and `make_role` makes it."""
    if named and named.startswith("arn:"):
        return named
    if cloud.only_lambda:
        return f"arn:aws:iam::{LOCAL_ACCOUNT}:role/{named or ROLE}"
    try:
        role = cloud.client("iam").get_role(RoleName=named or ROLE)["Role"]
    except errors() as error:
        if code(error) in ("NoSuchEntity", "NoSuchEntityException"):
            if named:
                raise Problem(f"there is no role {named} at {cloud.place}",
                              "name another with --role, or leave it away to have one made") from error
            return None
        raise Problem(f"cannot look for the role {named or ROLE}: {said(error)}",
                      "give its ARN with --role: then IAM is not asked") from error
    trust = json.dumps(role.get("AssumeRolePolicyDocument", ""))
    if "lambda.amazonaws.com" not in trust:
        raise Problem(f"Lambda may not assume the role {role['RoleName']}",
                      "its trust policy must name the service lambda.amazonaws.com")
    return str(role["Arn"])


def make_role(cloud: Cloud) -> str:
    """A role that may write logs and invoke functions, for tasks that dispatch tasks."""
    iam = cloud.client("iam")
    try:
        made = iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(TRUST),
                               Description=MARK + "what functions run as")
        iam.put_role_policy(RoleName=ROLE, PolicyName="invoke", PolicyDocument=json.dumps(INVOKING))
    except errors() as error:
        raise Problem(f"cannot make the role {ROLE}: {said(error)}",
                      "have somebody make one that Lambda may assume, and give it with --role") from error
    try:
        iam.attach_role_policy(RoleName=ROLE, PolicyArn=LOGGING_POLICY)
    except errors() as error:
        if not cloud.is_local:  # a local cloud need not know AWS's policies
            raise Problem(f"cannot let {ROLE} write logs: {said(error)}",
                          f"attach {LOGGING_POLICY} to it") from error
    return str(made["Role"]["Arn"])


def remove_role(cloud: Cloud) -> bool:
    """Removes the role if we made it."""
    if cloud.only_lambda:
        return False
    iam = cloud.client("iam")
    try:
        role = iam.get_role(RoleName=ROLE)["Role"]
        if not str(role.get("Description", "")).startswith(MARK):
            return False
        for policy in iam.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"]:
            iam.detach_role_policy(RoleName=ROLE, PolicyArn=policy["PolicyArn"])
        for name in iam.list_role_policies(RoleName=ROLE)["PolicyNames"]:
            iam.delete_role_policy(RoleName=ROLE, PolicyName=name)
        iam.delete_role(RoleName=ROLE)
    except errors() as error:
        if code(error) in ("NoSuchEntity", "NoSuchEntityException"):
            return False
        raise Problem(f"cannot remove the role {ROLE}: {said(error)}", "remove it by hand") from error
    return True
