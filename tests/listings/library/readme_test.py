# SPDX-License-Identifier: Apache-2.0
"""The program that README.md opens with is a program, and does what the text says."""

import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[3] / "README.md"


def test_the_readmes_program_compiles_and_estimates_pi(context):
    source = re.search(r"^```cpp\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S).group(1)
    context.compile("-O2", context.write("readme.cpp", source), "-o", "readme", *context.link_flags)
    printed = context.run("./readme").stdout
    assert printed.startswith("3.14"), printed
