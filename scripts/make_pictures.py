#!/usr/bin/env python3
"""make_pictures.py MHA_CLI [--check]: makes the pictures of README.md in docs/pictures with the program.

attention.svg comes from `attention --format svg`; page.png is a screenshot of the page of `attention --format html`, taken by a
headless Chromium ($MHA_CHROMIUM, or one on the PATH). The PNG holds a checksum of the page without its weights.

--check needs no browser. It fails if the program draws another SVG (colours may differ by 2 of 255, because CPUs round
differently), or if the page's checksum is not the one in the PNG.
"""
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
FOLDER = os.path.join(ROOT, "docs/pictures")
SVG = ["attention", "--layer", "2", "--head", "1,2", "--format", "svg", "She is a great leader"]
PAGE = ["attention", "--format", "html", "I led a team that built a scalable API."]
SIZE = "1280,800"
CHECKSUM = b"Checksum of the page"
COLOR_TOLERANCE = 2


def output(program, arguments):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MHA_")}
    return subprocess.run([program, *arguments], env=env, check=True, stdout=subprocess.PIPE).stdout


def checksum(page):
    """SHA-256 of the page without its weights, whose last bits depend on the CPU."""
    return hashlib.sha256(re.sub(rb'(<script type="application/octet-stream"[^>]*>)[^<]*', rb"\1", page)).hexdigest().encode()


def chunks(png):
    at = 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + size]
        at += size + 12


def with_text(png, key, value):
    """The PNG with a tEXt chunk before its end."""
    body = b"tEXt" + key + b"\0" + value
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = png.rindex(b"IEND") - 4
    return png[:end] + chunk + png[end:]


def text_of(png, key):
    for kind, data in chunks(png):
        if kind == b"tEXt" and data.startswith(key + b"\0"):
            return data[len(key) + 1:]
    return None


def same_svg(a, b):
    color = re.compile(rb"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
    if color.sub(b"#", a) != color.sub(b"#", b):
        return False
    near = lambda x, y: all(abs(int(p, 16) - int(q, 16)) <= COLOR_TOLERANCE for p, q in zip(x, y))
    return all(near(x, y) for x, y in zip(color.findall(a), color.findall(b)))


def screenshot(page):
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("MHA_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        sys.exit("make_pictures: no Chromium; install Debian's package chromium, or name one in $MHA_CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        html, png = os.path.join(folder, "page.html"), os.path.join(folder, "page.png")
        with open(html, "wb") as file:
            file.write(page)
        subprocess.run([chromium, "--headless=new", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}",
                        f"--user-data-dir={folder}/profile", f"--screenshot={png}", *(["--no-sandbox"] if os.getuid() == 0 else []),
                        "file://" + html], check=True, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder}, timeout=120)
        with open(png, "rb") as file:
            return file.read()


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def write(name, data):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data)


def main():
    program = os.path.abspath(sys.argv[1])
    svg, page = output(program, SVG), output(program, PAGE)
    if "--check" not in sys.argv[2:]:
        os.makedirs(FOLDER, exist_ok=True)
        write("attention.svg", svg)
        write("page.png", with_text(screenshot(page), CHECKSUM, checksum(page)))
        return 0
    old = [name for name, current in (("attention.svg", same_svg(svg, read("attention.svg"))),
                                      ("page.png", text_of(read("page.png"), CHECKSUM) == checksum(page))) if not current]
    for name in old:
        print(f"docs/pictures/{name} is out of date; run scripts/make_pictures.py {sys.argv[1]}")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
