#!/usr/bin/env python3
"""Speed of the tokenizers beside tokie 0.1.4 and the reference (tokenizers 0.22.2), one thread each, in alternating passes.

  pip install --no-deps --target TOKIE tokie==0.1.4        (needs numpy)
  pip install --no-deps --target REFERENCE tokenizers==0.22.2
  ninja -C build mha_tokenizer_speed
  scripts/tokenizer_speed.py --mha build/tests/bench/mha_tokenizer_speed --text sentences.txt \\
    --tokie TOKIE --reference REFERENCE FOLDER…

FOLDER holds a tokenizer.json; the text is plain or .gz, and its first --megabytes count. Without --tokie and --reference
the packages are those of this Python; a package that cannot be loaded is left out. We make ids, offsets, type ids, masks and
word numbers of each line. The reference makes everything (encode_batch); tokie makes ids only (encode_batch_flat), its
fastest way. "cold" is the first pass of a fresh tokenizer, "warm" a later pass of the same one. Speed is MB per second of
CPU time, best pass. A ratio is ours / theirs in each round: median [smallest–largest]. A CRC checks that the ids are equal.
"""
import argparse, gzip, json, os, shutil, statistics, subprocess, sys, tempfile, time

PEERS = ("tokie", "reference")


def load(peer, folder):
    if peer == "tokie":
        import tokie
        return tokie.Tokenizer.from_json(f"{folder}/tokenizer.json")
    import tokenizers
    return tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")


def encode(peer, tokenizer, lines):
    """CPU seconds, and the ids as bytes; the time to join them does not count."""
    start = time.process_time()
    if peer == "tokie":
        ids, _ = tokenizer.encode_batch_flat(lines)
        return time.process_time() - start, ids.astype("<u4").tobytes()
    encodings = tokenizer.encode_batch(lines)
    seconds = time.process_time() - start
    import array
    ids = array.array("I")
    for encoding in encodings:
        ids.extend(encoding.ids)
    return seconds, ids.tobytes()


def worker(peer, folder, text, megabytes):
    import zlib
    data = open(text, "rb").read()
    if len(data) > megabytes * 1_000_000:
        data = data[:data.rindex(b"\n", 0, megabytes * 1_000_000) + 1]
    lines = data.decode().split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    tokenizer = None
    for command in sys.stdin:
        command = command.strip()
        if command == "load":
            best = 1e9
            for _ in range(5):
                start = time.process_time()
                load(peer, folder)
                best = min(best, time.process_time() - start)
            print(json.dumps({"load": best}), flush=True)
            continue
        if command == "cold" or tokenizer is None:
            tokenizer = load(peer, folder)
            tokenizer.no_truncation(), tokenizer.no_padding()
        cpu, crc, tokens = 0.0, 0, 0
        for i in range(0, len(lines), 8192):
            seconds, ids = encode(peer, tokenizer, lines[i:i + 8192])
            cpu, crc, tokens = cpu + seconds, zlib.crc32(ids, crc), tokens + len(ids) // 4
        print(json.dumps({"cpu": cpu, "bytes": len(data), "tokens": tokens, "crc": crc}), flush=True)


class Side:
    def __init__(self, command, packages=None):
        env = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
        if packages:
            env["PYTHONPATH"] = packages
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.runs, self.last, self.load = {"cold": [], "warm": []}, None, self.ask("load")

    def ask(self, command):
        """Its answer; None if it has ended (a missing package, a tokenizer that tokie refuses)."""
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            return None
        return json.loads(line) if line else None

    def encode(self, kind):
        self.last = self.ask(kind)
        if self.last:
            self.runs[kind].append(self.last["bytes"] / 1e6 / self.last["cpu"])

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def spread(ours, theirs):
    if not theirs:
        return "–"
    ratios = [x / y for x, y in zip(ours, theirs)]
    digits = 1 if statistics.median(ratios) >= 10 else 2
    return f"{statistics.median(ratios):.{digits}f} [{min(ratios):.{digits}f}–{max(ratios):.{digits}f}]"


def ids_of(ours, theirs):
    if not theirs.last:
        return "–"
    return "equal" if ours.last["crc"] == theirs.last["crc"] else f"differ ({theirs.last['tokens']} tokens)"


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "worker":
        return worker(*sys.argv[2:5], int(sys.argv[5]))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folders", nargs="+", metavar="FOLDER")
    p.add_argument("--mha", required=True, help="mha_tokenizer_speed")
    p.add_argument("--text", required=True), p.add_argument("--megabytes", type=int, default=10), p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--tokie", help="folder of that package"), p.add_argument("--reference", help="folder of tokenizers 0.22.2")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        text = f"{work}/text"
        with (gzip.open if a.text.endswith(".gz") else open)(a.text, "rb") as f, open(text, "wb") as out:
            shutil.copyfileobj(f, out)
        print("tokenizer | load ms: ours, tokie, reference | cold MB/s: ours, tokie, reference | ours/tokie | ours/reference"
              " | warm MB/s: ours, tokie, reference | ours/tokie | ours/reference | tokens; ids of tokie, reference")
        print(" | ".join(["---"] * 9))
        for folder in a.folders:
            ours = Side([a.mha, folder, text, str(a.megabytes)])
            peers = [Side([sys.executable, os.path.abspath(__file__), "worker", peer, folder, text, str(a.megabytes)],
                          getattr(a, peer)) for peer in PEERS]
            sides = [ours] + peers
            for round_number in range(a.pairs):
                for kind in ("cold", "warm"):
                    for side in sides if round_number % 2 == 0 else sides[::-1]:
                        side.encode(kind)
            row = [os.path.basename(os.path.normpath(folder)),
                   ", ".join(f"{1e3 * side.load['load']:.1f}" if side.load else "–" for side in sides)]
            for kind in ("cold", "warm"):
                row.append(", ".join(f"{max(side.runs[kind]):.1f}" if side.runs[kind] else "–" for side in sides))
                row += [spread(ours.runs[kind], peer.runs[kind]) for peer in peers]
            row.append(f"{ours.last['tokens']}; " + ", ".join(ids_of(ours, peer) for peer in peers))
            print(" | ".join(row), flush=True)
            for side in sides:
                side.close()


if __name__ == "__main__":
    main()
