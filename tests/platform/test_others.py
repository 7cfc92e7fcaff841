# SPDX-License-Identifier: Apache-2.0
"""Clients and functions that others have written: the AWS CLI, and functions with AWS's runtimes for Go,
Rust and C++ where they can be had."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cloud import ROLE, Cloud, archive, code

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


RUST_FUNCTION = """
use lambda_runtime::{service_fn, Error, LambdaEvent};
use serde_json::{json, Value};

async fn handle(event: LambdaEvent<Value>) -> Result<Value, Error> {
    let name = event.payload["Name"].as_str().ok_or("nobody to greet")?;
    Ok(json!({"greeting": format!("hello {name}"), "arn": event.context.invoked_function_arn}))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(handle)).await
}
"""

RUST_PACKAGE = """
[package]
name = "bootstrap"
version = "0.1.0"
edition = "2021"

[dependencies]
lambda_runtime = { version = "0.13", default-features = false }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
"""


CPP_FUNCTION = """
#include <aws/lambda-runtime/runtime.h>

using namespace aws::lambda_runtime;

int main() {
  run_handler([](const invocation_request& asked) {
    const auto at = asked.payload.find("\\"Name\\":");
    if (at == std::string::npos) return invocation_response::failure("nobody to greet", "greeter", "");
    const auto begin = asked.payload.find('"', at + 7) + 1;
    const auto name = asked.payload.substr(begin, asked.payload.find('"', begin) - begin);
    return invocation_response::success(
        "{\\"greeting\\":\\"hello " + name + "\\",\\"arn\\":\\"" + asked.function_arn + "\\"}", "application/json");
  });
}
"""

CPP_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(greeter CXX)
find_package(aws-lambda-runtime REQUIRED)
add_executable(bootstrap main.cpp)
target_link_libraries(bootstrap AWS::aws-lambda-runtime)
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
        self.check_greeter(executable)

    @unittest.skipUnless(shutil.which("cargo"), "cargo is not installed")
    def test_a_function_with_awss_runtime_for_rust_runs(self) -> None:
        package = peers.CACHE / "test-rust"  # compiled once
        (package / "src").mkdir(parents=True, exist_ok=True)
        (package / "Cargo.toml").write_text(RUST_PACKAGE)
        (package / "src" / "main.rs").write_text(RUST_FUNCTION)
        ran = subprocess.run(["cargo", "build", "--quiet"], cwd=package, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ran.returncode != 0 and "registry" in ran.stdout:
            self.skipTest("lambda_runtime cannot be had")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.check_greeter((package / "target" / "debug" / "bootstrap").read_bytes())

    @unittest.skipUnless(shutil.which("cmake") and shutil.which("curl-config"), "libcurl's headers are not installed")
    def test_a_function_with_awss_runtime_for_cpp_runs(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory)
            (source / "main.cpp").write_text(CPP_FUNCTION)
            (source / "CMakeLists.txt").write_text(CPP_PROJECT)
            prefix = source / "prefix"
            settings = ["-DCMAKE_CXX_COMPILER=clang++-19", "-DENABLE_LTO=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_PREFIX_PATH={prefix}"]
            for words in (["-S", peers.aws_lambda_cpp(), "-B", source / "runtime", *settings],
                          ["--build", source / "runtime", "--target", "install"],
                          ["-S", source, "-B", source / "build", *settings],
                          ["--build", source / "build"]):
                ran = subprocess.run(["cmake", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(ran.returncode, 0, ran.stdout)
            executable = (source / "build" / "bootstrap").read_bytes()
        self.check_greeter(executable)

    def check_greeter(self, executable: bytes) -> None:
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
