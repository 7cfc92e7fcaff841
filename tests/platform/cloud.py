# SPDX-License-Identifier: Apache-2.0
"""A platform of the tests' own, and clients for it."""

from __future__ import annotations

import configparser
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Callable

import boto3
from botocore.config import Config

SERVER = os.environ["CPPLESS_PLATFORM"]
BOOTSTRAP = Path(os.environ["CPPLESS_TEST_BOOTSTRAP"])
ROLE = "arn:aws:iam::000000000000:role/tests"


def archive(members: dict[str, bytes], modes: dict[str, int] | None = None) -> bytes:
    """A zip; `modes` are whole Unix modes with the kind of file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zip_:
        for name, content in members.items():
            about = zipfile.ZipInfo(name)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.create_system = 3
            about.external_attr = (modes or {}).get(name, 0o100755) << 16
            zip_.writestr(about, content)
    return out.getvalue()


def code(**more: bytes) -> bytes:
    return archive({"bootstrap": BOOTSTRAP.read_bytes(), **more})


class Cloud:
    def __init__(self, *options: str, before_start: Callable[[], object] | None = None) -> None:
        """`before_start` runs in the server's process before it becomes the server."""
        self.before_start = before_start
        self.directory = Path(tempfile.mkdtemp(prefix="cppless-platform-"))
        self.options = options
        self.start()

    def start(self) -> None:
        self.log = open(self.directory / "server.log", "ab")
        self.server = subprocess.Popen([SERVER, "--state", self.state, "--port", "0", "--tls-port", "0", *self.options],
                                       stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
                                       preexec_fn=self.before_start)
        running = self.state / "running.json"
        end = time.monotonic() + 30
        while not (running.exists() and json.loads(running.read_text())["pid"] == self.server.pid):
            if self.server.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.directory / "server.log").read_text())
            time.sleep(0.01)
        about = json.loads(running.read_text())
        self.port, self.tls_port = about["port"], about["tls_port"]

    @property
    def missing(self) -> list[str]:
        """What the kernel does not give the platform here, as it says at its start."""
        mark = "missing here: "
        return [line.split(mark)[1] for line in (self.directory / "server.log").read_text().splitlines() if mark in line]

    @property
    def state(self) -> Path:
        return self.directory / "state"

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.server.send_signal(number)
        status = self.server.wait(30)
        self.log.close()
        return status

    def close(self) -> None:
        if self.server.poll() is None:
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def keys(self) -> tuple[str, str]:
        file = configparser.ConfigParser()
        file.read(self.state / "credentials")
        return file["default"]["aws_access_key_id"], file["default"]["aws_secret_access_key"]

    def client(self, service: str = "lambda", keys: tuple[str, ...] = (), region: str = "us-east-1", tls: bool = False, **config):
        id_, secret, *token = keys or self.keys()
        return boto3.client(service, region_name=region, aws_access_key_id=id_, aws_secret_access_key=secret,
                            aws_session_token=token[0] if token else None,
                            endpoint_url=f"https://localhost:{self.tls_port}" if tls else f"http://127.0.0.1:{self.port}",
                            verify=str(self.state / "tls" / "ca.pem") if tls else None,
                            config=Config(retries={"max_attempts": 0}, read_timeout=60, max_pool_connections=100, **config))

    def create(self, name: str, **settings) -> dict:
        return self.client().create_function(**{"FunctionName": name, "Runtime": "provided.al2023", "Role": ROLE, "Handler": "none",
                                                "Code": {"ZipFile": code()}, "Timeout": 10, "MemorySize": 512, **settings})

    def invoke(self, name: str, do: str = "", with_: str = "", **more) -> dict:
        """The answer with Payload read and decoded."""
        answer = self.client().invoke(FunctionName=name, Payload=json.dumps({"do": do, "with": with_}), **more)
        text = answer["Payload"].read()
        answer["Payload"] = json.loads(text) if text else None
        return answer

    def run(self, name: str, do: str, with_: str = ""):
        answer = self.invoke(name, do, with_)
        assert "FunctionError" not in answer, answer["Payload"]
        return answer["Payload"]


def signed(cloud: Cloud, path: str, body: bytes, host: str) -> dict[str, str]:
    """The headers of a POST to Lambda, signed by botocore."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest("POST", f"http://{host}{path}", headers={"Host": host}, data=body)
    SigV4Auth(Credentials(*cloud.keys()), "lambda", "us-east-1").add_auth(request)
    return dict(request.headers)
