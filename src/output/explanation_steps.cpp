#include "output/explanation_steps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/numbers.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

constexpr std::size_t kListened = 3;  // tokens that a sentence lists

std::string number(std::size_t n) { return std::to_string(n); }

std::string decimal(double value, int digits) {
  std::string text;
  append_float(text, static_cast<float>(value), digits);
  return text;
}

std::string shape(std::size_t rows, std::size_t columns) { return "(" + number(rows) + ", " + number(columns) + ")"; }

std::string percent(double share) { return number(static_cast<std::size_t>(std::lround(share * 100))) + " %"; }

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::quick_gelu:
      return "quick_gelu";
    case Activation::silu:
      return "silu";
    case Activation::tanh:
      return "tanh";
    case Activation::relu_squared:
      return "relu²";
  }
  return "";
}

}  // namespace

double length_of(const float* row, std::size_t columns) {
  double sum = 0;
  for (std::size_t i = 0; i < columns; ++i) sum += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return std::sqrt(sum);
}

namespace {

class Story {
 public:
  Story(const Explanation& explanation, std::size_t token)
      : e_(explanation), token_(token), tokens_(explanation.labels.size()) {
    if (token_ < tokens_) name_ = display_name(e_.labels[token_]);
  }

  std::vector<ExplanationStep> tell() {
    biography();
    perspectives();
    scores();
    contextual_vectors();
    all_perspectives();
    rest_of_the_block();
    return std::move(steps_);
  }

 private:
  const Stage* stage(std::string_view name) const { return e_.stage(name); }

  void show(ExplanationStep& step, std::string_view name, const std::string& caption) const {
    if (const Stage* s = stage(name); s != nullptr && s->heads == 0) {
      step.matrices.push_back(
          {caption + ": " + shape(s->rows, s->cols), s->values.data(), s->rows, s->cols, false, name, {}, {}});
    }
  }

  void show_heads(ExplanationStep& step, std::string_view name, const std::string& what, bool keys) const {
    const Stage* s = stage(name);
    if (s == nullptr) return;
    for (const std::size_t head : shown_heads()) {
      const bool zeroed = name == "Z" && e_.is_ablated(head);
      step.head_matrices.push_back({"head " + number(head) + ": " + (zeroed ? "Z = 0, the head is ablated" : what) +
                                        ": " + shape(s->rows, s->cols),
                                    e_.of_head(*s, head),
                                    s->rows,
                                    s->cols,
                                    keys,
                                    name,
                                    what,
                                    {}});
    }
  }

  std::vector<std::size_t> shown_heads() const {
    std::vector<std::size_t> heads = e_.heads;
    if (heads.size() > kShownHeads) heads.resize(kShownHeads);
    return heads;
  }

  std::string norm_name() const { return e_.config.norm->kind == NormKind::rms_norm ? "RMSNorm" : "LayerNorm"; }
  std::string norm_text() const {
    const bool shifts = e_.config.norm_bias && e_.config.norm->kind == NormKind::layer_norm;
    return norm_name() + " (" + (shifts ? "times γ, plus β" : "times γ") + ")";
  }

  // How positions enter this family.
  bool adds_positions() const {
    return e_.config.position.learned || e_.config.position.sinusoidal != PositionConfig::Sinusoidal::none;
  }
  std::string where_positions_enter() const {
    const PositionConfig& position = e_.config.position;
    std::string places;
    const auto add = [&](const char* place) { (places += places.empty() ? "" : "; ") += place; };
    if (position.rotary != PositionConfig::Rotary::none) add("in step 2, as a rotation of Q and K");
    if (position.relative_bias || position.alibi)
      add("in step 3, as a bias that the distance of two tokens gives a score");
    if (position.disentangled) add("in step 3, as products with vectors of relative positions");
    if (e_.config.convolution) add("before the first layer, by a convolution over neighbours");
    return places;
  }

