# SPDX-License-Identifier: Apache-2.0
"""Lambda's Runtime API for one function executable on this machine, without an emulator."""

from __future__ import annotations

import contextlib
import http.server
import os
import queue
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Mapping

from .problem import Problem

INVOCATION = "/2018-06-01/runtime/invocation/"


@dataclass
class Invocation:
    """A request for the function and, once `done` is set, what it answered."""

    payload: bytes
    timeout: float = 900.0
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    answer: bytes = b""
    error_type: str | None = None  # None: it went well
    done: threading.Event = field(default_factory=threading.Event)


class RuntimeApi(http.server.ThreadingHTTPServer):
    """Hands out invocations in order, each when the function asks for its next one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.waiting: queue.Queue[Invocation] = queue.Queue()
        self.under_way: dict[str, Invocation] = {}
        self.init_error: bytes | None = None
        self.asked = threading.Event()  # the function asked for work for the first time
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # header and body in one segment
    server: RuntimeApi

    def do_GET(self) -> None:
        if self.path != INVOCATION + "next":
            return self._answer(404, b'{"errorMessage":"no such path","errorType":"InvalidRequest"}')
        self.server.asked.set()
        invocation = self.server.waiting.get()
        self.server.under_way[invocation.request_id] = invocation
        deadline = int((time.time() + invocation.timeout) * 1000)
        self._answer(200, invocation.payload, {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(deadline),
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]};Sampled=0",
            "Lambda-Runtime-Invoked-Function-Arn":
                "arn:aws:lambda:us-east-1:000000000000:function:local"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/2018-06-01/runtime/init/error":
            self.server.init_error = body
            return self._answer(202, b'{"status":"OK"}\n')
        request_id, _, end = self.path.removeprefix(INVOCATION).partition("/")
        if end in ("response", "error") and request_id in self.server.under_way:
            current = self.server.under_way.pop(request_id)
            current.answer = body
            if end == "error":
                current.error_type = self.headers.get("Lambda-Runtime-Function-Error-Type", "")
            self._answer(202, b'{"status":"OK"}\n')
            current.done.set()
            return None
        return self._answer(400, b'{"errorMessage":"Invalid request ID","errorType":"InvalidRequestID"}')

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Function:
    """A function executable under a Runtime API of its own."""

    def __init__(self, executable: Path, environment: Mapping[str, str], output: int | None = None,
                 handler: str = "") -> None:
        self.api = RuntimeApi()
        values = {name: value for name, value in os.environ.items() if not name.startswith("AWS_LAMBDA_")}
        values |= {"AWS_LAMBDA_RUNTIME_API": self.api.address, "AWS_LAMBDA_FUNCTION_NAME": executable.name,
                   "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "_HANDLER": handler, **environment}
        try:
            self.process = subprocess.Popen([str(executable)], env=values, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output)
        except OSError as error:
            self.api.close()
            raise Problem(f"cannot start {executable} ({error.strerror})") from error

    def invoke(self, payload: bytes, timeout: float = 900.0) -> Invocation:
        """Waits for the answer; a function that ends or takes longer gets AWS's words for it."""
        invocation = Invocation(payload, timeout)
        self.api.waiting.put(invocation)
        end = time.monotonic() + timeout
        while not invocation.done.wait(0.02):
            status = self.process.poll()
            if status is not None and not invocation.done.wait(0.1):
                how = f"exit status {status}" if status >= 0 else f"signal: {-status}"
                _fail(invocation, "Runtime.ExitError", f"Runtime exited with error: {how}")
            elif time.monotonic() > end and not invocation.done.is_set():
                self.process.kill()
                _fail(invocation, "Sandbox.Timedout", f"Task timed out after {timeout:.2f} seconds")
        return invocation

    def close(self) -> int:
        """Asks the function to end; its exit status."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.api.close()
        return status


def _fail(invocation: Invocation, kind: str, what: str) -> None:
    import json

    invocation.error_type = kind
    invocation.answer = json.dumps(
        {"errorMessage": f"RequestId: {invocation.request_id} Error: {what}", "errorType": kind}).encode()
    invocation.done.set()


@contextlib.contextmanager
def function(executable: Path, environment: Mapping[str, str] = {}, output: int | None = None,
             handler: str = "") -> Iterator[Function]:
    running = Function(executable, environment, output, handler)
    try:
        yield running
    finally:
        running.close()
