# SPDX-License-Identifier: Apache-2.0
"""moto's server, whose functions are run by AWS's own Runtime Interface Emulator: one process for each
invocation under way, kept for the next one, as the emulator takes one request at a time.

    PYTHON_WITH_MOTO moto_with_emulators.py PORT EMULATOR
"""

from __future__ import annotations

import atexit
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from typing import Any

import moto.awslambda.models as models
from moto.server import main

EMULATOR = sys.argv[2]
ROOT = tempfile.TemporaryDirectory(prefix="cppless-emulators-")
idle: dict[str, list["Emulator"]] = {}
ports: set[int] = set()
lock = threading.Lock()


def free_port() -> int:
    """Never the same twice: between here and the emulator's bind another thread asks."""
    while True:
        with socket.socket() as chosen, lock:
            chosen.bind(("127.0.0.1", 0))
            port = int(chosen.getsockname()[1])
            if port not in ports:
                ports.add(port)
                return port


class Emulator:
    def __init__(self, function: Any) -> None:
        code = pathlib.Path(ROOT.name) / function.code_sha_256.replace("/", "_")
        with lock:
            if not code.exists():
                with zipfile.ZipFile(io.BytesIO(function.code_bytes)) as archive:
                    archive.extractall(code)
                (code / "bootstrap").chmod(0o755)
        self.port = free_port()
        variables = {**os.environ, **(function.environment_vars or {}), "AWS_LAMBDA_FUNCTION_NAME": function.function_name,
                     "AWS_LAMBDA_FUNCTION_TIMEOUT": str(function.timeout), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_size)}
        self.process = subprocess.Popen(
            [EMULATOR, "--runtime-interface-emulator-address", f"127.0.0.1:{self.port}", "--runtime-api-address",
             f"127.0.0.1:{free_port()}", str(code / "bootstrap"), function.handler], cwd=code, env=variables,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)

    def invoke(self, body: bytes) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/2015-03-31/functions/function/invocations", body)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            return error.read()


def invoke(self: Any, body: bytes | str, request_headers: Any, response_headers: Any) -> bytes:
    payload = body.encode() if isinstance(body, str) else body or b"{}"
    kind = request_headers.get("x-amz-invocation-type", "RequestResponse")
    if kind == "DryRun":
        return b""
    with lock:
        waiting = idle.setdefault(self.code_sha_256, [])
        emulator = waiting.pop() if waiting else None
    emulator = emulator or Emulator(self)
    answer = emulator.invoke(payload)
    with lock:
        idle[self.code_sha_256].append(emulator)
    # The emulator says in the body alone whether it is an error.
    try:
        said = json.loads(answer)
        if isinstance(said, dict) and "errorType" in said:
            response_headers["x-amz-function-error"] = "Unhandled"
    except ValueError:
        pass
    return answer


models.LambdaFunction.invoke = invoke
if __name__ == "__main__":
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
