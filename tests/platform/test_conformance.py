# SPDX-License-Identifier: Apache-2.0
"""One list of requests (requests.json), sent to the platform and to moto with AWS's emulators behind it.
Each must answer as AWS does; where moto is known not to, the list says how it answers instead."""

from __future__ import annotations

import json
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
from botocore.config import Config

from cloud import ROLE, Cloud, code

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "cli"))
from tests import peers  # noqa: E402

REQUESTS = json.loads((HERE / "requests.json").read_text())


CODE, OTHER_CODE, BIG = code(), code(note=b"other"), json.dumps("x" * 6_300_000)


def filled(value: Any, arn: str) -> Any:
    """The arguments of a request with its stand-ins replaced."""
    if isinstance(value, dict):
        return {key: filled(each, arn) for key, each in value.items()}
    stand_ins: dict[str, Any] = {"CODE": {"ZipFile": CODE}, "OTHER_CODE": OTHER_CODE, "ARN": arn, "BIG": BIG}
    return stand_ins.get(value, value) if isinstance(value, str) else value


class Conformance(unittest.TestCase):
    maxDiff = None

    def check(self, client: Any, who: str, role: str = ROLE) -> None:
        arn = ""
        for each in REQUESTS:
            with self.subTest(each["say"], who=who):
                expected = {**each, **each.get(who, {})}
                arguments = filled(each["with"], arn)
                if each["call"] == "create_function":
                    arguments["Role"] = role
                try:
                    answer = getattr(client, each["call"])(**arguments)
                except botocore.exceptions.ClientError as error:
                    answer = error.response
                self.assertEqual(answer["ResponseMetadata"]["HTTPStatusCode"], expected["status"], answer)
                arn = answer.get("FunctionArn", arn) if each["call"] == "create_function" else arn
                if expected["status"] >= 400:
                    self.assertEqual(answer["Error"]["Code"], expected["error"])
                    self.assertTrue(answer["Error"]["Message"])
                    continue
                self.assertEqual({key: answer.get(key) for key in expected.get("is", {})}, expected.get("is", {}))
                self.assertEqual([key for key in expected.get("has", []) if key not in answer], [])
                if any(key.startswith("payload") for key in expected):
                    payload = json.loads(answer["Payload"].read())
                    self.assertEqual(payload, expected.get("payload", payload))
                    self.assertEqual([key for key in expected.get("payload_has", []) if key not in payload], [])
                    self.assertIn(expected.get("payload_says", ""), str(payload))

    def test_the_platform_answers_as_aws(self) -> None:
        cloud = Cloud()
        self.addCleanup(cloud.close)
        self.check(cloud.client(parameter_validation=False), "platform")

    def test_moto_with_aws_emulators_answers_the_same(self) -> None:
        python, emulator = peers.moto_python(), peers.emulator()
        port = peers.free_port()
        server = subprocess.Popen([str(python), str(HERE / "moto_with_emulators.py"), str(port), str(emulator)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={"PATH": "/usr/bin:/bin", "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"})
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        peers.wait_for(port, server)
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1",
                "endpoint_url": f"http://127.0.0.1:{port}"}
        role = boto3.client("iam", **keys).create_role(RoleName="tests", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        config = Config(retries={"max_attempts": 0}, parameter_validation=False)
        self.check(boto3.client("lambda", config=config, **keys), "moto", role)


if __name__ == "__main__":
    unittest.main()
