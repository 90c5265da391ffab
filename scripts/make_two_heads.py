#!/usr/bin/env python3
"""Makes models/two-heads/model.json: a model small enough to read, whose two heads each do one job.

Nothing is trained, and no attention is set by hand. A word is a row of features (named columns). A head is a choice of
features: Wq picks features of the query word, Wk features of the key word, and Wv the features that are passed on.
Attention follows from Q·Kᵀ. Needs only Python 3.8. MODEL.md beside the model explains the columns.
"""

import json
import os
import sys

# The columns of X. Words get 1 in the columns of their features; the model multiplies by √16 = 4 and adds the sinusoidal
# position of Vaswani et al. 2017. Wq and Wk read columns whose wave hardly changes within a sentence. In the even columns
# from 8 on, sin(position / 10000^(2i/16)) stays near 0, so words without a feature ask nothing. In the odd columns, the
# cosine stays near 1 for all words alike, and softmax cancels it.
COLUMNS = [
    "person", "thing", "action", "glue", "mark", "number", "knows", "big",
    "makes", "good", "leads", "made", "role", "group", "pronoun", "quality",
]

# Head 0, "action and role": who is this pronoun, who is led, what is made?
# Head 1, "quality": what is this person like?
# Each pair is (feature of the query word, feature of the key word): row i of Wq picks the first, row i of Wk the second.
HEADS = [
    {
        "asks": [("pronoun", "role"), ("leads", "group"), ("makes", "made")],
        "hands over": ["person", "action", "leads", "makes", "knows", "role", "group", "made"],
    },
    {
        "asks": [("pronoun", "quality"), ("role", "quality")],
        "hands over": ["quality", "good", "big", "leads", "makes", "knows", "number", "thing"],
    },
]

# Features and the words that have them. Each word occurs once.
WORDS = [
    ("pronoun person", "i she he you we they it who"),
    ("role person leads", "leader leaders manager ceo cto director captain chief"),
    ("role person knows", """teacher analyst expert guru specialist specialists syntactician scientist doctor professor
        nurse student lawyer judge"""),
    ("role person makes", "engineer developer architect builder writer artist cook baker designer"),
    ("role person", "friend neighbour parent mother father colleague pilot driver farmer singer"),
    ("quality good", """great kind good excellent wise clever brave careful gentle honest patient rich richer positive
        optimal crucial smart fair calm cheerful"""),
    ("quality good knows", "intelligently curious learned"),
    ("quality good big", "strong strongly powerful"),
    ("quality good makes", "creative"),
    ("quality big", "big large tall highest deeper smaller tiny small single high complex"),
    ("quality big makes", "scalable"),
    ("quality", """critical contextual descriptive general specific specialized technical legal financial grammatical
        syntactic linear complete concise concrete coherent common different distinct diverse arbitrary meaningful
        faceted unified unique independently dimensional positional representational stable standard plain readable
        ready real relevant telling full learnable long less more most mostly much many heavily primarily simply
        automatically simultaneously own next final first last new old young busy bad lazy strict quiet loud"""),
    ("group", "team panel startup company class school crew band family"),
    ("action leads", "led lead leads manage manages managed guide guides guided teach teaches taught"),
    ("action makes", "built build builds make makes making create creates creating produce produces wrote write writes"),
    ("action knows", "learn learns consult explain explains understand understands discovers imagine identifies measured"),
    ("action", """acts added adjectives aggregated alignment allowing applied arrive attention attends averaged becomes
        being blending break calculated calculating captures capturing chosen combine combined combining come compute
        concat concatenate concatenated converting describe defining described dive divide divided does
        doesn emphasize encodes enriched figuring file fills finds flags focus follows gives goal have has helps
        influenced isn is are was were be been join joined laying let link listens looks merge merged might mix mixes
        mixing multiply must need needs pass passed pay placing preserved preserves printed processes processing
        providing read redoes remain repeat represented resulting reviews says seek seeks seen sends shifts should
        shows sleeps sing sings split splits splitting state sticking stop suggests sum sums synthesize synthesizes
        tailored test tests think thinks tokenize track training turn use uses using want wants weigh weighted work
        works would can could may will run runs ran sat walks helped loves likes ask asks answer answers"""),
    ("thing made", "api app database document json html readme software product program page book bread song house bridge poetry"),
    ("thing", """across analogy application attributes base bert biography block bias capability choice column
        columns concatenation concept content context decision default corner cv cat day dim dimension dimensions dog embedding embeddings
        encoding engineering everything example explainer findings format garden head heading headings heads
        idea information input instance interactions items job key layer leadership length lens locality magic marketing
        master matrices matrix md meaning mechanics model models multi name names night norm norm1 nouns output outputs
        patterns perspective perspectives phase position power probabilities project projection pronouns proximity
        qualities query question questions ranges relationship relationships report reports representation result results
        river roles row rows scale score scores sentence sequence set shape shapes share shares side size sized sizes
        softmax softmax_scores source space stage stages statement statements step steps subject subspaces summary
        syntax table text times token tokenization tokens tool total transformer transformers truth txt type types
        understanding understandings value vector vectors way weight weights word words world concat_vector d_k d_model
        d_v e g h k k1 kᵀ m q q1 q2 report_from_head1 report_from_head12 report_from_head2 t un v v1 v2 wk wo wo_h wq wv
        x z z1 z12 z2 z_h highlights role description means s action dot quality descriptor number core calculation
        learning states numbers loops averaging"""),
    ("glue", """a about after all alone also am an and any apart around as at back based because beside between but by
        down during each every far for from her his hers him himself herself how if in into like both its itself just me mine my
        no not now of off on one or our out over per plus pre so subsequent than that the their them themselves then
        there these this those through thus to together under up us very via vs what when where which why with without
        your yours"""),
    ("number", "0 1 2 3 4 5 6 7 8 9 10 11 12 64 65 70 71 100 128 384 512 768 1024 two three four five six seven eight"),
    ("mark", '''. , ; : ! ? ... … ( ) [ ] { } < > " ' ` - -- --- – — + * / = % ^ & @ # $ | · • × √ → ← ≥ ≤ 🧠 "). ",
        ". "."] ": %". '"). ', '." (`-- ), ). ): ); )· ." ., ..., ...] [" `, `-- '''),
]


