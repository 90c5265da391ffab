#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "ops/vector.hpp"
#include "pipeline/packed_inputs.hpp"
#include "pipeline/pass_batcher.hpp"
#include "pipeline/sentence_breaks.hpp"
#include "pipeline/sentence_vectors.hpp"
#include "pipeline/window_plan.hpp"
#include "pipeline/window_text.hpp"
#include "pipeline/windows.hpp"

namespace mha {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// Code points before bytes of a text that are asked for from left to right: windows overlap, but their begins do not go
// back, nor do their ends.
class PointCounter {
 public:
  explicit PointCounter(std::string_view text) : text_(text) {}

  std::size_t points_before(std::size_t byte) {
    if (byte < counted_) counted_ = points_ = 0;
    points_ += utf8::length(text_.substr(counted_, byte - counted_));
    counted_ = byte;
    return points_;
  }

 private:
  std::string_view text_;
  std::size_t counted_ = 0;  // bytes
  std::size_t points_ = 0;
};

class WindowWorker : public RecordWorker {
 public:
  WindowWorker(const ModelWork& work, const WindowSettings& settings, std::size_t prompt_length, Executor* executor)
      : work_(work),
        settings_(settings),
        prompt_length_(prompt_length),
        inputs_(work.encoder->config(), executor),
        vectors_(work),
        passes_(settings.batch_tokens, [this](const std::vector<Part>& parts) { run(parts); }) {}

  void prepare(Record& record) override {
    if (record.input.text_pair) throw_input("text_pair: expected a single text to cut into windows, got a pair");
    record.prompt = work_.prompt;
    EncodeOptions options = work_.encode;
    options.max_length.reset();
    const std::string text = work_.prompt + record.input.text;
    work_.tokenizer->encode(text, std::nullopt, options, scratch_, record.encoding);
    if (record.tokens() == 0) throw_input("no tokens to pool");
    const GraphemeBorders borders(record.input.text);
    add_windows(record,
                window_texts(cut(record, borders), record.encoding, record.input.text, record.prompt.size(), borders));
  }

  std::size_t floats(const Record& record) const override {
    return record.windows.size() * work_.encoder->config().d_model * work_.sentence.pooling.size();
  }

  void encode(std::span<Record* const> batch) override {
    for (Record* record : batch) {
      const TokenRange text = text_tokens(record->encoding, record->prompt.size());
      std::vector<TokenRange> windows;
      for (const Record& part : record->windows) windows.push_back({part.window->first_token, part.window->last_token});
      if (settings_.late) {
        for (const TextPass& pass : plan_passes(windows, room(record->encoding, text), settings_.overlap)) {
          add({record, text, pass});
        }
        continue;
      }
      for (std::size_t i = 0; i < windows.size(); ++i) add({record, text, {windows[i], i, i + 1}});
    }
    passes_.flush();
    for (Record* record : batch) finish(*record);
  }

 private:
  struct Part {
    Record* record;
    TokenRange text;
    TextPass pass;

    std::size_t around() const { return record->encoding.size() - text.size(); }
  };

  // Tokens of the text that one pass (late) or window can hold.
  std::size_t room(const Encoding& encoding, TokenRange text) const {
    const std::size_t most = settings_.late ? settings_.most_tokens : settings_.tokens;
    if (most == 0) return kNoLimit;
    const std::size_t around = encoding.size() - text.size();
    if (most <= around || (!settings_.late && settings_.overlap >= most - around)) {
      throw_input("windows: expected room for the text in " + std::to_string(most) +
                  " tokens, got a prompt and special "
                  "tokens that take " +
                  std::to_string(around) +
                  (settings_.late ? "" : " and a stride of " + std::to_string(settings_.overlap)));
    }
    return most - around;
  }

  std::vector<TokenRange> cut(const Record& record, const GraphemeBorders& borders) {
    const std::size_t prompt = record.prompt.size();
    const TokenRange text = text_tokens(record.encoding, prompt);
    const std::size_t most = room(record.encoding, text);
    const std::vector<bool> may_begin = cut_marks(record.encoding, text, prompt, borders);
    if (!settings_.late) return cut_evenly(text, most, settings_.overlap, may_begin);
    if (!breaks_) breaks_ = std::make_unique<SentenceBreaks>();
    std::vector<std::size_t> starts = breaks_->starts(record.input.text);
    for (std::size_t& start : starts) start += prompt;
    return cut_by_sentences(record.encoding, text, starts, settings_.tokens, most, may_begin);
  }

