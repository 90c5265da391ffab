#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "io/mapped_file.hpp"
#include "io/safetensors.hpp"
#include "mha/core/error.hpp"
#include "model/families/bind_head.hpp"
#include "model/families/bind_weights.hpp"
#include "model/model_tools.hpp"
#include "model/opened_model.hpp"
#include "ops/convert.hpp"

namespace mha {

namespace {

/// Tells a source's faults to the report and lets the binder go on with arrays of the right shape.
class GatheringSource final : public WeightSource {
 public:
  GatheringSource(std::shared_ptr<const WeightSource> source, std::vector<std::string>& problems)
      : source_(std::move(source)), problems_(problems) {}

  const TensorView* find(std::string_view name) const override { return source_->find(name); }
  std::vector<std::string> names() const override { return source_->names(); }
  std::shared_ptr<const void> owner() const override { return source_->owner(); }
  std::string place(std::string_view name) const override { return source_->place(name); }

  const TensorView* instead(std::string_view name, const std::vector<std::size_t>& shape,
                            const std::string& problem) const override {
    problems_.push_back(problem);
    static constexpr std::byte kNothing{};
    TensorView& view = made_[std::string(name)];
    view.shape = shape;
    view.data = &kNothing;  // shapes alone are looked at
    return &view;
  }

 private:
  std::shared_ptr<const WeightSource> source_;
  std::vector<std::string>& problems_;
  mutable std::map<std::string, TensorView, std::less<>> made_;
};

class Verifier {
 public:
  Verifier(const ModelLocation& location, const LoadOptions& options) : location_(location), options_(options) {}

  ModelReport run() {
    attempt([&] { files_ = files_of(location_); });
    if (files_ != nullptr) {
      check_files();
      check_parts();
      if (report_.problems.empty()) attempt([&] { check_by_running(); });
    }
    drop_repeated();
    return std::move(report_);
  }

 private:
  bool attempt(const std::function<void()>& step) {
    try {
      step();
      return true;
    } catch (const Error& error) {
      report_.problems.emplace_back(error.what());
      return false;
    }
  }

  /// Each file by itself: JSON that is JSON, safetensors that hold together, numbers that are numbers.
  void check_files() {
    if (location_.kind == ModelLocation::Kind::json_file) return;  // the one file is read whole by open_model
    for (const FileSet::Entry& entry : files_->list()) {
      if (entry.name.ends_with(".safetensors")) {
        check_weights(entry);
      } else if (is_model_json(entry.name)) {
        attempt([&] {
          const FileBytes file = files_->open(entry.name);
          parse_json(file.text(), file.origin);
        });
      } else {
        continue;
      }
      report_.files.push_back({entry.name, entry.bytes});
    }
  }

  static bool is_model_json(const std::string& name) {
    constexpr std::array<std::string_view, 9> kNames{
        "config.json", "tokenizer.json", "tokenizer_config.json",  "special_tokens_map.json",     "added_tokens.json",
        "vocab.json",  "modules.json",   "generation_config.json", "model.safetensors.index.json"};
    const std::string base = name.substr(name.rfind('/') + 1);
    if (std::find(kNames.begin(), kNames.end(), base) != kNames.end()) return true;
    return base == "config_sentence_transformers.json" ||
           (base.starts_with("sentence_") && base.ends_with("_config.json"));
  }

  void check_weights(const FileSet::Entry& entry) {
    attempt([&] {
      const SafetensorsFile weights(files_->open(entry.name));
      for (const std::string& name : weights.names()) check_finite(weights, name);
    });
  }

  void check_finite(const SafetensorsFile& weights, const std::string& name) {
    constexpr std::size_t kBlock = 1 << 16;
    const TensorView& view = *weights.find(name);
    if (!is_float_type(view.dtype)) return;
    std::vector<float> values(std::min(kBlock, view.size()));
    std::size_t bad = 0;
    std::size_t first = 0;
    for (std::size_t begin = 0; begin < view.size(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, view.size() - begin);
      to_float32(view, begin, count, values.data());
      for (std::size_t i = 0; i < count; ++i) {
        if (std::isfinite(values[i])) continue;
        if (bad++ == 0) first = begin + i;
      }
    }
    if (bad == 0) return;
    report_.problems.push_back(path_text(weights.path()) + ": tensor " + name + ": expected finite numbers, got " +
                               std::to_string(bad) + " that are not, the first at element " + std::to_string(first));
  }

