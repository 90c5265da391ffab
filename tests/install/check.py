#!/usr/bin/env python3
"""Installs a build into temporary folders, and uses what is there as other people would.

check.py CMAKE SOURCE BUILD COMPILER

The program runs from two prefixes side by side. Another project finds the library by CMake and by pkg-config, in a
folder that was moved after it was installed. The same project with add_subdirectory is only configured: this build has
compiled the same sources.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CMAKE, SOURCE, BUILD, COMPILER = sys.argv[1:]
CONSUMER = Path(SOURCE) / "tests/install"


def run(*command, **environment):
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, expected, got):
    if expected not in got:
        sys.exit(f"{what}: expected {expected!r}, got {got!r}")


def check_program(prefix):
    program = prefix / "bin/mha-cli"
    expect("model list", "two-heads", run(program, "model", "list", MHA_MODEL="", MHA_MODEL_PATH=""))
    expect("encode", "5 tokens", run(program, "encode", "She is a great leader", MHA_MODEL="", MHA_MODEL_PATH=""))


def check_files(prefix):
    """Nothing of the training is installed, and the weights are in the program alone."""
    names = [path.relative_to(prefix).as_posix() for path in prefix.rglob("*")]
    unwanted = [n for n in names if n.endswith((".safetensors", ".csv", "curve.png", ".gitkeep")) or "/train" in n]
    if unwanted:
        sys.exit(f"installed, but of no use: {unwanted}")
    for wanted in ("share/doc/mha-cli/LICENSE", "share/doc/mha-cli/models/two-heads/MODEL.md"):
        if wanted not in names:
            sys.exit(f"not installed: {wanted}")


def check_find_package(folder, prefix, configure):
    built = folder / "find_package"
    run(*configure, "-S", CONSUMER / "find_package", "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(CMAKE, "--build", built)
    expect("find_package", "5 vectors of 16 numbers", run(built / "consumer"))


def check_pkg_config(folder, prefix):
    files = list(prefix.rglob("mha.pc"))
    if len(files) != 1:
        sys.exit(f"expected one mha.pc, got {files}")
    flags = run("pkg-config", "--cflags", "--libs", "mha", PKG_CONFIG_PATH=str(files[0].parent)).split()
    program = folder / "by-pkg-config"
    run(*COMPILER.split(), "-std=c++20", CONSUMER / "consumer.cpp", "-o", program, *flags)
    expect("pkg-config", "5 vectors of 16 numbers", run(program))


def check_add_subdirectory(folder, configure):
    inside = folder / "add_subdirectory"
    run(*configure, "-S", CONSUMER / "add_subdirectory", "-B", inside, f"-DMHA_SOURCE={SOURCE}")
    targets = run("ninja", "-C", inside, "-t", "targets", "all")
    expect("add_subdirectory", "libmha.a", targets)
    for unwanted in ("mha-cli:", "mha_unit"):
        if unwanted in targets:
            sys.exit(f"add_subdirectory: expected only the library, got the target {unwanted}")


def main():
    configure = [CMAKE, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second = folder / "one", folder / "another prefix"
        for prefix in (first, second):
            run(CMAKE, "--install", BUILD, "--prefix", prefix)
        check_program(first)
        shutil.rmtree(first)
        check_program(second)
        check_files(second)
        moved = folder / "moved"
        second.rename(moved)
        check_program(moved)
        check_find_package(folder, moved, configure)
        check_pkg_config(folder, moved)
        check_add_subdirectory(folder, configure)


if __name__ == "__main__":
    main()
