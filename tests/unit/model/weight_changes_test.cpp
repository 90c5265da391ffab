// Arrays that are made of a file's: merged adapters and tables of static embeddings.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "io/file_set.hpp"
#include "model/lora.hpp"
#include "model/static_embedding.hpp"
#include "model/weight_sources.hpp"
#include "support/random_encoder.hpp"
#include "support/safetensors_text.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using namespace mha;
using test::error_of;

namespace {

/// A base with W [2, 3] = 0 … 5, and an adapter A [1, 3] = 1 2 3, B [2, 1] = 1 2.
class AdapterFolder {
 public:
  AdapterFolder() {
    base_->add("bert.q.weight", {2, 3}, {0, 1, 2, 3, 4, 5});
    base_->add("bert.q.bias", {2}, {0, 0});
    settings(R"({"peft_type": "LORA", "r": 1, "lora_alpha": 2})");
    arrays("base_model.model.q");
  }
  void settings(const std::string& text) { folder_.write("adapter_config.json", text); }
  void arrays(const std::string& module) {
    folder_.write("adapter_model.safetensors",
                  test::safetensors_bytes(
                      "{\"" + module + R"(.lora_A.weight":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]},")" +
                          module + R"(.lora_B.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[12,20]}})",
                      test::float_bytes(3, 1) + test::float_bytes(2, 1)));
  }
  std::vector<float> merged(const std::string& name = "bert.q.weight") {
    const auto files = folder_files(folder_.path());
    REQUIRE(has_adapter(*files));
    decisions.clear();
    unknown.clear();
    const auto source = merged_adapter(*files, base_, {"bert.", ""}, decisions, unknown);
    const TensorView* view = source->find(name);
    std::vector<float> values(view->size());
    std::copy_n(reinterpret_cast<const float*>(view->data), values.size(), values.begin());
    return values;
  }

  std::vector<Decision> decisions;
  std::vector<std::string> unknown;

 private:
  test::TemporaryFolder folder_;
  std::shared_ptr<test::MemoryWeights> base_ = std::make_shared<test::MemoryWeights>();
};

}  // namespace

TEST_CASE("a LoRA adapter beside a base is merged: W + s·B·A") {
  AdapterFolder folder;
  CHECK(folder.merged() == std::vector<float>{2, 5, 8, 7, 12, 17});  // s = 2
  CHECK(folder.decisions.at(0).value == "LoRA, merged into 1 arrays");
  CHECK(folder.merged("bert.q.bias") == std::vector<float>{0, 0});
  folder.arrays("base_model.model.bert.q");
  CHECK(folder.merged() == std::vector<float>{2, 5, 8, 7, 12, 17});
  folder.settings(R"({"peft_type": "LORA", "lora_alpha": 2, "use_rslora": true, "future": 1})");
  CHECK(folder.merged() == std::vector<float>{2, 5, 8, 7, 12, 17});  // rank 1: the same
  CHECK(folder.unknown == std::vector<std::string>{"adapter_config.json: future"});
}

TEST_CASE("an adapter that is not implemented or does not fit is an error that names it") {
  AdapterFolder folder;
  folder.settings(R"({"peft_type": "IA3"})");
  CHECK_THAT(error_of(ErrorKind::model, [&] { folder.merged(); }), Contains("peft_type"));
  folder.settings(R"({"peft_type": "LORA", "use_dora": true})");
  CHECK_THAT(error_of(ErrorKind::model, [&] { folder.merged(); }), Contains("use_dora"));
  folder.settings(R"({"peft_type": "LORA", "fan_in_fan_out": true})");
  CHECK_THAT(error_of(ErrorKind::model, [&] { folder.merged(); }), Contains("expected an adapter of bert.q.weight"));
  folder.settings(R"({"peft_type": "LORA"})");
  folder.arrays("base_model.model.other");
  CHECK_THAT(error_of(ErrorKind::model, [&] { folder.merged(); }), Contains("found no other.weight"));
}

TEST_CASE("the table of a static embedding is folded as the reference folds it") {
  const auto file = std::make_shared<test::MemoryWeights>();
  file->add("embeddings", {2, 2}, {1, 2, 3, 4});
  file->add("weights", {2}, {10, 0.5F});
  const auto source = static_embedding_source(file);
  const TensorView* table = source->find("embedding.weight");
  REQUIRE(table != nullptr);
  const auto* values = reinterpret_cast<const float*>(table->data);
  CHECK(std::vector<float>(values, values + 4) == std::vector<float>{10, 20, 1.5F, 2});
  const FamilyModel family = static_embedding_family(*source);
  CHECK(family.config.n_layers == 0);
  CHECK(family.config.d_model == 2);
  CHECK(family.config.vocab_size == 2);

  const auto none = std::make_shared<test::MemoryWeights>();
  none->add("other", {2, 2}, {1, 2, 3, 4});
  CHECK_THAT(error_of(ErrorKind::model, [&] { static_embedding_source(none); }), Contains("static embedding"));
}
