# SPDX-License-Identifier: Apache-2.0
"""What moto serves behind our port: S3, IAM, STS, CloudWatch Logs."""

from __future__ import annotations

import os
import shutil
import time
import unittest
from pathlib import Path

from botocore.exceptions import ClientError

from cloud import ROLE, Cloud, code

MOTO = os.environ.get("CPPLESS_MOTO") or shutil.which("moto_server")


@unittest.skipUnless(MOTO and Path(MOTO).exists(), "moto is not installed: set CPPLESS_MOTO to its moto_server")
class Services(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cloud = Cloud("--moto", str(MOTO))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cloud.close()

    def test_sts_knows_the_account(self) -> None:
        self.assertEqual(self.cloud.client("sts").get_caller_identity()["Account"], "000000000000")

    def test_a_wrong_key_is_refused_there_too(self) -> None:
        with self.assertRaises(ClientError) as caught:
            self.cloud.client("sts", keys=(self.cloud.keys()[0], "wrong")).get_caller_identity()
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 403)

    def test_a_role_can_be_made_and_found(self) -> None:
        iam = self.cloud.client("iam")
        iam.create_role(RoleName="r", AssumeRolePolicyDocument="{}")
        self.assertEqual(iam.get_role(RoleName="r")["Role"]["Arn"], "arn:aws:iam::000000000000:role/r")

    def test_code_comes_from_a_bucket(self) -> None:
        s3 = self.cloud.client("s3")
        s3.create_bucket(Bucket="code")
        s3.put_object(Bucket="code", Key="dir/f one.zip", Body=code(note=b"from s3"))
        self.cloud.create("stored", Code={"S3Bucket": "code", "S3Key": "dir/f one.zip"})
        self.assertEqual(self.cloud.run("stored", "read", "/var/task/note"), "from s3")
        with self.assertRaises(self.cloud.client().exceptions.InvalidParameterValueException) as caught:
            self.cloud.create("lost", Code={"S3Bucket": "code", "S3Key": "none"})
        self.assertIn("NoSuchKey", str(caught.exception))

    def test_what_functions_print_is_in_cloudwatch_logs(self) -> None:
        self.cloud.create("talking", Role=ROLE)
        self.cloud.run("talking", "print", "to the cloud")
        logs, found, end = self.cloud.client("logs"), [], time.monotonic() + 60
        while not any(text.startswith("REPORT") for text in found) and time.monotonic() < end:
            time.sleep(0.2)
            try:
                found = [each["message"] for each in logs.filter_log_events(logGroupName="/aws/lambda/talking")["events"]]
            except ClientError:
                continue
        self.assertEqual([text.split(" ")[0] for text in found], ["START", "to", "END", "REPORT"])


class Without(unittest.TestCase):
    def test_without_moto_the_answer_says_how_to_get_it(self) -> None:
        cloud = Cloud()
        self.addCleanup(cloud.close)
        with self.assertRaises(ClientError) as caught:
            cloud.client("iam").list_roles()
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 501)
        self.assertIn("cppless platform start --moto", str(caught.exception.response))


if __name__ == "__main__":
    unittest.main()
