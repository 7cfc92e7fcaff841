# SPDX-License-Identifier: Apache-2.0
"""Entry of `python3 cli/cppless`; PYTHONPATH stays untouched, the user's program inherits it."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    if sys.version_info < (3, 9):
        sys.exit("cppless: error: Python %d.%d is too old: 3.9 or newer is needed (Debian 12 has 3.11)"
                 % sys.version_info[:2])
    from cppless.main import main

    sys.exit(main(sys.argv[1:]))
