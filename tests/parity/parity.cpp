// Runs every folder with goldens on every backend and compares all stages, singly and as ragged batches.
//
//   mha_parity [--folder DIR] [--backend NAME] [--precision f32] [NAME …]
//
// Prints one line per folder, stage and backend: the largest difference as a share of the limit. The limit is
// 20 · noise + 1e-5 · scale of the reference, unless a golden sets it. Exit status 1 if any share is
// above 1.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "io/json.hpp"
#include "io/safetensors.hpp"
#include "io/weight_files.hpp"
#include "mha/core/error.hpp"
#include "mha/encoder/encoder.hpp"
#include "mha/encoder/heads.hpp"
#include "mha/model/model.hpp"
#include "model/families/bind_head.hpp"
#include "model/families/bind_weights.hpp"
#include "ops/vector.hpp"
#include "support/shared.hpp"
#include "support/source_folder.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

using namespace mha;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Files final : public WeightSource {
 public:
  explicit Files(const fs::path& folder) : files_(std::make_shared<WeightFiles>(folder)) {}
  const TensorView* find(std::string_view name) const override { return files_->find(name); }
  std::vector<std::string> names() const override { return files_->names(); }
  std::shared_ptr<const void> owner() const override { return files_; }
  std::string place(std::string_view name) const override { return files_->file_of(name).string(); }

 private:
  std::shared_ptr<WeightFiles> files_;
};

/// Arrays of golden.safetensors, and what golden.json allows for each.
class Golden {
 public:
  explicit Golden(const fs::path& folder)
      : top(json::parse(text_of(folder / "golden.json"))), file_(folder / "golden.safetensors") {}

  json top;
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  std::vector<float> values(const std::string& name, std::vector<std::size_t>* shape = nullptr) const {
    const TensorView* view = file_.find(name);
    if (view == nullptr || view->dtype != DType::f32) throw std::runtime_error("golden: no array " + name);
    std::vector<float> values(view->size());
    std::memcpy(values.data(), view->data, view->bytes());
    if (shape != nullptr) *shape = view->shape;
    return values;
  }

 private:
  SafetensorsFile file_;
};

struct Worst {
  double share = 0.0;
  double difference = 0.0;
  double limit = 0.0;
  std::string at;
};

class Table {
 public:
  void compare(const std::string& stage, const std::string& where, const std::vector<float>& got,
               const std::vector<float>& expected, const json& info) {
    const double limit = info.contains("limit")
                             ? info.at("limit").get<double>()
                             : 20.0 * info.at("noise").get<double>() + 1e-5 * info.at("scale").get<double>();
    double difference = got.size() == expected.size() ? 0.0 : INFINITY;
    for (std::size_t i = 0; i < got.size() && got.size() == expected.size(); ++i) {
      const double d = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
      difference = d <= difference ? difference : d;  // NaN counts as larger
    }
    Worst& worst = stages_[stage];
    ++compared;
    const double share = difference / limit;
    if (share <= worst.share) return;
    worst = {share, difference, limit, where};
  }

  void report(const std::string& name, const std::string& backend, bool verbose) {
    Worst total;
    for (const auto& [stage, worst] : stages_) {
      if (worst.share > total.share) total = {worst.share, worst.difference, worst.limit, stage + " " + worst.at};
      if (!(worst.share <= 1.0)) ++failures;
      if (verbose || !(worst.share <= 1.0)) {
        std::printf("    %-24s %-26s %9.2e of %9.2e  %6.3f  %s\n", name.c_str(), stage.c_str(), worst.difference,
                    worst.limit, worst.share, worst.at.c_str());
      }
    }
    std::printf("%-32s %-10s %4zu stages  worst %6.3f of the limit (%s)\n", name.c_str(), backend.c_str(),
                stages_.size(), total.share, total.at.c_str());
    stages_.clear();
  }

  std::size_t failures = 0;
  std::size_t compared = 0;

 private:
  std::map<std::string, Worst> stages_;
};

struct Input {
  std::vector<std::int32_t> ids, types;
};

struct Loaded {
  FamilyModel family;
  Files files;
  std::vector<std::string> unused;
  std::unique_ptr<Encoder> encoder;

  Loaded(const fs::path& folder, const std::string& config, const Backend& backend, Precision precision)
      : family(read_family(parse_json(text_of(folder / config), config), (folder / config).string())), files(folder) {
    encoder = std::make_unique<Encoder>(family.config, bind_weights(family, files, unused), backend, precision);
  }
};