def lexicon():
    """Words in order with the indices of their feature columns; the first is the unknown word, without any."""
    words = {"<unk>": []}
    for features, text in WORDS:
        columns = sorted(COLUMNS.index(feature) for feature in features.split())
        for word in text.split():
            words.setdefault(word, columns)
    return words


def picks(features, rows):
    """[rows, columns] with a 1 in row i at the column of feature i."""
    matrix = [[0] * len(COLUMNS) for _ in range(rows)]
    for row, feature in enumerate(features):
        matrix[row][COLUMNS.index(feature)] = 1
    return matrix


def build():
    d_model, n_heads = len(COLUMNS), len(HEADS)
    d_head = d_model // n_heads
    words = lexicon()
    embedding = [[1 if column in columns else 0 for column in range(d_model)] for columns in words.values()]
    query, key, value = [], [], []
    for head in HEADS:
        query += picks([asking for asking, _ in head["asks"]], d_head)
        key += picks([answering for _, answering in head["asks"]], d_head)
        value += picks(head["hands over"], d_head)
    # Wo adds up the features that the heads pass on, and mixes both heads if both pass on a feature.
    output = [[row[column] for row in value] for column in range(d_model)]
    return {
        "format": "mha-json",
        "version": 1,
        "config": {
            "d_model": d_model, "n_heads": n_heads, "n_layers": 1, "vocab_size": len(words), "max_positions": 64,
            "d_ff": 0, "position": {"kind": "sinusoidal", "layout": "interleaved"}, "scale_embedding": True,
            "norm": None, "feed_forward": None, "residual": False, "pooling": "mean", "normalize": False,
        },
        "tokenizer": {"type": "words", "vocab": list(words), "lowercase": True},
        "weights": {
            "embeddings.word.weight": embedding,
            "layers.0.attention.query.weight": query,
            "layers.0.attention.key.weight": key,
            "layers.0.attention.value.weight": value,
            "layers.0.attention.output.weight": output,
        },
    }


def text_of(model):
    """One line a word or matrix row, so that the file can be read and compared."""
    lines = ['{"format": "mha-json", "version": 1,', ' "config": ' + json.dumps(model["config"]) + ","]
    vocab = [json.dumps(word, ensure_ascii=False) for word in model["tokenizer"]["vocab"]]
    lines.append(' "tokenizer": {"type": "words", "lowercase": true, "vocab": [')
    for begin in range(0, len(vocab), 12):
        end = "," if begin + 12 < len(vocab) else "]},"
        lines.append("   " + ", ".join(vocab[begin:begin + 12]) + end)
    lines.append(' "weights": {')
    names = list(model["weights"])
    for name in names:
        rows = model["weights"][name]
        lines.append('  "%s": [' % name)
        for i, row in enumerate(rows):
            end = "," if i + 1 < len(rows) else "]" + ("," if name != names[-1] else "}}")
            lines.append("   " + json.dumps(row, separators=(",", ":")) + end)
    return "\n".join(lines) + "\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "models", "two-heads", "model.json")
    text = text_of(build())
    assert json.loads(text) == build()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
