#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "encoder/places.hpp"
#include "mha/core/error.hpp"
#include "model/sentence_files.hpp"

namespace mha {
namespace {

Activation dense_activation(const JsonFields& fields) {
  struct Named {
    std::string_view name;
    Activation activation;
  };
  constexpr std::array<Named, 5> kActivations{{{"Identity", Activation::none},
                                               {"Tanh", Activation::tanh},
                                               {"ReLU", Activation::relu},
                                               {"GELU", Activation::gelu},
                                               {"SiLU", Activation::silu}}};
  const auto name = fields.text("activation_function");
  if (!name) return Activation::tanh;  // the reference's default (sentence-transformers, Dense.__init__)
  for (const Named& known : kActivations) {
    for (const char* module : {"torch.nn.modules.activation.", "torch.nn.modules.linear.", "torch.nn."}) {
      if (*name == module + std::string(known.name)) return known.activation;
    }
  }
  fields.fail("activation_function", "Identity, Tanh, ReLU, GELU or SiLU of torch.nn");
}

/// Whether a module works on token vectors instead of the pooled one; it must write what it reads.
bool works_on_tokens(const JsonFields& fields, bool by_default) {
  constexpr std::string_view kTokens = "token_embeddings";
  constexpr std::string_view kPooled = "sentence_embedding";
  const std::string input = fields.text("module_input_name").value_or(std::string(by_default ? kTokens : kPooled));
  if (input != kTokens && input != kPooled) {
    fields.fail("module_input_name", "\"token_embeddings\" or \"sentence_embedding\" (others are not implemented)");
  }
  fields.only_text("module_output_name", input);
  return input == kTokens;
}

}  // namespace

DenseModule read_dense(const FileSet& files, const std::string& folder, bool& token_level, SentenceModules& out) {
  DenseModule dense;
  dense.folder = folder;
  const std::string name = folder + "/config.json";
  read_json_file(files, name, "dense module", out, [&](const JsonFields& fields) {
    token_level = works_on_tokens(fields, out.config.kind == ModelKind::late_interaction);
    for (const auto& [key, value] :
         {std::pair<const char*, std::size_t*>{"in_features", &dense.in}, {"out_features", &dense.out}}) {
      constexpr std::size_t kWidest = std::size_t{1} << 20;
      const auto width = fields.size(key);
      if (!width || *width == 0 || *width > kWidest) fields.fail(key, "a whole number from 1 to 1048576");
      *value = *width;
    }
    dense.bias = fields.flag("bias").value_or(true);
    dense.residual = fields.flag("use_residual").value_or(false);
    dense.activation = dense_activation(fields);
    out.decisions.push_back({token_level ? "dense (tokens)" : "dense",
                             std::to_string(dense.in) + " → " + std::to_string(dense.out),
                             name + ":in_features, out_features"});
    if (dense.residual) out.decisions.push_back({"dense residual", "added", name + ":use_residual"});
  });
  return dense;
}

bool reads_tokens(const FileSet& files, const std::string& folder, SentenceModules& out) {
  const std::string name = folder + "/config.json";
  bool tokens = false;
  if (folder.empty() || !files.has(name)) return tokens;
  read_json_file(files, name, "normalize module", out,
                 [&](const JsonFields& fields) { tokens = works_on_tokens(fields, false); });
  return tokens;
}

void check_sentence_widths(const SentenceModules& modules, std::size_t d_model, const std::string& origin) {
  const auto check = [&](const DenseModule& dense, std::size_t width) {
    if (dense.in == width) return;
    throw_model("dense module: " + origin + "/" + dense.folder + ": inputs: expected " + std::to_string(width) +
                ", the width of what the module before gives, got " + std::to_string(dense.in));
  };
  std::size_t tokens = d_model;
  for (const DenseModule& dense : modules.config.token_dense) {
    check(dense, tokens);
    tokens = dense.out;
  }
  if (modules.pooled_width && *modules.pooled_width != tokens) {
    throw_model("pooling: " + modules.pooled_width_from + ": expected the width of token vectors, " +
                std::to_string(tokens) + ", got " + std::to_string(*modules.pooled_width));
  }
  std::size_t width = tokens * modules.config.pooling.size();
  for (const DenseModule& dense : modules.config.dense) {
    check(dense, width);
    width = dense.out;
  }
}

void bind_dense(DenseModule& dense, const WeightSource& source, const std::string& prefix) {
  const auto take = [&](const std::string& name, const Shape& shape, bool may_be_int8) {
    const std::string place = source.place(name) + ": tensor " + name + ": ";
    const TensorView* view = source.find(name);
    if (view == nullptr) throw_model(place + "expected shape " + shape_text(shape) + ", found no such tensor");
    Weight weight{name, *view, {}};
    if (const TensorView* scale = source.find(name + ".scale")) weight.scale = *scale;
    const std::string fault = array_fault(weight, shape, may_be_int8);
    if (!fault.empty()) throw_model(place + fault);
    return weight;
  };
  const auto refuse = [&](const std::string& name, const char* why) {
    if (source.find(name) != nullptr)
      throw_model(source.place(name) + ": tensor " + name + ": expected none, since " + why);
  };
  const std::string residual = prefix.substr(0, prefix.rfind("linear.")) + "residual.weight";
  dense.linear.weight = take(prefix + "weight", {dense.out, dense.in}, true);
  if (dense.bias)
    dense.linear.bias = take(prefix + "bias", {dense.out}, false);
  else
    refuse(prefix + "bias", "the module's bias is false");
  if (dense.projects_residual())
    dense.residual_linear.weight = take(residual, {dense.out, dense.in}, true);
  else
    refuse(residual, "the module projects no residual");
  dense.owner = source.owner();
}

}  // namespace mha