std::vector<float> rows_of(const std::vector<float>& x, std::size_t blocks, std::size_t rows, std::size_t cols,
                           const json& picked) {
  std::vector<float> out;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const json& row : picked) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>((block * rows + row.get<std::size_t>()) * cols);
      out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(cols));
    }
  }
  return out;
}

class Run {
 public:
  Run(const Loaded& model, const Golden& golden, Table& table) : model_(model), golden_(golden), table_(table) {}

  void all() {
    std::vector<Input> inputs;
    for (const json& c : golden_.top.at("cases")) {
      if (c.contains("texts")) {
        batch_case(c);
        continue;
      }
      Input input;
      if (is_too_slow(c.at("input_ids").size())) continue;
      input.ids = c.at("input_ids").get<std::vector<std::int32_t>>();
      input.types.resize(input.ids.size());
      if (golden_.top.value("token_types_fed", true) && c.contains("token_type_ids")) {
        input.types = c.at("token_type_ids").get<std::vector<std::int32_t>>();
      }
      single_case(c, input);
      inputs.push_back(input);
    }
    same_bits_in_a_batch(inputs);
  }

 private:
  const ModelConfig& config() const { return model_.encoder->config(); }
  /// The oracle's loops take minutes for a real model's long texts.
  bool is_too_slow(std::size_t tokens) const {
    return model_.encoder->backend().name() == "reference" && config().d_model > 128 && tokens > 24;
  }

  std::vector<float> run(const Input& input, const Wanted& wanted, Captured* captured) {
    const std::size_t rows[] = {0, input.ids.size()};
    const Batch batch{input.ids, input.types, rows};
    const ConstMatrix x = model_.encoder->forward(batch, workspace_, wanted, captured);
    return {x.data, x.data + x.rows * x.cols};
  }

  void compare(const json& c, const std::string& key, const std::vector<float>& got) {
    const std::string name = c.at("name").get<std::string>();
    if (!c.at("keys").contains(key)) return;
    table_.compare(key, name, got, golden_.values(name + "." + key), c.at("keys").at(key));
  }

  void single_case(const json& c, const Input& input) {
    const std::size_t tokens = input.ids.size();
    const std::size_t d = config().d_model;
    Wanted wanted;
    wanted.hidden_states = true;
    for (std::size_t i = 0; i < config().n_layers; ++i) wanted.attention_layers.push_back(i);
    Captured captured;
    const std::vector<float> last = run(input, wanted, &captured);
    if (last != run(input, {}, nullptr)) throw std::runtime_error("capture changed the result");

    std::vector<float> hidden, attention;
    for (const FloatBuffer& state : captured.hidden_states)
      hidden.insert(hidden.end(), state.data(), state.data() + tokens * d);
    for (const FloatBuffer& probs : captured.attention_probs) {
      attention.insert(attention.end(), probs.data(), probs.data() + config().n_heads * tokens * tokens);
    }
    compare(c, "hidden_states", hidden);
    compare(c, "attentions", attention);
    if (c.contains("rows")) {
      compare(c, "hidden_rows", rows_of(hidden, config().n_layers + 1, tokens, d, c.at("rows")));
      compare(c, "attention_rows",
              rows_of(attention, config().n_layers * config().n_heads, tokens, tokens, c.at("rows")));
    }
    compare(c, "last_hidden_state", last);
    const ConstMatrix x(last.data(), tokens, d);
    const auto pooled = [&](PoolingMode mode, bool normalize) {
      SentenceConfig sentence;
      sentence.pooling = {mode};
      std::vector<float> vector;
      Workspace workspace;
      pool(sentence, x, 0, nullptr, 0, normalize, model_.encoder->backend(), workspace, vector);
      return vector;
    };
    compare(c, "pooled_mean", pooled(PoolingMode::mean, false));
    compare(c, "sentence", pooled(PoolingMode::mean, true));
    compare(c, "pooled_mean_l2", pooled(PoolingMode::mean, true));
    compare(c, "pooled_max", pooled(PoolingMode::max, false));
    compare(c, "pooled_last", pooled(PoolingMode::last, false));
    if (c.at("keys").contains("pooler_output")) {
      std::vector<float> out(d);
      const std::size_t rows[] = {0, tokens};
      model_.encoder->pooler_output({input.ids, input.types, rows}, x, {out.data(), 1, d}, workspace_);
      compare(c, "pooler_output", out);
    }
    stages(c, input);
    heads(c, input, x);
  }

