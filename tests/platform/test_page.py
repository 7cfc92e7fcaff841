# SPDX-License-Identifier: Apache-2.0
"""The page and the numbers behind it."""

from __future__ import annotations

import json
import unittest
import urllib.request

from cloud import Cloud


class Page(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)

    def get(self, path: str) -> tuple[str, dict[str, str]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.cloud.port}{path}") as answer:
            return answer.read().decode(), dict(answer.headers)

    def test_the_page_needs_nothing_from_elsewhere(self) -> None:
        text, headers = self.get("/")
        self.assertIn("<title>cppless platform</title>", text)
        self.assertNotIn("http://", text)
        self.assertNotIn("https://", text)
        self.assertIn("default-src 'none'", {name.lower(): value for name, value in headers.items()}["content-security-policy"])

    def test_the_numbers_follow_what_happens(self) -> None:
        self.cloud.create("f")
        self.cloud.run("f", "count")
        self.cloud.invoke("f", "throw")
        [row] = json.loads(self.get("/.cppless/status")[0])["functions"]
        self.assertEqual((row["name"], row["invocations"], row["errors"], row["cold_starts"]), ("f", 2, 1, 1))
        self.assertGreater(row["p50_ms"], 0)

    def test_code_is_given_only_to_whom_it_was_promised(self) -> None:
        self.cloud.create("f")
        location = self.cloud.client().get_function(FunctionName="f")["Code"]["Location"]
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(location[:-1] + ("0" if location[-1] != "0" else "1"))
        self.assertEqual(caught.exception.code, 403)


if __name__ == "__main__":
    unittest.main()
