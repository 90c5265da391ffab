#!/usr/bin/env python3
"""hostile.py MHA_CLI: clients that are slow, broken, gone or greedy. Nobody else's answer changes, memory has its bound, and
the server ends as it should."""
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import Server, command_line, exchange, float32, program_of, status_of

MHA = program_of(sys.argv)
WORDS = "she is a great leader i led team that built scalable api the cat sat on mat".split()


def texts(count, seed=1, longest=40):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, longest))) for _ in range(count)]


def request(body, path="/embed", extra="", method="POST", length=None):
    return (f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{extra}"
            f"Content-Length: {len(body) if length is None else length}\r\n\r\n").encode() + body


GOOD = request(b'{"inputs":"fine"}', extra="Connection: close\r\n")


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(MHA)
        cls.expected = cls.server.post("/embed", {"inputs": "fine"}).body

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.lines

    def tearDown(self):
        self.assertEqual(self.server.post("/embed", {"inputs": "fine"}).body, self.expected)

    def status(self, data, **more):
        return status_of(exchange(self.server, data, **more))

    def test_what_is_no_http(self):
        for data in (b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /embed HTTP/1.1\nHost x\n\n",
                     os.urandom(3000) + b"\r\n\r\n", b"GET /health HTTP/1.1\r\nA b: c\r\n\r\n", b"GET /health HTTP/1.1\r\n : c\r\n\r\n"):
            self.assertIn(self.status(data), (400, None), data[:40])

    def test_headers_have_a_limit(self):
        self.assertEqual(self.status(b"GET /health HTTP/1.1\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n"), 431)
        self.assertEqual(self.status(b"GET /health HTTP/1.1\r\n" + b"X: a\r\n" * 100_000 + b"\r\n"), 431)
        self.assertEqual(self.status(b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n"), 431)

    def test_lengths_that_lie(self):
        self.assertEqual(self.status(request(b"", length=4 << 30)), 413)
        self.assertEqual(self.status(request(b"", length=2**64 - 1)), 413)
        self.assertEqual(self.status(request(b"", length="99999999999999999999999")), 400)
        self.assertEqual(self.status(request(b"", length="-1")), 400)
        self.assertEqual(self.status(request(b"", length="1a")), 400)
        self.assertEqual(self.status(request(b"", extra="Content-Length: 5\r\n", length=7)), 400)
        both = request(b'0\r\n\r\n', extra="Transfer-Encoding: chunked\r\n", length=5)
        self.assertEqual(self.status(both), 400)
        # More is promised than comes: no answer, because the client is gone.
        self.assertIsNone(self.status(request(b'{"inputs":"a"', length=1000), half_close=True))

    def test_chunks(self):
        head = b"POST /embed HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        body = b'{"inputs":"fine"}'
        good = head + b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body) + b"0\r\n\r\n"
        answer = exchange(self.server, good)
        self.assertEqual(status_of(answer), 200)
        self.assertTrue(answer.endswith(self.expected))
        for chunk in (b"fffffffffffffffffff\r\n", b"-1\r\n", b"x\r\n", b"1\r\nabc\r\n1\r\n"):
            self.assertEqual(self.status(head + chunk), 400, chunk)
        self.assertEqual(self.status(head + b"7fffffff\r\n" + b"a" * 100), 413)
        self.assertIn(self.status(head + b"1;" + b"x" * 1_000_000 + b"\r\n"), (400, 413, 431, None))
        self.assertIn(self.status(head + b"0\r\n" + b"T: x\r\n" * 200_000), (400, 413, 431, None))

    def test_pipelined_requests_are_answered_in_order(self):
        some = texts(20)
        data = b"".join(request(json.dumps({"inputs": text}).encode()) for text in some[:-1])
        data += request(json.dumps({"inputs": some[-1]}).encode(), extra="Connection: close\r\n")
        received = exchange(self.server, data)
        alone = [self.server.post("/embed", {"inputs": text}).body for text in some]
        at = 0
        for body in alone:
            found = received.find(b"\r\n\r\n" + body, at)
            self.assertGreaterEqual(found, at)
            at = found + len(body)

    def test_expect_continue(self):
        with self.server.raw() as connection:
            body = b'{"inputs":"fine"}'
            connection.sendall(request(body, extra="Expect: 100-continue\r\nConnection: close\r\n")[:-len(body)])
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 100"))
            connection.sendall(body)
            received = b""
            while part := connection.recv(65536):
                received += part
            self.assertTrue(received.endswith(self.expected))
        refused = exchange(self.server, request(b"", path="/nothing", extra="Expect: 100-continue\r\n", length=100))
        self.assertEqual(status_of(refused), 404)

    def test_http_1_0_and_head(self):
        received = exchange(self.server, b"GET /health HTTP/1.0\r\n\r\n")
        self.assertEqual(status_of(received), 200)
        self.assertIn(b"connection: close", received)

    def test_bodies_that_are_hostile(self):
        deep = b'{"inputs":' + b"[" * 500_000
        for body in (deep, b'{"inputs":' + b'{"a":' * 100_000, b'{"inputs":[NaN]}', b'{"inputs":[Infinity]}', b'{"inputs":"\xff\xfe"}', b'{"inputs":"\\udc00"}',
                     b'{"inputs":[1e99999]}', b"\xef\xbb\xbf{", b"nul", b'"'):
            self.assertEqual(self.status(request(body, extra="Connection: close\r\n")), 400, body[:30])
        self.assertEqual(self.status(request(b'{"inputs":[' + b"[],[]," * 100_000 + b"[]]}", extra="Connection: close\r\n")), 422)
        self.assertEqual(self.status(request(b'{"inputs":[' + b"99999999999999999999," * 1000 + b"1]}", extra="Connection: close\r\n")), 422)
        self.assertEqual(self.status(request(b'{"dimensions":1e3,"inputs":"a"}', extra="Connection: close\r\n")), 422)


class Slow(unittest.TestCase):
    def test_slow_clients_hold_nobody_up_and_are_ended(self):
        with Server(MHA, "--idle-timeout", "2") as server:
            expected = server.post("/embed", {"inputs": "fine"}).body
            slow = []
            for data in (b"", b"POST /em", GOOD[:-5], request(b"x" * 100, length=10_000_000)):
                for _ in range(10):
                    connection = server.raw(timeout=60)
                    connection.sendall(data)
                    slow.append(connection)
            begin = time.monotonic()
            self.assertEqual(server.post("/embed", {"inputs": "fine"}).body, expected)
            self.assertLess(time.monotonic() - begin, 5)
            # Who sends nothing is ended when the time between requests is over.
            for connection in slow[:10]:
                self.assertEqual(connection.recv(100), b"")
            # Who began a header is told so.
            for connection in slow[10:20]:
                received = b""
                while part := connection.recv(65536):
                    received += part
                self.assertEqual(status_of(received), 408)
            for connection in slow:
                connection.close()
            self.assertEqual(server.post("/embed", {"inputs": "fine"}).body, expected)

    def test_a_reader_that_does_not_read_holds_nobody_up(self):
        with Server(MHA) as server:
            with server.raw() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(request(json.dumps({"inputs": texts(20, longest=30)}).encode(), path="/embed_all"))
                self.assertEqual(server.post("/embed", {"inputs": "fine"}).status, 200)


class Gone(unittest.TestCase):
    def test_inputs_of_a_client_that_left_leave_the_queue(self):
        with Server(MHA, "-t", "1") as server:
            body = json.dumps({"inputs": texts(4000, longest=60)}).encode()
            begin = time.monotonic()
            with server.raw() as connection:
                connection.sendall(request(body))
                while server.metrics()["te_queue_size"] < 100 and time.monotonic() - begin < 30:
                    time.sleep(0.01)
            dropped = time.monotonic()
            while server.metrics()["te_queue_size"] > 0:
                self.assertLess(time.monotonic() - dropped, 5)
                time.sleep(0.01)
            self.assertEqual(server.metrics()['te_request_failure{err="dropped"}'], 1)
            self.assertEqual(server.post("/embed", {"inputs": "fine"}).status, 200)
            self.assertEqual(server.metrics()["mha_request_bytes"], 0)


class Limits(unittest.TestCase):
    def test_too_many_requests_get_429_and_no_others(self):
        with Server(MHA, "-t", "1", "--max-concurrent-requests", "2") as server:
            bulk = json.dumps({"inputs": texts(1500, longest=60)}).encode()
            with server.raw() as first, server.raw() as second:
                first.sendall(request(bulk))
                second.sendall(request(bulk))
                deadline = time.monotonic() + 20
                while True:
                    answer = server.post("/v1/embeddings", {"input": "x"})
                    if answer.status == 429 or time.monotonic() > deadline:
                        break
                self.assertEqual(answer.status, 429)
                self.assertTrue(answer.headers["retry-after"])
                self.assertEqual(answer.headers["x-should-retry"], "true")
                self.assertEqual(answer.json()["error"]["type"], "rate_limit_error")
                self.assertEqual(server.get("/health").status, 200)

    def test_memory_has_a_bound(self):
        with Server(MHA, "--max-memory", "20000000", "--payload-limit", "8000000") as server:
            self.assertEqual(server.post("/embed", {"inputs": "fine"}).status, 200)
            # One request that can never fit is told so; many that do not fit together are told to come again.
            answer = server.post("/attention", {"inputs": "word " * 600})
            self.assertEqual(answer.status, 422)
            self.assertIn("memory", answer.body.decode())
            half = b'{"inputs":"' + b"x" * 7_000_000
            held = [server.raw() for _ in range(12)]
            for connection in held:
                try:
                    connection.sendall(request(half, length=7_900_000))
                except OSError:
                    pass
            time.sleep(0.5)
            self.assertLessEqual(server.metrics()["mha_request_bytes"], 20000000)
            for connection in held:
                connection.close()
            deadline = time.monotonic() + 10
            while server.metrics()["mha_request_bytes"] > 0 and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(server.metrics()["mha_request_bytes"], 0)
            self.assertEqual(server.post("/embed", {"inputs": "fine"}).status, 200)

    def test_payload_limit_and_environment(self):
        with Server(MHA, PAYLOAD_LIMIT="1000", MAX_CLIENT_BATCH_SIZE="3") as server:
            self.assertEqual(server.post("/embed", {"inputs": "x" * 2000}).status, 413)
            self.assertEqual(server.post("/embed", {"inputs": ["a"] * 4}).status, 422)
            self.assertEqual(server.post("/embed", {"inputs": ["a"] * 3}).status, 200)
        with Server(MHA, "--max-client-batch-size", "5", MAX_CLIENT_BATCH_SIZE="3") as server:
            self.assertEqual(server.post("/embed", {"inputs": ["a"] * 5}).status, 200)
        server = Server(MHA, wait=False, MAX_CLIENT_BATCH_SIZE="many")
        self.assertEqual(server.process.wait(timeout=20), 2)
        server.reader.join(5)
        self.assertIn("MAX_CLIENT_BATCH_SIZE", " ".join(server.lines))
        server.stop()

    def test_keys(self):
        with tempfile.NamedTemporaryFile("w") as keys:
            keys.write("first\nsecond\n")
            keys.flush()
            with Server(MHA, "--api-key-file", keys.name) as server:
                for value, status in ((None, 401), ("Bearer wrong", 401), ("Bearer first", 200), ("Bearer second", 200), ("second", 200), ("Bearer firs", 401), ("", 401)):
                    headers = {} if value is None else {"authorization": value}
                    self.assertEqual(server.post("/embed", {"inputs": "a"}, headers=headers).status, status, value)
                for path in ("/health", "/metrics", "/openapi.json", "/"):
                    self.assertEqual(server.get(path).status, 200)
                self.assertEqual(server.get("/info").status, 401)

    def test_cors(self):
        with Server(MHA, "--cors-allow-origin", "https://a.example") as server:
            allowed = server.post("/embed", {"inputs": "a"}, headers={"origin": "https://a.example"})
            self.assertEqual(allowed.headers["access-control-allow-origin"], "https://a.example")
            other = server.post("/embed", {"inputs": "a"}, headers={"origin": "https://b.example"})
            self.assertNotIn("access-control-allow-origin", other.headers)
            asked = server.send("OPTIONS", "/embed", headers={"origin": "https://a.example", "access-control-request-headers": "content-type"})
            self.assertEqual((asked.status, asked.headers["access-control-allow-methods"]), (204, "POST"))
            self.assertEqual(asked.headers["access-control-allow-headers"], "content-type")


class Storm(unittest.TestCase):
    def test_a_text_has_the_same_bits_alone_and_in_a_storm(self):
        some = texts(60, seed=7, longest=80)
        out = command_line(MHA, "embed", "--normalize", "l2", stdin="".join(text + "\n" for text in some))
        expected = dict(zip(some, (float32(json.loads(line)["embedding"]) for line in out.splitlines())))
        failures = []
        with Server(MHA) as server:
            stop = time.monotonic() + 6

            def client(seed):
                chance = random.Random(seed)
                connection = server.connect()
                while time.monotonic() < stop and not failures:
                    chosen = chance.sample(some, chance.choice([1, 1, 1, 5, 40]))
                    answer = server.post("/embed", {"inputs": chosen, "priority": chance.randint(-3, 3)}, connection=connection)
                    if answer.status != 200:
                        failures.append(answer.body[:200])
                    elif [float32(v) for v in answer.json()] != [expected[text] for text in chosen]:
                        failures.append("another vector")
                connection.close()

            def vandal(seed):
                chance = random.Random(seed)
                while time.monotonic() < stop:
                    with server.raw() as connection:
                        data = chance.choice([GOOD, request(json.dumps({"inputs": some}).encode()), b"\0\0\r\n\r\n", request(b"[[[", length=3)])
                        connection.sendall(data[:chance.randint(1, len(data))])

            clients = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
            clients += [threading.Thread(target=vandal, args=(seed,)) for seed in range(2)]
            for one in clients:
                one.start()
            for one in clients:
                one.join(120)
            self.assertEqual(failures, [])
            self.assertEqual(server.stop(), 0)

    def test_an_interactive_request_does_not_wait_for_a_bulk_job(self):
        with Server(MHA, "-t", "1") as server:
            body = json.dumps({"inputs": texts(3000, longest=60)}).encode()
            with server.raw(timeout=120) as bulk:
                bulk.sendall(request(body, extra="Connection: close\r\n"))
                while server.metrics()["te_queue_size"] < 1000:
                    time.sleep(0.01)
                for _ in range(10):
                    self.assertEqual(server.post("/embed", {"inputs": "a short query"}).status, 200)
                self.assertGreater(server.metrics()["te_queue_size"], 0, "the bulk job was over before the queries were")
                received = b""
                while part := bulk.recv(1 << 20):
                    received += part
            self.assertEqual(status_of(received), 200)
            self.assertEqual(len(json.loads(received.split(b"\r\n\r\n", 1)[1])), 3000)


class Ending(unittest.TestCase):
    def test_sigterm_lets_requests_have_their_answers(self):
        server = Server(MHA, "-t", "1")
        body = json.dumps({"inputs": texts(800, longest=60)}).encode()
        with server.raw(timeout=120) as busy, server.raw() as idle:
            idle.sendall(request(b'{"inputs":"fine"}'))
            self.assertTrue(idle.recv(100).startswith(b"HTTP/1.1 200"))
            busy.sendall(request(body))
            while server.metrics()["te_queue_size"] < 100:
                time.sleep(0.005)
            server.process.terminate()
            received = b""
            while part := busy.recv(1 << 20):
                received += part
        self.assertEqual(status_of(received), 200)
        self.assertIn(b"connection: close", received[:2000])
        self.assertEqual(len(json.loads(received.split(b"\r\n\r\n", 1)[1])), 800)
        self.assertEqual(server.stop(), 0)

    def test_unix_socket_systemd_and_ports_that_are_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            notify = os.path.join(folder, "notify")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
                listener.bind(notify)
                listener.settimeout(20)
                with Server(MHA, unix=path, NOTIFY_SOCKET=notify) as server:
                    self.assertEqual(listener.recv(100), b"READY=1")
                    self.assertEqual(server.get("/health").status, 200)
                    server.process.terminate()
                    self.assertEqual(listener.recv(100), b"STOPPING=1")
                    self.assertEqual(server.process.wait(30), 0)
            self.assertFalse(os.path.exists(path))
            with Server(MHA) as server:
                second = Server(MHA, "--port", str(server.port), wait=False)
                self.assertEqual(second.process.wait(timeout=20), 1)
                second.stop()

    def test_socket_activation(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(16)
            # The variables must name the process itself: a shell sets them and becomes the program.
            descriptor = listener.fileno()
            os.set_inheritable(descriptor, True)
            import subprocess
            script = f'exec 3<&{descriptor}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve'
            process = subprocess.Popen(["sh", "-c", script, MHA], pass_fds=[descriptor], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
            try:
                answer = exchange(type("S", (), {"raw": staticmethod(lambda timeout: socket.create_connection(listener.getsockname(), timeout=30))}),
                                  b"GET /info HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                self.assertIn(status_of(answer), (200, 503))
            finally:
                process.terminate()
                self.assertEqual(process.wait(timeout=30), 0)
                process.stderr.close()


if __name__ == "__main__":
    unittest.main(verbosity=1)
