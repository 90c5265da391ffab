#!/usr/bin/env python3
"""check_config_keys.py [FAMILY …]

Proves the lists of harmless keys: keys of config.json that mha-cli reads past because they change no number.

For each family and each key on its lists (the common one in src/model/config_reader.cpp, `read.harmless` in
src/model/families), it changes the key in the configuration of a small random model, loads that with transformers and
compares the outputs with those of the unchanged model. A key that changes them is an error.
Then it lists what the installed transformers and sentence-transformers have that the sources do not name: keys of the
configuration classes and classes of modules. Run it again for each new release.

Needs torch, transformers and sentence-transformers (made with 5.24.0 and 6.2.0). Exit 1 if a key is not harmless."""
import contextlib, dataclasses, inspect, io, json, pkgutil, re, sys
from pathlib import Path

import numpy as np, torch
import transformers as T

sys.path.insert(0, str(Path(__file__).parent))
from make_family_goldens import MODELS, NO_TYPES, V, spread

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parent.parent
T.utils.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()

# family file: model of make_family_goldens that stands for it
FAMILIES = {
    "bert": "bert-relu-eps", "roberta": "roberta-pad-5", "distilbert": "distilbert-relu", "mpnet": "mpnet-pad-7",
    "albert": "albert-two-groups", "electra": "electra-narrow", "deberta": "deberta-v2-own-keys",
    "modernbert": "modernbert-window-2", "nomic_bert": "nomic-theta", "gte": "gte-theta", "t5": "t5-gated-silu",
    "marian": "marian-odd", "roformer": "roformer-value", "eurobert": "eurobert-one-kv", "esm": "esm-rotary-dropout",
}
# Keys whose values only some words can be.
VALUES = {
    "architectures": [["SomethingElse"]], "model_type": [], "auto_map": [{"AutoModel": "other.Model"}],
    "dtype": [], "torch_dtype": [],  # the number type of the weights: this program computes in float32
    "problem_type": ["regression", "multi_label_classification"], "id2label": [{"0": "x"}, {"0": "x", "1": "y", "2": "z"}],
    "label2id": [{"x": 0}], "_attn_implementation": ["eager"], "attn_implementation": ["eager"], "num_labels": [7],
    "chunk_size_feed_forward": [0], "is_encoder_decoder": [], "use_cache": [True, False], "return_dict": [True],
    "output_hidden_states": [True], "output_attentions": [True], "torchscript": [False], "tie_word_embeddings": [True, False],
    "sinusoidal_pos_embds": [True, False], "esmfold_config": [None], "vocab_list": [None], "num_decoder_layers": [1, 3],
    "decoder_layers": [1], "decoder_attention_heads": [7], "decoder_vocab_size": [V], "is_decoder": [False, True],
    "summary_type": ["mean"], "summary_activation": ["tanh"], "share_encoder_decoder_embeddings": [True],
    "eos_token_id": [1, 3, None], "bos_token_id": [1, 3, None], "sep_token_id": [4], "cls_token_id": [4], "mask_token_id": [],
    "decoder_start_token_id": [0, 2], "transformers_version": ["4.0.0"], "sentence_transformers": [{"version": "5.0"}],
    "layer_norm_eps": [0.3], "position_embedding_type": ["absolute"], "pruned_heads": [], "task_specific_params": [{"a": 1}],
    "language": ["en"], "name": ["x"], "_name_or_path": ["elsewhere"], "tokenizer_class": ["BertTokenizer"],
    "pooler_type": ["first_token_transform"], "summary_use_proj": [True, False], "init_std": [0.5],
}
GENERIC = [0, 1, 3, 0.5, True, False, "x"]


def lists():
    """family file → its harmless keys"""
    common = re.search(r"kNeverComputed\[\] = \{(.*?)\};", (ROOT / "src/model/config_reader.cpp").read_text(), re.S)[1]
    common = re.findall(r'"([^"]+)"', common)
    out = {}
    for family in FAMILIES:
        text = (ROOT / f"src/model/families/{family}.cpp").read_text()
        own = [key for block in re.findall(r"read\.harmless\(\{(.*?)\}\)", text, re.S) for key in re.findall(r'"([^"]+)"', block)]
        out[family] = common + [key for key in own if key not in common]
    return out


