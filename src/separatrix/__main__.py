# SPDX-License-Identifier: BSD-3-Clause
"""``python -m separatrix``, for environments whose scripts are not on the path."""

from separatrix.cli import main

if __name__ == "__main__":
    main()
