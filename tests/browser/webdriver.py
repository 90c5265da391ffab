"""A page in a headless Chromium, driven by chromedriver (W3C WebDriver), with Python's own library alone."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

DOWN, RIGHT = "\ue015", "\ue014"  # keys, as WebDriver writes them
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in WebDriver's answers


class NotFound(Exception):
    """A program that is not installed."""


def find(*names):
    for name in names:
        if shutil.which(name):
            return shutil.which(name)
    raise NotFound(names[0])


class Browser:
    def __init__(self, width, height):
        chromium = find("chromium", "chromium-browser", "google-chrome")
        driver = find("chromedriver")
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.session = None
        try:
            self.url = f"http://127.0.0.1:{self.read_port()}/session"
            options = {
                "binary": chromium,
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"],
            }
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            self.session = self.call("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def read_port(self):
        for line in self.process.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(".\n").split()[-1])
        raise RuntimeError("chromedriver did not start")

    def call(self, method, path, body=None):
        url = self.url + (f"/{self.session}" if self.session else "") + path
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise AssertionError(f"{method} {path}: {value['error']}: {value['message'].splitlines()[0]}") from None

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def resize(self, width, height):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def media(self, kind="screen", scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", {"media": kind, "features": features})

    def devtools(self, command, parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def complaints(self, allowed):
        """What the page said on its console, and what it asked for besides addresses that begin with `allowed`."""
        lines = [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith((allowed, "data:", "about:")):
                    lines.append(f"request: {url}")
        return lines

    def run(self, script, *arguments):
        """The value of a JavaScript function body."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def timed(self, change):
        """How many milliseconds a change takes, with the frame that shows it."""
        script = (
            "const done = arguments[0]; const begin = performance.now();"
            + change
            + "; requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));"
        )
        return self.call("POST", "/execute/async", {"script": script, "args": []})

    def elements(self, selector):
        found = self.call("POST", "/elements", {"using": "css selector", "value": selector})
        return [element[ELEMENT] for element in found]

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def text(self, selector):
        return self.texts(selector)[0]

    def attribute(self, selector, name):
        return self.run("return document.querySelector(arguments[0]).getAttribute(arguments[1])", selector, name)

    def shown(self, selector):
        return self.run("return document.querySelector(arguments[0]).getClientRects().length > 0", selector)

    def click(self, selector, index=0):
        self.call("POST", f"/element/{self.elements(selector)[index]}/click")

    def check(self, selector, wanted=True, index=0):
        checked = "return document.querySelectorAll(arguments[0])[arguments[1]].checked"
        if self.run(checked, selector, index) != wanted:
            self.click(selector, index)
        assert self.run(checked, selector, index) == wanted, selector

    def press(self, selector, keys):
        self.call("POST", f"/element/{self.elements(selector)[0]}/value", {"text": keys})

    def fill(self, selector, text):
        script = "const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))"
        self.run(script, selector, text)

    def select(self, selector, value):
        script = "const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))"
        self.run(script, selector, value)

    def hover(self, selector, index=0, x=0, y=0):
        """Moves the mouse to an element's middle, plus x and y pixels."""
        origin = {ELEMENT: self.elements(selector)[index]}
        self.move({"type": "pointerMove", "origin": origin, "x": x, "y": y, "duration": 0})

    def leave(self):
        self.move({"type": "pointerMove", "origin": "viewport", "x": 1, "y": 1, "duration": 0})

    def move(self, action):
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [action]}
        self.call("POST", "/actions", {"actions": [pointer]})

    def wait(self, selector, seconds=60):
        end = time.monotonic() + seconds
        while not self.count(selector):
            assert time.monotonic() < end, f"{selector} does not come"
            time.sleep(0.05)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))
