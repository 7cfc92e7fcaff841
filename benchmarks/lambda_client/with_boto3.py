#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""boto3 with threads: `with_boto3.py URL CERTIFICATE IN_FLIGHT COUNT` prints invocations per second
and microseconds of processor time for each, as bench_lambda_ours does."""

import resource
import sys
import threading
import time

import boto3
import botocore.config

ANSWER = b'"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="'
BODY = b'"' + b"x" * 268 + b'"'


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def invoke(client, times, wrong):
    for _ in range(times):
        answer = client.invoke(FunctionName="boto3-0123456789abcdef", Payload=BODY)
        if answer["StatusCode"] != 200 or answer["Payload"].read() != ANSWER:
            wrong.append(answer)


def run_round(client, in_flight, count):
    wrong = []
    threads = [threading.Thread(target=invoke, args=(client, count // in_flight, wrong))
               for _ in range(in_flight)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if wrong:
        sys.exit(f"{len(wrong)} wrong answers, the first: {wrong[0]}")


def main():
    url, certificate, in_flight, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    count -= count % in_flight
    config = botocore.config.Config(max_pool_connections=in_flight, retries={"max_attempts": 0})
    client = boto3.client("lambda", region_name="us-east-1", endpoint_url=url, verify=certificate,
                          config=config)
    run_round(client, in_flight, in_flight)
    cpu, begin = cpu_seconds(), time.monotonic()
    run_round(client, in_flight, count)
    seconds = time.monotonic() - begin
    print(f"{count / seconds:.1f} {(cpu_seconds() - cpu) * 1e6 / count:.3f}")


if __name__ == "__main__":
    main()