def kind_of(cls): return getattr(T, cls + "Model")


def outputs(model, cls):
    """float64 vectors of every layer"""
    rng = np.random.default_rng(5)
    ids = torch.tensor(rng.integers(6, V, 12)[None])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if cls not in NO_TYPES and getattr(model.config, "type_vocab_size", 0): inputs["token_type_ids"] = torch.zeros_like(ids)
    target = model.get_encoder() if cls == "MarianMT" else model
    with torch.no_grad(): got = target(**inputs, output_hidden_states=True, return_dict=True)
    return torch.stack(got.hidden_states).double()


def load(config, cls, weights):
    """The model of a config.json, as from_pretrained makes it, with these weights."""
    with contextlib.redirect_stderr(io.StringIO()):
        config = kind_of(cls).config_class.from_dict(config)
        config._attn_implementation = "eager"
        model = kind_of(cls)(config).eval()
        model.load_state_dict(weights, strict=True)
        return model


def base_model(family):
    cls, options = MODELS[FAMILIES[family]]
    torch.manual_seed(7)
    model = kind_of(cls)(kind_of(cls).config_class(**options)).eval()
    spread(model, np.random.default_rng(7))
    model.tie_weights()
    return cls, json.loads(model.config.to_json_string(use_diff=False)), model.state_dict()


def check(family, keys):
    """→ (keys that change numbers, values tried, values that the reference refused)"""
    wrong, tried, refused = [], 0, 0
    cls, config, weights = base_model(family)
    expected = outputs(load(config, cls, weights), cls)
    for key in keys:
        for value in VALUES.get(key, GENERIC):
            if config.get(key, "absent") == value: continue
            try: got = outputs(load({**config, key: value}, cls, weights), cls)
            except Exception: refused += 1; continue
            tried += 1
            if got.shape != expected.shape or not torch.equal(got, expected): wrong.append((key, value))
    return wrong, tried, refused


def new_keys():
    """keys of the configuration classes that no source of the families names"""
    sources = "".join(p.read_text() for p in (ROOT / "src/model").rglob("*.cpp"))
    named = set(re.findall(r'"([A-Za-z_0-9]+)"', sources))
    found = {}
    for name in sorted({cls for cls, _ in MODELS.values()}):
        config = kind_of(name).config_class
        fields = {f.name for f in dataclasses.fields(config)} if dataclasses.is_dataclass(config) else set(inspect.signature(config).parameters)
        own = {key for key in fields | set(config.attribute_map) if not key.startswith("_")} - named
        own -= {f.name for f in dataclasses.fields(T.PretrainedConfig)} if dataclasses.is_dataclass(T.PretrainedConfig) else set()
        if own: found[config.model_type] = sorted(own)
    return found


def new_modules():
    """modules of sentence-transformers that the sources do not name"""
    import sentence_transformers as S
    text = "".join(p.read_text() for p in (ROOT / "src/model").glob("sentence_*.cpp"))
    missing = set()
    for info in pkgutil.walk_packages(S.__path__, "sentence_transformers."):
        if not info.name.endswith(".modules"): continue
        try: names = __import__(info.name, fromlist=["__all__"]).__all__
        except Exception: continue
        missing |= {name for name in names if f'"{name}"' not in text}
    return sorted(missing)


def main():
    wanted = sys.argv[1:]
    failed = False
    print(f"transformers {T.__version__}")
    for family, keys in lists().items():
        if wanted and family not in wanted: continue
        wrong, tried, refused = check(family, keys)
        print(f"{family}: {len(keys)} keys, {tried} values without effect{f', {refused} that the reference refuses' if refused else ''}", flush=True)
        for key, value in wrong:
            failed = True
            print(f"  NOT HARMLESS: {key} = {json.dumps(value)} changes the reference's output")
    for family, keys in new_keys().items(): print(f"not named: keys of {family}: {', '.join(keys)}")
    print(f"not named: modules of sentence-transformers: {', '.join(new_modules())}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