  /// Config, modules, tokenizer and arrays together.
  void check_parts() {
    std::shared_ptr<const OpenedModel> opened;
    std::shared_ptr<const Tokenizer> tokenizer;
    if (!attempt([&] { opened = open_model(location_, options_); })) {
      // What does not hang on the config is still looked at.
      attempt([&] { tokenizer = load_tokenizer_alone(); });
      return;
    }
    report_.notes = opened->notes;
    attempt([&] { tokenizer = open_tokenizer(*opened, options_); });
    if (tokenizer) report_.notes.insert(report_.notes.end(), tokenizer->notes().begin(), tokenizer->notes().end());
    attempt([&] { check_arrays(*opened); });
    if (tokenizer != nullptr) check_ids(opened->family.config, *tokenizer);
    for (const ModelFile& file : opened->files->opened()) {
      const auto same = [&](const ModelFile& other) { return other.path == file.path; };
      if (std::none_of(report_.files.begin(), report_.files.end(), same)) report_.files.push_back(file);
    }
  }

  std::shared_ptr<const Tokenizer> load_tokenizer_alone() {
    if (location_.kind == ModelLocation::Kind::json_file || files_->has("model.json")) return nullptr;
    OpenedModel alone;
    alone.location = location_;
    alone.files = files_;
    alone.encoder_files = files_;
    attempt([&] { alone.sentence = read_sentence_modules(*files_); });
    if (!alone.sentence.transformer_folder.empty()) {
      alone.encoder_files = subfolder_files(files_, alone.sentence.transformer_folder);
    }
    return open_tokenizer(alone, options_);
  }

  void check_arrays(const OpenedModel& opened) {
    const GatheringSource source(open_weights(opened), report_.problems);
    std::vector<std::string> unused;
    const Weights weights = bind_weights(opened.family, source, unused);
    if (std::string problem = unused_layers(opened.family, source); !problem.empty())
      report_.problems.push_back(std::move(problem));
    for (const Task task : tasks_of(opened.family, source)) {
      attempt([&] { bind_head(opened.family, task, weights, source, unused); });
    }
    SentenceConfig sentence = opened.sentence.config;
    attempt([&] { bind_dense_modules(opened, source, sentence, unused); });
    for (const std::string& name : unused) report_.notes.push_back("tensor " + name + ": nothing computes with it");
  }

  void check_ids(const ModelConfig& config, const Tokenizer& tokenizer) {
    if (tokenizer.vocab_size() > config.vocab_size) {
      report_.problems.push_back("tokenizer: expected at most " + std::to_string(config.vocab_size) +
                                 " tokens, the rows of the embedding table, got " +
                                 std::to_string(tokenizer.vocab_size()));
    }
    for (const char* role : {"unk_token", "pad_token", "cls_token", "sep_token", "mask_token"}) {
      const auto id = tokenizer.role_id(role);
      if (id && (*id < 0 || static_cast<std::size_t>(*id) >= config.vocab_size)) {
        report_.problems.push_back(std::string("tokenizer: ") + role + ": expected an id below " +
                                   std::to_string(config.vocab_size) + ", got " + std::to_string(*id));
      }
    }
  }