  // From the sum of the embeddings to X.
  std::string rest_of_the_sum(std::size_t summands) const {
    const ModelConfig& c = e_.config;
    const bool projected = c.factorised();
    const std::string projection =
        "projected from " + number(c.embedding_size) + " to " + number(c.d_model) + " numbers";
    const bool normed = c.embedding_norm && c.norm;
    std::vector<std::string> parts;
    if (projected && c.embedding_projection == ModelConfig::Projection::after_sum) parts.push_back(projection);
    if (normed) parts.push_back("after " + norm_text());
    if (projected && c.embedding_projection == ModelConfig::Projection::after_norm) parts.push_back(projection);
    std::string text = summands > 1 ? "X is their sum" : "X is the embedding";
    for (const std::string& part : parts) text += ", " + part;
    if (parts.empty() && summands == 1) text += " itself";
    return text + ".";
  }

  void biography() {
    ExplanationStep step;
    step.name = "input";
    const bool first = e_.layer == 0;
    const std::string before = number(e_.layer == 0 ? 0 : e_.layer - 1);
    step.heading = "Step 1  The input: " + (!first             ? "what layer " + before + " wrote"
                                            : adds_positions() ? std::string("embedding plus position")
                                                               : std::string("embedding"));
    step.analogy = adds_positions() ? "Your biography: what each word is, and its place in the text."
                                    : "Your biography: what each word is.";
    step.sentences.push_back("The text is " + number(tokens_) +
                             " tokens. Each becomes a vector of d_model = " + number(e_.config.d_model) +
                             " numbers, so X is " + shape(tokens_, e_.config.d_model) + ".");
    if (!first) {
      step.sentences.push_back("Layer " + number(e_.layer) + " reads what layer " + before +
                               " wrote: X is hidden_states[" + number(e_.layer) + "].");
    } else {
      std::size_t summands = 0;
      const auto show_summand = [&](std::string_view name, const std::string& caption) {
        summands += stage(name) != nullptr ? 1 : 0;
        show(step, name, caption);
      };
      show_summand("word_embedding", "embedding");
      show_summand("position_encoding", e_.config.position.sinusoidal != PositionConfig::Sinusoidal::none
                                            ? "position encoding, sines and cosines"
                                            : "position embeddings");
      show_summand("token_type", "token type embeddings");
      if (!adds_positions()) {
        const std::string places = where_positions_enter();
        step.sentences.push_back(places.empty() ? "No position is added: this model does not know where a token is."
                                                : "No position is added here. It enters " + places + ".");
      }
      step.sentences.push_back(rest_of_the_sum(summands));
    }
    show(step, "X", "X");
    steps_.push_back(std::move(step));
  }

  void perspectives() {
    ExplanationStep step;
    step.name = "heads";
    step.heading = "Step 2  The heads: Q, K and V";
    step.analogy =
        "Each head reads the biography through its own lens: Q is its question, K the description, V the content.";
    const std::string input = stage("norm1") != nullptr ? "norm1(X)" : "X";
    if (stage("norm1") != nullptr) {
      step.sentences.push_back(
          "This is a pre-norm model: Q, K and V are made from norm1(X), X after its normalisation.");
      show(step, "norm1", "norm1(X)");
    }
    const bool bias = e_.config.attention_bias;
    step.sentences.push_back("d_model " + number(e_.config.d_model) + " is read by " + number(e_.config.n_heads) +
                             " heads of d_head " + number(e_.config.d_head) + ": Q = " + input + "·Wq" +
                             (bias ? " + bq" : "") + ", K = " + input + "·Wk" + (bias ? " + bk" : "") +
                             " and V = " + input + "·Wv" + (bias ? " + bv" : "") + " are " +
                             shape(tokens_, e_.config.d_head) + " for each head.");
    if (e_.config.n_kv_heads < e_.config.n_heads) {
      step.sentences.push_back("Its " + number(e_.config.n_heads) + " heads share " + number(e_.config.n_kv_heads) +
                               " of K and V.");
    }
    if (e_.config.position.rotary != PositionConfig::Rotary::none) {
      step.sentences.push_back("Q and K are shown after their rotation by the token's position.");
    }
    show_heads(step, "Q", "Q", false);
    show_heads(step, "K", "K", false);
    show_heads(step, "V", "V", false);
    steps_.push_back(std::move(step));
  }

