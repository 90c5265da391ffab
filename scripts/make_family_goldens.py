#!/usr/bin/env python3
"""make_family_goldens.py OUT [NAME …]

Makes small random models of every family, with hyperparameters that published models do not have, and runs transformers on
them. The layout is that of ../shared/models: OUT/NAME/{config.json,model.safetensors,golden.json,golden.safetensors}.
Check them with `build/tests/parity/mha_parity --folder OUT`.

Needs torch and transformers (made with 5.24.0); attn_implementation eager, float32, and float64 to measure the noise."""
import json, os, sys
import numpy as np, torch
import transformers as T
from safetensors.torch import save_file

T.utils.logging.disable_progress_bar()

V = 67  # vocabulary

BASE = dict(vocab_size=V, hidden_size=30, num_hidden_layers=2, num_attention_heads=5, intermediate_size=44,
            max_position_embeddings=40, type_vocab_size=3, pad_token_id=2)
DISTIL = dict(vocab_size=V, dim=28, n_layers=3, n_heads=7, hidden_dim=40, max_position_embeddings=33, pad_token_id=0)
T5 = dict(vocab_size=V, d_model=20, d_kv=6, d_ff=36, num_layers=3, num_heads=5, pad_token_id=0)
MODERN = dict(vocab_size=V, hidden_size=32, num_hidden_layers=5, num_attention_heads=2, intermediate_size=26, max_position_embeddings=80,
              pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
ROPE = dict(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=64,
            pad_token_id=0, bos_token_id=1, eos_token_id=2)
DEBERTA = dict(BASE, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0, max_position_embeddings=48)
ESM = dict(vocab_size=V, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=50, max_position_embeddings=44, pad_token_id=1, mask_token_id=5)

# name: (class, config, what else: types = token types are fed)
MODELS = {
    "bert-relu-eps": ("Bert", dict(BASE, hidden_act="relu", layer_norm_eps=0.03)),
    "bert-gelu-new-one-head": ("Bert", dict(BASE, hidden_act="gelu_new", num_attention_heads=1, hidden_size=17)),
    "bert-silu-heads-of-one": ("Bert", dict(BASE, hidden_act="silu", num_attention_heads=30, type_vocab_size=1)),
    "bert-quick-gelu-wide": ("Bert", dict(BASE, hidden_act="quick_gelu", intermediate_size=3, num_hidden_layers=6)),
    "bert-relu2": ("Bert", dict(BASE, hidden_act="relu2", pad_token_id=0)),
    "bert-tanh": ("Bert", dict(BASE, hidden_act="tanh")),
    "bert-linear": ("Bert", dict(BASE, hidden_act="linear")),
    "roberta-pad-5": ("Roberta", dict(BASE, pad_token_id=5, layer_norm_eps=1e-3)),
    "roberta-pad-0": ("Roberta", dict(BASE, pad_token_id=0, type_vocab_size=1)),
    "xlm-roberta": ("XLMRoberta", dict(BASE, pad_token_id=1, hidden_act="gelu_pytorch_tanh")),
    "camembert": ("Camembert", dict(BASE, pad_token_id=1)),
    "distilbert-relu": ("DistilBert", dict(DISTIL, activation="relu")),
    "distilbert-sinusoidal": ("DistilBert", dict(DISTIL, sinusoidal_pos_embds=True)),
    "mpnet-pad-7": ("MPNet", dict({k: v for k, v in BASE.items() if k != "type_vocab_size"}, pad_token_id=7, max_position_embeddings=300, relative_attention_num_buckets=32)),
    "mpnet-buckets-40": ("MPNet", dict({k: v for k, v in BASE.items() if k != "type_vocab_size"}, max_position_embeddings=200, relative_attention_num_buckets=40)),
    "albert-two-groups": ("Albert", dict(BASE, embedding_size=11, num_hidden_layers=5, num_hidden_groups=2)),
    "albert-three-groups": ("Albert", dict(BASE, embedding_size=30, num_hidden_layers=7, num_hidden_groups=3, hidden_act="gelu")),
    "albert-inner": ("Albert", dict(BASE, embedding_size=9, num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2)),
    "electra-same-width": ("Electra", dict(BASE, embedding_size=30)),
    "electra-narrow": ("Electra", dict(BASE, embedding_size=7, hidden_act="relu")),
    "deberta": ("Deberta", dict(DEBERTA)),
    "deberta-c2p": ("Deberta", dict(DEBERTA, pos_att_type=["c2p"], max_relative_positions=9, position_biased_input=True, type_vocab_size=2)),
    "deberta-p2c-embedding": ("Deberta", dict(DEBERTA, pos_att_type=["p2c"], embedding_size=13)),
    "deberta-plain": ("Deberta", dict(DEBERTA, relative_attention=False, pos_att_type=None, position_biased_input=True)),
    "deberta-v2-own-keys": ("DebertaV2", dict(DEBERTA, share_att_key=False, position_buckets=8, norm_rel_ebd="none")),
    "deberta-v2-p2c": ("DebertaV2", dict(DEBERTA, share_att_key=False, pos_att_type=["p2c"], position_buckets=6, max_relative_positions=20)),
    "deberta-v2-shared-p2c": ("DebertaV2", dict(DEBERTA, share_att_key=True, pos_att_type="p2c", position_buckets=10, norm_rel_ebd="layer_norm")),
    "deberta-v2-no-buckets": ("DebertaV2", dict(DEBERTA, share_att_key=True, max_relative_positions=7, norm_rel_ebd="layer_norm")),
    "deberta-v2-scale-only": ("DebertaV2", dict(DEBERTA, relative_attention=False, position_biased_input=True)),
    "deberta-v2-conv-5-groups": ("DebertaV2", dict(DEBERTA, share_att_key=True, position_buckets=12, conv_kernel_size=5, conv_groups=3, conv_act="gelu", norm_rel_ebd="layer_norm")),
    "deberta-v2-conv-1": ("DebertaV2", dict(DEBERTA, share_att_key=True, position_buckets=12, conv_kernel_size=1, conv_act="relu")),
    "deberta-v2-embedding-head-size": ("DebertaV2", dict(DEBERTA, share_att_key=True, position_buckets=4, embedding_size=14, type_vocab_size=2, position_biased_input=True)),
    "deberta-v2-new-head": ("DebertaV2", dict(DEBERTA, share_att_key=True, position_buckets=16, legacy=False, pooler_hidden_act="tanh")),
    "deberta-v2-long": ("DebertaV2", dict(DEBERTA, share_att_key=True, position_buckets=32, max_position_embeddings=300, norm_rel_ebd="layer_norm")),
    "modernbert-window-2": ("ModernBert", dict(MODERN, local_attention=2, global_attn_every_n_layers=2, hidden_activation="silu")),
    "modernbert-window-odd": ("ModernBert", dict(MODERN, local_attention=7, norm_eps=0.01, norm_bias=True, attention_bias=True, mlp_bias=True)),
    "modernbert-all-global": ("ModernBert", dict(MODERN, global_attn_every_n_layers=1, hidden_activation="gelu_pytorch_tanh", classifier_bias=True, decoder_bias=False, classifier_activation="tanh")),
    "modernbert-linear-rope": ("ModernBert", dict(MODERN, local_attention=12, classifier_pooling="mean", rope_parameters={
        "full_attention": {"rope_type": "linear", "factor": 3.0, "rope_theta": 700.0}, "sliding_attention": {"rope_type": "linear", "factor": 3.0, "rope_theta": 31.0}})),
    "nomic-head-dim": ("NomicBert", dict(ROPE, head_dim=6, type_vocab_size=2, hidden_act="gelu")),
    "nomic-theta": ("NomicBert", dict(ROPE, type_vocab_size=4, layer_norm_eps=0.02, rope_parameters={"rope_theta": 55.0, "rope_type": "default"})),
    "gte-no-types": ("Gte", dict(ROPE, type_vocab_size=0, hidden_act="silu")),
    "gte-theta": ("Gte", dict(ROPE, type_vocab_size=2, layer_norm_eps=1e-2, rope_parameters={"rope_theta": 90.0, "rope_type": "default"})),
    "t5-buckets-4": ("T5Encoder", dict(T5, relative_attention_num_buckets=4, relative_attention_max_distance=9, feed_forward_proj="relu")),
    "t5-gated-silu": ("T5Encoder", dict(T5, feed_forward_proj="gated-silu", layer_norm_epsilon=0.01, relative_attention_num_buckets=16, relative_attention_max_distance=50)),
    "t5-gelu": ("T5Encoder", dict(T5, feed_forward_proj="gelu")),
    "mt5": ("MT5Encoder", dict(T5)),
    "umt5": ("UMT5Encoder", dict(T5, relative_attention_num_buckets=10, relative_attention_max_distance=40)),
    "marian-odd": ("MarianMT", dict(vocab_size=V, d_model=21, encoder_layers=3, encoder_attention_heads=7, encoder_ffn_dim=31, decoder_layers=1, decoder_attention_heads=7,
                                  decoder_ffn_dim=8, max_position_embeddings=40, activation_function="relu", scale_embedding=False, pad_token_id=0, decoder_start_token_id=0)),
    "marian-gelu-scaled": ("MarianMT", dict(vocab_size=V, d_model=24, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=31, decoder_layers=1, decoder_attention_heads=2,
                                          decoder_ffn_dim=8, max_position_embeddings=40, activation_function="gelu", scale_embedding=True, pad_token_id=0, decoder_start_token_id=0)),
    "roformer-value": ("RoFormer", dict(BASE, rotary_value=True, hidden_size=40, embedding_size=None)),
    "roformer-embedding": ("RoFormer", dict(BASE, rotary_value=False, hidden_size=40, embedding_size=15, hidden_act="relu")),
    "eurobert-one-kv": ("EuroBert", dict(ROPE, num_key_value_heads=1, head_dim=14, attention_bias=True, mlp_bias=True, classifier_pooling="mean")),
    "eurobert-tied": ("EuroBert", dict(ROPE, num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=0.1, classifier_pooling="bos", hidden_act="gelu")),
    "eurobert-linear-rope": ("EuroBert", dict(ROPE, classifier_pooling="late", rope_parameters={"rope_type": "linear", "factor": 2.5, "rope_theta": 300.0})),
    "modernbert-long": ("ModernBert", dict(MODERN, max_position_embeddings=1500, local_attention=128)),
    "gte-long": ("Gte", dict(ROPE, max_position_embeddings=1500, type_vocab_size=1)),
    "nomic-long": ("NomicBert", dict(ROPE, max_position_embeddings=1500, type_vocab_size=2)),
    "eurobert-long": ("EuroBert", dict(ROPE, max_position_embeddings=1500, num_key_value_heads=2, rope_parameters={"rope_theta": 250000.0, "rope_type": "default"})),
    "esm-absolute": ("Esm", dict(ESM, position_embedding_type="absolute", emb_layer_norm_before=True, token_dropout=False)),
    "esm-rotary-dropout": ("Esm", dict(ESM, position_embedding_type="rotary", emb_layer_norm_before=True, token_dropout=True, layer_norm_eps=0.01)),
}
NO_TYPES = {"DistilBert", "MPNet", "ModernBert", "T5Encoder", "MT5Encoder", "UMT5Encoder", "MarianMT", "EuroBert", "Esm"}
TASKS = {"mlm": "ForMaskedLM", "seq": "ForSequenceClassification", "tok": "ForTokenClassification", "qa": "ForQuestionAnswering"}


def spread(model, rng):
    """Weights with which mistakes show: no norm is near 1, no bias near 0, attention is peaky."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name: continue  # computed tables stay
            if p.dim() == 1 and name.endswith("weight"): value = rng.uniform(0.4, 1.7, p.shape)
            elif p.dim() == 1: value = rng.normal(0, 0.4, p.shape)
            elif "embed" in name or "shared" in name: value = rng.normal(0, 1.0, p.shape)
            else: value = rng.normal(0, 1.6 / np.sqrt(p.shape[-1] if p.dim() == 2 else p.shape[1] * p.shape[2]), p.shape)
            p.copy_(torch.from_numpy(np.asarray(value, dtype=np.float32)))


def cases(cls, config, rng):
    longest = getattr(config, "max_position_embeddings", 90) or 90
    if cls in ("Roberta", "XLMRoberta", "Camembert", "Esm") and getattr(config, "position_embedding_type", "absolute") == "absolute": longest -= config.pad_token_id + 1
    if cls == "MPNet": longest -= 2
    out = []
    for length in (1, 2, 9, min(31, longest), longest):
        ids = rng.integers(0, V, length)
        if length == 9 and cls in ("Roberta", "XLMRoberta", "Camembert", "MPNet"): ids[3] = ids[7] = config.pad_token_id if cls != "MPNet" else 1
        if length == 9 and cls == "Esm": ids[2] = ids[5] = config.mask_token_id
        types = rng.integers(0, max(1, getattr(config, "type_vocab_size", 1) or 1), length)
        out.append((f"n{length}", ids, types))
    return {name: (ids, types) for name, ids, types in out}.items()


def run(cls, model, ids, types, double):
    model = model.double() if double else model.float()
    inputs = {"input_ids": torch.tensor(ids[None]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    if cls not in NO_TYPES: inputs["token_type_ids"] = torch.tensor(types[None])
    with torch.no_grad():
        target = model.get_encoder() if cls == "MarianMT" else model
        return target(**inputs, output_hidden_states=True, output_attentions=True)


def arrays(output, task):
    if task == "qa": return {"start_logits": output.start_logits[0], "end_logits": output.end_logits[0]}
    if task: return {"logits": output.logits[0]}
    got = {"hidden_states": torch.stack([h[0] for h in output.hidden_states]), "attentions": torch.stack([a[0] for a in output.attentions])}
    if output.last_hidden_state.shape[1] > 400: got = {}  # attention maps would fill the disk
    if output.last_hidden_state is not None: got["last_hidden_state"] = output.last_hidden_state[0]
    if getattr(output, "pooler_output", None) is not None: got["pooler_output"] = output.pooler_output[0]
    return got


def make(out, name, cls, options, task, seed):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    if task:
        kind = getattr(T, cls.removesuffix("MT").removesuffix("Encoder") + TASKS[task], None)
        if kind is None or ("T5" in cls and task != "tok"): return  # those of T5 read the decoder
        options = dict(options, num_labels=2 if task == "qa" else 4)
    else:
        kind = getattr(T, cls + "Model")
    config = kind.config_class(**options)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    spread(model, rng)
    model.tie_weights()
    folder = os.path.join(out, name + (f"-{task}" if task else ""))
    os.makedirs(folder, exist_ok=True)
    golden, listed = {}, []
    for case, (ids, types) in cases(cls, config, rng):
        single = arrays(run(cls, model, ids, types, False), task)
        exact = arrays(run(cls, model, ids, types, True), task)
        keys = {}
        for key, value in single.items():
            golden[f"{case}.{key}"] = value.float().contiguous()
            keys[key] = {"shape": list(value.shape), "noise": float((value.double() - exact[key].double()).abs().max()), "scale": float(value.abs().max())}
        listed.append({"name": case, "input_ids": ids.tolist(), "token_type_ids": types.tolist(), "keys": keys})
    model.float().save_pretrained(folder)
    save_file(golden, os.path.join(folder, "golden.safetensors"))
    top = {"family": config.model_type, "token_types_fed": cls not in NO_TYPES, "cases": listed}
    if task: top["task"] = task
    with open(os.path.join(folder, "golden.json"), "w") as f: json.dump(top, f)


def main():
    if len(sys.argv) < 2: sys.exit(__doc__)
    wanted = sys.argv[2:]
    for i, (name, (cls, options)) in enumerate(MODELS.items()):
        if wanted and name not in wanted: continue
        for task in [None, *TASKS]:
            try: make(sys.argv[1], name, cls, options, task, 100 + i)
            except Exception as error: print(f"{name} {task or ''}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


if __name__ == "__main__": main()
