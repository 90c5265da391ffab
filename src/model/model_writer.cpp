#include "model/model_writer.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/numbers.hpp"
#include "io/json_weights.hpp"
#include "io/mapped_file.hpp"
#include "io/output_stream.hpp"
#include "io/safetensors_writer.hpp"
#include "mha/core/error.hpp"
#include "ops/convert.hpp"

namespace mha {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::string_view kScale = ".scale";
constexpr float kLargestI8 = 127.0F;

[[noreturn]] void output_error(const fs::path& path, const std::string& what) {
  throw_output("output: " + path_text(path) + ": " + what);
}

/// The float32 values of an array of floats, or of I8 with a scale a row.
std::vector<float> values_of(const TensorView& view, const TensorView* scale, const std::string& name) {
  std::vector<float> values(view.size());
  if (scale == nullptr) {
    to_float32(view, 0, values.size(), values.data());
    return values;
  }
  if (view.shape.empty() || scale->dtype != DType::f32 || scale->shape != std::vector<std::size_t>{view.shape[0]}) {
    throw_model("tensor " + name + std::string(kScale) + ": expected F32, one number a row of " +
                shape_text(view.shape) + ", got " + std::string(name_of(scale->dtype)) + " " +
                shape_text(scale->shape));
  }
  const std::size_t rows = view.shape[0];
  for (std::size_t row = 0; row < rows; ++row) {
    row_to_float32(view, *scale, row, values.data() + row * (values.size() / rows));
  }
  return values;
}

void append_16bit(const std::vector<float>& values, DType dtype, const std::string& name, std::vector<std::byte>& out) {
  out.resize(values.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = dtype == DType::f16 ? f16_from_float(values[i]) : bf16_from_float(values[i]);
    const float back = dtype == DType::f16 ? float_from_f16(bits) : float_from_bf16(bits);
    if (std::isfinite(values[i]) && !std::isfinite(back)) {
      throw_model("tensor " + name + ": expected values that " + std::string(name_of(dtype)) + " can hold, got " +
                  std::to_string(values[i]) + " at element " + std::to_string(i) + "; use --dtype bf16 or f32");
    }
    std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
  }
}

/// One scale a row: the largest absolute value becomes 127.
std::vector<float> row_scales(const std::vector<float>& values, std::size_t rows) {
  std::vector<float> scales(rows);
  const std::size_t cols = values.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    float largest = 0;
    for (std::size_t c = 0; c < cols; ++c) largest = std::max(largest, std::fabs(values[r * cols + c]));
    scales[r] = largest > 0 ? largest / kLargestI8 : 1.0F;
  }
  return scales;
}

void append_quantized(const std::vector<float>& values, const std::vector<float>& scales, std::vector<std::byte>& out) {
  const std::size_t cols = values.size() / scales.size();
  out.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float rounded = std::nearbyint(values[i] / scales[i / cols]);
    out[i] = static_cast<std::byte>(static_cast<std::int8_t>(std::clamp(rounded, -kLargestI8, kLargestI8)));
  }
}

/// How one array is written.
struct Plan {
  const TensorView* view = nullptr;
  const TensorView* scale = nullptr;  // of an I8 array that is read
  DType dtype = DType::f32;
  bool as_is = false;
};

}  // namespace

NewFolder::NewFolder(const fs::path& path) : target_(path.has_filename() ? path : path.parent_path()) {
  std::error_code failed;
  if (fs::exists(target_, failed) && !(fs::is_directory(target_, failed) && fs::is_empty(target_, failed))) {
    output_error(target_, "expected a new folder, found one that is there; choose another name or remove it");
  }
  std::string name = target_.string() + ".new-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    output_error(target_, std::string("cannot make a folder: ") + std::strerror(errno));
  }
  temporary_ = name;
  // mkdtemp makes the folder private; a model is as readable as the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  fs::permissions(temporary_, static_cast<fs::perms>(0777U & ~mask), failed);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

fs::path NewFolder::file(const std::string& name) const {
  const fs::path path = temporary_ / name;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) output_error(target_ / name, "cannot make its folder: " + failed.message());
  return path;
}

void NewFolder::write(const std::string& name, std::string_view content) const {
  OutputStream out(file(name));
  out.write(content);
  out.commit();
}

