#!/usr/bin/env python3
"""make_kind_goldens.py OUT

Makes one small random model folder for each kind of model that sentence-transformers saves (embedder with residual and
truncation, cross-encoder, sparse encoder, late interaction, static embedding), a model2vec folder and a LoRA adapter
beside its base, each with what the reference computes: OUT/NAME/golden.json. tests/cli/kinds.py reads them.

Needs torch, transformers, sentence-transformers, peft and model2vec (made with 5.24.0, 6.2.0, 0.19 and 0.9)."""
import json, os, shutil, sys
from pathlib import Path

import numpy as np, torch
import transformers as T
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from sentence_transformers.sparse_encoder.modules import SpladePooling
from sentence_transformers.multi_vector_encoder import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

sys.path.insert(0, str(Path(__file__).parent))
from make_family_goldens import spread

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] she is a great leader the team works every day with . , ! over hill".split()
TEXTS = ["she is a great leader", "the team works every day .", "over the hill , with a team !", "zebra"]
SIZES = dict(vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
             max_position_embeddings=32, type_vocab_size=2, pad_token_id=0)


def tokenizer():
    inner = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    return T.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
                                     sep_token="[SEP]", mask_token="[MASK]", model_max_length=32)


def encoder(folder, cls, seed, **options):
    torch.manual_seed(seed)
    model = getattr(T, cls)(T.BertConfig(**SIZES, **options)).eval()
    spread(model, np.random.default_rng(seed))
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def numbers(array): return np.asarray(array, dtype=np.float64).round(7).tolist()


def finish(out, name, golden):
    folder = out / name
    for path in list(folder.rglob("README.md")): path.unlink()
    (folder / "golden.json").write_text(json.dumps({"texts": TEXTS, **golden}))


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    work = out / "work"
    torch.set_grad_enabled(False)

    base = encoder(work / "base", "BertModel", 1)
    modules = [Transformer(str(base)), Pooling(16, "mean"), Dense(16, 16, use_residual=True), Dense(16, 10, use_residual=True), Normalize()]
    model = SentenceTransformer(modules=modules, truncate_dim=6, device="cpu")
    model.save(str(out / "embedder"))
    finish(out, "embedder", {"arguments": ["embed"], "embedding": numbers(SentenceTransformer(str(out / "embedder"), device="cpu").encode(TEXTS))})

    model = CrossEncoder(str(encoder(work / "pairs", "BertForSequenceClassification", 2, num_labels=1)), device="cpu", prompts={"query": "the team "}, default_prompt_name="query")
    model.save(str(out / "cross-encoder"))
    model = CrossEncoder(str(out / "cross-encoder"), device="cpu")
    finish(out, "cross-encoder", {"arguments": ["rerank", "a great leader"], "score": numbers(model.predict([("a great leader", t) for t in TEXTS]))})

    model = SparseEncoder(modules=[Transformer(str(encoder(work / "mlm", "BertForMaskedLM", 3)), transformer_task="fill-mask"), SpladePooling("max")], device="cpu")
    model.save(str(out / "sparse"))
    finish(out, "sparse", {"arguments": ["embed", "--sparse"], "weights": numbers(SparseEncoder(str(out / "sparse"), device="cpu").encode(TEXTS, convert_to_sparse_tensor=False))})

    modules = [Transformer(str(base)), Dense(16, 8, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings"),
               MultiVectorMask(skiplist_words=[",", ".", "!"]), Normalize(module_input_name="token_embeddings")]
    MultiVectorEncoder(modules=modules, device="cpu").save(str(out / "late-interaction"))
    vectors = MultiVectorEncoder(str(out / "late-interaction"), device="cpu").encode(TEXTS)
    finish(out, "late-interaction", {"arguments": ["embed", "--tokens"], "token_embeddings": [numbers(v) for v in vectors]})

    table = np.random.default_rng(4).normal(size=(len(WORDS), 12)).astype(np.float32)
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer(), embedding_weights=table), Normalize()], device="cpu")
    model.save(str(out / "static"))
    finish(out, "static", {"arguments": ["embed"], "embedding": numbers(SentenceTransformer(str(out / "static"), device="cpu").encode(TEXTS))})

    from model2vec import StaticModel
    plain = tokenizer().backend_tokenizer
    StaticModel(table, plain, config={"normalize": True}, normalize=True).save_pretrained(str(out / "model2vec"))
    (out / "model2vec" / "modules.json").unlink(missing_ok=True)
    texts = TEXTS[:3]  # of the last no word is known
    finish(out, "model2vec", {"texts": texts, "arguments": ["embed"], "embedding": numbers(StaticModel.from_pretrained(str(out / "model2vec")).encode(texts))})

    from peft import LoraConfig, get_peft_model
    shutil.copytree(base, out / "lora", dirs_exist_ok=True)
    torch.set_grad_enabled(True)
    adapted = get_peft_model(T.BertModel.from_pretrained(base), LoraConfig(r=2, lora_alpha=6, target_modules=["query", "value", "dense"]))
    rng = np.random.default_rng(9)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if "lora_" in name: value.copy_(torch.from_numpy(rng.normal(0, 0.3, value.shape).astype(np.float32)))
        adapted.save_pretrained(str(out / "lora"))
        (out / "lora" / "config.json").write_text((Path(base) / "config.json").read_text())
        settings = out / "lora" / "adapter_config.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "base_model_name_or_path": "base"}, indent=1))
        words = tokenizer()
        adapted.eval()
        means = []
        for text in TEXTS:
            got = adapted(**words(text, return_tensors="pt"))
            means.append(numbers(got.last_hidden_state[0].mean(0)))
    finish(out, "lora", {"arguments": ["embed"], "embedding": means})
    shutil.rmtree(work)


if __name__ == "__main__": main()