  void add_windows(Record& record, const std::vector<TextWindow>& windows) const {
    const std::string_view text = record.input.text;
    record.windows.resize(windows.size());
    PointCounter begins(text);
    PointCounter ends(text);
    const auto in_unit = [&](PointCounter& counter, std::size_t byte) {
      return settings_.offsets == OffsetUnit::bytes ? byte : counter.points_before(byte);
    };
    for (std::size_t i = 0; i < windows.size(); ++i) {
      Record& part = record.windows[i];
      const auto [begin, end] = windows[i].text;
      part.input.index = record.input.index;
      part.input.id_json = record.input.id_json;
      part.input.extra_json = record.input.extra_json;
      part.input.source = record.input.source;
      part.input.line = record.input.line;
      part.input.line_word = record.input.line_word;
      part.input.begin = record.input.begin;
      if (work_.parts.text) part.input.text = text.substr(begin, end - begin);
      part.window = {i, in_unit(begins, begin), in_unit(ends, end), windows[i].tokens.first, windows[i].tokens.last};
    }
  }

  void add(const Part& part) { passes_.add(part, part.around() + part.pass.tokens.size()); }

  // One forward pass.
  void run(const std::vector<Part>& parts) {
    inputs_.clear();
    for (const Part& part : parts) {
      const Encoding& encoding = part.record->encoding;
      inputs_.append(encoding, 0, part.text.first);
      inputs_.append(encoding, part.pass.tokens.first, part.pass.tokens.last);
      inputs_.append(encoding, part.text.last, encoding.size());
      inputs_.end_input();
    }
    const Batch batch = inputs_.batch();
    Workspace& workspace = inputs_.workspace();
    const ConstMatrix hidden = work_.encoder->forward(batch, workspace, work_.wanted, nullptr);
    vectors_.begin(batch, hidden, workspace);
    for (std::size_t i = 0; i < parts.size(); ++i)
      pool_windows(parts[i], i, hidden.rows_of(batch.row_begin[i], batch.length(i)));
  }

  void pool_windows(const Part& part, std::size_t input, ConstMatrix rows) {
    const std::size_t dims = settings_.joined ? 0 : work_.dims;
    for (std::size_t w = part.pass.first_window; w < part.pass.last_window; ++w) {
      Record& window = part.record->windows[w];
      const TokenRange range{window.window->first_token, window.window->last_token};
      if (!settings_.late || range.size() == 0) {
        vectors_.pool_rows(input, rows, prompt_length_, dims, inputs_.workspace(), window.embedding);
      } else {
        const std::size_t first = part.text.first + range.first - part.pass.tokens.first;
        vectors_.pool_rows(input, rows.rows_of(first, range.size()), 0, dims, inputs_.workspace(), window.embedding);
      }
    }
  }

  void finish(Record& record) {
    if (!settings_.joined) {
      for (Record& window : record.windows) quantize(work_.quantization, window.embedding);
      return;
    }
    sums_.assign(record.windows[0].embedding.size(), 0.0);
    double tokens = 0;
    for (const Record& window : record.windows) {
      const auto weight =
          static_cast<double>(std::max<std::size_t>(window.window->last_token - window.window->first_token, 1));
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += weight * double{window.embedding[i]};
      tokens += weight;
    }
    record.embedding.resize(work_.dims > 0 ? work_.dims : sums_.size());
    for (std::size_t i = 0; i < record.embedding.size(); ++i)
      record.embedding[i] = static_cast<float>(sums_[i] / tokens);
    if (work_.normalize) normalize_l2(record.embedding);
    quantize(work_.quantization, record.embedding);
    record.windows.clear();
  }

  const ModelWork& work_;
  WindowSettings settings_;
  std::size_t prompt_length_;
  TokenizerScratch scratch_;
  std::unique_ptr<SentenceBreaks> breaks_;
  PackedInputs inputs_;
  SentenceVectors vectors_;
  PassBatcher<Part> passes_;
  std::vector<double> sums_;
};

}  // namespace

WorkerFactory window_workers(const ModelWork& work, const WindowSettings& settings) {
  return [&work, settings, length = excluded_prompt_tokens(work)](Executor* executor) {
    return std::make_unique<WindowWorker>(work, settings, length, executor);
  };
}

}  // namespace mha
