// Compares the sentence vectors of every sentence-transformers folder of ../shared with the reference, and checks that
// every hostile file ends as its index says.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"
#include "ops/convert.hpp"
#include "support/shared.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE of ctest

json read_json(const fs::path& path) { return json::parse(mha::test::content_of(path)); }

std::shared_ptr<const mha::Model> load(const fs::path& folder, const std::string& backend = "auto") {
  mha::LoadOptions options;
  options.backend = backend;
  return mha::Model::load(mha::find_model(folder.string(), {}), options);
}

struct Embedder {
  const mha::Model& model;
  mha::Workspace workspace{};
  mha::TokenizerScratch scratch{};

  mha::EncodeOptions options() const {
    mha::EncodeOptions options;
    options.max_length = model.max_length();
    return options;
  }

  std::vector<std::vector<float>> operator()(const std::vector<std::string>& texts, const std::string& prompt,
                                             bool together) {
    std::vector<std::vector<float>> vectors;
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> types;
    std::vector<std::size_t> rows{0};
    for (const std::string& text : texts) {
      mha::Encoding encoding;
      model.tokenizer().encode(prompt + text, std::nullopt, options(), scratch, encoding);
      ids.insert(ids.end(), encoding.input_ids.begin(), encoding.input_ids.end());
      types.insert(types.end(), encoding.token_type_ids.begin(), encoding.token_type_ids.end());
      rows.push_back(ids.size());
      if (together) continue;
      append(ids, types, rows, prompt, vectors);
      ids.clear();
      types.clear();
      rows = {0};
    }
    if (together) append(ids, types, rows, prompt, vectors);
    return vectors;
  }

  void append(const std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& types,
              const std::vector<std::size_t>& rows, const std::string& prompt,
              std::vector<std::vector<float>>& vectors) {
    const mha::SentenceConfig& sentence = model.sentence();
    const std::size_t left_out =
        sentence.include_prompt ? 0 : mha::prompt_token_count(model.tokenizer(), prompt, options(), scratch);
    const mha::ConstMatrix hidden = model.encoder().forward({ids, types, rows}, workspace, {}, nullptr);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      vectors.emplace_back();
      mha::pool(sentence, hidden.rows_of(rows[i], rows[i + 1] - rows[i]), left_out, nullptr, 0, sentence.normalize,
                model.encoder().backend(), workspace, vectors.back());
    }
  }
};

int failures = 0;

void fail(const std::string& what) {
  ++failures;
  std::cout << "FAILED " << what << "\n";
}

void check_st_folder(const fs::path& folder, const std::string& backend) {
  const std::string name = folder.filename().string() + " (" + backend + ")";
  const auto model = load(folder, backend);
  const json golden = read_json(folder / "golden.json");
  const mha::SafetensorsFile arrays(folder / "golden.safetensors");
  const auto texts = golden["texts"].get<std::vector<std::string>>();
  if (model->max_length() != golden["max_seq_length_used"].get<std::size_t>()) fail(name + ": maximum length");
  if (model->embedding_width(model->sentence().pooling) != golden["dimension"].get<std::size_t>())
    fail(name + ": width");
  Embedder embed{*model};
  double worst = 0;
  for (const auto& [key, facts] : golden["keys"].items()) {
    mha::PromptChoice choice;
    if (key == "embeddings_no_prompt")
      choice.text = "";
    else if (key == "query" || key == "document")
      choice.role = key;
    else if (key.starts_with("prompt_"))
      choice.name = key.substr(7);
    const std::string prompt = mha::choose_prompt(model->sentence(), choice);
    const mha::TensorView& view = *arrays.find(key);
    std::vector<float> expected(view.size());
    mha::to_float32(view, 0, expected.size(), expected.data());
    const double limit = 20 * facts["noise"].get<double>() + 1e-5 * facts["scale"].get<double>();
    const auto alone = embed(texts, prompt, false);
    const auto together = embed(texts, prompt, true);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (backend == "auto" && alone[i] != together[i])
        fail(name + ": " + key + ": other bits alone and in a batch: text " + std::to_string(i));
      for (std::size_t c = 0; c < alone[i].size(); ++c) {
        const double difference =
            std::abs(static_cast<double>(alone[i][c]) - static_cast<double>(expected[i * alone[i].size() + c]));
        worst = std::max(worst, difference / limit);
        if (difference <= limit) continue;
        fail(name + ": " + key + ": text " + std::to_string(i) + " column " + std::to_string(c) + ": off by " +
             std::to_string(difference));
        break;
      }
    }
  }
  std::cout << name << ": largest difference " << worst << " of the limit\n";
}

