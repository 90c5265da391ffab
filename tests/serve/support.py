"""A server of the built program for the tests of this folder, and plain clients. Loopback only."""
import base64
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "../../../shared/models")


def floats(text):
    """The numbers of a base64 vector."""
    data = base64.b64decode(text, validate=True)
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def float32(numbers):
    return [struct.unpack("<f", struct.pack("<f", number))[0] for number in numbers]


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {k.lower(): v for k, v in headers}, body

    def json(self):
        return json.loads(self.body)


class Server:
    """`with Server(MHA, "--port", …) as server`: waits until it serves, and ends it by SIGTERM."""

    def __init__(self, program, *options, model=None, unix=None, wait=True, **environment):
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        env.pop("MHA_MODEL", None)
        env.update(environment)
        where = ["--unix", unix] if unix else ["--port", "0"]
        command = [program, *(["-m", model] if model else []), "serve", *where, *options]
        self.unix = unix
        self.port = None
        self.lines = []
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=env, text=True)
        self.started = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if wait and not self.started.wait(30):
            self.process.kill()
            raise AssertionError(f"the server did not start: {self.lines}")

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            match = re.search(r"serving .* on (?:http://[^ ]*:(\d+)|unix:)", line)
            if match:
                self.port = int(match[1]) if match[1] else None
                self.started.set()
        self.started.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """The exit code after SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.reader.join(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def raw(self, timeout=20):
        """A connected socket."""
        if self.unix:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(timeout)
            connection.connect(self.unix)
            return connection
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def connect(self, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port or 1, timeout=timeout)
        if self.unix:
            connection.sock = self.raw(timeout)
        return connection

    def send(self, method, path, body=None, headers=None, connection=None):
        given = connection or self.connect()
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("content-type", "application/json")
        given.request(method, path, body=body, headers=headers)
        response = given.getresponse()
        answer = Answer(response.status, response.getheaders(), response.read())
        if connection is None:
            given.close()
        return answer

    def get(self, path, **more):
        return self.send("GET", path, **more)

    def post(self, path, body, **more):
        return self.send("POST", path, body, **more)

    def metrics(self):
        """{'te_queue_size': 0.0, 'te_request_count{method="single"}': 3.0, …}"""
        values = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values


def exchange(server, data, timeout=20, half_close=False):
    """Sends bytes and returns all that comes back until the server closes the connection."""
    with server.raw(timeout) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return received
            if not part:
                return received
            received += part


def status_of(received):
    return int(received.split(b" ", 2)[1]) if received.startswith(b"HTTP/1.") else None


def command_line(program, *arguments, stdin=""):
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    env.pop("MHA_MODEL", None)
    done = subprocess.run([program, *arguments], input=stdin, capture_output=True, env=env, text=True, timeout=120, check=True)
    return done.stdout


def program_of(arguments):
    return os.path.abspath(arguments.pop(1)) if len(arguments) > 1 else "mha-cli"
