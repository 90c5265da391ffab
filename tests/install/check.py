#!/usr/bin/env python3
"""check.py CMAKE SOURCE BUILD COMPILER: installs the build into a temporary folder, runs the program from there, and builds a
program of another project with what was installed. The same project with add_subdirectory is configured only: its
sources are those that this build has compiled."""
import os
import subprocess
import sys
import tempfile

CMAKE, SOURCE, BUILD, COMPILER = sys.argv[1:]


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, expected, got):
    if expected not in got:
        sys.exit(f"{what}: expected {expected!r}, got {got!r}")


with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "prefix")
    run(CMAKE, "--install", BUILD, "--prefix", prefix)
    program = os.path.join(prefix, "bin/mha-cli")
    expect("model list", "two-heads", run(program, "model", "list", MHA_MODEL="", MHA_MODEL_PATH=""))
    models = os.path.join(prefix, "share/mha/models")
    expect("a model by name", os.path.join(models, "two-heads"),
           run(program, "model", "info", "two-heads", "--format", "json", MHA_MODEL_PATH=""))

    consumer = os.path.join(SOURCE, "tests/install")
    configure = [CMAKE, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}"]
    built = os.path.join(folder, "find_package")
    run(*configure, "-S", os.path.join(consumer, "find_package"), "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(CMAKE, "--build", built)
    expect("the installed library", "5 vectors of 16 numbers", run(os.path.join(built, "consumer")))

    inside = os.path.join(folder, "add_subdirectory")
    run(*configure, "-S", os.path.join(consumer, "add_subdirectory"), "-B", inside, f"-DMHA_SOURCE={SOURCE}")
    targets = run("ninja", "-C", inside, "-t", "targets", "all")
    expect("add_subdirectory", "libmha.a", targets)
    for unwanted in ("mha-cli:", "mha_unit"):
        if unwanted in targets:
            sys.exit(f"add_subdirectory: expected only the library, got the target {unwanted}")
