# SPDX-License-Identifier: Apache-2.0
"""plots.py ROWS.json DIR: one PNG per benchmark and unit: a group of bars per case, a bar per
implementation, low to high as the error bar. Needs matplotlib; tools/bench --plots provides it."""

import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def unique(values):
    return list(dict.fromkeys(values))


def draw(benchmark, unit, rows, folder):
    cases = unique(row["case"] for row in rows)
    names = unique(row["implementation"] for row in rows)
    found = {(row["case"], row["implementation"]): row for row in rows}
    figure, axes = plt.subplots(figsize=(max(6, 1.2 + 0.28 * len(cases) * (len(names) + 1)), 4.5))
    width = 0.84 / len(names)
    for position, name in enumerate(names):
        for group, case in enumerate(cases):
            row = found.get((case, name))
            if row is None:
                continue
            error = [[row["median"] - row["low"]], [row["high"] - row["median"]]]
            axes.bar(group + position * width, row["median"], width, yerr=error, capsize=2,
                     color=f"C{position % 10}", error_kw={"linewidth": 0.8})
        axes.bar(0, 0, color=f"C{position % 10}", label=name)  # the legend's entry, also if absent
    positive = [row["median"] for row in rows if row["median"] > 0]
    if positive and max(positive) > 50 * min(positive):
        axes.set_yscale("log")
    axes.set_xticks([group + 0.42 - width / 2 for group in range(len(cases))])
    axes.set_xticklabels(cases, rotation=20, ha="right")
    axes.set_ylabel(unit)
    axes.set_title(benchmark)
    axes.legend(fontsize=8)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    figure.tight_layout()
    path = folder / (re.sub(r"[^a-z0-9]+", "_", f"{benchmark}_{unit}".lower()).strip("_") + ".png")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(path)


def main():
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for benchmark, unit in unique((row["benchmark"], row["unit"]) for row in rows):
        chosen = [row for row in rows if (row["benchmark"], row["unit"]) == (benchmark, unit)]
        draw(benchmark, unit, chosen, folder)


if __name__ == "__main__":
    main()
