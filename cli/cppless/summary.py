# SPDX-License-Identifier: Apache-2.0
"""What the library counted (the file CPPLESS_SUMMARY names) as one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping


def read(path: Path) -> dict[str, int] | None:
    """None if the program wrote no summary, e.g. because it was killed."""
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict):
        return None
    return {name: int(value) for name, value in values.items() if isinstance(value, (int, float))}


def line(values: Mapping[str, int]) -> str:
    tasks = values.get("tasks", 0)
    if tasks == 0:
        return "no tasks"
    wall, work = values.get("wall_ns", 0), values.get("task_ns", 0)
    workers = values.get("workers", 0)
    parts = [count(tasks, "task")
             + (f" on {count(workers, 'worker')}" if workers else "")
             + f" in {duration(wall)}",
             f"{duration(work)} in tasks"]
    if wall > 0 and workers:
        parts.append(f"speed-up {work / wall:.1f}x over serial task time")
    elif work > wall > 0:  # elsewhere, where nobody knows how many share a core
        parts.append(f"{work / wall:.1f} at once on average")
    parts.append(count(values.get("retries", 0), "retry", "retries"))
    failed = values.get("failed", 0)
    if failed:
        parts.append(f"{failed:,} failed")
    return ", ".join(parts)


def count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def duration(nanoseconds: float) -> str:
    """Three significant digits: 812 ns, 4.31 ms, 12.0 s, 3 min 20 s."""
    for unit, size in (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)):
        value = nanoseconds / size
        if value < 999.5 and (unit != "s" or value < 120):
            digits = 0 if value >= 99.95 or unit == "ns" else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f} {unit}"
    minutes, seconds = divmod(round(nanoseconds / 1e9), 60)
    return f"{minutes:,} min {seconds} s"
