#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of Lambda, every request signed, against a server that does nothing.

  plain|tls/N      invocations per second with N in flight, 200 bytes of payload each
  plain|tls/N/cpu  processor time of the client for each
  connect/2000     2,000 invocations without a payload over TLS in one round, connection and all
  memory           what an invocation that waits for its answer takes, payload apart
"""

import argparse
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import harness  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REFERENCE = "nghttp2 by hand"
DEPTHS = (1, 64, 512, 2000)
WIRES = ("plain", "tls")
PATH = "/2015-03-31/functions/h2load-0123456789abcdef/invocations"
DEBIANS_PYTHON = "/usr/bin/python3"  # what python3-boto3 installs for
MOST_FOR_BOTO3 = 64  # a thread each


class Clients:
    """The server, and how each client is run against it."""

    def __init__(self, build):
        self.programs = pathlib.Path(build) / "benchmarks"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cppless-bench-"))
        self.certificate = self.folder / "certificate.pem"
        (self.folder / "body").write_text('"' + "x" * 268 + '"')
        (self.folder / "short").write_text('"' + "x" * 12 + '"')
        self.server = subprocess.Popen([self.programs / "bench_lambda_server", self.certificate],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        words = self.server.stdout.readline().split()
        if len(words) != 3:
            raise SystemExit("lambda_client: the server did not start")
        self.ports = dict(zip(("plain", "tls", "silent"), words))
        self.environment = self.make_environment()
        self.has_libcurl = (self.programs / "bench_lambda_libcurl").exists()
        self.python = find_python_with_boto3()

    def make_environment(self):
        """Nothing of the user's own account or proxy."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("AWS_") and not name.lower().endswith("_proxy")}
        return kept | {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_EC2_METADATA_DISABLED": "true",
                       "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                       "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                       "AWS_CA_BUNDLE": str(self.certificate)}

    def close(self):
        self.server.stdin.close()
        self.server.wait()
        shutil.rmtree(self.folder)

    def url(self, wire):
        return f"{'https' if wire == 'tls' else 'http'}://127.0.0.1:{self.ports[wire]}"

    def run(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              env=self.environment, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def numbers(self, *words):
        return [float(word) for word in self.run(*words).split()]

    def ours(self, version, wire, in_flight, count, *mode):
        return self.numbers(self.programs / "bench_lambda_ours", version, self.url(wire), in_flight,
                            count, *mode)

    def by_hand(self, wire, in_flight, count, *mode):
        return self.numbers(self.programs / "bench_lambda_by_hand", self.ports[wire], wire,
                            in_flight, count, *mode)

    def libcurl(self, wire, in_flight, count, *mode):
        return self.numbers(self.programs / "bench_lambda_libcurl", self.ports[wire], wire,
                            in_flight, count, self.certificate, *mode)

    def boto3(self, wire, in_flight, count):
        return self.numbers(self.python, HERE / "with_boto3.py", self.url(wire), self.certificate,
                            in_flight, count)

    def h2load(self, wire, in_flight, count, body="body"):
        """Rate, CPU us, ms in all."""
        before = os.times()
        text = self.run("h2load", "-n", count, "-c", 1, "-m", in_flight, "-d", self.folder / body,
                        "-H", "content-type: application/json", self.url(wire) + PATH)
        after = os.times()
        if f"{count} succeeded" not in text or f" {count} 2xx" not in text:
            raise RuntimeError(f"h2load: not all succeeded:\n{text}")
        rate = float(text.split(" req/s")[0].rsplit(None, 1)[1])
        used = (after.children_user - before.children_user
                + after.children_system - before.children_system)
        return rate, used * 1e6 / count, count / rate * 1e3

    def peers(self, wire, in_flight):
        """(name, function that returns rate and CPU us) for each client there is."""
        few = in_flight == 1
        http2, http1 = (5_000, 2_000) if few else (50_000, 10_000)
        found = [(REFERENCE, lambda: self.by_hand(wire, in_flight, http2)),
                 ("cppless HTTP/2", lambda: self.ours("http2", wire, in_flight, http2)),
                 ("cppless HTTP/1.1", lambda: self.ours("http1", wire, in_flight, http1))]
        if shutil.which("h2load"):
            found.append(("h2load, unsigned", lambda: self.h2load(wire, in_flight, http2)[:2]))
        if self.has_libcurl:
            found.append(("libcurl", lambda: self.libcurl(wire, in_flight, http1)))
        if self.python and in_flight <= MOST_FOR_BOTO3:
            found.append(("boto3", lambda: self.boto3(wire, in_flight, 200 if few else 640)))
        return found

    def connecting(self, count):
        found = [(REFERENCE, lambda: self.by_hand("tls", count, count, "once")[0]),
                 ("cppless HTTP/2", lambda: self.ours("http2", "tls", count, count, "once")[0]),
                 ("cppless HTTP/1.1", lambda: self.ours("http1", "tls", count, count, "once")[0])]
        if shutil.which("h2load"):
            found.append(("h2load, unsigned", lambda: self.h2load("tls", count, count, "short")[2]))
        if self.has_libcurl:
            found.append(("libcurl", lambda: self.libcurl("tls", count, count, "once")[0]))
        return found

    def memory(self, count):
        return self.ours("http2", "silent", count, count, "memory")[0]

    def say_what_is_missing(self):
        for is_there, name, package in ((shutil.which("h2load"), "h2load", "nghttp2-client"),
                                        (self.has_libcurl, "libcurl", "libcurl4-openssl-dev"),
                                        (self.python, "boto3", "python3-boto3")):
            if not is_there:
                print(f"   {name} is left out: {package} is not installed (tools/setup bench)")


def find_python_with_boto3():
    for python in (sys.executable, DEBIANS_PYTHON):
        done = subprocess.run([python, "-c", "import boto3"], stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return python
    return None


def compare_rates(suite, case, peers):
    used = {name: [] for name, _ in peers}

    def measure(name, run):
        rate, cpu = run()
        used[name].append(cpu)
        return rate

    samples = suite.compare(case, "1/s", REFERENCE,
                            [(name, functools.partial(measure, name, run)) for name, run in peers])
    for name in samples:
        values = used[name][1:]  # the first round is thrown away
        ratios = None
        if name != REFERENCE and REFERENCE in samples:
            ratios = [value / base for value, base in zip(values, used[REFERENCE][1:])]
        suite.record(f"{case}/cpu", name, "us", values, ratios, REFERENCE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build" / "bench")
    parser.add_argument("--compiler", help="is not needed")
    suite = harness.Suite("lambda_client", parser)
    rates = [(wire, depth) for wire in WIRES for depth in DEPTHS if suite.wants(f"{wire}/{depth}")]
    wants_connect, wants_memory = suite.wants("connect/2000"), suite.wants("memory")
    if not rates and not wants_connect and not wants_memory:
        return 0
    clients = Clients(suite.options.build)
    try:
        clients.say_what_is_missing()
        for wire, depth in rates:
            compare_rates(suite, f"{wire}/{depth}", clients.peers(wire, depth))
        if wants_connect:
            suite.compare("connect/2000", "ms", REFERENCE, clients.connecting(2000))
        if wants_memory:
            suite.compare("memory", "bytes", "cppless HTTP/2",
                          [("cppless HTTP/2", lambda: clients.memory(2000))])
    finally:
        clients.close()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