/// The result of loading a folder and embedding with it: nothing, or an error.
struct Outcome {
  std::vector<std::vector<float>> vectors;
  std::optional<mha::ErrorKind> kind;
  std::string message;
};

Outcome try_folder(const fs::path& folder) {
  Outcome outcome;
  try {
    const auto model = load(folder);
    outcome.vectors = Embedder{*model}({"she is", "", "rain"}, "", false);
  } catch (const mha::Error& error) {
    outcome.kind = error.kind();
    outcome.message = error.what();
  }
  return outcome;
}

void copy_base(const fs::path& base, const fs::path& to) {
  fs::copy(base, to, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(to)) {
    fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
  }
  fs::permissions(to, fs::perms::owner_all, fs::perm_options::add);
}

void check_hostile(const fs::path& root) {
  std::map<std::string, Outcome> bases;
  std::ifstream index(root / "index.jsonl");
  std::size_t cases = 0;
  for (std::string line; std::getline(index, line); ++cases) {
    const json fact = json::parse(line);
    const std::string base = fact["base"];
    const std::string name = fact["file"];
    if (bases.count(base) == 0) bases[base] = try_folder(root / base);
    if (bases[base].kind) fail("hostile/" + base + ": " + bases[base].message);
    const mha::test::TemporaryFolder temporary;
    const fs::path folder = temporary / "m";
    copy_base(root / base, folder);
    if (fact.contains("remove")) {
      for (const std::string gone : fact["remove"]) fs::remove(folder / gone);
    }
    const fs::path replaced = folder / fact["replaces"].get<std::string>();
    fs::remove(replaced);
    fs::copy_file(root / name, replaced);
    const Outcome outcome = try_folder(folder);
    const std::string expect = fact["expect"];
    const bool model_error = outcome.kind == mha::ErrorKind::model;
    const bool any_error = model_error || outcome.kind == mha::ErrorKind::input;
    const bool same = !outcome.kind && outcome.vectors == bases[base].vectors;
    const bool right = expect == "model-error"         ? model_error
                       : expect == "any-error"         ? any_error
                       : expect == "ok"                ? same
                       : expect == "ok-or-model-error" ? model_error || !outcome.kind
                                                       : any_error || !outcome.kind;
    if (!right)
      fail("hostile/" + name + ": expected " + expect + ", got " + (outcome.kind ? outcome.message : "no error"));
    if (outcome.kind && outcome.message.find(temporary.path().filename().string()) == std::string::npos &&
        expect == "model-error") {
      fail("hostile/" + name + ": the message does not name the file: " + outcome.message);
    }
  }
  std::cout << cases << " hostile files\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const fs::path root = mha::test::shared(what == "hostile" ? "models/hostile" : "models/st");
  if (root.empty()) return kSkipped;
  try {
    if (what == "hostile") {
      check_hostile(root);
    } else {
      for (const auto& entry : fs::directory_iterator(root)) {
        for (const char* backend : {"auto", "reference"}) {
          try {
            check_st_folder(entry.path(), backend);
          } catch (const mha::Error& error) {
            fail(entry.path().filename().string() + ": " + error.what());
          }
        }
      }
    }
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return failures == 0 ? 0 : 1;
}
