#include "model/model_tools.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ConvertOptions;
using mha::ErrorKind;
using mha::find_model;
using mha::InitOptions;
using mha::Model;
using mha::ModelFormat;
using mha::ModelReport;
using mha::test::content_of;
using mha::test::error_of;
using mha::test::TemporaryFolder;

namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kTexts{"she is a great leader", "the team built it", "unknown words here"};

InitOptions shape(const std::string& output, ModelFormat format) {
  InitOptions options;
  options.config.d_model = 8;
  options.config.n_heads = 2;
  options.config.n_kv_heads = 2;
  options.config.d_head = 4;
  options.config.n_layers = 2;
  options.config.d_ff = 12;
  options.config.max_positions = 16;
  options.config.position.sinusoidal = mha::PositionConfig::Sinusoidal::interleaved;
  options.words = {"she", "is", "a", "great", "leader", "the", "team", "built", "it"};
  options.seed = 7;
  options.format = format;
  options.output = output;
  return options;
}

std::shared_ptr<const Model> load(const std::string& path) { return Model::load(find_model(path, {}), {}); }

mha::EmbeddingDrift drift(const std::string& a, const std::string& b) {
  return mha::embedding_drift(*load(a), *load(b), kTexts);
}

/// A sentence-transformers folder with a dense module and prompts around a fresh encoder.
std::string sentence_folder(const TemporaryFolder& folder) {
  const std::string path = (folder / "st").string();
  mha::init_model(shape(path, ModelFormat::safetensors));
  folder.write("st/modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
    {"type": "sentence_transformers.models.Normalize", "path": "3_Normalize"}])");
  folder.write("st/1_Pooling/config.json", R"({"pooling_mode": ["max", "mean"], "include_prompt": false})");
  folder.write("st/2_Dense/config.json",
               R"({"in_features": 16, "out_features": 3, "activation_function": "torch.nn.modules.activation.Tanh"})");
  folder.write("st/config_sentence_transformers.json",
               R"({"prompts": {"query": "she is "}, "default_prompt_name": "query"})");
  folder.write("st/sentence_bert_config.json", R"({"max_seq_length": 9})");
  std::vector<float> weight(48);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 0.1F * static_cast<float>(i % 7) - 0.25F;
  const std::vector<float> bias{0.5F, -0.25F, 0};
  const std::string header =
      R"({"linear.weight":{"dtype":"F32","shape":[3,16],"data_offsets":[0,192]},"linear.bias":{"dtype":"F32","shape":[3],"data_offsets":[192,204]}})";
  std::string file;
  for (unsigned shift = 0; shift < 64; shift += 8) file += static_cast<char>((header.size() >> shift) & 255);
  file += header;
  file.append(reinterpret_cast<const char*>(weight.data()), 192).append(reinterpret_cast<const char*>(bias.data()), 12);
  folder.write("st/2_Dense/model.safetensors", file);
  return path;
}

std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("a fresh model is the same bytes for the same seed and others for another") {
  const TemporaryFolder folder;
  const auto json = [&](const std::string& name, std::uint64_t seed) {
    InitOptions options = shape((folder / name).string(), ModelFormat::json);
    options.seed = seed;
    mha::init_model(options);
    return content_of(folder / name);
  };
  const std::string one = json("a.json", 7);
  CHECK(one == json("b.json", 7));
  CHECK(one != json("c.json", 8));
  mha::init_model(shape((folder / "d").string(), ModelFormat::safetensors));
  CHECK(drift((folder / "a.json").string(), (folder / "d").string()).max_abs == 0);
  CHECK(mha::verify_model(find_model((folder / "d").string(), {}), {}).problems.empty());
}

TEST_CASE("a shape that does not fit together is wrong usage") {
  const TemporaryFolder folder;
  InitOptions options = shape((folder / "x.json").string(), ModelFormat::json);
  options.config.d_head = 0;
  options.config.n_heads = 3;
  CHECK_FALSE(error_of(ErrorKind::usage, [&] { mha::init_model(options); }).empty());
  options = shape((folder / "x.json").string(), ModelFormat::json);
  options.config.vocab_size = 3;
  CHECK_THAT(error_of(ErrorKind::usage, [&] { mha::init_model(options); }), Contains("vocab_size"));
  CHECK_FALSE(fs::exists(folder / "x.json"));
}

TEST_CASE("a model converted to JSON gives the same vectors, with its dense modules, prompts and lengths") {
  const TemporaryFolder folder;
  const std::string source = sentence_folder(folder);
  const std::string json = (folder / "t.json").string();
  CHECK(mha::convert_model(find_model(source, {}), {ModelFormat::json, "", json}).empty());
  const auto before = load(source);
  const auto after = load(json);
  CHECK(mha::embedding_drift(*before, *after, kTexts).max_abs == 0);
  CHECK(after->max_length() == 9U);
  CHECK(after->sentence().prompts == before->sentence().prompts);
  CHECK(after->sentence().default_prompt_name == "query");
  CHECK_FALSE(after->sentence().include_prompt);
  CHECK(after->sentence().normalize);
  CHECK(after->embedding_width(after->sentence().pooling) == 3);
  CHECK(after->parameters() == before->parameters());
  CHECK(after->unused_tensors().empty());

  SECTION("and back to a folder") {
    const std::string back = (folder / "back").string();
    mha::convert_model(find_model(json, {}), {ModelFormat::safetensors, "", back});
    CHECK(drift(source, back).max_abs == 0);
    CHECK(load(back)->unused_tensors().empty());
    CHECK(mha::verify_model(find_model(back, {}), {}).problems.empty());
  }
}

