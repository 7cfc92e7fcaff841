# SPDX-License-Identifier: Apache-2.0
"""From REPORT lines to what AWS bills."""

from __future__ import annotations

import sys
import unittest

from .support import ROOT, CommandTest

sys.path.insert(0, str(ROOT / "cli"))
from cppless import cost  # noqa: E402

COLD = ("REPORT RequestId: 8f5078b4\tDuration: 12.34 ms\tBilled Duration: 100 ms\tMemory Size: 1024 MB\t"
        "Max Memory Used: 30 MB\tInit Duration: 8.50 ms\t")
WARM = ("2024-01-01T00:00:00Z REPORT RequestId: 9f5078b4\tDuration: 899.01 ms\tBilled Duration: 900 ms\t"
        "Memory Size: 2048 MB\tMax Memory Used: 700 MB\t")


class Bill(unittest.TestCase):
    def test_memory_times_billed_time_is_what_counts(self) -> None:
        bill = cost.bill(["START RequestId: 8f5078b4 Version: $LATEST", COLD, "REPORT of something else", WARM], "x86_64")
        self.assertEqual((bill.requests, bill.cold_starts, bill.billed_ms, bill.most_memory_mb), (2, 1, 1000, 700))
        self.assertAlmostEqual(bill.gb_seconds, 0.1 + 1.8)
        self.assertAlmostEqual(bill.init_ms, 8.5)
        self.assertAlmostEqual(bill.compute_dollars, 1.9 * 0.0000166667)
        self.assertAlmostEqual(bill.request_dollars, 2 * 0.0000002)

    def test_arm64_is_a_fifth_cheaper(self) -> None:
        self.assertAlmostEqual(cost.bill([WARM], "arm64").compute_dollars
                               / cost.bill([WARM], "x86_64").compute_dollars, 0.8, 3)

    def test_storage_above_512_mb_costs(self) -> None:
        self.assertAlmostEqual(cost.bill([WARM], "x86_64", 1536).compute_dollars
                               - cost.bill([WARM], "x86_64").compute_dollars, 0.9 * 0.0000000309)

    def test_a_million_requests_of_a_gb_second_cost_what_the_price_list_says(self) -> None:
        bill = cost.Bill("x86_64", requests=1_000_000, gb_seconds=1_000_000)
        self.assertEqual(cost.dollars(bill.dollars), "$16.87")

    def test_small_amounts_keep_their_digits(self) -> None:
        self.assertEqual([cost.dollars(amount) for amount in (0, 0.000031, 0.1234, 0.5, 1.005, 1234.5)],
                         ["$0.00", "$0.000031", "$0.123", "$0.50", "$1.00", "$1,234.50"])


class Command(CommandTest):
    def test_a_log_is_added_up(self) -> None:
        ran = self.cppless("cost", "-", text_in=f"{COLD}\nnoise\n{WARM}\n")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"invocations +2\n")
        self.assertRegex(ran.stdout, r"compute +1\.900 GB-s, \$0\.0000317\n")
        self.assertRegex(ran.stdout, r"prices +x86_64, 20\d\d-\d\d-\d\d, us-east-1")

    def test_a_log_without_reports_is_no_bill(self) -> None:
        ran = self.cppless("cost", "-", text_in="nothing\n")
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
