# SPDX-License-Identifier: Apache-2.0
"""Clients and functions that others have written: the AWS CLI, and functions with AWS's runtime for Go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cloud import BOOTSTRAP, ROLE, Cloud, archive, code

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))
from tests import peers  # noqa: E402

GO_FUNCTION = """
package main

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type request struct{ Name string }

func handle(of context.Context, asked request) (map[string]string, error) {
	if asked.Name == "" {
		return nil, errors.New("nobody to greet")
	}
	about, _ := lambdacontext.FromContext(of)
	return map[string]string{"greeting": "hello " + asked.Name, "arn": about.InvokedFunctionArn}, nil
}

func main() { lambda.Start(handle) }
"""


class Others(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)

    def aws(self, *words: str) -> dict:
        id_, secret = self.cloud.keys()
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.cloud.directory), "AWS_ACCESS_KEY_ID": id_,
                       "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1",
                       "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.cloud.port}"}
        ran = subprocess.run([peers.moto_python().with_name("aws"), "lambda", *words], env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout) if ran.stdout.strip() else {}

    def test_the_aws_cli_creates_invokes_updates_and_deletes(self) -> None:
        zip_ = self.cloud.directory / "code.zip"
        zip_.write_bytes(code())
        out = self.cloud.directory / "out.json"
        made = self.aws("create-function", "--function-name", "f", "--runtime", "provided.al2023", "--handler", "none",
                        "--role", ROLE, "--zip-file", f"fileb://{zip_}", "--timeout", "5")
        self.assertEqual(made["State"], "Active")
        self.aws("wait", "function-active-v2", "--function-name", "f")
        for payload in ('{"a": 1}', '"text"'):
            said = self.aws("invoke", "--function-name", "f", "--payload", payload, str(out))
            self.assertEqual((said["StatusCode"], json.loads(out.read_text())), (200, json.loads(payload)))
        zip_.write_bytes(code(note=b"new"))
        self.aws("update-function-code", "--function-name", "f", "--zip-file", f"fileb://{zip_}")
        self.aws("wait", "function-updated-v2", "--function-name", "f")
        self.aws("invoke", "--function-name", "f", "--payload", '{"do": "read", "with": "/var/task/note"}', str(out))
        self.assertEqual(json.loads(out.read_text()), "new")
        self.assertEqual([each["FunctionName"] for each in self.aws("list-functions")["Functions"]], ["f"])
        self.aws("delete-function", "--function-name", "f")
        self.assertEqual(self.aws("list-functions")["Functions"], [])

    @unittest.skipUnless(shutil.which("go"), "go is not installed")
    def test_a_function_with_awss_runtime_for_go_runs(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory)
            (source / "main.go").write_text(GO_FUNCTION)
            for words in (["mod", "init", "greeter"], ["get", "github.com/aws/aws-lambda-go@latest"], ["build", "-o", "bootstrap"]):
                ran = subprocess.run(["go", *words], cwd=directory, env={**os.environ, "CGO_ENABLED": "0"}, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if ran.returncode != 0 and words[0] == "get":
                    self.skipTest("github.com/aws/aws-lambda-go cannot be had")
                self.assertEqual(ran.returncode, 0, ran.stdout)
            executable = (source / "bootstrap").read_bytes()
        self.assertNotEqual(executable, BOOTSTRAP.read_bytes())
        self.cloud.create("greeter", Code={"ZipFile": archive({"bootstrap": executable})})
        arn = self.cloud.client().get_function_configuration(FunctionName="greeter")["FunctionArn"]
        for name in ("Ada", "Grace"):
            answer = self.cloud.client().invoke(FunctionName="greeter", Payload=json.dumps({"Name": name}))
            self.assertEqual(json.loads(answer["Payload"].read()), {"greeting": f"hello {name}", "arn": arn})
        answer = self.cloud.client().invoke(FunctionName="greeter", Payload="{}")
        self.assertEqual(answer["FunctionError"], "Unhandled")
        self.assertEqual(json.loads(answer["Payload"].read())["errorMessage"], "nobody to greet")


if __name__ == "__main__":
    unittest.main()
