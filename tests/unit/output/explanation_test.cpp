#include "output/explanation.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "output/terminal_text.hpp"
#include "support/attention_example.hpp"

namespace {

mha::Stage stage(const std::string& name, std::size_t heads, std::size_t rows, std::size_t columns) {
  mha::Stage s{name, heads, rows, columns, {}};
  for (std::size_t i = 0; i < std::max<std::size_t>(heads, 1) * rows * columns; ++i) {
    s.values.push_back(static_cast<float>(i % 13) / 8.0F - 0.5F);
  }
  return s;
}

mha::Explanation example() {
  const auto maps = mha::test::example_maps({"She", "is", "</p><b>"}, 1, 2);
  mha::Explanation e;
  e.text = "She is </p><b>";
  e.model = "tiny";
  e.labels = maps.labels;
  e.input_ids = {1, 2, 3, 4, 5};
  e.config.d_model = 6;
  e.config.n_heads = 2;
  e.config.d_head = 3;
  e.heads = {0, 1};
  const std::size_t t = maps.tokens();
  e.stages = {stage("word_embedding", 0, t, 6),
              stage("X", 0, t, 6),
              stage("Q", 2, t, 3),
              stage("K", 2, t, 3),
              stage("V", 2, t, 3),
              stage("scores", 2, t, t),
              stage("scaled", 2, t, t),
              stage("probabilities", 2, t, t),
              stage("Z", 2, t, 3),
              stage("concat", 0, t, 6),
              stage("output_share", 2, t, 6),
              stage("attention_output", 0, t, 6),
              stage("block_output", 0, t, 6)};
  for (mha::Stage& s : e.stages) {
    if (s.name == "probabilities") s.values = maps.weights;
  }
  return e;
}

}  // namespace

TEST_CASE("the JSON explanation has every matrix under its documented name and shape") {
  const auto json = nlohmann::ordered_json::parse(mha::explanation_json(example(), {}));
  CHECK(json["tokens"].size() == 5);
  CHECK(json["embedding"].size() == 5);
  REQUIRE(json["heads"].size() == 2);
  CHECK(json["heads"][1]["columns"] == nlohmann::ordered_json({3, 6}));
  for (const char* key : {"Q", "K", "V", "scores", "scaled", "probabilities", "Z", "output_share"}) {
    CHECK(json["heads"][0][key].size() == 5);
  }
  CHECK(json["heads"][1]["Z"][4].size() == 3);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"text", "tokens", "input_ids", "layer", "d_model", "n_heads", "d_head",
                                         "embedding", "X", "heads", "concat", "attention_output", "block_output"});
}

TEST_CASE("the table tells the five steps and stays within its width") {
  for (const std::size_t columns : {40U, 60U, 80U, 200U}) {
    mha::ExplanationOptions options;
    options.columns = columns;
    const std::string table = mha::explanation_table(example(), options);
    for (const char* word : {"Step 1", "Step 2", "Step 3", "Step 4", "Step 5", "softmax", "√3", "She"}) {
      CHECK(table.find(word) != std::string::npos);
    }
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) REQUIRE(mha::display_width(line) <= columns);
  }
}

TEST_CASE("the token that is followed can be chosen, and is otherwise never a special") {
  mha::Explanation e = example();
  CHECK_FALSE(e.labels[mha::most_telling_token(e)].special);
  mha::ExplanationOptions options;
  options.token = 2;
  CHECK(mha::explanation_table(e, options).find("head 0: is →") != std::string::npos);
}

TEST_CASE("the page escapes its input") {
  const std::string page = mha::explanation_html(example(), {});
  CHECK(page.find("</p><b>") == std::string::npos);
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find("</html>") != std::string::npos);
}

TEST_CASE("table and page say which biases, norms and activation the block has") {
  mha::Explanation e = example();
  e.config.attention_bias = false;
  CHECK(mha::explanation_table(e, {}).find("bq") == std::string::npos);
  e.config.attention_bias = true;
  e.config.activation = mha::Activation::gelu;
  e.output_bias = {1, 2, 3, 4, 5, 6};
  const std::size_t t = e.labels.size();
  for (const char* name : {"residual1", "attention_norm", "feed_forward_input", "feed_forward_output", "residual2"})
    e.stages.push_back(stage(name, 0, t, 6));
  e.stages.push_back(stage("feed_forward_hidden", 0, t, 9));
  for (const std::string& text : {mha::explanation_table(e, {}), mha::explanation_html(e, {})}) {
    for (const char* word : {"X·Wq + bq", "bo, added to every token", "LayerNorm (times γ, plus β)",
                             "gelu(input·W1 + b1)", "widens each token to 9", "residual"}) {
      CHECK(text.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("a pair that a local layer leaves out has no score: null, an empty cell or a dot, never an infinity") {
  mha::Explanation e = example();
  e.config.local_window = 3;
  e.config.local_layers = {true};
  for (mha::Stage& s : e.stages) {
    if (s.name == "scaled") s.values[4] = s.values[20] = -std::numeric_limits<float>::infinity();
  }
  const auto json = nlohmann::json::parse(mha::explanation_json(e, {}));
  CHECK(json["heads"][0]["scaled"][0][4].is_null());
  CHECK(json["heads"][0]["scaled"][0][3].is_number());
  const std::string page = mha::explanation_html(e, {});
  CHECK(page.find("<td></td></tr>") != std::string::npos);
  const std::string table = mha::explanation_table(e, {});
  CHECK(table.find("inf") == std::string::npos);
  CHECK(table.find("·\n") != std::string::npos);
  for (const std::string& text : {page, table})
    CHECK(text.find("a token sees 3 tokens to each side") != std::string::npos);
}
