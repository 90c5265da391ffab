#!/usr/bin/env python3
"""studio.py MHA_CLI [SCREENSHOTS]: opens the studio in a headless Chromium ($MHA_CHROMIUM or on the PATH), view by view, by
its link alone. Says so and passes if no Chromium is there."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from urllib.parse import urlencode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import Server

VIEWS = {
    "attention": ({"text": "She is a great leader"}, [r'<iframe src="blob:[^"]+" title="Attention"']),
    "ablated": ({"view": "attention", "text": "She is", "ablate": "0.1,1.*"}, [r'title="Attention"', r'title="Attention without heads 0\.1,1\.\*"', r'class="two"']),
    "explain": ({"text": "She is a great leader", "layer": "2"}, [r'title="Steps of layer 2"']),
    "tokens": ({"text": "a <b>cat</b>", "second": "the dog"}, [r"<caption>Cosine", r"<th scope=\"col\">dog</th>", r"<td class=\"best\">-?\d\.\d\d</td>"]),
    "layers": ({"text": "a cat", "second": "the dog"}, [r"Sentence vectors: cosine", r"Jensen-Shannon", r">3\.7</th>"]),
    "refused": ({"view": "attention", "text": "a", "ablate": "99"}, [r'class="bad"[^>]*>[^<]*ablate']),
}


def main():
    program = os.path.abspath(sys.argv[1])
    shots = sys.argv[2] if len(sys.argv) > 2 else None
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = os.environ.get("MHA_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not chromium:
        print("skipped: no Chromium")
        return 0
    failures = 0
    with Server(program) as server, tempfile.TemporaryDirectory() as profile:
        page = server.get("/").body.decode()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        if "default-src 'none'" not in policy or "http" in policy or re.search(r'(?:src|href)="(?!#)', page):
            print("the page may load from elsewhere")
            failures += 1
        common = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--virtual-time-budget=20000"]
        for name, (state, expected) in VIEWS.items():
            url = server.url + "/#" + urlencode({"view": name, **state})
            dom = subprocess.run([*common, "--dump-dom", url], capture_output=True, text=True, timeout=120).stdout
            for pattern in [*expected, *([] if name == "refused" else [r'id="status"[^>]*>Done\.'])]:
                if not re.search(pattern, dom):
                    print(f"{name}: expected {pattern}, got {dom[dom.find('id=' + chr(34) + 'status'):][:600]}")
                    failures += 1
            if shots:
                subprocess.run([*common, "--window-size=1400,1000", f"--screenshot={os.path.join(shots, name + '.png')}", url], capture_output=True, timeout=120)
    print("ok" if not failures else f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
