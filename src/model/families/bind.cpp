#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "core/nearest.hpp"
#include "mha/core/error.hpp"
#include "model/families/family.hpp"

namespace mha {
namespace {

using Shape = std::vector<std::size_t>;

constexpr std::size_t kNamesCompared = 4096;

bool is_float(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::f64;
}

/// `a|b` → a, b.
std::vector<std::string_view> spellings(std::string_view names) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('|', begin), names.size());
    result.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

/// The full name of one part ("weight", "bias") of a place.
std::string part_name(std::string_view place, std::string_view part) {
  const std::size_t star = place.find('*');
  if (star == std::string_view::npos) return std::string(place) + "." + std::string(part);
  return std::string(place.substr(0, star)) + std::string(part) + std::string(place.substr(star + 1));
}

/// The prefix of a layer's names: `{}` becomes its number, or its group's number and its place in the group.
std::string layer_prefix(const WeightNames& names, std::size_t layer) {
  std::string prefix;
  const bool grouped = names.layer.find("{}") != names.layer.rfind("{}");
  bool first = true;
  for (std::size_t i = 0; i < names.layer.size(); ++i) {
    if (names.layer.compare(i, 2, "{}") != 0) {
      prefix += names.layer[i];
      continue;
    }
    if (!grouped)
      prefix += std::to_string(layer);
    else
      prefix += std::to_string(first ? layer / names.layers_in_group : layer % names.layers_in_group);
    first = false;
    ++i;
  }
  return prefix;
}

/// Rows [begin, begin + count) of an array, as an array of its own.
Weight rows_of(const Weight& whole, std::size_t begin, std::size_t count) {
  Weight part = whole;
  if (!whole.present()) return part;
  part.view.shape[0] = count;
  part.view.data += begin * (whole.view.bytes() / whole.rows());
  if (whole.scale.data != nullptr) {
    part.scale.shape[0] = count;
    part.scale.data += begin * sizeof(float);
  }
  return part;
}

LinearWeights rows_of(const LinearWeights& whole, std::size_t begin, std::size_t count) {
  return {rows_of(whole.weight, begin, count), rows_of(whole.bias, begin, count)};
}

/// Arrays that the file does not hold as such, and the file itself.
struct Owner {
  std::shared_ptr<const void> source;
  std::vector<std::unique_ptr<std::byte[]>> buffers;
};

class Binder {
 public:
  Binder(const FamilyModel& family, const WeightSource& source)
      : c_(family.config), n_(family.names), source_(source), owner_(std::make_shared<Owner>()) {
    owner_->source = source.owner();
    prefix_ = find_prefix();
  }

  Weights encoder();
  HeadWeights head(const FamilyModel& family, Task task, const Weights& weights);
  void leave_unused(std::vector<std::string>& unused) const;
  void take_off(std::vector<std::string>& unused) const;

 private:
  std::string_view find_prefix() const;
  std::string found_name(std::string_view place, std::initializer_list<std::string_view> parts) const;
  Weight take(std::string_view place, std::initializer_list<std::string_view> parts, const Shape& shape, bool required);
  Weight missing(std::string_view place, std::string_view part, const Shape& shape) const;
  Weight instead(const std::string& name, const Shape& shape, const std::string& problem) const;

  Weight weight(std::string_view place, const Shape& shape) { return take(place, {"weight"}, shape, true); }
  LinearWeights linear(std::string_view place, std::size_t out, std::size_t in, bool bias);
  NormWeights norm(std::string_view place, std::size_t width, bool bias);
  std::string in_layer(std::string_view place) const;
  bool has(std::string_view place) const { return !found_name(place, {"weight"}).empty(); }

  EmbeddingWeights embeddings();
  LayerWeights layer(std::size_t number);
  void attention_projections(AttentionWeights& attention);
  LinearWeights gathered_by_head(const LinearWeights& packed, std::size_t which);
  FeedForwardWeights feed_forward();