  void stages(const json& c, const Input& input) {
    std::map<std::string, std::vector<float>> got;
    bool any = false;
    for (const auto& item : c.at("keys").items()) any = any || item.key().starts_with("stage.");
    for (std::size_t layer = 0; any && layer < config().n_layers; ++layer) {
      Wanted wanted;
      wanted.stages_of_layer = layer;
      Captured captured;
      run(input, wanted, &captured);
      for (const Stage& stage : captured.stages) {
        auto& values = got[stage.name];
        values.insert(values.end(), stage.values.begin(), stage.values.end());
      }
    }
    for (const auto& item : c.at("keys").items()) {
      if (!item.key().starts_with("stage.")) continue;
      std::string stage = item.key().substr(6);
      if (stage == "X" && got.contains("norm1")) stage = "norm1";  // the goldens call X what the projections read
      compare(c, item.key(), got[stage]);
    }
  }

  void heads(const json& c, const Input& input, ConstMatrix x) {
    const bool some_have_it = c.at("keys").contains("mlm_logits");  // bert-weights: not every variant holds the head
    const std::string task = golden_.top.value("task", some_have_it ? "mlm" : "");
    if (task.empty()) return;
    const Task which = task == "mlm"   ? Task::fill_mask
                       : task == "seq" ? Task::classify
                       : task == "tok" ? Task::tag
                                       : Task::answer;
    std::vector<std::string> unused = model_.unused;
    const auto tasks = tasks_of(model_.family, model_.files);
    if (some_have_it && tasks.empty()) return;
    if (tasks.size() != 1 || tasks.front() != which)
      throw std::runtime_error("tasks_of does not name the head of the file");
    const Head head(bind_head(model_.family, which, model_.encoder->weights(), model_.files, unused),
                    model_.encoder->backend(), model_.encoder->precision());
    const std::size_t rows[] = {0, x.rows};
    if (which == Task::classify) {
      std::vector<float> logits(head.outputs());
      head.logits({input.ids, input.types, rows}, x, {logits.data(), 1, logits.size()}, workspace_);
      compare(c, "logits", logits);
      return;
    }
    std::vector<std::size_t> at;
    if (c.contains("rows"))
      at = c.at("rows").get<std::vector<std::size_t>>();
    else
      for (std::size_t i = 0; i < x.rows; ++i) at.push_back(i);
    std::vector<float> logits(at.size() * head.outputs());
    head.logits_at(at, x, {logits.data(), at.size(), head.outputs()}, workspace_);
    compare(c, "logits", logits);
    compare(c, "logit_rows", logits);
    compare(c, "mlm_logits", logits);
    if (which != Task::answer) return;
    std::vector<float> start, end;
    for (std::size_t i = 0; i < at.size(); ++i) {
      start.push_back(logits[2 * i]);
      end.push_back(logits[2 * i + 1]);
    }
    compare(c, "start_logits", start);
    compare(c, "end_logits", end);
  }

