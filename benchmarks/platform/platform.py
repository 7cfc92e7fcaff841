#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The local cloud for functions that do nothing: in C++, in Python, in Go with AWS's runtime.

  warm/1      latency of one invocation after the other, every request's signature checked
  warm/64     invocations per second with 64 in flight
  cold        from before the Invoke is sent to the function's first instruction
"""

import argparse
import base64
import configparser
import datetime
import functools
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
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import harness  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PAYLOAD = b'"' + b"x" * 198 + b'"'
COLD_STARTS = 20  # for one sample, their median
PAUSE = 0.02  # between two, in which the first function ends
OURS = "cppless platform"


def say_left_out(what, why):
    print(f"   {what} is left out: {why}", flush=True)


def build_go(folder):
    """The Go function's program, or None after saying why there is none."""
    if not shutil.which("go"):
        return say_left_out("Go", "go is not installed")
    program = folder / "go_function"
    shutil.copytree(HERE / "go_function", folder / "go")
    environment = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local")
    done = subprocess.run(["go", "build", "-ldflags=-s -w", "-o", program, "."], cwd=folder / "go", env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return say_left_out("Go", f"go build failed: {done.stderr.strip()[-300:]}")
    return program


def find_functions(build, folder):
    """Name of the implementation to its bootstrap."""
    found = {OURS: pathlib.Path(build) / "benchmarks" / "bench_platform_function"}
    if pathlib.Path("/usr/bin/python3").exists():
        found["Python function"] = HERE / "function.py"
    else:
        say_left_out("Python", "/usr/bin/python3 is not there")
    program = build_go(folder)
    if program:
        found["Go function"] = program
    return found


class Platform:
    def __init__(self, build):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cppless-bench-"))
        state = self.folder / "state"
        server = pathlib.Path(build) / "platform" / "cppless-platform"
        self.load = pathlib.Path(build) / "benchmarks" / "bench_platform_load"
        self.functions = find_functions(build, self.folder)
        self.server = subprocess.Popen([server, "--state", state, "--port", "0", "--tls-port", "0"], stderr=subprocess.DEVNULL)
        while not (state / "running.json").exists():
            if self.server.poll() is not None:
                raise SystemExit("the platform did not start")
            time.sleep(0.01)
        self.port = json.loads((state / "running.json").read_text())["port"]
        keys = configparser.ConfigParser()
        keys.read(state / "credentials")
        self.key = keys["default"]["aws_access_key_id"]
        self.secret = keys["default"]["aws_secret_access_key"]
        for name, program in self.functions.items():
            self.create("warm-" + name.split()[0], program, {})
            self.create("cold-" + name.split()[0], program, {"ONCE": "1"})

    def close(self):
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.folder)

    def signed(self, path, body):
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        host, scope = f"127.0.0.1:{self.port}", f"{stamp[:8]}/us-east-1/lambda/aws4_request"
        canonical = f"POST\n{path}\n\nhost:{host}\nx-amz-date:{stamp}\n\nhost;x-amz-date\n{hashlib.sha256(body).hexdigest()}"
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), "sha256").digest()
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        return {"Host": host, "X-Amz-Date": stamp, "Content-Length": str(len(body)),
                "Authorization": f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders=host;x-amz-date, "
                                 f"Signature={hmac.new(key, text.encode(), 'sha256').hexdigest()}"}

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", path, body, self.signed(path, body))
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
                           "Role": "arn:aws:iam::000000000000:role/r", "Environment": {"Variables": variables},
                           "Code": {"ZipFile": base64.b64encode(zip_.getvalue()).decode()}})
        self.post("/2015-03-31/functions", body.encode())

    def warm(self, name, in_flight, count):
        """median us, 99th percentile us, per second"""
        path = f"/2015-03-31/functions/warm-{name.split()[0]}/invocations"
        head = "".join(f"{name}: {value}\r\n" for name, value in self.signed(path, PAYLOAD).items())
        file = self.folder / "request"
        file.write_bytes(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + PAYLOAD)
        done = subprocess.run([self.load, str(self.port), str(in_flight), str(count), file], capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()]

    def cold(self, name):
        return sorted(self.start_cold(name) for _ in range(COLD_STARTS))[COLD_STARTS // 2]

    def start_cold(self, name):
        time.sleep(PAUSE)
        path = f"/2015-03-31/functions/cold-{name.split()[0]}/invocations"
        headers = self.signed(path, PAYLOAD)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.connect()
        before = time.monotonic_ns()
        connection.request("POST", path, PAYLOAD, headers)
        began = int(connection.getresponse().read())
        return (began - before) / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build" / "bench")
    parser.add_argument("--compiler", help="is not needed")
    suite = harness.Suite("platform", parser)
    wanted = {case: suite.wants(case) for case in ("warm/1", "warm/64", "cold")}
    if not any(wanted.values()):
        return 0
    if not (pathlib.Path(suite.options.build) / "platform" / "cppless-platform").exists():
        say_left_out("all", "the local cloud is not built (tools/setup platform)")
        return 0
    platform = Platform(suite.options.build)
    try:
        measures = {"warm/1": ("us", lambda name: platform.warm(name, 1, 3000)[0]),
                    "warm/64": ("1/s", lambda name: platform.warm(name, 64, 10000)[2]),
                    "cold": ("ms", platform.cold)}
        for case, (unit, measure) in measures.items():
            if wanted[case]:
                # 64 others at once would compare the machine's memory and processors.
                names = [OURS] if case == "warm/64" else platform.functions
                suite.compare(case, unit, OURS, [(name, functools.partial(measure, name)) for name in names])
    finally:
        platform.close()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
