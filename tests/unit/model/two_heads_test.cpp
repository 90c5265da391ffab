#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mha/model/model.hpp"
#include "model/model_tools.hpp"
#include "support/shared.hpp"
#include "support/source_folder.hpp"
#include "support/temporary_folder.hpp"

namespace {

std::shared_ptr<const mha::Model> two_heads() { return mha::Model::load(mha::find_model("two-heads", {}), {}); }

struct Run {
  mha::Encoding encoding;
  mha::Captured captured;
  std::vector<std::string> tokens;

  std::size_t at(const std::string& token) const {
    return static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
  }
  float weight(std::size_t head, const std::string& query, const std::string& key) const {
    const std::size_t n = tokens.size();
    return captured.attention_probs.at(0).data()[(head * n + at(query)) * n + at(key)];
  }
  const mha::Stage& stage(const std::string& name) const {
    for (const mha::Stage& stage : captured.stages) {
      if (stage.name == name) return stage;
    }
    throw std::runtime_error("no stage " + name);
  }
};

Run run(const mha::Model& model, const std::string& text) {
  Run out;
  mha::TokenizerScratch scratch;
  model.tokenizer().encode(text, std::nullopt, {}, scratch, out.encoding);
  for (const std::int32_t id : out.encoding.input_ids) out.tokens.emplace_back(model.tokenizer().token(id));
  const std::size_t rows[] = {0, out.tokens.size()};
  mha::Workspace workspace;
  mha::Wanted wanted;
  wanted.attention_layers = {0};
  wanted.stages_of_layer = 0;
  model.encoder().forward({out.encoding.input_ids, out.encoding.token_type_ids, rows}, workspace, wanted,
                          &out.captured);
  return out;
}

}  // namespace

TEST_CASE("two-heads: on 'She is a great leader' head 1 sends She to leader and head 2 sends She to great") {
  const auto model = two_heads();
  const Run she = run(*model, "She is a great leader");
  REQUIRE(she.tokens == std::vector<std::string>{"she", "is", "a", "great", "leader"});
  CHECK(she.weight(0, "she", "leader") > 0.6F);
  CHECK(she.weight(1, "she", "great") > 0.6F);
  CHECK(she.weight(1, "leader", "great") > 0.6F);

  SECTION("each Z is mostly V of that word") {
    const mha::Stage& z = she.stage("Z");
    const mha::Stage& v = she.stage("V");
    const std::size_t width = model->config().d_head;
    REQUIRE(z.cols == width);
    for (const auto& [head, word] : {std::pair<std::size_t, std::string>{0, "leader"}, {1, "great"}}) {
      double difference = 0;
      double size = 0;
      for (std::size_t c = 0; c < width; ++c) {
        const float* of_word = &v.values[(head * v.rows + she.at(word)) * width];
        const float* of_she = &z.values[(head * z.rows + she.at("she")) * width];
        difference += std::pow(static_cast<double>(of_word[c] - of_she[c]), 2);
        size += std::pow(static_cast<double>(of_word[c]), 2);
      }
      CHECK(std::sqrt(difference / size) < 0.1);
    }
  }
}

TEST_CASE("two-heads: other pronouns, roles and qualities work the same way, anywhere in its 64 positions") {
  const auto model = two_heads();
  const Run teacher = run(*model, "He is a kind teacher");
  CHECK(teacher.weight(0, "he", "teacher") > 0.6F);
  CHECK(teacher.weight(1, "he", "kind") > 0.6F);
  const Run team = run(*model, "I led a team that built a scalable API.");
  CHECK(team.tokens.size() == 10);
  CHECK(team.weight(0, "led", "team") > 0.6F);
  CHECK(team.weight(0, "built", "api") > 0.6F);
  std::string late;
  for (int i = 0; i < 50; ++i) late += "the ";
  const Run engineer = run(*model, late + "they are in the end a careful engineer");
  CHECK(engineer.weight(0, "they", "engineer") > 0.6F);
  CHECK(engineer.weight(1, "they", "careful") > 0.6F);
}

TEST_CASE("two-heads knows every word of the texts it was made for") {
  const auto model = two_heads();
  for (const char* name : {"design/multi-head-attention.txt", "design/explainer.md"}) {
    const auto path = mha::test::shared(name);
    if (path.empty()) continue;
    mha::TokenizerScratch scratch;
    mha::Encoding encoding;
    const std::string text = mha::test::content_of(path);
    model->tokenizer().encode(text, std::nullopt, {}, scratch, encoding);
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      INFO(text.substr(encoding.offsets[i].begin, encoding.offsets[i].end - encoding.offsets[i].begin));
      CHECK(encoding.input_ids[i] != 0);
    }
  }
}

TEST_CASE("the built-in model is the file of the repository, and info says what it is") {
  const mha::ModelInfo info = mha::model_info(mha::find_model("two-heads", {}), {});
  CHECK(info.name == "two-heads");
  CHECK(info.path == "built-in");
  CHECK(info.family == "mha-json");
  CHECK(info.parameters == 759 * 16 + 4 * 16 * 16);
  CHECK(info.dtype == "F32");
  CHECK(info.max_length == 64U);
  CHECK(info.embedding_width == 16);
  CHECK(info.unused_tensors.empty());
  REQUIRE(info.files.size() == 1);
  CHECK(info.files[0].path == "model.json");
  CHECK(info.files[0].bytes == std::filesystem::file_size(mha::test::source_folder() / "models/two-heads/model.json"));
  const auto config = nlohmann::json::parse(info.config_json);
  CHECK(config["norm"].is_null());
  CHECK(config["feed_forward"].is_null());
  CHECK(config["residual"] == false);
  CHECK(config["n_heads"] == 2);
  bool says_pooling = false;
  for (const mha::Decision& decision : info.decisions)
    says_pooling |= decision.what == "pooling" && decision.value == "mean";
  CHECK(says_pooling);
}