  /// The golden's batch is padded; ours is ragged.
  void batch_case(const json& c) {
    std::vector<std::int32_t> ids, types;
    std::vector<std::size_t> rows{0};
    const bool typed = golden_.top.value("token_types_fed", true) && c.contains("token_type_ids");
    for (std::size_t i = 0; i < c.at("input_ids").size(); ++i) {
      std::size_t length = 0;
      for (const json& mask : c.at("attention_mask")[i]) length += mask.get<std::size_t>();
      for (std::size_t t = 0; t < length; ++t) {
        ids.push_back(c.at("input_ids")[i][t].get<std::int32_t>());
        if (typed) types.push_back(c.at("token_type_ids")[i][t].get<std::int32_t>());
      }
      rows.push_back(ids.size());
    }
    const ConstMatrix x = model_.encoder->forward({ids, types, rows}, workspace_, {}, nullptr);
    const std::string name = c.at("name").get<std::string>();
    std::vector<std::size_t> shape;
    const auto expected = golden_.values(name + ".last_hidden_state", &shape);
    const auto means = golden_.values(name + ".pooled_mean");
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const std::size_t length = rows[i + 1] - rows[i];
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(i * shape[1] * shape[2]);
      table_.compare("batch.last_hidden_state", std::to_string(i), {x.row(rows[i]), x.row(rows[i]) + length * x.cols},
                     {begin, begin + static_cast<std::ptrdiff_t>(length * x.cols)},
                     c.at("keys").at("last_hidden_state"));
      std::vector<float> mean(x.cols);
      mean_of_rows(x.rows_of(rows[i], length), mean.data());
      const auto mean_begin = means.begin() + static_cast<std::ptrdiff_t>(i * x.cols);
      table_.compare("batch.pooled_mean", std::to_string(i), mean,
                     {mean_begin, mean_begin + static_cast<std::ptrdiff_t>(x.cols)}, c.at("keys").at("pooled_mean"));
    }
  }

  /// The default backend promises that an input's neighbours change no bit of it; the others stay within rounding.
  void same_bits_in_a_batch(const std::vector<Input>& inputs) {
    std::vector<std::int32_t> ids, types;
    std::vector<std::size_t> rows{0};
    for (const Input& input : inputs) {
      ids.insert(ids.end(), input.ids.begin(), input.ids.end());
      types.insert(types.end(), input.types.begin(), input.types.end());
      rows.push_back(ids.size());
    }
    if (inputs.empty()) return;
    const ConstMatrix x = model_.encoder->forward({ids, types, rows}, workspace_, {}, nullptr);
    const std::vector<float> together(x.data, x.data + x.rows * x.cols);
    const bool exact = model_.encoder->backend().name() != "openblas";
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<float> alone = run(inputs[i], {}, nullptr);
      const auto begin = together.begin() + static_cast<std::ptrdiff_t>(rows[i] * config().d_model);
      const std::vector<float> in_batch(begin, begin + static_cast<std::ptrdiff_t>(alone.size()));
      table_.compare("batch against alone", "input " + std::to_string(i), in_batch, alone,
                     exact ? json{{"noise", 0.0}, {"scale", 1e-30}} : json{{"noise", 5e-6}, {"scale", 1.0}});
    }
  }

  const Loaded& model_;
  const Golden& golden_;
  Table& table_;
  Workspace workspace_;
};

}  // namespace

int main(int argc, char** argv) {
  fs::path root;
  std::vector<std::string> only, backends;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--folder" && i + 1 < argc)
      root = argv[++i];
    else if (argument == "--backend" && i + 1 < argc)
      backends.push_back(argv[++i]);
    else if (argument == "--verbose")
      verbose = true;
    else
      only.push_back(argument);
  }
  if (root.empty()) root = mha::test::shared("models");
  if (root.empty()) return 0;
  if (backends.empty()) backends = mha::backend_names();

  struct Job {
    fs::path folder, golden;
    std::string config;
  };
  std::vector<Job> jobs;
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path folder = entry.path();
    if (!fs::exists(folder / "golden.json")) continue;
    if (fs::exists(folder / "config.json")) {
      jobs.push_back({folder, folder, "config.json"});
      if (fs::exists(folder / "config.published.json")) jobs.push_back({folder, folder, "config.published.json"});
      continue;
    }
    for (const auto& variant : fs::directory_iterator(folder)) {
      if (fs::exists(variant.path() / "config.json")) jobs.push_back({variant.path(), folder, "config.json"});
    }
  }
  const fs::path mini_golden = mha::test::source_folder() / "tests/data/minilm";
  if (fs::exists(root / "all-MiniLM-L6-v2/model.safetensors"))
    jobs.push_back({root / "all-MiniLM-L6-v2", mini_golden, "config.json"});
  std::sort(jobs.begin(), jobs.end(),
            [](const Job& a, const Job& b) { return std::tie(a.folder, a.config) < std::tie(b.folder, b.config); });

  Table table;
  for (const Job& job : jobs) {
    std::string name = job.folder.lexically_relative(root).string();
    if (job.config != "config.json") name += " (published)";
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    for (const std::string& backend : backends) {
      try {
        const Golden golden(job.golden);
        const Loaded model(job.folder, job.config, mha::backend_named(backend), mha::Precision::f32);
        Run(model, golden, table).all();
        table.report(name, backend, verbose);
      } catch (const std::exception& error) {
        std::printf("%-32s %-10s %s\n", name.c_str(), backend.c_str(), error.what());
        ++table.failures;
      }
    }
  }
  std::printf("%zu arrays compared, %zu stages over the limit\n", table.compared, table.failures);
  return table.failures == 0 && table.compared > 0 ? 0 : 1;
}
