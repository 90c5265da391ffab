#include "model/families/bind_head.hpp"

#include <optional>
#include <string_view>

#include "mha/core/error.hpp"
#include "model/families/array_finder.hpp"

namespace mha {
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

HeadWeights head_of(ArrayFinder& find, const FamilyModel& family, Task task, const Weights& weights) {
  const ModelConfig& c = family.config;
  const HeadNames& names = family.heads.of(task);
  if (names.out.empty()) {
    throw_model(find.source().place("") + ": expected a head for " + std::string(name_of(task)) +
                ", got a model of family " + c.family + ", which has none");
  }
  // A head lies beside the encoder (its prefix belongs to the encoder alone), or under the same prefix.
  const auto under = [&](std::string_view place, std::string_view part) -> ArrayFinder& {
    for (const std::string_view prefix : {std::string_view(), find.encoder_prefix(), std::string_view()}) {
      find.set_prefix(prefix);
      if (!find.found_name(place, {part}).empty()) break;
    }
    return find;
  };
  HeadWeights head;
  head.task = task;
  head.pooling = names.pooling;
  head.activation = names.activation.value_or(c.activation);
  head.eps = names.eps > 0.0 ? names.eps : (c.norm ? c.norm->eps : 1e-5);
  std::size_t width = c.d_model;
  if (!names.dense.empty()) {
    width = task == Task::fill_mask && names.tied ? c.word_width() : c.d_model;
    head.dense = under(names.dense, "weight").linear(names.dense, width, c.d_model, names.dense_bias);
  } else {
    head.activation = Activation::none;
  }
  if (!names.norm.empty()) {
    under(names.norm, "weight");
    head.norm.gamma = find.take(names.norm, {"weight", "gamma"}, {width}, true);
    if (names.norm_bias) head.norm.beta = find.take(names.norm, {"bias", "beta"}, {width}, true);
  }
  under(names.out, "weight");
  std::size_t outputs = task == Task::fill_mask ? c.vocab_size : 2;
  const std::string out_name = find.found_name(names.out, {"weight"});
  if (task != Task::answer && !out_name.empty()) {
    const TensorView& view = *find.source().find(out_name);  // as many labels, or vocabulary entries, as there are rows
    if (task != Task::fill_mask && view.shape.size() == 2 && view.shape[0] > 0) outputs = view.shape[0];
  }
  if (out_name.empty() && names.tied && family.tie_word_embeddings) {
    head.out.weight = weights.embeddings.word;
  } else {
    head.out.weight = find.weight(names.out, {outputs, width});
  }
  if (names.has_out_bias) {
    const std::string_view place = names.out_bias.empty() ? names.out : names.out_bias;
    head.out.bias = under(place, "bias").take(place, {"bias"}, {outputs}, true);
  }
  head.owner = find.owner();
  return head;
}

}  // namespace

HeadWeights bind_head(const FamilyModel& family, Task task, const Weights& weights, const WeightSource& source,
                      std::vector<std::string>& unused) {
  ArrayFinder find(family.names, source);
  HeadWeights head = head_of(find, family, task, weights);
  find.take_off(unused);
  return head;
}

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

}  // namespace mha
