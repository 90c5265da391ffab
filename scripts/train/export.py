"""Write a checkpoint as an ordinary sentence-transformers model folder with int8 weights, and read one back.

Layout of FOLDER/model.safetensors (names of nn.TransformerEncoder):

    embedding.weight                              I8 [vocabulary, 256]   word table
    embedding_projection.weight                   I8 [512, 256]          word vector -> d_model; no bias
    encoder.layers.N.self_attn.in_proj_weight     I8 [1536, 512]         rows: 512 of Wq, 512 of Wk, 512 of Wv
    encoder.layers.N.self_attn.in_proj_bias       F32 [1536]
    encoder.layers.N.self_attn.out_proj.weight    I8 [512, 512]          and .bias F32 [512]
    encoder.layers.N.linear1.weight               I8 [1024, 512]         and .bias F32 [1024]
    encoder.layers.N.linear2.weight               I8 [512, 1024]         and .bias F32 [512]
    encoder.layers.N.norm1.weight, .bias, norm2   F32 [512]
    encoder.norm.weight, .bias                    F32 [512]              after the last layer

Every I8 tensor NAME [out, in] comes with NAME.scale, F32 [out]: value = int8 * scale of its row, int8 within -127…127.
Word vectors are not scaled by sqrt(d_model) (`scale_embedding` is false): the constant 16 that the training uses is
folded into embedding_projection. A forward pass: x = projection(word vector) + sinusoid(position); for each layer
x += attention(norm1(x)), x += linear2(gelu(linear1(norm2(x)))) with the exact GELU; then encoder.norm.

FOLDER/2_Dense/model.safetensors: linear.weight F32 [384, 512], linear.bias F32 [384].
"""
import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from common import EMBEDDING, FEED_FORWARD, HEADS, LAYERS, MAX_POSITIONS, TEACHER_WIDTH, WIDTH
from model import EMBEDDING_SCALE, Student

RENAMED = {"qkv.weight": "self_attn.in_proj_weight", "qkv.bias": "self_attn.in_proj_bias",
           "out.weight": "self_attn.out_proj.weight", "out.bias": "self_attn.out_proj.bias"}


def exported_name(name):
    """The name of a parameter of Student in the exported file."""
    if name.startswith("layers."):
        _, number, rest = name.split(".", 2)
        return f"encoder.layers.{number}.{RENAMED.get(rest, rest)}"
    return name.replace("norm.", "encoder.norm.") if name.startswith("norm.") else name


def quantise(matrix):
    """One scale a row, so that the largest number of the row becomes 127."""
    scale = np.maximum(np.abs(matrix).max(1), 1e-12).astype(np.float32) / 127
    return np.clip(np.rint(matrix / scale[:, None]), -127, 127).astype(np.int8), scale


def checkpoint_weights(path):
    """The last weights of a branch whose learning rate went to zero, else the running mean."""
    saved = torch.load(path, weights_only=True)
    return saved["model"] if saved["decay_steps"] or "average" not in saved else saved["average"]


def write_model(weights, tokenizer, folder):
    """`weights`: the parameters of Student by name."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors, dense = {}, {}
    for name, value in weights.items():
        value = np.ascontiguousarray(value.float().numpy())
        if name.startswith("dense."):
            dense[name.replace("dense", "linear")] = value
            continue
        if name == "embedding_projection.weight":
            value = value * np.float32(EMBEDDING_SCALE)
        name = exported_name(name)
        if value.ndim == 2:
            tensors[name], tensors[f"{name}.scale"] = quantise(value)
        else:
            tensors[name] = value
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    for sub in ("1_Pooling", "2_Dense", "3_Normalize"):
        (folder / sub).mkdir(exist_ok=True)
    (folder / "3_Normalize" / ".gitkeep").touch()
    save_file(dense, folder / "2_Dense" / "model.safetensors", metadata={"format": "pt"})

    def put(name, value):
        (folder / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")

    put("config.json", {
        "model_type": "transformer_encoder", "d_model": WIDTH, "nhead": HEADS, "num_layers": LAYERS,
        "dim_feedforward": FEED_FORWARD, "activation": "gelu", "layer_norm_eps": 1e-5, "norm_first": True,
        "final_norm": True, "vocab_size": int(tensors["embedding.weight"].shape[0]), "embedding_size": EMBEDDING,
        "max_positions": MAX_POSITIONS, "position": "sinusoidal", "scale_embedding": False, "pad_token_id": 0})
    put("modules.json", [{"idx": k, "name": str(k), "path": path, "type": f"sentence_transformers.models.{kind}"}
                         for k, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling"),
                                                           ("2_Dense", "Dense"), ("3_Normalize", "Normalize")))])
    put("1_Pooling/config.json", {"word_embedding_dimension": WIDTH, "pooling_mode_cls_token": False,
                                  "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False,
                                  "pooling_mode_mean_sqrt_len_tokens": False})
    put("2_Dense/config.json", {"in_features": WIDTH, "out_features": TEACHER_WIDTH, "bias": True,
                                "activation_function": "torch.nn.modules.linear.Identity"})
    put("sentence_bert_config.json", {"max_seq_length": MAX_POSITIONS, "do_lower_case": False})
    put("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_POSITIONS,
                                  "clean_up_tokenization_spaces": False, "pad_token": "[PAD]", "unk_token": "[UNK]"})
    shutil.copyfile(tokenizer, folder / "tokenizer.json")


def read_model(folder):
    """Parameters of Student from an exported folder."""
    tensors = load_file(folder / "model.safetensors")
    out = {}
    for name in Student(2).state_dict():
        if name.startswith("dense."):
            continue
        value = tensors[exported_name(name)]
        if value.dtype == np.int8:
            value = value.astype(np.float32) * tensors[f"{exported_name(name)}.scale"][:, None]
        out[name] = torch.from_numpy(value / np.float32(EMBEDDING_SCALE) if name == "embedding_projection.weight" else value)
    dense = load_file(folder / "2_Dense" / "model.safetensors")
    out.update({"dense.weight": torch.from_numpy(dense["linear.weight"]), "dense.bias": torch.from_numpy(dense["linear.bias"])})
    return out


def load_student(path):
    """A Student from a checkpoint (.pt) or an exported folder."""
    weights = read_model(path) if path.is_dir() else checkpoint_weights(path)
    model = Student(len(weights["embedding.weight"]))
    model.load_state_dict(weights)
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    args = parser.parse_args()
    write_model(checkpoint_weights(args.checkpoint), args.work / "tokenizer.json", args.to)
    files = [f for f in sorted(args.to.rglob("*")) if f.is_file()]
    for file in files:
        print(hashlib.sha256(file.read_bytes()).hexdigest(), file.relative_to(args.to), file.stat().st_size)
    print("bytes", sum(f.stat().st_size for f in files))


if __name__ == "__main__":
    main()
