#!/usr/bin/env python3
"""cases.py RUN_PY MHA_CLI JOBS: runs the executable cases of ../shared; fails if a case fails that is not listed here.

A case is listed only if it contradicts docs/cli.md and the program follows docs/cli.md."""
import subprocess
import sys

DISAGREE = {
    # `tokens` are vocabulary entries (docs/cli.md, "Records"); the case wants the text that the added token matched.
    "tokenizing/tok-added-before-normalizer",
}


def main():
    run_py, program, jobs = sys.argv[1:4]
    run = subprocess.run([sys.executable, run_py, "--mha", program, "--jobs", jobs], stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    failed = {line.split()[1].rstrip(":") for line in run.stdout.splitlines() if line.startswith("FAIL ")}
    for case in sorted(failed & DISAGREE):
        print(f"expected: {case} disagrees with the contract")
    if run.returncode not in (0, 1) or "passed" not in run.stdout:
        return 1
    return 1 if failed - DISAGREE else 0


if __name__ == "__main__":
    sys.exit(main())
