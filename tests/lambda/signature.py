# SPDX-License-Identifier: Apache-2.0
"""Compares our signatures with botocore's on random requests: `signature.py SIGN_PROGRAM [COUNT]`.

Exits with 77 (skipped) where there is no botocore.
"""

from __future__ import annotations

import random
import string
import subprocess
import sys

try:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:
    print("skipped: no botocore (Debian: python3-boto3)")
    sys.exit(77)

RANDOM = random.Random(20150830)
PATH = string.ascii_letters + string.digits + "-._~$:@!*'()"


def text(characters: str, least: int, most: int) -> str:
    return "".join(RANDOM.choice(characters) for _ in range(RANDOM.randint(least, most)))


def escaped(plain: str) -> str:
    unreserved = string.ascii_letters + string.digits + "-._~"
    return "".join(c if c in unreserved else "".join(f"%{b:02X}" for b in c.encode())
                   for c in plain)


def random_path() -> str:
    pieces = [RANDOM.choice([text(PATH, 1, 20), escaped(text(PATH + " %/ü", 1, 9)), ".", "..", ""])
              for _ in range(RANDOM.randint(0, 5))]
    return "/" + "/".join(pieces)


def request() -> tuple[list[str], str]:
    """The lines our program reads, and what it has to print."""
    method = RANDOM.choice(["GET", "POST", "PUT", "DELETE"])
    path = random_path()
    names = {text(string.ascii_letters + "-_", 1, 8) for _ in range(RANDOM.randint(0, 4))}
    query = "&".join(f"{escaped(name)}={escaped(text(PATH + ' &=+ü', 0, 9))}" for name in names
                     ) if RANDOM.random() < 0.4 else ""
    body = text(string.printable[:95], 0, 300)
    secret = text(string.ascii_letters + string.digits + "/+", 20, 90)
    token = text(string.ascii_letters + "/+=", 50, 400) if RANDOM.random() < 0.5 else ""
    date = (f"{RANDOM.randint(2000, 2099)}{RANDOM.randint(1, 12):02}{RANDOM.randint(1, 28):02}T"
            f"{RANDOM.randint(0, 23):02}{RANDOM.randint(0, 59):02}{RANDOM.randint(0, 59):02}Z")
    region = RANDOM.choice(["us-east-1", "eu-central-1", "cn-north-1"])
    service = RANDOM.choice(["lambda", "iam", "sts"])
    headers = {"host": RANDOM.choice(["lambda.us-east-1.amazonaws.com", "127.0.0.1:9000"]),
               "Content-Type": "application/json", "X-Amz-Invocation-Type": "RequestResponse"}
    for _ in range(RANDOM.randint(0, 3)):
        headers[f"x-{text(string.ascii_lowercase, 3, 9)}"] = text(PATH + "  ", 1, 30)

    aws = AWSRequest(method, f"http://{headers['host']}{path}{'?' if query else ''}{query}",
                     data=body.encode())
    for name, value in headers.items():
        aws.headers[name] = value
    signer = SigV4Auth(Credentials("AKID", secret, token or None), service, region)
    aws.context["timestamp"] = date
    # What add_auth does, with the time that it would take from the clock.
    signer._modify_request_before_signing(aws)
    canonical = signer.canonical_request(aws)
    signature = signer.signature(signer.string_to_sign(aws, canonical), aws)
    signed = signer.signed_headers(signer.headers_to_sign(aws))

    lines = [method, path, query, body, secret, token, date, region, service, str(len(headers))]
    for name, value in headers.items():
        lines += [name, value]
    return lines, f"{signed} {signature}"


def main(program: str, count: int) -> int:
    lines: list[str] = []
    expected: list[str] = []
    for _ in range(count):
        asked, answer = request()
        lines += asked
        expected.append(answer)
    found = subprocess.run([program], input="\n".join(lines) + "\n", text=True, timeout=300,
                           stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.splitlines()
    wrong = [at for at in range(count) if at >= len(found) or found[at] != expected[at]]
    for at in wrong[:5]:
        print(f"request {at}: botocore: {expected[at]}\n  ours: {(found + [''] * count)[at]}")
    print(f"{count - len(wrong)} of {count} signatures are botocore's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000))