  /// A short and a long input, alone and together: finite, attention rows that sum to 1, the same bits in a batch.
  void check_by_running() {
    const auto model = Model::load(location_, options_);
    TokenizerScratch scratch;
    EncodeOptions encode;
    encode.max_length = model->max_length();
    std::string long_text;
    for (int i = 0; i < 20; ++i) long_text += "I led a team that built a scalable API. ";
    Encoding short_input;
    Encoding long_input;
    model->tokenizer().encode("She is a great leader", std::nullopt, encode, scratch, short_input);
    model->tokenizer().encode(long_text, std::nullopt, encode, scratch, long_input);
    if (short_input.size() == 0) {
      report_.problems.push_back("test input: expected tokens for 'She is a great leader', got none");
      return;
    }

    const ModelConfig& config = model->config();
    std::vector<std::int32_t> ids = short_input.input_ids;
    ids.insert(ids.end(), long_input.input_ids.begin(), long_input.input_ids.end());
    std::vector<std::int32_t> types = short_input.token_type_ids;
    types.insert(types.end(), long_input.token_type_ids.begin(), long_input.token_type_ids.end());
    const std::array<std::size_t, 3> together{0, short_input.size(), ids.size()};
    const std::array<std::size_t, 2> alone{0, short_input.size()};

    Wanted wanted;
    for (std::size_t layer = 0; layer < config.n_layers; ++layer) wanted.attention_layers.push_back(layer);
    Captured captured;
    Workspace one;
    const Batch first{short_input.input_ids, short_input.token_type_ids, alone};
    const ConstMatrix hidden = model->encoder().forward(first, one, wanted, &captured);
    check_attention(captured, config, short_input.size());

    Workspace two;
    const ConstMatrix batch = model->encoder().forward({ids, types, together}, two, {}, nullptr);
    for (std::size_t row = 0; row < hidden.rows; ++row) {
      if (std::equal(hidden.row(row), hidden.row(row) + hidden.cols, batch.row(row))) continue;
      report_.notes.push_back(
          "test input: the numbers of a text differ in their last bits alone and in a batch (backend " +
          std::string(model->encoder().backend().name()) + ")");
      break;
    }
    std::vector<float> pooler(config.d_model);
    if (model->encoder().weights().pooler.weight.present()) {
      model->encoder().pooler_output(first, hidden, {pooler.data(), 1, config.d_model}, one);
    }
    std::vector<float> vector;
    const SentenceConfig& sentence = model->sentence();
    pool(sentence, hidden, 0, pooler.data(), 0, sentence.normalize, model->encoder().backend(), one, vector);
    list_abilities(*model, vector.size());
  }

  void check_attention(const Captured& captured, const ModelConfig& config, std::size_t tokens) {
    constexpr double kTolerance = 1e-4;
    for (std::size_t layer = 0; layer < captured.attention_probs.size(); ++layer) {
      const float* row = captured.attention_probs[layer].data();
      for (std::size_t i = 0; i < config.n_heads * tokens; ++i, row += tokens) {
        double sum = 0;
        for (std::size_t k = 0; k < tokens; ++k) sum += static_cast<double>(row[k]);
        if (std::abs(sum - 1) <= kTolerance) continue;
        report_.problems.push_back("test input: layer " + std::to_string(layer) + ", head " +
                                   std::to_string(i / tokens) + ": expected attention that sums to 1, got " +
                                   std::to_string(sum));
        return;
      }
    }
  }

  void list_abilities(const Model& model, std::size_t width) {
    const ModelConfig& config = model.config();
    const SentenceConfig& sentence = model.sentence();
    const auto length = model.max_length();
    report_.abilities.push_back("token vectors of width " + std::to_string(config.d_model) +
                                (length ? ", up to " + std::to_string(*length) + " tokens an input" : ""));
    report_.abilities.push_back("attention maps of " + std::to_string(config.n_layers) + " layers × " +
                                std::to_string(config.n_heads) + " heads");
    report_.abilities.push_back("sentence vectors of width " + std::to_string(width) + " (" +
                                text_of(sentence.pooling) + (sentence.normalize ? ", l2" : ", not normalised") + ")");
    if (!sentence.prompts.empty()) {
      std::string names;
      for (const auto& [name, text] : sentence.prompts) names += (names.empty() ? "" : ", ") + name;
      report_.abilities.push_back("prompts: " + names);
    }
    for (const Task task : model.tasks()) {
      if (attempt([&] { model.load_head(task); })) report_.abilities.push_back("head: " + std::string(name_of(task)));
    }
  }

  /// One fault may be met on several ways.
  void drop_repeated() {
    std::vector<std::string> once;
    for (std::string& problem : report_.problems) {
      if (std::find(once.begin(), once.end(), problem) == once.end()) once.push_back(std::move(problem));
    }
    report_.problems = std::move(once);
  }

  const ModelLocation& location_;
  const LoadOptions& options_;
  std::shared_ptr<const RecordingFiles> files_;
  ModelReport report_;
};

}  // namespace

ModelReport verify_model(const ModelLocation& location, const LoadOptions& options) {
  return Verifier(location, options).run();
}

}  // namespace mha
