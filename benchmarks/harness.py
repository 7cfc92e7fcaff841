# SPDX-License-Identifier: Apache-2.0
"""The harness of the benchmarks that are not C++ programs: same table, rows and rules as harness.hpp.

Implementations run in turn, a ratio is taken within one round, the first round is thrown away, a
wrong answer (an exception) gives exit code 1, and times never do.
"""

import argparse
import json
import statistics
import sys


class Suite:
    def __init__(self, benchmark, parser=None):
        parser = parser or argparse.ArgumentParser()
        parser.add_argument("--repetitions", type=int, default=5, metavar="N")
        parser.add_argument("--filter", default="", metavar="S")
        parser.add_argument("--json", metavar="FILE", help="append one JSON object per line")
        parser.add_argument("--list", action="store_true", help="print the cases and stop")
        self.benchmark = benchmark
        self.options = parser.parse_args()
        self.wrong_answers = 0
        self.last_case = None
        if self.options.repetitions < 1:
            parser.error(f"--repetitions is {self.options.repetitions}, it must be at least 1")
        if not self.options.list:
            print(f"== {benchmark} ({self.options.repetitions} repetitions in turn, "
                  "median [low .. high])", flush=True)

    def wants(self, case):
        if self.options.list:
            print(f"{self.benchmark}/{case}")
            return False
        return self.options.filter in case

    def compare(self, case, unit, reference, implementations):
        """`implementations`: list of (name, function returning one sample). Returns all samples."""
        samples = {name: [] for name, _ in implementations}
        for round_number in range(self.options.repetitions + 1):
            for name, measure in implementations:
                if name not in samples:
                    continue
                try:
                    sample = measure()
                except Exception as error:  # whatever it is, the answer is not there
                    print(f"{self.benchmark}/{case}/{name}: {error}", file=sys.stderr, flush=True)
                    self.wrong_answers += 1
                    del samples[name]
                    continue
                if round_number > 0:
                    samples[name].append(sample)
        for name, values in samples.items():
            ratios = None
            if reference in samples and name != reference:
                ratios = [value / base for value, base in zip(values, samples[reference])]
            self.record(case, name, unit, values, ratios, reference, in_turn=True)
        return samples

    def record(self, case, name, unit, values, ratios=None, reference=None, in_turn=False):
        if self.last_case != (case, unit):
            print(f"-- {case}, {unit}")
            self.last_case = (case, unit)
        median, low, high = statistics.median(values), min(values), max(values)
        line = f"   {name:<34} {median:12.5g}  [{low:.5g} .. {high:.5g}]"
        if ratios:
            line += (f"   {statistics.median(ratios):.3g}x "
                     f"[{min(ratios):.3g} .. {max(ratios):.3g}] of {reference}")
        print(line, flush=True)
        if self.options.json:
            with open(self.options.json, "a", encoding="utf-8") as file:
                row = {"benchmark": self.benchmark, "case": case, "implementation": name,
                       "unit": unit, "median": median, "low": low, "high": high}
                if in_turn:
                    row["samples"] = values
                file.write(json.dumps(row) + "\n")

    def finish(self):
        if self.wrong_answers:
            print(f"{self.benchmark}: {self.wrong_answers} wrong answers", file=sys.stderr)
        return 1 if self.wrong_answers else 0
