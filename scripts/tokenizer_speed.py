#!/usr/bin/env python3
"""Speed of the tokenizers beside tokie 0.1.4, one thread each, in alternating passes of the same minute.

  pip install --no-deps tokie==0.1.4        (needs numpy)
  ninja -C build mha_tokenizer_speed
  scripts/tokenizer_speed.py --mha build/tests/bench/mha_tokenizer_speed --text sentences.txt FOLDER…

FOLDER holds a tokenizer.json; TEXT is plain or .gz, of which the first --megabytes count. Ours makes ids, offsets, type ids,
masks and word numbers of each line; tokie makes ids only (encode_batch_flat), which is its fastest way. "cold" is the first
pass of a fresh tokenizer, "warm" a further pass of the same one. MB/s of CPU time; the ratio is ours / tokie, from each pair
of passes: median [least–greatest]. Equal ids are checked by their CRC.
"""
import argparse, gzip, json, os, shutil, statistics, subprocess, sys, tempfile, time


def tokie_worker(folder, text, megabytes):
    import tokie, zlib
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
                tokie.Tokenizer.from_json(f"{folder}/tokenizer.json")
                best = min(best, time.process_time() - start)
            print(json.dumps({"load": best}), flush=True)
            continue
        if command == "cold" or tokenizer is None:
            tokenizer = tokie.Tokenizer.from_json(f"{folder}/tokenizer.json")
            tokenizer.no_truncation(), tokenizer.no_padding()
        cpu, wall, crc, tokens = 0.0, 0.0, 0, 0
        for i in range(0, len(lines), 8192):
            part, c, w = lines[i:i + 8192], time.process_time(), time.perf_counter()
            ids, _ = tokenizer.encode_batch_flat(part)
            cpu, wall = cpu + time.process_time() - c, wall + time.perf_counter() - w
            crc, tokens = zlib.crc32(ids.tobytes(), crc), tokens + len(ids)
        print(json.dumps({"cpu": cpu, "wall": wall, "bytes": len(data), "tokens": tokens, "crc": crc}), flush=True)


class Side:
    def __init__(self, command):
        env = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, command):
        """What it answers; None when it is gone (tokie refuses some tokenizers)."""
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            return None
        return json.loads(line) if line else None

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}–{max(values):.{digits}f}]"


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "worker":
        return tokie_worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folders", nargs="+", metavar="FOLDER")
    p.add_argument("--mha", required=True, help="mha_tokenizer_speed")
    p.add_argument("--text", required=True), p.add_argument("--megabytes", type=int, default=10), p.add_argument("--pairs", type=int, default=7)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        text = f"{work}/text"
        with (gzip.open if a.text.endswith(".gz") else open)(a.text, "rb") as f, open(text, "wb") as out:
            shutil.copyfileobj(f, out)
        print("tokenizer | load ms: ours, tokie | cold MB/s: ours, tokie | ours/tokie | warm MB/s: ours, tokie | ours/tokie | tokens, ids")
        print("--- | --- | --- | --- | --- | --- | ---")
        for folder in a.folders:
            ours = Side([a.mha, folder, text, str(a.megabytes)])
            theirs = Side([sys.executable, os.path.abspath(__file__), "worker", folder, text, str(a.megabytes)])
            sides, loads = [ours, theirs], [s.ask("load") for s in (ours, theirs)]
            runs, last = {(s, k): [] for s in (0, 1) for k in ("cold", "warm")}, [None, None]
            for pair in range(a.pairs):
                for kind in ("cold", "warm"):
                    for s in ((0, 1) if pair % 2 == 0 else (1, 0)):
                        last[s] = sides[s].ask(kind)
                        if last[s]:
                            runs[s, kind].append(last[s]["bytes"] / 1e6 / last[s]["cpu"])
            row = [os.path.basename(os.path.normpath(folder)), ", ".join(f"{1e3 * x['load']:.1f}" if x else "–" for x in loads)]
            for kind in ("cold", "warm"):
                row.append(", ".join(f"{max(runs[s, kind]):.1f}" if runs[s, kind] else "–" for s in (0, 1)))
                row.append(spread([x / y for x, y in zip(runs[0, kind], runs[1, kind])]) if runs[1, kind] else "–")
            same = "no tokie" if not last[1] else "equal" if last[0]["crc"] == last[1]["crc"] else f"differ ({last[1]['tokens']} tokens)"
            print(" | ".join(row + [f"{last[0]['tokens']}, {same}"]), flush=True)
            ours.close(), theirs.close()


if __name__ == "__main__":
    main()
