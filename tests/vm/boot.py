# SPDX-License-Identifier: Apache-2.0
"""What the tests of other kernels share."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))

import guest  # noqa: E402
import kernel_image  # noqa: E402
from fpless_run import skip  # noqa: E402

TIMEOUT_S = 3000  # of a guest: hung, not slow


def kernel_or_skip(series):
    """The kernel. Where it cannot be had the test is skipped: that says nothing of fpless."""
    if not shutil.which(guest.QEMU):
        return skip(f"{guest.QEMU} is not installed")
    try:
        return kernel_image.get(series)
    except (kernel_image.CannotFetch, OSError) as error:
        return skip(f"no kernel to boot: {error}")


def boot(kernel, archive, script, folder, **more):
    """@more: of guest.Guest."""
    try:
        return guest.Guest(kernel, archive, script, folder, timeout_s=TIMEOUT_S, **more)
    except guest.GuestFailed as error:
        sys.exit(f"FAULT: {error}")


def end(faults, shown=20):
    """Prints what is wrong; the exit status of the test."""
    for fault in faults[:shown]:
        print("FAULT:", fault)
    if len(faults) > shown:
        print(f"FAULT: and {len(faults) - shown} more")
    return 1 if faults else 0
