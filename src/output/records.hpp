#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/questions.hpp"
#include "io/input.hpp"
#include "io/output_stream.hpp"
#include "mha/tokenizer/encoding.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "output/heatmap.hpp"
#include "output/results.hpp"

namespace mha {

/// The parts of a record that `--with` chooses among. `tokens` stands for tokens, input_ids, token_type_ids,
/// special_tokens_mask and offsets.
struct Parts {
  bool text = false;
  bool tokens = false;
  bool embedding = false;
  bool last_hidden_state = false;
  bool hidden_states = false;
  bool attentions = false;
};

/// A stretch of the text that has a vector of its own.
struct Window {
  std::size_t number = 0;  ///< within its input, from 0
  std::size_t begin = 0;   ///< in the text (without prompt), in the unit that was asked for
  std::size_t end = 0;
  std::size_t first_token = 0;  ///< of its input's encoding
  std::size_t last_token = 0;   ///< behind the last one
};

/// One input and everything that is known about it: filled on its way through the pipeline, read by the formatters.
/// Reused from input to input: `clear` keeps the memory.
struct Record {
  Input input;

  // The input as the model reads it.
  std::string_view prompt;  ///< in front of the text when it was tokenised; offsets count from its start
  Encoding encoding;
  bool truncated = false;  ///< tokens were cut, and no other encoding or record holds them

  // What the encoder computed; the parts that the run asks for.
  std::vector<float> embedding;  ///< [width]; whole numbers if the schema says so
  std::size_t d_model = 0;
  std::vector<float> last_hidden_state;  ///< [tokens][d_model]
  std::vector<float> hidden_states;      ///< [n_layers + 1][tokens][d_model]
  std::vector<float> attentions;         ///< [layers][heads][query][key]

  // What was made of that.
  std::vector<float> similarity;            ///< to the first input, or with a matrix to each
  TaskResult result;                        ///< what a task found
  std::vector<float> logits;                ///< of a task that needs those of all encodings before it has a result
  std::optional<std::size_t> token_count;   ///< is printed in place of the tokens
  std::optional<std::size_t> token_window;  ///< number of the window of tokens that this record holds
  std::optional<Window> window;             ///< this is a record of a window with a vector of its own
  std::vector<Record> windows;              ///< are written in place of this record

  std::string rendered;  ///< this record in the output format

  std::size_t tokens() const { return encoding.size(); }
  bool bad() const { return input.bad(); }
  void clear();
  /// Makes it a bad record.
  void fail(std::string_view why) { input.fail(why); }
};

enum class OffsetUnit { code_points, bytes };

/// What the numbers of a sentence vector are.
enum class EmbeddingType { float32, int8, uint8 };

/// What a record is about: decides the columns of csv, tsv and table.
enum class RecordKind { encode, embed, attention, tokenize, similarity, decode, task };

/// What all records of a run share.
struct RecordSchema {
  RecordKind kind = RecordKind::encode;
  Parts parts;
  const Tokenizer* tokenizer = nullptr;  ///< spells the tokens; must outlive the formatter
  OffsetUnit offsets = OffsetUnit::code_points;
  std::optional<int> digits;  ///< places after the point; empty: shortest that reads back

  std::vector<std::size_t> layers;                           ///< model layer of each first index of `attentions`
  std::vector<std::size_t> heads;                            ///< model head of each second index
  std::vector<std::pair<std::size_t, std::size_t>> ablated;  ///< layer and head of those that contribute nothing
  AttentionQuestions questions;                              ///< how attention is looked at, and what is answered of it
  bool name_layers_and_heads = false;                        ///< they were selected: records say which
  std::size_t n_layers = 0;
  std::size_t d_model = 0;
  bool token_vectors = false;  ///< `last_hidden_state` went through the modules before pooling and has another name
  /// The key of `Record::last_hidden_state`.
  const char* token_key() const { return token_vectors ? "token_embeddings" : "last_hidden_state"; }
  std::size_t embedding_width = 0;
  EmbeddingType embedding_type = EmbeddingType::float32;
  bool windows = false;  ///< records are of windows: csv and tsv say which
  bool similarity_matrix = false;
  std::size_t similarity_columns = 0;  ///< inputs of the matrix
  ResultLayout results;                ///< of a task

  bool ids = false;     ///< inputs may bring ids: csv and tsv have a column for them
  bool extra = false;   ///< inputs may bring further members: columns have a place for them
  bool errors = false;  ///< error records may come: csv and tsv have a column for them

  /// Folder of temporary files, for arrays that go to a pipe.
  std::string scratch_folder = "/tmp";
  bool to_terminal = false;  ///< JSON, CSV and TSV escape characters that act on a terminal
  std::size_t columns = 80;  ///< width that tables keep within
  ColorDepth color = ColorDepth::none;
};

/// Turns records into the bytes of one output format. `begin`, `join` and `end` are called in order by one thread;
/// `render` may be called from any thread, before `join` gets what it made.
class RecordFormatter {
 public:
  virtual ~RecordFormatter() = default;
  virtual void begin(OutputStream&) {}
  /// Instead of `begin`: the stream holds what an earlier formatter wrote, up to the end of a record.
  virtual void resume(OutputStream&) {}
  /// Appends one record (bad ones included), the same bytes whatever stands around it.
  virtual void render(const Record& record, std::string& out) const = 0;
  /// Puts the next record behind those before it.
  virtual void join(const Record& record, OutputStream& out) { out.write(record.rendered); }
  virtual void end(OutputStream&) {}
};

std::unique_ptr<RecordFormatter> json_formatter(RecordSchema schema);
std::unique_ptr<RecordFormatter> jsonl_formatter(RecordSchema schema);
/// RFC 4180, header row first.
std::unique_ptr<RecordFormatter> csv_formatter(RecordSchema schema);
/// Tab, newline, return and backslash of a field are written `\t` `\n` `\r` `\\`.
std::unique_ptr<RecordFormatter> tsv_formatter(RecordSchema schema);
/// For people: no line is wider than `schema.columns`, control characters are escaped.
std::unique_ptr<RecordFormatter> table_formatter(RecordSchema schema);
/// The part that was asked for without a header: little-endian float32, or a byte a number where the schema says so.
std::unique_ptr<RecordFormatter> raw_formatter(RecordSchema schema);
/// One array over all inputs that have a sentence vector, else the array of a single input.
std::unique_ptr<RecordFormatter> npy_formatter(RecordSchema schema);
/// Arrays named `<index>.<key>`, of windows `<index>.<window>.<key>`.
std::unique_ptr<RecordFormatter> npz_formatter(RecordSchema schema);
/// Token ids of one input a line, blanks between them.
std::unique_ptr<RecordFormatter> ids_formatter();
/// An Apache Arrow IPC stream: index, id, text, vectors as fixed-size lists, and what else the schema has.
std::unique_ptr<RecordFormatter> arrow_formatter(RecordSchema schema);
/// The attention maps of a single input as a page or picture that names the model.
std::unique_ptr<RecordFormatter> html_formatter(RecordSchema schema, std::string model);
std::unique_ptr<RecordFormatter> svg_formatter(RecordSchema schema, std::string model);
std::unique_ptr<RecordFormatter> png_formatter(RecordSchema schema, std::string model);

/// A byte position of prompt and text in the unit.
std::size_t offset_in(const Record& record, std::size_t position, OffsetUnit unit);

/// Begin and end of each token in the unit, and in code points counted over prompt and text (or the pair's own text).
std::vector<Span> offsets_in(const Record& record, OffsetUnit unit);

}  // namespace mha
