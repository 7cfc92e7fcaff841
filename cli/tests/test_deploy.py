# SPDX-License-Identifier: Apache-2.0
"""`cppless deploy` and its relatives against moto, which keeps functions as AWS does but runs none."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from typing import Any

from .peers import LOCAL, start_moto
from .support import ROOT, CommandTest

sys.path.insert(0, str(ROOT / "cli"))
from cppless import deploy  # noqa: E402
from cppless.cloud import boto3  # noqa: E402

PROGRAM = """
#include <cppless/cppless.hpp>
#include <cstdio>
int main() {
  cppless::instance workers = cppless::default_dispatcher{}.create_instance();
  int base = 40;
  auto sum = cppless::async(workers, [base](int x) { return base + x; }, 2);
  using small = cppless::lambda::config<cppless::lambda::with_memory<512>, cppless::lambda::with_timeout<7>,
                                        cppless::lambda::with_ephemeral_storage<1024>>;
  auto difference = cppless::async<small>(workers, [base](int x) { return base - x; }, 2);
  std::printf("%d %d\\n", sum.get(), difference.get());
}
"""

LARGE_PROGRAM = """
#include <cppless/cppless.hpp>
#include <cstdio>
asm(".section .rodata.large,\\"a\\"\\nlarge: .incbin \\"DATA\\"\\n.previous");
extern "C" const unsigned char large[];
int main() {
  cppless::instance workers = cppless::default_dispatcher{}.create_instance();
  std::printf("%d\\n", cppless::async(workers, [](int at) { return int{large[at]}; }, 2).get());
}
"""


class Deploy(CommandTest):
    moto: subprocess.Popen[bytes]
    endpoint: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.moto, cls.endpoint = start_moto()
        cls.addClassCleanup(cls.moto.wait)
        cls.addClassCleanup(cls.moto.kill)

    def setUp(self) -> None:
        super().setUp()
        self.environment |= {**LOCAL, "AWS_ENDPOINT_URL": self.endpoint, "HOME": str(self.directory)}
        self.program = self.write("program.cpp", PROGRAM)
        self.addCleanup(self.client("lambda")._endpoint.http_session.send,
                        self.reset_request())

    def reset_request(self) -> Any:
        from botocore.awsrequest import AWSRequest

        return AWSRequest("POST", f"{self.endpoint}/moto-api/reset").prepare()

    def client(self, service: str) -> Any:
        return boto3().client(service, endpoint_url=self.endpoint, region_name="us-east-1",
                              aws_access_key_id="test", aws_secret_access_key="test")

    def functions(self) -> dict[str, dict[str, Any]]:
        return {each["FunctionName"]: each for each in self.client("lambda").list_functions()["Functions"]}

    def deploy(self, *words: str) -> subprocess.CompletedProcess[str]:
        ran = self.cppless("deploy", "program.cpp", *words)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def test_a_plan_changes_nothing(self) -> None:
        ran = self.deploy()
        self.assertRegex(ran.stdout, r"\+ create     program-[0-9a-f]{16}  [\d,]+ bytes, 512 MB, 7 s, x86_64")
        self.assertIn("2 to create, 0 to change, 0 to remove, 0 unchanged", ran.stdout)
        self.assertIn("nothing was changed: --yes does it", ran.stderr)
        self.assertEqual(self.functions(), {})

    def test_functions_have_their_tasks_settings(self) -> None:
        self.deploy("--yes")
        small, plain = sorted(self.functions().values(), key=lambda each: each["MemorySize"])
        self.assertEqual((small["MemorySize"], small["Timeout"], small["EphemeralStorage"]["Size"]), (512, 7, 1024))
        self.assertEqual((plain["MemorySize"], plain["Timeout"], plain["Runtime"], plain["Architectures"]),
                         (1024, 60, "provided.al2023", ["x86_64"]))
        self.assertEqual(plain["Environment"]["Variables"], {"CPPLESS_DISPATCHER": "lambda"})
        self.assertEqual(plain["FunctionName"], f"program-{plain['Handler']}")
        self.assertTrue(plain["Role"].endswith(":role/cppless-function"))

    def test_a_second_time_changes_nothing(self) -> None:
        self.deploy("--yes")
        before = self.functions()
        ran = self.deploy("--yes")
        self.assertIn("0 to create, 0 to change, 0 to remove, 2 unchanged", ran.stdout)
        self.assertEqual(self.functions(), before)

    def test_after_editing_one_task_only_its_function_changes(self) -> None:
        self.deploy("--yes")
        before = self.functions()
        self.write("program.cpp", PROGRAM.replace("base + x", "base + 2 * x"))
        ran = self.deploy("--yes")
        self.assertRegex(ran.stdout, r"~ change .*lambda#1\(int\)  \(code\)\n")
        self.assertIn("0 to create, 1 to change, 0 to remove, 1 unchanged", ran.stdout)
        after = self.functions()
        self.assertEqual([before[name]["CodeSha256"] == after[name]["CodeSha256"] and before[name] == after[name]
                          for name in sorted(before, key=lambda name: before[name]["MemorySize"])], [True, False])
        self.assertIn("2 unchanged", self.deploy("--yes").stdout)

    def test_changed_settings_are_named(self) -> None:
        self.deploy("--yes")
        ran = self.deploy("--yes", "--memory", "2048", "--timeout", "30")
        self.assertRegex(ran.stdout, r"\(MemorySize 1024 -> 2048, Timeout 60 -> 30\)")
        self.assertIn("1 to change", ran.stdout)  # the other task has settings of its own
        self.assertEqual(sorted(each["MemorySize"] for each in self.functions().values()), [512, 2048])

    def test_tasks_that_are_gone_are_removed_and_others_functions_stay(self) -> None:
        self.deploy("--yes")
        theirs = {"FunctionName": "program-0123456789abcdef", "Runtime": "provided.al2023", "Handler": "x",
                  "Role": next(iter(self.functions().values()))["Role"], "Code": {"ZipFile": b"PK\5\6" + bytes(18)}}
        self.client("lambda").create_function(**theirs, Description="not ours")
        self.write("program.cpp", PROGRAM.replace("base - x; }, 2)", "base - x; }, 2)").replace(
            "auto difference", "auto difference_").replace("async<small>", "async").replace("difference.get", "difference_.get"))
        ran = self.deploy("--yes")
        self.assertIn("1 to create, 0 to change, 1 to remove, 1 unchanged", ran.stdout)
        self.assertIn("program-0123456789abcdef", self.functions())
        self.assertEqual(len(self.functions()), 3)

    def test_a_zip_above_50_mb_goes_through_a_bucket(self) -> None:
        data = self.directory / "data.bin"
        data.write_bytes(os.urandom(51 * 2**20))
        self.write("program.cpp", LARGE_PROGRAM.replace("DATA", str(data)))
        ran = self.cppless("deploy", "program.cpp", "--yes")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("name an S3 bucket in the same region with --bucket", ran.stderr)
        self.client("s3").create_bucket(Bucket="code")
        self.deploy("--yes", "--bucket", "code")
        self.assertGreater(next(iter(self.functions().values()))["CodeSize"], 51 * 2**20)
        self.assertEqual(len(self.client("s3").list_objects_v2(Bucket="code")["Contents"]), 1)

    def test_undeploy_leaves_nothing(self) -> None:
        self.deploy("--yes")
        name = next(iter(self.functions()))
        self.client("logs").create_log_group(logGroupName=f"/aws/lambda/{name}")
        dry = self.cppless("undeploy", "program.cpp")
        self.assertIn("0 to create, 0 to change, 2 to remove", dry.stdout)
        self.assertEqual(len(self.functions()), 2)
        self.assertEqual(self.cppless("undeploy", "program.cpp", "--yes").returncode, 0)
        self.assertEqual(self.functions(), {})
        self.assertEqual(self.client("iam").list_roles()["Roles"], [])
        self.assertEqual(self.client("logs").describe_log_groups()["logGroups"], [])

    def test_prune_removes_what_the_program_no_longer_has(self) -> None:
        self.deploy("--yes")
        self.write("program.cpp", PROGRAM.replace("async<small>", "async"))
        ran = self.cppless("prune", "program.cpp", "--yes")
        self.assertIn("0 to create, 0 to change, 1 to remove, 1 unchanged", ran.stdout)
        self.assertEqual(len(self.functions()), 1)

    def test_failures_are_listed_and_the_others_go_on(self) -> None:
        self.deploy("--yes")
        self.write("program.cpp", PROGRAM.replace("base + x", "base + 3 * x"))
        role = "arn:aws:iam::123456789012:role/nobody"
        ran = self.cppless("deploy", "program.cpp", "--yes", "--role", role, "--prefix", "other")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(len([line for line in ran.stderr.splitlines()
                              if line.startswith("cppless: error: could not create other-")]), 2, ran.stderr)
        self.assertNotIn("Traceback", ran.stderr)

    def test_what_is_wrong_is_said_with_its_mend(self) -> None:
        for change, words, wanted in (
                ({"AWS_REGION": "", "AWS_ENDPOINT_URL": ""}, (), "no AWS region is set: use --region"),
                ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, (), "no AWS credentials are found: run `aws configure`"),
                ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, (), "cannot be reached"),
                ({}, ("--role", "nobody"), "there is no role nobody"),
                ({}, ("--profile", "nobody"), "nobody")):
            with self.subTest(wanted):
                self.environment |= {"AWS_ENDPOINT_URL": self.endpoint, **LOCAL, "AWS_EC2_METADATA_DISABLED": "true",
                                     **change}
                ran = self.cppless("deploy", "program.cpp", *words)
                self.assertEqual(ran.returncode, 1, ran.stderr)
                self.assertIn(wanted, ran.stderr)
                self.assertNotIn("Traceback", ran.stderr)


class Names(unittest.TestCase):
    def test_prefixes_are_made_as_the_library_makes_them(self) -> None:
        self.assertEqual(deploy.function_prefix("n-queens_2"), "n-queens_2")
        self.assertEqual(deploy.function_prefix("a.b c\u00e9"), "a-b-c-")
        self.assertEqual(len(deploy.function_prefix("x" * 100)) + 1 + 16, 64)


if __name__ == "__main__":
    unittest.main()