  void scores() {
    ExplanationStep step;
    step.name = "scores";
    step.heading = "Step 3  Who listens to whom: scores and softmax";
    step.analogy =
        "Every question is held against every description; the softmax turns the matches into shares of attention.";
    const PositionConfig& position = e_.config.position;
    const bool scaled = e_.config.scale_scores;
    const std::size_t square = e_.config.d_head * e_.config.score_parts;
    const std::string root = decimal(std::sqrt(static_cast<double>(square)), 3);
    const bool biased = position.relative_bias || position.alibi || position.disentangled;
    step.sentences.push_back(
        "Scores = Q·Kᵀ are " + shape(tokens_, tokens_) +
        (scaled ? ", divided by √" + number(square) + " = " + root : ", not divided in this family") +
        (biased ? ", plus what the distance of the tokens adds" : "") + "; the softmax of each row sums to 1.");
    if (e_.config.is_local(e_.layer)) {
      step.sentences.push_back("This layer is local: a token sees " + number(e_.config.local_window) +
                               " tokens to each side; what is further away does not enter the softmax.");
    }
    show_heads(step, "scores", "scores = Q·Kᵀ", true);
    show_heads(step, "scaled",
               (scaled ? "scaled = scores / " + root : std::string("what enters the softmax")) +
                   (scaled && biased ? " + distances" : ""),
               true);
    show_heads(step, "probabilities", "probabilities = softmax by row", true);
    if (const Stage* s = stage("probabilities"); s != nullptr && token_ < tokens_) {
      step.title_before = "Whom ";
      step.title_after = " listens to:";
      for (const std::size_t head : e_.heads) {
        const float* row = s->values.data() + (head * tokens_ + token_) * tokens_;
        step.findings.push_back("head " + number(head) + ": " + name_ + " → " + listened(row));
      }
    }
    steps_.push_back(std::move(step));
  }