void NewFolder::commit() {
  std::error_code failed;
  fs::rename(temporary_, target_, failed);
  if (failed) output_error(target_, "cannot give the folder its name: " + failed.message());
  temporary_.clear();
}

std::optional<DType> dtype_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "f32") return DType::f32;
  if (name == "f16") return DType::f16;
  if (name == "bf16") return DType::bf16;
  if (name == "int8") return DType::i8;
  throw_usage("--dtype: expected f32, f16, bf16 or int8, got " + name);
}

void write_arrays(const WeightSource& source, const ArrayTypes& types, const fs::path& path) {
  std::vector<TensorSpec> specs;
  std::map<std::string, Plan> plans;
  for (const std::string& name : source.names()) {
    Plan plan;
    plan.view = source.find(name);
    if (name.ends_with(kScale)) {
      const TensorView* owner = source.find(name.substr(0, name.size() - kScale.size()));
      if (owner != nullptr && owner->dtype == DType::i8) continue;
    }
    if (plan.view->dtype == DType::i8) plan.scale = source.find(name + std::string(kScale));
    const bool is_number = is_float_type(plan.view->dtype) || plan.scale != nullptr;
    plan.dtype = plan.view->dtype;
    if (is_number && types.dtype) plan.dtype = *types.dtype;
    if (is_number && types.dtype == DType::i8 && plan.view->dtype != DType::i8 && types.quantized.count(name) == 0) {
      plan.dtype = DType::f32;
    }
    plan.as_is = plan.dtype == plan.view->dtype;
    specs.push_back({name, plan.dtype, plan.view->shape});
    if (is_number && plan.dtype == DType::i8)
      specs.push_back({name + std::string(kScale), DType::f32, {plan.view->shape[0]}});
    plans.emplace(name, plan);
  }

  SafetensorsWriter writer(path, std::move(specs), {{"format", "pt"}});
  std::vector<std::byte> bytes;
  for (const TensorSpec& spec : writer.specs()) {
    auto found = plans.find(spec.name);
    const bool is_scale = found == plans.end();
    if (is_scale) found = plans.find(spec.name.substr(0, spec.name.size() - kScale.size()));
    const Plan& plan = found->second;
    if (plan.as_is) {
      const TensorView& view = is_scale ? *plan.scale : *plan.view;
      writer.write({view.data, view.bytes()});
      continue;
    }
    const std::vector<float> values = values_of(*plan.view, plan.scale, spec.name);
    if (plan.dtype == DType::i8) {
      const std::vector<float> scales = row_scales(values, plan.view->shape[0]);
      if (is_scale) {
        writer.write(std::as_bytes(std::span(scales)));
        continue;
      }
      append_quantized(values, scales, bytes);
    } else if (plan.dtype == DType::f32) {
      writer.write(std::as_bytes(std::span(values)));
      continue;
    } else {
      append_16bit(values, plan.dtype, spec.name, bytes);
    }
    writer.write(bytes);
  }
  writer.commit();
}

void write_json_model(const json& config, const std::string& tokenizer_json,
                      const std::vector<std::pair<std::string, const Weight*>>& arrays, const fs::path& path) {
  OutputStream out(path);
  JsonModelWriter writer(out, config.dump(), tokenizer_json);
  for (const auto& [name, weight] : arrays) {
    const TensorView* scale = weight->scale.data != nullptr ? &weight->scale : nullptr;
    writer.add(name, weight->view.shape, values_of(weight->view, scale, name));
  }
  writer.finish();
  out.commit();
}

std::string words_tokenizer_json(const std::vector<std::string>& vocab, bool lowercase, const std::string& unk) {
  json ids = json::object();
  for (std::size_t id = 0; id < vocab.size(); ++id) ids[vocab[id]] = id;
  json tokenizer{{"version", "1.0"},
                 {"truncation", nullptr},
                 {"padding", nullptr},
                 {"added_tokens", json::array()},
                 {"normalizer", nullptr},
                 {"pre_tokenizer", {{"type", "Whitespace"}}},
                 {"post_processor", nullptr},
                 {"decoder", nullptr},
                 {"model", {{"type", "WordLevel"}, {"vocab", ids}, {"unk_token", unk}}}};
  if (lowercase) tokenizer["normalizer"] = {{"type", "Lowercase"}};
  return tokenizer.dump(1) + "\n";
}

}  // namespace mha