  const ModelConfig& c_;
  const WeightNames& n_;
  const WeightSource& source_;
  std::shared_ptr<Owner> owner_;
  std::string_view prefix_;
  std::string layer_;
  std::set<std::string, std::less<>> taken_;
};

std::string_view Binder::find_prefix() const {
  for (std::string_view prefix : n_.prefixes) {
    for (std::string_view word : spellings(n_.word)) {
      if (source_.find(std::string(prefix) + part_name(word, "weight")) != nullptr) return prefix;
    }
  }
  return n_.prefixes.front();
}

/// The first spelling that the file holds, or "".
std::string Binder::found_name(std::string_view place, std::initializer_list<std::string_view> parts) const {
  for (std::string_view spelling : spellings(place)) {
    for (std::string_view part : parts) {
      std::string name = std::string(prefix_) + part_name(spelling, part);
      if (source_.find(name) != nullptr) return name;
    }
  }
  return "";
}

/// What the source has in place of an array that does not fit; without that it is an error.
Weight Binder::instead(const std::string& name, const Shape& shape, const std::string& problem) const {
  const TensorView* view = source_.instead(name, shape, problem);
  if (view == nullptr) throw_model(problem);
  return {name, *view, {}};
}

Weight Binder::missing(std::string_view place, std::string_view part, const Shape& shape) const {
  const std::string name = std::string(prefix_) + part_name(spellings(place).front(), part);
  std::vector<std::string> names = source_.names();
  if (names.size() > kNamesCompared) names.resize(kNamesCompared);
  const auto near = nearest(name, names);
  return instead(name, shape,
                 source_.place(name) + ": tensor " + name + ": expected shape " + shape_text(shape) +
                     ", got no such tensor" +
                     (near ? "; the nearest name in the file is " + *near
                           : "; is this file of another model or only a part of one?"));
}

Weight Binder::take(std::string_view place, std::initializer_list<std::string_view> parts, const Shape& shape,
                    bool required) {
  Weight weight;
  weight.name = found_name(place, parts);
  if (weight.name.empty()) return required ? missing(place, *parts.begin(), shape) : weight;
  weight.view = *source_.find(weight.name);
  taken_.insert(weight.name);
  const std::string subject = source_.place(weight.name) + ": tensor " + weight.name;
  if (weight.view.shape != shape) {
    return instead(weight.name, shape,
                   subject + ": expected shape " + shape_text(shape) + " (from the configuration), got " +
                       shape_text(weight.view.shape));
  }
  if (weight.view.dtype == DType::i8) {
    const std::string scale = weight.name + ".scale";
    const TensorView* view = source_.find(scale);
    if (view == nullptr) {
      return instead(weight.name, shape,
                     subject + ": expected float weights, or I8 with a tensor " + scale + ", got I8 alone");
    }
    taken_.insert(scale);
    const Shape expected{shape.empty() ? 0 : shape[0]};
    if (view->dtype != DType::f32 || view->shape != expected) {
      return instead(weight.name, shape,
                     source_.place(scale) + ": tensor " + scale + ": expected F32 " + shape_text(expected) + ", got " +
                         std::string(name_of(view->dtype)) + " " + shape_text(view->shape));
    }
    weight.scale = *view;
  } else if (!is_float(weight.view.dtype)) {
    return instead(
        weight.name, shape,
        subject + ": expected weights of type F32, F16, BF16 or F64, got " + std::string(name_of(weight.view.dtype)));
  }
  return weight;
}

LinearWeights Binder::linear(std::string_view place, std::size_t out, std::size_t in, bool bias) {
  LinearWeights linear;
  linear.weight = weight(place, {out, in});
  if (bias) linear.bias = take(place, {"bias"}, {out}, !n_.biases_optional);
  return linear;
}

NormWeights Binder::norm(std::string_view place, std::size_t width, bool bias) {
  NormWeights norm;
  norm.gamma = take(place, {"weight", "gamma"}, {width}, true);
  const bool has_bias = bias && c_.norm && c_.norm->kind == NormKind::layer_norm;
  if (has_bias) norm.beta = take(place, {"bias", "beta"}, {width}, !n_.biases_optional);
  return norm;
}

/// A place of the present layer: the prefix belongs to each spelling.
std::string Binder::in_layer(std::string_view place) const {
  std::string full;
  for (std::string_view spelling : spellings(place)) full += (full.empty() ? "" : "|") + layer_ + std::string(spelling);
  return full;
}

EmbeddingWeights Binder::embeddings() {
  EmbeddingWeights e;
  e.word = weight(n_.word, {c_.vocab_size, c_.word_width()});
  if (c_.position.learned) e.position = weight(n_.position, {c_.position_rows(), c_.position_width()});
  if (c_.type_vocab_size > 0) e.token_type = weight(n_.token_type, {c_.type_vocab_size, c_.position_width()});
  if (c_.factorised()) {
    e.projection = linear(n_.embedding_projection, c_.d_model, c_.embedding_size, c_.embedding_projection_bias);
  }
  if (c_.embedding_norm) e.norm = norm(n_.embedding_norm, c_.embedding_norm_width(), c_.norm_bias);
  return e;
}

/// Rows of `which` (0 query, 1 key, 2 value) out of an array that is packed head by head, copied together.
LinearWeights Binder::gathered_by_head(const LinearWeights& packed, std::size_t which) {
  const Weight& whole = packed.weight;
  const std::size_t block = c_.d_head * (whole.view.bytes() / whole.rows());
  auto buffer = std::make_unique<std::byte[]>(c_.n_heads * block);
  for (std::size_t head = 0; head < c_.n_heads; ++head) {
    std::memcpy(buffer.get() + head * block, whole.view.data + (3 * head + which) * block, block);
  }
  LinearWeights part;
  part.weight = rows_of(whole, 0, c_.n_heads * c_.d_head);
  part.weight.view.data = buffer.get();
  owner_->buffers.push_back(std::move(buffer));
  if (whole.scale.data != nullptr) {
    auto scales = std::make_unique<std::byte[]>(c_.n_heads * c_.d_head * sizeof(float));
    for (std::size_t head = 0; head < c_.n_heads; ++head) {
      std::memcpy(scales.get() + head * c_.d_head * sizeof(float),
                  whole.scale.data + (3 * head + which) * c_.d_head * sizeof(float), c_.d_head * sizeof(float));
    }
    part.weight.scale.data = scales.get();
    owner_->buffers.push_back(std::move(scales));
  }
  return part;
}

void Binder::attention_projections(AttentionWeights& a) {
  const std::size_t d_query = c_.n_heads * c_.d_head;
  const std::size_t d_key = c_.n_kv_heads * c_.d_head;
  if (n_.packed_qkv.empty()) {
    a.query = linear(in_layer(n_.query), d_query, c_.d_model, c_.attention_bias);
    a.key = linear(in_layer(n_.key), d_key, c_.d_model, c_.attention_bias);
    a.value = linear(in_layer(n_.value), d_key, c_.d_model, c_.attention_bias);
    return;
  }
  const bool own_biases = !n_.query_bias.empty();
  const LinearWeights packed =
      linear(in_layer(n_.packed_qkv), d_query + 2 * d_key, c_.d_model, c_.attention_bias && !own_biases);
  if (n_.packed_by_head) {
    a.query = gathered_by_head(packed, 0);
    a.key = gathered_by_head(packed, 1);
    a.value = gathered_by_head(packed, 2);
  } else {
    a.query = rows_of(packed, 0, d_query);
    a.key = rows_of(packed, d_query, d_key);
    a.value = rows_of(packed, d_query + d_key, d_key);
  }
  if (own_biases) {
    a.query.bias = take(in_layer(n_.query_bias), {"bias"}, {d_query}, true);
    a.value.bias = take(in_layer(n_.value_bias), {"bias"}, {d_key}, true);
  }
}

FeedForwardWeights Binder::feed_forward() {
  FeedForwardWeights f;
  if (c_.feed_forward == ModelConfig::FeedForward::none) return f;
  const bool bias = c_.feed_forward_bias;
  if (c_.gated() && !n_.packed_gate_in.empty()) {
    const LinearWeights packed = linear(in_layer(n_.packed_gate_in), 2 * c_.d_ff, c_.d_model, bias);
    f.gate = rows_of(packed, 0, c_.d_ff);
    f.in = rows_of(packed, c_.d_ff, c_.d_ff);
  } else if (c_.gated() && !n_.packed_in_gate.empty()) {
    const LinearWeights packed = linear(in_layer(n_.packed_in_gate), 2 * c_.d_ff, c_.d_model, bias);
    f.in = rows_of(packed, 0, c_.d_ff);
    f.gate = rows_of(packed, c_.d_ff, c_.d_ff);
  } else {
    f.in = linear(in_layer(n_.feed_forward_in), c_.d_ff, c_.d_model, bias);
    if (c_.gated()) f.gate = linear(in_layer(n_.feed_forward_gate), c_.d_ff, c_.d_model, bias);
  }
  f.out = linear(in_layer(n_.feed_forward_out), c_.d_model, c_.d_ff, c_.feed_forward_output_bias);
  if (c_.norm) f.norm = norm(in_layer(n_.feed_forward_norm), c_.d_model, c_.norm_bias);
  return f;
}

LayerWeights Binder::layer(std::size_t number) {
  layer_ = layer_prefix(n_, number);
  LayerWeights layer;
  AttentionWeights& a = layer.attention;
  attention_projections(a);
  const std::size_t d_query = c_.n_heads * c_.d_head;
  a.output = linear(in_layer(n_.attention_output), c_.d_model, d_query, c_.attention_output_bias);
  const bool has_norm = c_.norm && (number > 0 || c_.first_attention_norm);
  if (has_norm) a.norm = norm(in_layer(n_.attention_norm), c_.d_model, c_.norm_bias);
  if (c_.position.disentangled && !c_.position.disentangled->share_key) {
    const auto& d = *c_.position.disentangled;
    if (d.content_to_position) {
      a.position_key = linear(in_layer(n_.position_key), d_query, c_.d_model, n_.position_key_bias);
    }
    if (d.position_to_content) a.position_query = linear(in_layer(n_.position_query), d_query, c_.d_model, true);
  }
  const std::size_t buckets = std::max(c_.position.relative_table_rows, c_.position.relative_buckets);
  if (c_.position.relative_bias_per_layer)
    a.relative_bias = weight(in_layer(n_.layer_relative_bias), {buckets, c_.n_heads});
  layer.feed_forward = feed_forward();
  return layer;
}

Weights Binder::encoder() {
  Weights w;
  w.owner = owner_;
  w.embeddings = embeddings();
  for (std::size_t i = 0; i < c_.distinct_layers(); ++i) w.layers.push_back(layer(i));
  if (c_.final_norm) w.final_norm = norm(n_.final_norm, c_.d_model, c_.norm_bias);
  const PositionConfig& p = c_.position;
  if (p.relative_bias && !p.relative_bias_per_layer) {
    w.relative_bias = weight(n_.relative_bias, {std::max(p.relative_table_rows, p.relative_buckets), c_.n_heads});
  }
  if (p.disentangled) {
    w.relative_table = weight(n_.relative_table, {2 * p.disentangled->span(), c_.d_model});
    if (p.disentangled->norm_table) w.relative_norm = norm(n_.relative_norm, c_.d_model, true);
  }
  if (c_.convolution) {
    const Shape shape{c_.d_model, c_.d_model / c_.convolution->groups, c_.convolution->kernel};
    w.convolution.weight = weight(n_.convolution, shape);
    w.convolution.bias = take(n_.convolution, {"bias"}, {c_.d_model}, !n_.biases_optional);
    w.convolution_norm = norm(n_.convolution_norm, c_.d_model, true);
  }
  if (!n_.pooler.empty() && has(n_.pooler)) w.pooler = linear(n_.pooler, c_.d_model, c_.d_model, true);
  return w;
}

HeadWeights Binder::head(const FamilyModel& family, Task task, const Weights& weights) {
  const HeadNames& names = family.heads.of(task);
  if (names.out.empty()) {
    throw_model(source_.place("") + ": expected a head for " + std::string(name_of(task)) + ", got a model of family " +
                c_.family + ", which has none");
  }
  // A head lies beside the encoder (its prefix belongs to the encoder alone), or under the same prefix.
  const std::string_view encoder_prefix = prefix_;
  const auto under = [&](std::string_view place) -> Binder& {
    prefix_ = "";
    if (!encoder_prefix.empty() && !has(place)) {
      prefix_ = encoder_prefix;
      if (!has(place)) prefix_ = "";
    }
    return *this;
  };
  HeadWeights head;
  head.task = task;
  head.pooling = names.pooling;
  head.activation = names.activation.value_or(c_.activation);
  head.eps = names.eps > 0.0 ? names.eps : (c_.norm ? c_.norm->eps : 1e-5);
  std::size_t width = c_.d_model;
  if (!names.dense.empty()) {
    width = task == Task::fill_mask && names.tied ? c_.word_width() : c_.d_model;
    head.dense = under(names.dense).linear(names.dense, width, c_.d_model, names.dense_bias);
  } else {
    head.activation = Activation::none;
  }
  if (!names.norm.empty()) {
    under(names.norm);
    head.norm.gamma = take(names.norm, {"weight", "gamma"}, {width}, true);
    if (names.norm_bias) head.norm.beta = take(names.norm, {"bias", "beta"}, {width}, true);
  }
  under(names.out);
  std::size_t outputs = task == Task::fill_mask ? c_.vocab_size : 2;
  const std::string out_name = found_name(names.out, {"weight"});
  if (task != Task::answer && !out_name.empty()) {
    const TensorView& view = *source_.find(out_name);  // as many labels, or vocabulary entries, as there are rows
    if (task != Task::fill_mask && view.shape.size() == 2 && view.shape[0] > 0) outputs = view.shape[0];
  }
  if (out_name.empty() && names.tied && family.tie_word_embeddings) {
    head.out.weight = weights.embeddings.word;
  } else {
    head.out.weight = weight(names.out, {outputs, width});
  }
  if (names.has_out_bias) {
    const std::string_view place = names.out_bias.empty() ? names.out : names.out_bias;
    prefix_ = "";
    if (found_name(place, {"bias"}).empty()) prefix_ = encoder_prefix;
    if (found_name(place, {"bias"}).empty()) prefix_ = "";
    head.out.bias = take(place, {"bias"}, {outputs}, true);
  }
  head.owner = owner_;
  prefix_ = encoder_prefix;
  return head;
}

void Binder::leave_unused(std::vector<std::string>& unused) const {
  for (std::string& name : source_.names()) {
    if (!taken_.contains(name)) unused.push_back(std::move(name));
  }
  std::sort(unused.begin(), unused.end());
}

void Binder::take_off(std::vector<std::string>& unused) const {
  std::erase_if(unused, [this](const std::string& name) { return taken_.contains(name); });
}

}  // namespace