  std::string listened(const float* row) const {
    std::vector<std::size_t> order(tokens_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [row](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    std::string text;
    for (std::size_t i = 0; i < std::min(kListened, tokens_); ++i) {
      if (i > 0 && row[order[i]] < 0.005F) break;
      if (i > 0) text += ", ";
      text += display_name(e_.labels[order[i]]) + " " + percent(static_cast<double>(row[order[i]]));
    }
    return text;
  }

  void contextual_vectors() {
    ExplanationStep step;
    step.name = "context";
    step.heading = "Step 4  The contextual vectors: Z";
    step.analogy = "What is heard, in the shares of step 3: a word in the context of the words it listened to.";
    step.sentences.push_back("Z = probabilities·V is " + shape(tokens_, e_.config.d_head) + " for each head.");
    show_heads(step, "Z", "Z = probabilities·V", false);
    if (const Stage* s = stage("probabilities"); s != nullptr && token_ < tokens_) {
      for (const std::size_t head : e_.heads) {
        if (e_.is_ablated(head)) {
          step.findings.push_back("head " + number(head) + ": ablated, Z is set to 0");
          continue;
        }
        const float* row = s->values.data() + (head * tokens_ + token_) * tokens_;
        const auto most = static_cast<std::size_t>(std::max_element(row, row + tokens_) - row);
        step.findings.push_back("head " + number(head) + ": Z of " + name_ + " is " +
                                percent(static_cast<double>(row[most])) + " the V of " + display_name(e_.labels[most]));
      }
    }
    steps_.push_back(std::move(step));
  }

  void all_perspectives() {
    ExplanationStep step;
    step.name = "output";
    step.heading = "Step 5  All perspectives: concat and Wo";
    step.analogy = "The reports lie side by side on the table; Wo is the chief who reads them all and decides.";
    const std::size_t width = e_.config.d_query();
    step.sentences.push_back("The Z of " + number(e_.config.n_heads) + " heads side by side are the concat " +
                             shape(tokens_, width) + ", " + number(e_.config.n_heads) + " × " +
                             number(e_.config.d_head) + " = " + number(width) + "; times Wo" +
                             (e_.output_bias.empty() ? "" : ", plus its bias bo,") + " it is " +
                             shape(tokens_, e_.config.d_model) + " again.");
    show(step, "concat", "concat");
    if (!e_.output_bias.empty()) {
      step.matrices.push_back({"bo, added to every token: " + shape(1, e_.config.d_model),
                               e_.output_bias.data(),
                               1,
                               e_.config.d_model,
                               false,
                               {},
                               {},
                               "bo"});
    }
    show(step, "attention_output",
         e_.output_bias.empty() ? "attention output = concat·Wo" : "attention output = concat·Wo + bo");
    if (const Stage* s = stage("output_share"); s != nullptr && token_ < tokens_) {
      step.title_before = std::string("Z_h·Wo_h is a head's share of the output; all shares") +
                          (e_.output_bias.empty() ? "" : " and bo") + " add up to it. Their lengths for ";
      step.title_after = ":";
      for (const std::size_t head : e_.heads) {
        const float* row = s->values.data() + (head * s->rows + token_) * s->cols;
        step.findings.push_back("head " + number(head) + ": columns " + number(head * e_.config.d_head) + " to " +
                                number((head + 1) * e_.config.d_head - 1) + ", share of length " +
                                decimal(length_of(row, s->cols), 3));
      }
    }
    steps_.push_back(std::move(step));
  }

  void rest_of_the_block() {
    struct Row {
      std::string_view stage;
      std::string_view caption;
    };
    static constexpr Row kRows[] = {
        {"residual1", "residual1 = X + attention output"},
        {"attention_norm", "attention_norm, after the normalisation"},
        {"norm2", "norm2, after the normalisation"},
        {"feed_forward_input", "feed-forward input"},
        {"feed_forward_hidden", "feed-forward hidden, after its activation"},
        {"feed_forward_output", "feed-forward output"},
        {"residual2", "residual2 = residual + feed-forward output"},
        {"block_output", "block output, what the next layer reads"},
    };
    ExplanationStep step;
    step.name = "block";
    step.heading = "After attention  The rest of the block";
    step.analogy = "The contextual CV is laid on top of the biography and polished.";
    for (const Row& row : kRows) show(step, row.stage, std::string(row.caption));
    const bool only_output = step.matrices.size() == 1 && stage("block_output") != nullptr;
    if (step.matrices.empty() || (only_output && stage("residual1") == nullptr)) return;
    const ModelConfig& c = e_.config;
    const bool pre = c.norm && c.norm->order == NormOrder::pre;
    if (stage("residual1") != nullptr) {
      step.sentences.push_back(
          "A residual connection adds the layer's input to the attention output: residual1 = X + attention output.");
    }
    if (stage("attention_norm") != nullptr) {
      step.sentences.push_back(norm_text() + " of each row gives attention_norm.");
    }
    if (stage("norm2") != nullptr) {
      step.sentences.push_back(norm_text() + " of each row gives norm2, which the feed-forward network reads.");
    }
    if (const Stage* hidden = stage("feed_forward_hidden"); hidden != nullptr) {
      const std::string first = std::string("·W1") + (c.feed_forward_bias ? " + b1" : "");
      const std::string activated = std::string(activation_name(c.activation)) + "(input" + first + ")";
      step.sentences.push_back("The feed-forward network widens each token to " + number(hidden->cols) +
                               " and back: hidden = " + activated + (c.gated() ? " times its gate" : "") +
                               ", output = hidden·W2" + (c.feed_forward_output_bias ? " + b2" : "") + ".");
      if (c.residual) {
        step.sentences.push_back(
            std::string("A second residual connection adds what stood before it") +
            (c.norm && !pre ? ", and " + norm_text() + " of each row gives the block's output." : "."));
      }
    }
    steps_.push_back(std::move(step));
  }

  const Explanation& e_;
  std::size_t token_;
  std::size_t tokens_;
  std::string name_;
  std::vector<ExplanationStep> steps_;
};

}  // namespace

std::string display_name(const MapLabel& label) {
  const std::string text = escape_controls(label.text.empty() ? label.piece : label.text);
  return text.find_first_not_of(' ') == std::string::npos ? "␠" : text;
}

std::string row_name(const Explanation& explanation, const ShownMatrix& matrix, std::size_t row) {
  return matrix.row_name.empty() ? display_name(explanation.labels[row]) : matrix.row_name;
}

std::vector<ExplanationStep> explanation_steps(const Explanation& explanation, std::size_t token) {
  return Story(explanation, token).tell();
}

}  // namespace mha
