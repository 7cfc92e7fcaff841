# SPDX-License-Identifier: Apache-2.0
"""The local cloud: built when needed, started in the background, stopped, looked at."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from . import cache
from .native_tool import NativeTool
from .problem import Problem
from .process import run_tool
from .progress import Progress

SERVER = NativeTool("the local cloud", "platform", "cppless-platform", "cppless_platform", ("run", "platform"), "platforms")
START_SECONDS = 30
STOP_SECONDS = 20


@dataclass(frozen=True)
class Running:
    """A platform that answers."""

    state: Path
    pid: int
    port: int
    tls_port: int
    region: str

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to use this platform as its AWS."""
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region,
                "AWS_SHARED_CREDENTIALS_FILE": str(self.state / "credentials"),
                "AWS_CA_BUNDLE": str(self.state / "tls" / "ca.pem")}


def state_directory(named: str | None = None) -> Path:
    """Where functions, keys and logs are kept: `named`, $CPPLESS_PLATFORM_STATE or
    $XDG_STATE_HOME/cppless/platform."""
    chosen = named or os.environ.get("CPPLESS_PLATFORM_STATE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(base) / "cppless" / "platform"


def running(state: Path) -> Running | None:
    """The platform that uses this directory, if it lives and answers."""
    try:
        about = json.loads((state / "running.json").read_text("utf-8"))
        found = Running(state, about["pid"], about["port"], about["tls_port"], about["region"])
    except (OSError, ValueError, KeyError):
        return None
    return found if is_server(found.pid) and answers(found.endpoint) else None


def is_server(pid: int) -> bool:
    """Whether this is one of our servers and lives: a number may have gone to another process since."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text("utf-8").partition("(")[2].rpartition(")")
        return name.startswith("cppless-platfor") and rest.split()[0] not in "ZX"
    except OSError:
        return False


def answers(endpoint: str) -> bool:
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{endpoint}/.cppless/health", timeout=5) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False


def ensure(progress: Progress, state: Path | None = None, options: tuple[str, ...] = ()) -> dict[str, str]:
    """The environment to use the running platform with; it is started (and built) if there is none."""
    where = state or state_directory()
    found = running(where)
    if found is None:
        ports = [word for name, port in (("--port", 9555), ("--tls-port", 9556)) if name not in options and is_taken(port)
                 for word in (name, "0")]
        found = start(where, [*options, *ports], progress)
    return found.environment()


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def start(state: Path, options: list[str], progress: Progress) -> Running:
    server = build(progress)
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = state / "server.log"
    words = [str(server), "--state", str(state), *options]
    moto = moto_server()
    if moto.exists() and "--moto" not in options:
        words += ["--moto", str(moto)]
    progress.command(words)
    with open(log, "ab") as out:
        from_here = out.tell()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd="/")
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if child.poll() is not None:
            with open(log, "rb") as written:
                written.seek(from_here)
                raise Problem(f"the platform did not start:\n{written.read().decode('utf-8', 'replace').strip()}")
        found = running(state)
        if found is not None and found.pid == child.pid:
            return found
        time.sleep(0.02)
    child.kill()
    raise Problem(f"the platform did not answer within {START_SECONDS} s", f"see {log}")


def stop(state: Path) -> bool:
    """False if there was none."""
    found = running(state)
    if found is None:
        return False
    os.kill(found.pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS
    while is_server(found.pid):
        if time.monotonic() > end:
            raise Problem(f"the platform (process {found.pid}) does not end", f"kill -9 {found.pid} ends it; its state is safe")
        time.sleep(0.02)
    return True


def build(progress: Progress) -> Path:
    """The server's executable."""
    return SERVER.build(progress)


def moto_server() -> Path:
    """Where moto is when `cppless platform start --moto` has installed it: in a virtual environment, for
    Debian has no package of it."""
    return cache.directory() / "moto" / "bin" / "moto_server"


def install_moto(progress: Progress) -> None:
    where = moto_server().parents[1]
    if cache.is_complete(where):
        return
    def make(entry: Path) -> None:
        for words in ([sys.executable, "-m", "venv", str(entry)],
                      [str(entry / "bin" / "python"), "-m", "pip", "install", "--quiet", "moto[server,s3,iam,sts,logs]"]):
            progress.command(words)
            result = run_tool(words)
            if result.returncode != 0:
                raise Problem(f"installing moto failed:\n{result.stdout.strip()}", "is python3-venv installed?")
    with progress.step("installing moto (S3, IAM, STS and CloudWatch Logs; once)"):
        cache.fill(where, make, progress)


def add_command(add) -> None:
    """`add(name, text)` makes a command's parser."""
    command = add("platform", "Run AWS Lambda on this machine: start, stop, status, logs.")
    actions = command.add_subparsers(dest="platform_action", required=True, metavar="ACTION")
    start_ = actions.add_parser("start", help="start it in the background", allow_abbrev=False)
    for name, text in (("--port", "plain port (default 9555; 0: any free one)"),
                       ("--tls-port", "TLS port (default 9556; 0: any free one)"),
                       ("--concurrency", "invocations at once in the account (default 1000)"),
                       ("--burst", "how far a function may scale up within 10 s (default 1000)"),
                       ("--idle-seconds", "environments idle for longer are ended (default 600)"),
                       ("--freeze-after-ms", "environments idle for longer are frozen (default 10)"),
                       ("--event-retry-ms", "before the first retry of an asynchronous invocation (default 60000)"),
                       ("--region", "default us-east-1")):
        start_.add_argument(name, help=text, metavar="NAME" if name == "--region" else "N")
    start_.add_argument("--moto", action="store_true", help="install moto, which serves S3, IAM, STS and CloudWatch Logs")
    stop_ = actions.add_parser("stop", help="stop it; what runs may finish for 5 s", allow_abbrev=False)
    status_ = actions.add_parser("status", help="say whether it runs and what it holds", allow_abbrev=False)
    form = status_.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything, for programs")
    form.add_argument("--env", action="store_true", help="lines for a shell: eval \"$(cppless platform status --env)\"")
    logs_ = actions.add_parser("logs", help="what a function printed, or what the server said", allow_abbrev=False)
    logs_.add_argument("function", nargs="?", help="without: the server's own log")
    logs_.add_argument("-f", "--follow", action="store_true", help="go on until interrupted")
    for each in (start_, stop_, status_, logs_):
        each.add_argument("--state", metavar="DIRECTORY", help="default: $CPPLESS_PLATFORM_STATE or ~/.local/state/cppless/platform")
    command.set_defaults(action=platform_command)


def platform_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    state = state_directory(options.state)
    if options.platform_action == "start":
        return start_command(options, state, progress)
    if options.platform_action == "stop":
        print("stopped" if stop(state) else "it was not running")
        return 0
    return status_command(options, state) if options.platform_action == "status" else logs_command(options, state)


def start_command(options: argparse.Namespace, state: Path, progress: Progress) -> int:
    found = running(state)
    if found is not None:
        print(f"it is running already: {found.endpoint}")
        return 0
    if options.moto:
        install_moto(progress)
    words: list[str] = []
    for name in ("port", "tls_port", "concurrency", "burst", "idle_seconds", "freeze_after_ms", "event_retry_ms", "region"):
        value = getattr(options, name)
        if value is not None:
            words += ["--" + name.replace("_", "-"), value]
    found = start(state, words, progress)
    print(f"running at {found.endpoint} and https://localhost:{found.tls_port} (process {found.pid})\n"
          f"to use it: eval \"$(cppless platform status --env)\"")
    return 0


def status_command(options: argparse.Namespace, state: Path) -> int:
    found = running(state)
    if found is None:
        print("it is not running")
        return 1
    if options.env:
        for name, value in found.environment().items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{found.endpoint}/.cppless/status", timeout=10) as answer:
        about = json.load(answer)
    if options.json:
        print(json.dumps({**about, "endpoint": found.endpoint, "tls_port": found.tls_port, "pid": found.pid, "state": str(state),
                          "environment": found.environment()}, indent=1))
        return 0
    print(f"running at {found.endpoint} and https://localhost:{found.tls_port} (process {found.pid}), state in {state}")
    for each in about["missing"]:
        print(f"missing here: {each}")
    for each in about["functions"]:
        environments = ", ".join(f"{count} {what}" for what, count in each["environments"].items()) or "no environment"
        print(f"{each['name']}: {each.get('invocations', 0)} invocations, {each.get('errors', 0)} errors, {environments}")
    return 0


def logs_command(options: argparse.Namespace, state: Path) -> int:
    file = state / "logs" / f"{options.function}.log" if options.function else state / "server.log"
    if not file.exists() and not options.follow:
        raise Problem(f"there is no log of {options.function or 'the platform'} in {file.parent}")
    while not file.exists():
        time.sleep(0.1)
    with open(file, encoding="utf-8", errors="replace") as lines:
        while True:
            text = lines.read(65536)
            if text:
                sys.stdout.write(text)
                sys.stdout.flush()
            elif not options.follow:
                return 0
            else:
                time.sleep(0.1)