Weights bind_weights(const FamilyModel& family, const WeightSource& source, std::vector<std::string>& unused) {
  Binder binder(family, source);
  Weights weights = binder.encoder();
  binder.leave_unused(unused);
  return weights;
}

HeadWeights bind_head(const FamilyModel& family, Task task, const Weights& weights, const WeightSource& source,
                      std::vector<std::string>& unused) {
  Binder binder(family, source);
  HeadWeights head = binder.head(family, task, weights);
  binder.take_off(unused);
  return head;
}

namespace {

constexpr Task kTasks[] = {Task::fill_mask, Task::classify, Task::tag, Task::answer};

/// The task that a class name of the reference says, by its ending.
std::optional<Task> task_of_architecture(std::string_view name) {
  if (name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining")) return Task::fill_mask;
  if (name.ends_with("ForSequenceClassification")) return Task::classify;
  if (name.ends_with("ForTokenClassification")) return Task::tag;
  if (name.ends_with("ForQuestionAnswering")) return Task::answer;
  return std::nullopt;
}

/// Whether the head has no array of its own: without a dense layer, and with the word table for `out`.
bool is_all_tied(const FamilyModel& family, Task task) {
  const HeadNames& names = family.heads.of(task);
  return !names.out.empty() && names.dense.empty() && names.tied && !names.has_out_bias && family.tie_word_embeddings;
}

/// Whether any array of the head itself is there.
bool has_arrays(const FamilyModel& family, Task task, const WeightSource& source) {
  const HeadNames& names = family.heads.of(task);
  if (names.out.empty()) return false;
  const std::string_view place = task == Task::fill_mask && !names.dense.empty() ? names.dense : names.out;
  for (std::string_view prefix : family.names.prefixes) {
    for (std::string_view spelling : spellings(place)) {
      const std::string name = part_name(spelling, "weight");
      if (source.find(name) != nullptr || source.find(std::string(prefix) + name) != nullptr) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Task> tasks_of(const FamilyModel& family, const WeightSource& source) {
  std::vector<Task> tasks;
  for (const std::string& name : family.architectures) {
    if (auto task = task_of_architecture(name);
        task && (is_all_tied(family, *task) || has_arrays(family, *task, source)))
      tasks.push_back(*task);
  }
  if (!tasks.empty()) return tasks;
  for (Task task : kTasks) {
    if (has_arrays(family, task, source)) tasks.push_back(task);
  }
  return tasks;
}

namespace {

/// Weights that are in memory, under their mha-json names.
class NamedWeights final : public WeightSource {
 public:
  explicit NamedWeights(const Weights& weights) {
    for (const auto& [name, weight] : named_weights(weights)) {
      views_.emplace(name, &weight->view);
      if (weight->scale.data != nullptr) views_.emplace(name + ".scale", &weight->scale);
    }
  }
  const TensorView* find(std::string_view name) const override {
    auto it = views_.find(name);
    return it == views_.end() ? nullptr : it->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, view] : views_) names.push_back(name);
    return names;
  }
  std::shared_ptr<const void> owner() const override { return nullptr; }
  std::string place(std::string_view) const override { return "weights"; }

 private:
  std::map<std::string, const TensorView*, std::less<>> views_;
};

}  // namespace

void check_weights(const ModelConfig& config, const Weights& weights) {
  FamilyModel model;
  model.config = config;
  model.names = kMhaJson.names;
  std::vector<std::string> unused;
  bind_weights(model, NamedWeights(weights), unused);
}

std::vector<std::pair<std::string, const Weight*>> named_weights(const Weights& w) {
  std::vector<std::pair<std::string, const Weight*>> list;
  const auto add = [&list](const std::string& name, const Weight& weight) {
    if (weight.present()) list.emplace_back(name, &weight);
  };
  const auto add_linear = [&add](const std::string& name, const LinearWeights& linear) {
    add(name + ".weight", linear.weight);
    add(name + ".bias", linear.bias);
  };
  const auto add_norm = [&add](const std::string& name, const NormWeights& norm) {
    add(name + ".weight", norm.gamma);
    add(name + ".bias", norm.beta);
  };
  add("embeddings.word.weight", w.embeddings.word);
  add("embeddings.position.weight", w.embeddings.position);
  add("embeddings.token_type.weight", w.embeddings.token_type);
  add_linear("embeddings.projection", w.embeddings.projection);
  add_norm("embeddings.norm", w.embeddings.norm);
  add("relative_bias.weight", w.relative_bias);
  add("relative_table.weight", w.relative_table);
  add_norm("relative_norm", w.relative_norm);
  add_linear("convolution", w.convolution);
  add_norm("convolution_norm", w.convolution_norm);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    const AttentionWeights& a = w.layers[i].attention;
    add_linear(layer + "attention.query", a.query);
    add_linear(layer + "attention.key", a.key);
    add_linear(layer + "attention.value", a.value);
    add_linear(layer + "attention.position_key", a.position_key);
    add_linear(layer + "attention.position_query", a.position_query);
    add(layer + "attention.relative_bias.weight", a.relative_bias);
    add_linear(layer + "attention.output", a.output);
    add_norm(layer + "attention.norm", a.norm);
    const FeedForwardWeights& f = w.layers[i].feed_forward;
    add_linear(layer + "feed_forward.in", f.in);
    add_linear(layer + "feed_forward.gate", f.gate);
    add_linear(layer + "feed_forward.out", f.out);
    add_norm(layer + "feed_forward.norm", f.norm);
  }
  add_norm("final_norm", w.final_norm);
  add_linear("pooler", w.pooler);
  return list;
}

}  // namespace mha
