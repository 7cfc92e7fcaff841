# SPDX-License-Identifier: Apache-2.0
"""What AWS bills for invocations, computed from their REPORT lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable

from .summary import count

PRICES_OF = "2025-08-01, us-east-1"


@dataclass(frozen=True)
class Price:
    """In dollars, without the free tier. Of the first tier, which ends at 6 billion GB-s a month (arm64:
    7.5); what is above costs 10 to 20 % less."""

    gb_second: float
    request: float
    storage_gb_second: float  # of ephemeral storage above 512 MB


PRICES = {"x86_64": Price(0.0000166667, 0.20e-6, 0.0000000309),
          "arm64": Price(0.0000133334, 0.20e-6, 0.0000000309)}

REPORT = re.compile(r"REPORT RequestId: (?P<id>\S+)\s+Duration: (?P<duration>[\d.]+) ms\s+"
                    r"Billed Duration: (?P<billed>\d+) ms\s+Memory Size: (?P<memory>\d+) MB\s+"
                    r"Max Memory Used: (?P<used>\d+) MB(?:\s+Init Duration: (?P<init>[\d.]+) ms)?")


@dataclass
class Bill:
    architecture: str = "x86_64"
    requests: int = 0
    cold_starts: int = 0
    gb_seconds: float = 0.0
    storage_gb_seconds: float = 0.0
    billed_ms: int = 0
    init_ms: float = 0.0
    most_memory_mb: int = 0

    @property
    def compute_dollars(self) -> float:
        price = PRICES[self.architecture]
        return self.gb_seconds * price.gb_second + self.storage_gb_seconds * price.storage_gb_second

    @property
    def request_dollars(self) -> float:
        return self.requests * PRICES[self.architecture].request

    @property
    def dollars(self) -> float:
        return self.compute_dollars + self.request_dollars

    def line(self) -> str:
        return (f"{count(self.requests, 'invocation')}, {count(self.cold_starts, 'cold start')}, "
                f"{self.gb_seconds:,.3f} GB-s: {dollars(self.dollars)} on AWS "
                f"(compute {dollars(self.compute_dollars)}, requests {dollars(self.request_dollars)}; "
                f"{self.architecture}, prices of {PRICES_OF})")

    def table(self) -> list[str]:
        rows = [("invocations", f"{self.requests:,}"), ("cold starts", f"{self.cold_starts:,}"),
                ("time in init", f"{self.init_ms / 1000:,.3f} s"),
                ("billed time", f"{self.billed_ms / 1000:,.3f} s"),
                ("most memory used", f"{self.most_memory_mb:,} MB"),
                ("compute", f"{self.gb_seconds:,.3f} GB-s, {dollars(self.compute_dollars)}"),
                ("requests", dollars(self.request_dollars)), ("total", dollars(self.dollars)),
                ("prices", f"{self.architecture}, {PRICES_OF}, without free tier")]
        return [f"{name:17} {value}" for name, value in rows]


def bill(lines: Iterable[str], architecture: str, storage_mb: int = 512) -> Bill:
    """The bill of the REPORT lines among `lines`; a request that is reported twice counts twice, as
    AWS bills retries."""
    total = Bill(architecture)
    for line in lines:
        found = REPORT.search(line)
        if found is None:
            continue
        seconds = int(found["billed"]) / 1000
        total.requests += 1
        total.billed_ms += int(found["billed"])
        total.gb_seconds += int(found["memory"]) / 1024 * seconds
        total.storage_gb_seconds += max(0, storage_mb - 512) / 1024 * seconds
        total.most_memory_mb = max(total.most_memory_mb, int(found["used"]))
        if found["init"]:
            total.cold_starts += 1
            total.init_ms += float(found["init"])
    return total


def dollars(amount: float) -> str:
    """Cents for large amounts; small ones keep three digits that mean something."""
    if amount >= 1 or amount == 0:
        return f"${amount:,.2f}"
    digits = 2
    while round(amount, digits) < amount * 0.995 or round(amount, digits) > amount * 1.005:
        digits += 1
    return f"${amount:.{digits}f}"
