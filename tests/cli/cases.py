#!/usr/bin/env python3
"""cases.py RUN_PY MHA_CLI JOBS: runs the executable cases of ../shared, those of its folder next/ too; fails if a case fails."""
import subprocess
import sys
from pathlib import Path


def main():
    run_py, program, jobs = sys.argv[1:4]
    run = [sys.executable, run_py, "--mha", program, "--jobs", jobs]
    later = sorted(str(path) for path in (Path(run_py).parent / "next").glob("*.jsonl"))
    failed = subprocess.run(run).returncode != 0
    if later:
        failed = subprocess.run([*run, *later]).returncode != 0 or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
