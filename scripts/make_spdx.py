#!/usr/bin/env python3
"""Prints an SPDX 2.3 list (JSON) of what is inside a release: our parts, models, and libraries with their versions.

make_spdx.py VERSION COMMIT PORTABLE    PORTABLE is the folder of the portable program (scripts/package)

Versions are those of the Debian packages that this machine has, by which the release was built.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

# Debian's package, the licence, and how it gets into the program.
LIBRARIES = [
    ("libcli11-dev", "BSD-3-Clause", "headers"),
    ("nlohmann-json3-dev", "MIT", "headers"),
    ("libhwy-dev", "Apache-2.0", "headers"),
    ("libspdlog-dev", "MIT", "headers"),
    ("libfmt-dev", "MIT", "headers"),
    ("libboost-dev", "BSL-1.0", "headers"),
    ("libmd-dev", "BSD-3-Clause AND LicenseRef-public-domain", "static"),
    ("prometheus-cpp-dev", "MIT", "beside"),
    ("libonig-dev", "BSD-2-Clause", "beside"),
    ("libutf8proc-dev", "MIT AND Unicode-DFS-2015", "beside"),
    ("libminizip-dev", "Zlib", "beside"),
    ("libpng-dev", "libpng-2.0", "beside"),
    ("zlib1g-dev", "Zlib", "beside"),
    ("libstdc++6", "GPL-3.0-or-later WITH GCC-exception-3.1", "static"),
]
MODELS = [("contextual-512", "CC-BY-SA-4.0"), ("two-heads", "Apache-2.0")]
HOW = {
    "headers": "Compiled into the program from headers",
    "static": "Linked into the portable program",
    "beside": "A shared library beside the portable program; a dependency of the Debian package",
}


def debian_version(package):
    command = ["dpkg-query", "-W", "-f", "${Version}\n", package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def part(name, version, licence, comment):
    identifier = "SPDXRef-" + "".join(c if c.isalnum() else "-" for c in name)
    return {
        "SPDXID": identifier,
        "name": name,
        "versionInfo": version,
        "licenseDeclared": licence,
        "licenseConcluded": licence,
        "downloadLocation": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": False,
        "comment": comment,
    }


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    version, commit, portable = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    program = part("mha-cli", version, "Apache-2.0 AND CC-BY-SA-4.0", f"Built from commit {commit}")
    parts = [part(name, version, licence, "A model inside the program") for name, licence in MODELS]
    parts += [part(name, debian_version(name), licence, HOW[how]) for name, licence, how in LIBRARIES]
    beside = sum(how == "beside" for _, _, how in LIBRARIES)
    found = sorted(path.name for path in (portable / "lib/mha-cli").iterdir())
    if len(found) != beside:
        sys.exit(f"make_spdx: expected {beside} libraries beside the program, got {found}: mend LIBRARIES")
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", program)] + [(program["SPDXID"], "CONTAINS", p) for p in parts]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"mha-cli-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/mha-cli-{version}-{commit}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)),
            "creators": ["Tool: scripts/make_spdx.py"],
        },
        "packages": [program, *parts],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b["SPDXID"]} for a, kind, b in relations
        ],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
