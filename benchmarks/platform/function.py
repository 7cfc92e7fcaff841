#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What function.cpp does, in Python with its standard library."""

import time

BEGAN = time.monotonic_ns()

import http.client  # noqa: E402
import os  # noqa: E402


def main():
    peer = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    while True:
        peer.request("GET", "/2018-06-01/runtime/invocation/next")
        event = peer.getresponse()
        event.read()
        name = event.headers["Lambda-Runtime-Aws-Request-Id"]
        peer.request("POST", f"/2018-06-01/runtime/invocation/{name}/response", str(BEGAN))
        peer.getresponse().read()
        if "ONCE" in os.environ:
            return


if __name__ == "__main__":
    main()
