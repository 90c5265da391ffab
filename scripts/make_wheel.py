#!/usr/bin/env python3
"""Makes a Python wheel of the portable program: `pip install` puts mha-cli on the PATH, as a program without Python.

make_wheel.py FOLDER VERSION OUT    FOLDER is what `cmake --install BUILD --component portable --prefix FOLDER` made

The platform tag names the glibc that the program needs. Times in the archive are SOURCE_DATE_EPOCH, so that the same
folder gives the same bytes.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

SUMMARY = "Runs transformer encoders and shows what multi-head attention does inside them"


def needed_glibc(folder):
    """The newest version of glibc's symbols that a file asks for, such as (2, 34)."""
    newest = (2, 17)
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            symbols = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
            for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols):
                newest = max(newest, (int(major), int(minor)))
    return newest


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, version, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    major, minor = needed_glibc(folder)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    name = f"mha_cli-{version}"

    metadata = f"Metadata-Version: 2.1\nName: mha-cli\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
    metadata += f"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    metadata += (folder / "share/doc/mha-cli/README.md").read_text(encoding="utf-8")
    wheel = f"Wheel-Version: 1.0\nGenerator: mha-cli\nRoot-Is-Purelib: false\nTag: {tag}\n"

    files = {}  # name in the archive: bytes, and whether it is a program
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        place = path.relative_to(folder)
        is_program = place.parts[0] == "bin"
        inside = f"{name}.data/scripts/{path.name}" if is_program else f"{name}.data/data/{place.as_posix()}"
        files[inside] = (path.read_bytes(), is_program)
    files[f"{name}.dist-info/METADATA"] = (metadata.encode(), False)
    files[f"{name}.dist-info/WHEEL"] = (wheel.encode(), False)
    record = "".join(f"{n},sha256={digest(data)},{len(data)}\n" for n, (data, _) in files.items())
    files[f"{name}.dist-info/RECORD"] = (f"{record}{name}.dist-info/RECORD,,\n".encode(), False)

    moment = max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800)  # zip knows no time before 1980
    archive = out / f"{name}-{tag}.whl"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for inside, (data, is_program) in files.items():
            entry = zipfile.ZipInfo(inside, time.gmtime(moment)[:6])
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data)
    print(archive)


if __name__ == "__main__":
    main()
