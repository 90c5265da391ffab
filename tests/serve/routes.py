#!/usr/bin/env python3
"""routes.py MHA_CLI: what each route answers, and that its numbers are those of the command line, bit for bit."""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import MODELS, Server, command_line, float32, floats, program_of

MHA = program_of(sys.argv)
TEXTS = ["She is a great leader", "I led a team that built a scalable API.", "naïve café, 東京 and 🙂", "x"]


def embed(texts, *arguments):
    out = command_line(MHA, "embed", "--normalize", "l2", *arguments, "--", *texts)
    return [float32(json.loads(line)["embedding"]) for line in out.splitlines()]


try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("skipped: no python3-jsonschema; answers are not validated")


class Routes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(MHA)
        cls.openapi = cls.server.get("/openapi.json").json()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.lines

    def validate(self, value, schema):
        if jsonschema:
            jsonschema.Draft202012Validator({**schema, "components": self.openapi["components"]}).validate(value)

    def check(self, method, path, answer, body=None):
        """The answer, and the body of a request that was answered, against the document that the server shows."""
        operation = self.openapi["paths"][path][method]
        kind = answer.headers["content-type"].split(";")[0]
        said = operation["responses"]["200" if answer.status == 200 else "default"]["content"]
        self.assertIn(kind, said)
        if kind == "application/json":
            self.validate(answer.json(), said[kind]["schema"])
        if answer.status == 200 and body is not None:
            self.validate(body, operation["requestBody"]["content"]["application/json"]["schema"])

    def ok(self, path, body, server=None):
        answer = (server or self.server).post(path, body)
        self.assertEqual(answer.status, 200, answer.body[:300])
        self.check("post", path, answer, body)
        return answer.json()

    def error(self, path, body, status, *words, **more):
        answer = self.server.post(path, body, **more)
        self.assertEqual(answer.status, status, answer.body[:300])
        for word in words:
            self.assertIn(word, answer.body.decode())
        self.check("post", path, answer)
        return answer.json()

    def test_embed_has_the_bits_of_the_command_line(self):
        expected = embed(TEXTS)
        self.assertEqual([float32(v) for v in self.ok("/embed", {"inputs": TEXTS})], expected)
        self.assertEqual([float32(v) for v in self.ok("/embed", {"inputs": TEXTS[1]})], [expected[1]])

    def test_openai_floats_and_base64(self):
        expected = embed(TEXTS)
        for path in ("/v1/embeddings", "/embeddings"):
            plain = self.ok(path, {"input": TEXTS, "model": "any"})
            coded = self.ok(path, {"input": TEXTS, "model": "any", "encoding_format": "base64", "user": "u"})
            self.assertEqual([float32(d["embedding"]) for d in plain["data"]], expected)
            self.assertEqual([floats(d["embedding"]) for d in coded["data"]], expected)
            self.assertEqual([d["index"] for d in coded["data"]], list(range(len(TEXTS))))
            self.assertEqual((plain["object"], plain["model"], plain["data"][0]["object"]), ("list", "any", "embedding"))
            self.assertEqual(plain["usage"]["prompt_tokens"], plain["usage"]["total_tokens"])
            self.assertGreater(plain["usage"]["total_tokens"], 10)

    def test_dimensions_and_normalize(self):
        self.assertEqual([float32(v) for v in self.ok("/embed", {"inputs": TEXTS, "dimensions": 32})], embed(TEXTS, "--dims", "32"))
        raw = [float32(v) for v in self.ok("/embed", {"inputs": TEXTS, "normalize": False})]
        out = command_line(MHA, "embed", "--normalize", "none", "--", *TEXTS)
        self.assertEqual(raw, [float32(json.loads(line)["embedding"]) for line in out.splitlines()])
        self.error("/embed", {"inputs": "a", "dimensions": 100000}, 422, "dimensions")
        self.error("/v1/embeddings", {"input": "a", "dimensions": 0}, 422, "dimensions")

    def test_token_ids_are_a_text(self):
        ids = [[token["id"] for token in tokens] for tokens in self.ok("/tokenize", {"inputs": TEXTS})]
        expected = self.ok("/embed", {"inputs": TEXTS})
        self.assertEqual(self.ok("/embed", {"inputs": ids}), expected)
        self.assertEqual(self.ok("/embed", {"inputs": ids[0]}), expected[:1])
        bare = [[token["id"] for token in tokens if not token["special"]] for tokens in self.ok("/tokenize", {"inputs": TEXTS})]
        self.assertEqual(self.ok("/embed", {"inputs": bare}), expected)
        self.error("/v1/embeddings", {"input": [[100000, 15339]]}, 422, "check_embedding_ctx_length=False", "input[0][0]")
        self.error("/embed", {"inputs": [-1]}, 422, "inputs[0]")
        self.error("/embed", {"inputs": [1.5]}, 422, "inputs[0]")

    def test_long_inputs_are_cut_or_refused(self):
        long = "word " * 2000
        answer = self.server.post("/embed", {"inputs": ["short", long, "short", long]})
        self.assertEqual(answer.headers["x-truncated"], "1,3")
        self.error("/embed", {"inputs": ["short", long], "truncate": False}, 422, "`inputs[1]` must have less than 513 tokens. Given: ")
        left = self.ok("/embed", {"inputs": "first " + long, "truncation_direction": "Left"})
        self.assertNotEqual(left, self.ok("/embed", {"inputs": "first " + long}))
        out = command_line(MHA, "embed", "--normalize", "l2", "--truncation", "tail", "first " + long)
        self.assertEqual(float32(left[0]), float32(json.loads(out)["embedding"]))

    def test_a_bad_input_fails_alone_where_the_client_asks(self):
        body = {"inputs": ["fine", "word " * 2000, "good"], "truncate": False, "on_error": "record"}
        answer = self.ok("/embed", body)
        self.assertEqual(float32(answer[0]), embed(["fine"])[0])
        self.assertEqual(float32(answer[2]), embed(["good"])[0])
        self.assertEqual(answer[1]["index"], 1)
        self.assertIn("tokens", answer[1]["error"])

    def test_embed_all(self):
        tokens = self.ok("/embed_all", {"inputs": TEXTS[:2]})
        out = command_line(MHA, "encode", "--format", "jsonl", "--with", "last_hidden_state", "--", *TEXTS[:2])
        expected = [json.loads(line)["last_hidden_state"] for line in out.splitlines()]
        self.assertEqual([[float32(r) for r in t] for t in tokens], [[float32(r) for r in t] for t in expected])

    def test_similarity(self):
        answer = self.ok("/similarity", {"inputs": {"source_sentence": TEXTS[0], "sentences": TEXTS[1:]}})
        out = command_line(MHA, "similarity", "--format", "jsonl", "--", *TEXTS)
        self.assertEqual(float32(answer), float32([json.loads(line)["similarity"] for line in out.splitlines()]))

    def test_tokenize_and_decode(self):
        tokens = self.ok("/tokenize", {"inputs": "naïve café"})[0]
        text = "naïve café".encode()
        for token in tokens:
            if not token["special"]:
                self.assertEqual(text[token["start"]:token["stop"]].decode(), token["text"])
        ids = [token["id"] for token in tokens]
        self.assertEqual(self.ok("/decode", {"ids": ids}), self.ok("/decode", {"ids": [ids]}))
        self.assertEqual(len(self.ok("/decode", {"ids": [ids, ids]})), 2)
        self.error("/decode", {"ids": [99999999]}, 422)

    def test_ollama(self):
        answer = self.ok("/api/embed", {"model": "m", "input": TEXTS})
        self.assertEqual([float32(v) for v in answer["embeddings"]], embed(TEXTS))
        self.assertEqual(answer["model"], "m")
        self.assertGreater(answer["total_duration"], 0)

    def test_state(self):
        for path in ("/health", "/ping", "/ready"):
            self.assertEqual(self.server.get(path).status, 200)
        info = self.server.get("/info").json()
        for path in ("/health", "/info", "/v1/models", "/metrics"):
            self.check("get", path, self.server.get(path))
        self.assertEqual(info["model_type"], {"embedding": {"pooling": "mean"}})
        self.assertEqual(info["max_input_length"], 512)
        listed = self.server.get("/v1/models").json()["data"]
        self.assertEqual(self.server.get("/v1/models/" + listed[0]["id"]).json(), listed[0])
        self.assertEqual(self.server.get("/v1/models/other").status, 404)
        head = self.server.send("HEAD", "/health")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_metrics_count(self):
        before = self.server.metrics()
        self.ok("/embed", {"inputs": "one"})
        self.ok("/embed", {"inputs": ["one", "word " * 2000]})
        self.error("/embed", {"inputs": []}, 400)
        after = self.server.metrics()
        moved = lambda name: after.get(name, 0) - before.get(name, 0)
        self.assertEqual(moved('te_request_count{method="single"}'), 1)
        self.assertEqual(moved('te_request_success{method="batch"}'), 1)
        self.assertEqual(moved('te_request_failure{err="validation"}'), 1)
        self.assertEqual(moved("te_embed_duration_count"), 2)
        self.assertEqual(moved("mha_truncated_total"), 1)
        self.assertGreater(after["mha_resident_bytes"], 1e6)

    def test_unread_keys_are_named(self):
        answer = self.server.post("/embed", {"inputs": "a", "nonsense": 1})
        self.assertEqual(answer.headers["x-ignored"], "nonsense")

    def test_request_ids(self):
        answer = self.server.post("/embed", {"inputs": "a"}, headers={"x-request-id": "mine-1"})
        self.assertEqual(answer.headers["x-request-id"], "mine-1")
        self.assertTrue(self.server.get("/health").headers["x-request-id"])

    def test_errors(self):
        self.error("/embed", {"inputs": []}, 400, '"error_type":"Empty"', "inputs")
        self.error("/embed", {"inputs": ""}, 400, "Empty")
        self.error("/embed", {"inputs": ["a", ""]}, 400, "inputs[1]")
        self.error("/embed", {}, 422, "inputs")
        self.error("/embed", {"inputs": {"a": 1}}, 422, "inputs")
        self.error("/embed", {"inputs": ["a", 5]}, 422, "inputs[1]")
        self.error("/embed", {"inputs": "a", "truncate": "yes"}, 422, "truncate")
        self.error("/embed", {"inputs": "a", "truncation_direction": "up"}, 422, "truncation_direction", "Right")
        self.error("/embed", {"inputs": "a", "prompt_name": "query"}, 422, "prompt_name")
        self.error("/embed", [1], 422, "body")
        for text in (b"{", b"", b"\xff", b'{"inputs":"\\ud800"}', b'{"inputs":"a","inputs":"b"}', b'{"inputs":NaN}',
                     b'{"inputs":[1e999]}', b'{"inputs":"a"} x', b'{"inputs":"a\0"}', b"[" * 100000):
            self.error("/embed", text, 400)
        nested = self.error("/v1/embeddings", {"input": []}, 400)
        self.assertEqual(nested["error"]["type"], "invalid_request_error")
        self.assertEqual(nested["error"]["param"], "input")
        self.assertEqual(nested["error"]["message"], nested["message"])
        self.assertEqual((nested["code"], nested["type"]), (400, "Empty"))
        self.error("/embed", b'{"inputs":"a"}', 415, headers={"content-type": "text/plain"})
        answer = self.server.get("/embed")
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST"))
        self.assertEqual(self.server.get("/nothing").status, 404)

    def test_many_inputs_are_split_by_the_server(self):
        answer = self.ok("/v1/embeddings", {"input": ["word"] * 2048, "encoding_format": "base64"})
        self.assertEqual({d["embedding"] for d in answer["data"]}, {self.ok("/v1/embeddings", {"input": "word", "encoding_format": "base64"})["data"][0]["embedding"]})
        self.error("/embed", {"inputs": ["a"] * 10001}, 422, "batch size 10001 > maximum allowed batch size 10000")

    def same_bytes(self, path, body, *arguments):
        answer = self.server.post(path, body)
        self.assertEqual(answer.status, 200, answer.body[:300])
        self.check("post", path, answer, body)
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        env.pop("MHA_MODEL", None)
        done = subprocess.run([MHA, *arguments], capture_output=True, env=env, check=True, timeout=120)
        self.assertEqual(answer.body, done.stdout)

    def test_analysis_has_the_bytes_of_the_command_line(self):
        text = "She is a great leader"
        for name in ("json", "jsonl", "csv", "tsv", "npy", "npz", "raw", "html", "svg"):
            self.same_bytes("/attention", {"inputs": text, "format": name}, "attention", "--format", name, "-o", "-", text)
        self.same_bytes("/attention", {"inputs": TEXTS, "layer": "-1", "head": [0, 2], "words": True, "stats": True, "find": "#0>#0", "digits": 3},
                        "attention", "--format", "json", "--layer", "-1", "--head", "0,2", "--words", "--stats", "--find", "#0>#0", "--digits", "3", "--", *TEXTS)
        self.same_bytes("/attention", {"inputs": text, "text_pair": "He is too", "with": ["text", "hidden_states"], "ablate": "0.1,1.*", "offsets": "bytes"},
                        "attention", "--format", "json", "--pair", "He is too", "--with", "text,hidden_states", "--ablate", "0.1,1.*", "--offsets", "bytes", text)
        self.same_bytes("/attention", {"inputs": text, "rollout": True}, "attention", "--format", "json", "--rollout", text)
        self.same_bytes("/attention", {"inputs": text, "average": "heads", "top": 2}, "attention", "--format", "json", "--average", "heads", "--top", "2", text)
        self.same_bytes("/explain", {"inputs": text, "layer": 1, "token": "leader"}, "explain", "--format", "json", "--layer", "1", "--token", "leader", text)
        self.same_bytes("/explain", {"inputs": text, "format": "html", "head": 0}, "explain", "--format", "html", "-o", "-", "--head", "0", text)
        self.same_bytes("/compare", {"inputs": ["She is", "He was"], "digits": 4}, "compare", "--format", "json", "--digits", "4", "She is", "He was")
        self.same_bytes("/heads", {"inputs": TEXTS, "hide_specials": True}, "heads", "--format", "json", "--hide-specials", "--", *TEXTS)

    def test_analysis_errors_name_their_place(self):
        self.error("/attention", {"inputs": "a", "layer": 99}, 422, "layer", "from 0 to")
        self.error("/attention", {"inputs": "a", "head": "x"}, 422, "head")
        self.error("/attention", {"inputs": "a", "head": []}, 422, "head")
        self.error("/attention", {"inputs": "a", "ablate": "9"}, 422, "ablate")
        self.error("/attention", {"inputs": "a", "laier": 0}, 422, "laier", "did you mean")
        self.error("/attention", {"inputs": ["a", "b"], "format": "html"}, 422, "format")
        self.error("/attention", {"inputs": "a", "format": "pdf"}, 422, "format", "jsonl")
        self.error("/attention", {"inputs": "a", "find": "none>a"}, 422, "none")
        self.error("/attention", {"inputs": "a", "with": ["nothing"]}, 422, "with")
        self.error("/explain", {"inputs": "a", "layer": [0, 1]}, 422, "layer")
        self.error("/compare", {"inputs": ["a"]}, 422, "inputs")
        self.assertFalse(self.ok("/compare", {"inputs": ["a", "b"], "tolerance": 0})["within"])
        self.error("/heads", {"inputs": "word " * 2000, "truncate": False}, 422, "tokens")

    def test_rerank_by_vectors(self):
        query, documents = TEXTS[0], TEXTS[1:]
        out = command_line(MHA, "rerank", "--format", "jsonl", "--", query, *documents)
        expected = [(record["index"], record["score"]) for record in map(json.loads, out.splitlines())]
        ranks = self.ok("/rerank", {"query": query, "texts": documents, "return_text": True})
        self.assertEqual([(rank["index"], rank["score"]) for rank in ranks], expected)
        self.assertEqual(ranks[0]["text"], documents[ranks[0]["index"]])
        for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
            answer = self.ok(path, {"model": "m", "query": query, "documents": [documents[0], {"text": documents[1]}, documents[2]],
                                    "top_n": 2, "return_documents": True})
            self.assertEqual([(r["index"], r["relevance_score"]) for r in answer["results"]], expected[:2])
            self.assertEqual(answer["results"][0]["document"]["text"], documents[expected[0][0]])
        self.error("/rerank", {"query": query}, 422, "texts")
        self.error("/rerank", {"query": query, "texts": [1]}, 422, "texts[0]")
        self.error("/rerank", {"query": "", "texts": ["a"]}, 400, "query")
        self.error("/predict", {"inputs": "a"}, 424, "model is not a classifier", "/embed")

    def test_root_answers_by_task_and_shape(self):
        self.assertEqual(self.ok("/", {"inputs": TEXTS}), self.ok("/embed", {"inputs": TEXTS}))
        body = {"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}}
        self.assertEqual(self.ok("/", body), self.ok("/similarity", body))

    def test_every_route_of_the_document_is_there_and_the_other_way_round(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/serve/routes.cpp"), encoding="utf-8") as file:
            source = file.read()
        routes = {(method.lower(), path.replace("/*", "/{model}")) for method, path in re.findall(r'\{"([A-Z]+)", "([^"]+)"', source)}
        documented = {(method, path) for path, methods in self.openapi["paths"].items() for method in methods}
        self.assertEqual(routes, documented)


def model_folder(name):
    folder = os.path.join(MODELS, name)
    return folder if os.path.isdir(folder) else None


class Tasks(Routes):
    """Models with heads. Inherits the checks of the document, not the tests."""

    def with_model(self, name):
        folder = model_folder(name)
        if folder is None:
            self.skipTest(f"no {name}")
        server = Server(MHA, model=folder)
        self.addCleanup(server.stop)
        return folder, server

    def records(self, folder, *arguments):
        return [json.loads(line) for line in command_line(MHA, "-m", folder, *arguments, "--format", "jsonl").splitlines()]

    def test_classify(self):
        folder, server = self.with_model("tiny-bert-classify")
        texts = ["I like this.", "the cat sat"]
        expected = [record["scores"] for record in self.records(folder, "classify", "--all-scores", *texts)]
        self.assertEqual(self.ok("/predict", {"inputs": texts[0]}, server), expected[0])
        self.assertEqual(self.ok("/predict", {"inputs": [[text] for text in texts]}, server), expected)
        pair = self.records(folder, "classify", "--all-scores", "--pair", texts[1], texts[0])[0]["scores"]
        self.assertEqual(self.ok("/predict", {"inputs": texts}, server), pair)
        self.assertEqual(self.ok("/", {"inputs": texts[0]}, server), expected[:1])
        self.assertEqual(self.ok("/", {"inputs": texts, "parameters": {"top_k": 1}}, server), [e[:1] for e in expected])
        raw = self.ok("/predict", {"inputs": texts[0], "raw_scores": True}, server)
        self.assertEqual({row["label"] for row in raw}, {row["label"] for row in expected[0]})
        self.assertNotAlmostEqual(sum(row["score"] for row in raw), 1, places=3)
        self.assertIn("classifier", server.get("/info").json()["model_type"])

    def test_rerank_by_pairs(self):
        folder, server = self.with_model("tiny-xlm-roberta-reranker")
        documents = ["an elephant", "a tax form", "big animals"]
        expected = self.records(folder, "rerank", "big animals", *documents)
        ranks = self.ok("/rerank", {"query": "big animals", "texts": documents}, server)
        self.assertEqual([rank["index"] for rank in ranks], [record["index"] for record in expected])
        raw = self.ok("/rerank", {"query": "big animals", "texts": documents, "raw_scores": True}, server)
        scores = [record["score"] for record in expected]
        self.assertIn(scores, ([rank["score"] for rank in ranks], [rank["score"] for rank in raw]))
        self.assertIn("reranker", server.get("/info").json()["model_type"])

    def test_fill_mask(self):
        folder, server = self.with_model("tiny-bert-mlm")
        text = "the [MASK] sat on the mat"
        expected = self.records(folder, "fill-mask", text)[0]["fills"][0]
        self.assertEqual(self.ok("/", {"inputs": text}, server), expected)
        self.assertEqual(self.ok("/", {"inputs": [text], "parameters": {"top_k": 2}}, server), [expected[:2]])
        answer = server.post("/", {"inputs": "no mask"})
        self.assertEqual(answer.status, 422)

    def test_tag(self):
        folder, server = self.with_model("tiny-bert-ner")
        text = "Anna lives in Paris."
        expected = self.records(folder, "tag", "--aggregation", "simple", text)[0]["entities"]
        self.assertEqual(self.ok("/", {"inputs": text}, server), expected)
        plain = self.records(folder, "tag", text)[0]["entities"]
        self.assertEqual(self.ok("/", {"inputs": text, "parameters": {"aggregation_strategy": "none"}}, server), plain)

    def test_answer(self):
        folder, server = self.with_model("tiny-bert-qa")
        body = {"inputs": {"question": "who sat", "context": "the cat sat on the mat"}}
        expected = self.records(folder, "answer", "who sat", "the cat sat on the mat")[0]
        answer = self.ok("/", body, server)
        self.assertEqual({key: expected[key] for key in answer}, answer)


# The tests of the base class are run once, with the built-in model.
for name in [name for name in vars(Routes) if name.startswith("test_")]:
    if name not in vars(Tasks):
        setattr(Tasks, name, None)


if __name__ == "__main__":
    unittest.main(verbosity=1)
