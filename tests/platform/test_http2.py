# SPDX-License-Identifier: Apache-2.0
"""HTTP/2, by curl: prior knowledge and ALPN."""

from __future__ import annotations

import shutil
import subprocess
import unittest

from cloud import Cloud, signed

PATH = "/2015-03-31/functions/f/invocations"


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class Http2(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cloud = Cloud()
        cls.cloud.create("f")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cloud.close()

    def post(self, base: str, *options: str, body: str = '{"do": "count"}', times: int = 1) -> list[str]:
        headers = signed(self.cloud, PATH, body.encode(), base.split("/")[2])
        words = ["curl", "-sS", "--max-time", "30", *options, "--data-binary", "@-", "-H", "Content-Type:"]
        for name, value in headers.items():
            words += ["-H", f"{name}: {value}"]
        words += ["-w", "|%{http_version}|%{http_code}\n"] + [base + PATH] * times
        ended = subprocess.run(words, input=body, capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.splitlines()

    def test_prior_knowledge_on_the_plain_port(self) -> None:
        [line] = self.post(f"http://127.0.0.1:{self.cloud.port}", "--http2-prior-knowledge")
        self.assertRegex(line, r'^"\d+"\|2\|200$')

    def test_alpn_on_the_tls_port(self) -> None:
        ca = str(self.cloud.state / "tls" / "ca.pem")
        for option, version in (("--http2", "2"), ("--http1.1", "1.1")):
            [line] = self.post(f"https://localhost:{self.cloud.tls_port}", option, "--cacert", ca)
            self.assertRegex(line, rf'^"\d+"\|{version}\|200$')

    def test_large_bodies_pass_flow_control_both_ways(self) -> None:
        body = '"' + "y" * 5_000_000 + '"'
        [line] = self.post(f"http://127.0.0.1:{self.cloud.port}", "--http2-prior-knowledge", body=body)
        self.assertEqual(line, body + "|2|200")

    def test_a_body_that_is_too_large_is_answered(self) -> None:
        [line] = self.post(f"http://127.0.0.1:{self.cloud.port}", "--http2-prior-knowledge", body='"' + "y" * 7_000_000 + '"')
        self.assertRegex(line, r"must be smaller than 6291556.*\|2\|413$")


if __name__ == "__main__":
    unittest.main()