TEST_CASE("number types are converted, and stay near") {
  const TemporaryFolder folder;
  const std::string source = sentence_folder(folder);
  for (const auto& [dtype, limit, expected] : {std::tuple<const char*, double, const char*>{"f32", 0.0, "F32"},
                                               {"f16", 1e-2, "F16"},
                                               {"bf16", 5e-2, "BF16"},
                                               {"int8", 5e-2, "F32+I8"}}) {
    INFO(dtype);
    const std::string to = (folder / dtype).string();
    mha::convert_model(find_model(source, {}), {ModelFormat::safetensors, dtype, to});
    const auto drifted = drift(source, to);
    CHECK(drifted.texts == kTexts.size());
    CHECK(drifted.max_abs <= limit);
    CHECK(drifted.least_cosine > 0.99);
    CHECK(load(to)->weights_dtype() == expected);
    CHECK(load(to)->parameters() == load(source)->parameters());
    CHECK(mha::verify_model(find_model(to, {}), {}).problems.empty());
    const std::string again = (folder / (std::string(dtype) + "-f32")).string();
    mha::convert_model(find_model(to, {}), {ModelFormat::safetensors, "f32", again});
    CHECK(drift(to, again).max_abs < 1e-6);
  }
}

TEST_CASE("a conversion that fails leaves nothing behind, and none overwrites a model") {
  const TemporaryFolder folder;
  const std::string source = sentence_folder(folder);
  const auto location = find_model(source, {});
  CHECK_FALSE(error_of(ErrorKind::output, [&] {
                mha::convert_model(location, {ModelFormat::json, "", (folder / "no/x.json").string()});
              }).empty());
  CHECK_FALSE(error_of(ErrorKind::output, [&] {
                mha::convert_model(location, {ModelFormat::safetensors, "", source});
              }).empty());
  CHECK_FALSE(error_of(ErrorKind::usage, [&] {
                mha::convert_model(location, {ModelFormat::json, "int8", (folder / "x").string()});
              }).empty());
  CHECK_FALSE(error_of(ErrorKind::usage, [&] {
                mha::convert_model(location, {ModelFormat::safetensors, "f8", (folder / "x").string()});
              }).empty());
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) entries += entry.path().empty() ? 0 : 1;
  CHECK(entries == 1);
}

TEST_CASE("verify finds nothing wrong with a sound model and says what it can do") {
  const TemporaryFolder folder;
  const ModelReport report = mha::verify_model(find_model(sentence_folder(folder), {}), {});
  CHECK(all(report.problems).empty());
  CHECK_THAT(all(report.abilities), Contains("token vectors of width 8") && Contains("2 layers × 2 heads") &&
                                        Contains("sentence vectors of width 3 (max+mean, l2)") &&
                                        Contains("prompts: query"));
  CHECK(report.files.size() >= 8);
  CHECK(mha::verify_model(find_model("two-heads", {}), {}).problems.empty());
}

TEST_CASE("verify lists everything that is wrong, not the first thing") {
  const TemporaryFolder folder;
  const std::string path = sentence_folder(folder);
  const std::string weights = content_of(folder / "st/model.safetensors");

  SECTION("arrays that are missing or have another shape, a module file and a tokenizer file") {
    auto config = nlohmann::json::parse(content_of(folder / "st/config.json"));
    config["d_ff"] = 13;
    config["n_layers"] = 3;
    folder.write("st/config.json", config.dump());
    folder.write("st/tokenizer.json", "{\"model\":");
    fs::remove(folder / "st/2_Dense/model.safetensors");
    const std::string problems = all(mha::verify_model(find_model(path, {}), {}).problems);
    CHECK_THAT(problems, Contains("layers.0.feed_forward.in.weight") && Contains("layers.1.feed_forward.out.weight") &&
                             Contains("layers.2.attention.query.weight") && Contains("tokenizer.json") &&
                             Contains("2_Dense"));
  }
  SECTION("a cut-off weight file beside a broken config") {
    folder.write("st/model.safetensors", weights.substr(0, weights.size() - 1));
    folder.write("st/config.json", "{");
    folder.write("st/sentence_bert_config.json", R"({"max_seq_length": -1})");
    const std::string problems = all(mha::verify_model(find_model(path, {}), {}).problems);
    CHECK_THAT(problems, Contains("incomplete download?") && Contains("config.json") && Contains("max_seq_length"));
  }
  SECTION("numbers that are not finite") {
    std::string bad = weights;
    bad.replace(bad.size() - 4, 4, "\xff\xff\xff\xff");
    folder.write("st/model.safetensors", bad);
    CHECK_THAT(all(mha::verify_model(find_model(path, {}), {}).problems), Contains("finite"));
  }
  SECTION("a tokenizer with more tokens than the table has rows") {
    auto tokenizer = nlohmann::json::parse(content_of(folder / "st/tokenizer.json"));
    for (int id = 10; id < 30; ++id) tokenizer["model"]["vocab"]["word" + std::to_string(id)] = id;
    folder.write("st/tokenizer.json", tokenizer.dump());
    CHECK_THAT(all(mha::verify_model(find_model(path, {}), {}).problems), Contains("embedding table"));
  }
  SECTION("a JSON model") {
    folder.write("x.json", R"({"format": "mha-json", "version": 1, "config": {}})");
    CHECK_FALSE(mha::verify_model(find_model((folder / "x.json").string(), {}), {}).problems.empty());
  }
}

TEST_CASE("pooling by a pooler that the model lacks is refused with advice") {
  const TemporaryFolder folder;
  const std::string path = (folder / "m.json").string();
  mha::init_model(shape(path, ModelFormat::json));
  CHECK_THAT(error_of(ErrorKind::usage, [&] { load(path)->embedding_width({mha::PoolingMode::pooler}); }),
             Contains("pooler") && Contains("cls") && Contains("mean"));
}
