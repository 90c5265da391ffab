#include "pipeline/model_worker.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/packed_inputs.hpp"
#include "pipeline/sentence_vectors.hpp"
#include "tokenizer/keep_tokens.hpp"

namespace mha {
namespace {

class ModelWorker : public RecordWorker {
 public:
  ModelWorker(const ModelWork& work, std::size_t prompt_length, Executor* executor)
      : work_(work),
        prompt_length_(prompt_length),
        inputs_(work.encoder == nullptr ? ModelConfig() : work.encoder->config(), executor),
        vectors_(work) {
    if (work.encoder == nullptr) return;
    const ModelConfig& config = work.encoder->config();
    const std::size_t heads = work.wanted.attention_heads.empty() ? config.n_heads : work.wanted.attention_heads.size();
    maps_ = work.parts.attentions ? work.wanted.attention_layers.size() * heads : 0;
    rows_ = (work.parts.last_hidden_state ? 1 : 0) + (work.parts.hidden_states ? config.n_layers + 1 : 0);
  }

  void prepare(Record& record) override {
    if (work_.refuse_pairs && record.input.text_pair) throw_input("text_pair: expected a single text, got a pair");
    record.prompt = work_.prompt;
    std::string_view text = record.input.text;
    if (!work_.prompt.empty()) text = (joined_ = work_.prompt) += record.input.text;
    const auto pair = record.input.text_pair ? std::optional<std::string_view>(*record.input.text_pair) : std::nullopt;
    work_.tokenizer->encode(text, pair, work_.encode, scratch_, record.encoding);
    record.truncated = record.encoding.truncated() && record.encoding.overflowing.empty();
    if (work_.refuse_long && record.encoding.truncated()) {
      throw_input("too long: expected at most " + std::to_string(*work_.encode.max_length) + " tokens, got " +
                  std::to_string(record.encoding.full_length) + "; truncation head or tail cuts it");
    }
    if (record.tokens() == 0 && work_.parts.embedding) throw_input("no tokens to pool");
  }

  std::size_t floats(const Record& record) const override {
    if (work_.encoder == nullptr) return 0;
    const std::size_t tokens = record.tokens();
    return rows_ * tokens * work_.encoder->config().d_model + maps_ * tokens * tokens;
  }

  void encode(std::span<Record* const> batch) override {
    if (work_.encoder == nullptr) return;
    const std::size_t d_model = work_.encoder->config().d_model;
    inputs_.clear();
    for (Record* record : batch) {
      record->d_model = d_model;
      if (record->tokens() > 0) inputs_.add(record->encoding);
    }
    if (inputs_.rows() == 0 || !needs_forward()) return;
    const Batch inputs = inputs_.batch();
    Workspace& workspace = inputs_.workspace();
    const ConstMatrix hidden =
        work_.encoder->forward(inputs, workspace, work_.wanted, captures() ? &captured_ : nullptr);
    if (work_.parts.embedding) vectors_.begin(inputs, hidden, workspace);
    std::size_t input = 0;
    for (Record* record : batch) {
      if (record->tokens() > 0) fill(*record, inputs, input++, hidden);
    }
  }

 private:
  bool captures() const { return work_.parts.hidden_states || work_.parts.attentions; }
  bool needs_forward() const {
    return captures() || work_.parts.embedding || work_.parts.last_hidden_state || work_.sparse_head != nullptr;
  }

  void fill(Record& record, const Batch& inputs, std::size_t input, ConstMatrix hidden) {
    const std::size_t begin = inputs.row_begin[input];
    const std::size_t tokens = inputs.length(input);
    if (work_.sparse_head != nullptr) fill_sparse(record, hidden, begin, begin + tokens);
    if (work_.token_vectors) {
      fill_token_vectors(record, hidden.rows_of(begin, tokens));
    } else if (work_.parts.last_hidden_state) {
      const ConstMatrix rows = hidden.rows_of(begin, tokens);
      for (std::size_t i = 0; i < tokens; ++i) {
        record.last_hidden_state.insert(record.last_hidden_state.end(), rows.row(i), rows.row(i) + rows.cols);
      }
    }
    if (work_.parts.hidden_states) {
      for (const FloatBuffer& layer : captured_.hidden_states) {
        const float* first = layer.data() + begin * record.d_model;
        record.hidden_states.insert(record.hidden_states.end(), first, first + tokens * record.d_model);
      }
    }
    if (work_.parts.attentions) {
      for (const FloatBuffer& layer : captured_.attention_probs) {
        const float* first = layer.data() + captured_.attention_begin[input];
        const std::size_t size = captured_.attention_begin[input + 1] - captured_.attention_begin[input];
        record.attentions.insert(record.attentions.end(), first, first + size);
      }
    }
    if (!work_.parts.embedding) return;
    vectors_.pool_rows(input, hidden.rows_of(begin, tokens), prompt_length_, work_.dims, inputs_.workspace(),
                       record.embedding);
    quantize(work_.quantization, record.embedding);
  }

  void fill_sparse(Record& record, ConstMatrix hidden, std::size_t begin, std::size_t end) {
    pool_sparse(work_.sentence.sparse.value_or(SparsePooling{}), *work_.sparse_head, hidden, begin, end,
                inputs_.workspace(), sparse_);
    std::sort(sparse_.begin(), sparse_.end(), [](const SparseEntry& a, const SparseEntry& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
    });
    SparseVector vector;
    for (const SparseEntry& entry : sparse_) {
      const bool known = static_cast<std::size_t>(entry.id) < work_.tokenizer->vocab_size();
      std::string token(known ? work_.tokenizer->token(entry.id) : std::string_view());
      vector.entries.push_back({std::move(token), entry.id, double{entry.weight}});
    }
    record.result = std::move(vector);
  }

  // Tokens without a vector leave the encoding too, so that rows and tokens belong together.
  void fill_token_vectors(Record& record, ConstMatrix rows) {
    const ConstMatrix vectors = token_vectors(work_.sentence, rows, work_.encoder->backend(), inputs_.workspace());
    record.d_model = vectors.cols;
    record.last_hidden_state.clear();
    Encoding& encoding = record.encoding;
    keep_tokens(encoding, [&](std::size_t i) {
      if (std::binary_search(work_.skipped_tokens.begin(), work_.skipped_tokens.end(), encoding.input_ids[i]))
        return false;
      record.last_hidden_state.insert(record.last_hidden_state.end(), vectors.row(i), vectors.row(i) + vectors.cols);
      return true;
    });
  }

  const ModelWork& work_;
  std::vector<SparseEntry> sparse_;
  std::size_t prompt_length_;
  TokenizerScratch scratch_;
  PackedInputs inputs_;
  SentenceVectors vectors_;
  Captured captured_;
  std::size_t maps_ = 0;  // attention maps of a record
  std::size_t rows_ = 0;  // vectors a token
  std::string joined_;
};

}  // namespace

WorkerFactory model_workers(const ModelWork& work) {
  return [&work, length = excluded_prompt_tokens(work)](Executor* executor) {
    return std::make_unique<ModelWorker>(work, length, executor);
  };
}

}  // namespace mha
