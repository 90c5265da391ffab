#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/questions.hpp"
#include "io/text_reader.hpp"
#include "mha/model/model.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "model/quantize.hpp"
#include "output/records.hpp"
#include "pipeline/tasks.hpp"

namespace mha::cli {

enum class LogFormat { text, json };
/// When something for people is shown: `automatic` asks the terminal.
enum class When { automatic, always, never };

struct GlobalOptions {
  std::string model;        ///< empty: the built-in default
  std::size_t threads = 0;  ///< 0: the CPUs this process may use
  std::string backend = "auto";
  std::string dtype = "auto";
  bool quiet = false;
  int verbose = 0;
  LogFormat log_format = LogFormat::text;
  When color = When::automatic;
  When progress = When::automatic;
};

enum class OnError { fail, skip, record, replace };

struct InputOptions {
  std::vector<std::string> texts;
  std::optional<std::string> pair;
  std::vector<std::string> files;
  InputFormat format = InputFormat::automatic;
  std::string text_key = "text";
  std::string pair_key = "text_pair";
  std::string id_key = "id";
  bool pass_through = false;
  OnError on_error = OnError::fail;
  std::size_t shard = 0;  ///< 0-based
  std::size_t shards = 1;
  bool latency = false;
};

enum class Truncation { head, tail, error };

struct TokenizingOptions {
  Truncation truncation = Truncation::head;
  std::optional<std::size_t> max_length;
  bool no_special_tokens = false;
  bool plain_specials = false;
  PromptChoice prompt;
};

/// `1`, `0-2`, `-1`: both ends included, negative counts from the end.
struct IndexRange {
  long first = 0;
  long last = 0;
};
using IndexRanges = std::vector<IndexRange>;

/// One entry of `--ablate`: an empty range stands for `*`.
struct HeadPattern {
  std::optional<IndexRange> layer;
  std::optional<IndexRange> head;
};

struct EncodingOptions {
  std::vector<PoolingMode> pooling;  ///< empty: what the model says
  std::optional<bool> normalize;     ///< empty: what the model says
  std::size_t dims = 0;              ///< 0: all
  IndexRanges layers;                ///< empty: all
  IndexRanges heads;
  std::vector<HeadPattern> ablate;
};

/// Long texts in `embed`.
struct WindowOptions {
  std::size_t tokens = 0;              ///< --chunk; 0: none
  std::optional<std::size_t> overlap;  ///< --stride
  bool late = false;
  bool joined = false;  ///< --chunk-pooling mean

  bool asked() const { return tokens > 0 || late; }
};

/// Whole numbers in place of float32 in `embed`.
struct QuantizeOptions {
  VectorType type = VectorType::f32;
  std::string ranges;     ///< a JSON file
  std::string calibrate;  ///< a file of texts
};

enum class Format { automatic, table, json, jsonl, csv, tsv, npy, npz, raw, ids, heatmap, html, svg, png };

struct OutputOptions {
  Format format = Format::automatic;
  std::optional<Parts> parts;  ///< `--with`
  OffsetUnit offsets = OffsetUnit::code_points;
  std::optional<int> digits;
  std::string file;  ///< empty or "-": stdout
  bool resume = false;
};

struct TokenizeOptions {
  bool decode = false;
  bool count = false;
  std::optional<std::size_t> stride;
};

struct ModelOptions {
  std::string to;  ///< "json", "safetensors", or empty
  std::string output;
  std::string quality;  ///< convert: texts to measure the loss on

  std::size_t d_model = 64;  ///< these and the following: init
  std::size_t n_heads = 4;
  std::size_t n_layers = 2;
  std::size_t d_ff = 256;
  std::size_t max_positions = 512;
  std::string words;      ///< a file with one word a line
  std::string tokenizer;  ///< a tokenizer.json
  std::uint64_t seed = 0;
};

struct BenchOptions {
  std::size_t batch = 0;  ///< 0: the grid
  std::size_t tokens = 0;
  std::size_t runs = 0;  ///< 0: as many as fit a second
  std::string quality;
  bool attentions = false;
};

/// `heads`, `explain` and `compare`.
struct StudyOptions {
  std::string token;                ///< explain: the token that is followed; empty: the most telling one
  std::string conllu;               ///< heads: a treebank
  bool importance = false;          ///< heads: ablate each in turn
  std::string against;              ///< compare: another model
  std::optional<double> tolerance;  ///< compare
};

/// `fill-mask`, `classify`, `tag`, `rerank` and `answer`.
struct TaskOptions {
  std::string query;  ///< rerank and answer: what documents are looked at for
  std::optional<std::size_t> top_k;
  std::vector<std::string> targets;  ///< fill-mask
  bool all_scores = false;           ///< classify, as are the next three
  std::vector<std::string> labels;
  std::string hypothesis = "This example is {}.";
  bool multi_label = false;
  Aggregation aggregation = Aggregation::none;
  std::optional<std::size_t> stride;  ///< answer, as is the next
  std::size_t longest = 15;
  bool no_answer = false;
};

struct Command;

/// Everything the command line says, checked as far as it can be without a model.
struct Options {
  const Command* command = nullptr;
  GlobalOptions global;
  InputOptions input;
  TokenizingOptions tokenizing;
  EncodingOptions encoding;
  WindowOptions windows;
  QuantizeOptions quantize;
  OutputOptions output;
  TokenizeOptions tokenize;
  ModelOptions model;
  BenchOptions bench;
  AttentionQuestions questions;
  StudyOptions study;
  TaskOptions task;
  bool matrix = false;  ///< similarity
};

/// Reads the command line. Help and version are printed here and end in an empty result. Throws Error{usage}.
std::optional<Options> parse_options(int argc, char** argv);

/// Indices below `count` that the ranges choose, ascending, each once; all where there are none.
/// Throws Error{usage} that names `option` and the range that there is.
std::vector<std::size_t> resolve(const IndexRanges& ranges, std::size_t count, std::string_view option);

/// [n_layers · n_heads] marks of ablated heads; empty for none.
std::vector<std::uint8_t> resolve_ablated(const std::vector<HeadPattern>& patterns, std::size_t n_layers,
                                          std::size_t n_heads);

IndexRanges parse_ranges(std::string_view text, std::string_view option);
std::vector<HeadPattern> parse_ablate(std::string_view text);
Parts parse_parts(std::string_view text);

}  // namespace mha::cli
