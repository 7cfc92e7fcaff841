# SPDX-License-Identifier: Apache-2.0
"""Local clouds that take the same Invoke: ours, and those of others beside it.

All are sent the same signed requests; only ours looks at the signature, and only ours keeps functions
apart from each other and from the machine.
"""

import base64
import configparser
import contextlib
import datetime
import hashlib
import hmac
import http.client
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

sys.path.append(str(ROOT / "cli"))

from tests import peers  # noqa: E402

PAYLOAD = b'"' + b"x" * 198 + b'"'
ROLE = "arn:aws:iam::000000000000:role/r"


def invocations(name):
    return f"/2015-03-31/functions/{name}/invocations"


class LocalCloud:
    """A server of ours or of others; `close` ends it and removes what it wrote."""

    def __init__(self, build):
        self.load = pathlib.Path(build) / "benchmarks" / "bench_platform_load"
        self.ends = contextlib.ExitStack()
        self.folder = pathlib.Path(self.ends.enter_context(tempfile.TemporaryDirectory(prefix="cppless-bench-")))
        self.port, self.key, self.secret = 0, "test", "test"
        self.role = ROLE

    def close(self):
        self.ends.close()

    def start(self, command, **more):
        """A process that is ended with the cloud."""
        process = subprocess.Popen(command, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more})
        self.ends.callback(process.wait)
        self.ends.callback(process.terminate)
        return process

    def signed(self, path, body, service="lambda"):
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        host, scope = f"127.0.0.1:{self.port}", f"{stamp[:8]}/us-east-1/{service}/aws4_request"
        canonical = f"POST\n{path}\n\nhost:{host}\nx-amz-date:{stamp}\n\nhost;x-amz-date\n{hashlib.sha256(body).hexdigest()}"
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), "sha256").digest()
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        return {"Host": host, "X-Amz-Date": stamp, "Content-Length": str(len(body)),
                "Authorization": f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders=host;x-amz-date, "
                                 f"Signature={hmac.new(key, text.encode(), 'sha256').hexdigest()}"}

    def post(self, path, body, service="lambda"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", path, body, self.signed(path, body, service))
        answer = connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201) or answer.headers.get("X-Amz-Function-Error"):
            raise RuntimeError(f"{path}: {answer.status} {text!r}")
        return text

    def create(self, name, program, variables):
        zip_ = io.BytesIO()
        with zipfile.ZipFile(zip_, "w", zipfile.ZIP_DEFLATED) as out:
            about = zipfile.ZipInfo("bootstrap")
            about.external_attr = 0o100755 << 16
            out.writestr(about, program.read_bytes())
        body = json.dumps({"FunctionName": name, "Runtime": "provided.al2023", "Handler": "h", "MemorySize": 1769,
                           "Role": self.role, "Environment": {"Variables": variables},
                           "Code": {"ZipFile": base64.b64encode(zip_.getvalue()).decode()}})
        self.post("/2015-03-31/functions", body.encode())

    def warm(self, name, in_flight, count):
        """median us, 99th percentile us, per second"""
        path = invocations(name)
        head = "".join(f"{name}: {value}\r\n" for name, value in self.signed(path, PAYLOAD).items())
        file = self.folder / "request"
        file.write_bytes(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + PAYLOAD)
        done = subprocess.run([self.load, str(self.port), str(in_flight), str(count), file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the load ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
        return [float(word) for word in done.stdout.split()]


class Platform(LocalCloud):
    def __init__(self, build):
        super().__init__(build)
        state = self.folder / "state"
        server = self.start([pathlib.Path(build) / "platform" / "cppless-platform", "--state", state, "--port", "0", "--tls-port", "0"])
        while not (state / "running.json").exists():
            if server.poll() is not None:
                raise SystemExit("the platform did not start")
            time.sleep(0.01)
        self.port = json.loads((state / "running.json").read_text())["port"]
        keys = configparser.ConfigParser()
        keys.read(state / "credentials")
        self.key = keys["default"]["aws_access_key_id"]
        self.secret = keys["default"]["aws_secret_access_key"]

    def start_cold(self, name):
        """ms from before the request to the function's first instruction"""
        path = invocations(name)
        headers = self.signed(path, PAYLOAD)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.connect()
        before = time.monotonic_ns()
        connection.request("POST", path, PAYLOAD, headers)
        began = int(connection.getresponse().read())
        return (began - before) / 1e6


class Peer(LocalCloud):
    """Of others, with one function. Few requests make a sample: the slower one takes 5 ms each."""

    NAME = ""

    def measure(self, in_flight, count):
        return self.warm("f", in_flight, count)


class MotoWithEmulators(Peer):
    """moto's server and a pool of AWS's emulators, as many as there were ever requests at once."""

    NAME = "moto with AWS's emulators"

    def begin(self, program):
        script, emulator = ROOT / "tests" / "platform" / "moto_with_emulators.py", peers.emulator()
        self.port = peers.free_port()
        server = self.start([peers.moto_python(), script, str(self.port), emulator])
        peers.wait_for(self.port, server)
        answer = self.post("/", b"Action=CreateRole&Version=2010-05-08&RoleName=r&AssumeRolePolicyDocument=%7B%7D", "iam")
        self.role = answer.decode().partition("<Arn>")[2].partition("</Arn>")[0]
        self.create("f", program, {})


class CargoLambda(Peer):
    """cargo-lambda's watch server with as many processes of the function as there are requests at once."""

    NAME = "cargo-lambda watch"

    def begin(self, program):
        if not shutil.which("cargo"):
            raise unittest.SkipTest("cargo is not installed")
        self.program, self.functions = program, 0
        self.port = peers.free_port()
        (self.folder / "src").mkdir()
        (self.folder / "src" / "main.rs").write_text("fn main() {}\n")
        (self.folder / "Cargo.toml").write_text('[package]\nname = "f"\nversion = "0.1.0"\n')
        server = self.start([peers.cargo_lambda(), "lambda", "watch", "--only-lambda-apis", "--invoke-address", "127.0.0.1",
                             "--invoke-port", str(self.port)], cwd=self.folder)
        peers.wait_for(self.port, server)

    def measure(self, in_flight, count):
        for _ in range(self.functions, in_flight):
            self.start([self.program], env={**os.environ, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.port}/.rt/f"})
        self.functions = max(self.functions, in_flight)
        return super().measure(in_flight, count)
