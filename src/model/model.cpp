#include "mha/model/model.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "mha/core/error.hpp"
#include "model/families/bind_head.hpp"
#include "model/families/bind_weights.hpp"
#include "model/opened_model.hpp"
#include "model/weight_count.hpp"

namespace mha {
namespace {

/// Which precision `--dtype` means.
Precision precision_of(const std::string& dtype, const Backend& backend) {
  if (dtype == "auto") return backend.exact_precision();
  const std::map<std::string, Precision> known{{"f32", Precision::f32},
                                               {"bf16", Precision::bf16},
                                               {"int8", Precision::int8},
                                               {"bf16x3", Precision::bf16x3},
                                               {"bf16x6", Precision::bf16x6}};
  const auto found = known.find(dtype);
  if (found == known.end()) throw_usage("--dtype: expected auto, f32, bf16, int8 or bf16x3, got " + dtype);
  if (!backend.supports(found->second)) {
    throw_usage("--dtype: " + dtype + ": the backend " + std::string(backend.name()) +
                " does not have it on this machine; try --dtype auto");
  }
  return found->second;
}

}  // namespace

Precision load_precision(const LoadOptions& options) {
  return precision_of(options.dtype, backend_named(options.backend));
}

struct Model::Impl {
  Impl(std::shared_ptr<const OpenedModel> from, const LoadOptions& options)
      : opened(std::move(from)),
        backend(backend_named(options.backend)),
        precision(precision_of(options.dtype, backend)),
        tokenizer(open_tokenizer(*opened, options)),
        source(open_weights(*opened)),
        sentence(opened->sentence.config),
        decisions(opened->decisions),
        notes(opened->notes) {
    notes.insert(notes.end(), tokenizer->notes().begin(), tokenizer->notes().end());
    Weights weights = bind_weights(opened->family, *source, unused);
    if (std::string note = unused_layers(opened->family, *source); !note.empty()) notes.push_back(std::move(note));
    bind_dense_modules(*opened, *source, sentence, unused);
    for (DenseModule& dense : sentence.token_dense) pack_dense(dense, backend);
    for (DenseModule& dense : sentence.dense) pack_dense(dense, backend);
    count = count_weights(weights, sentence);
    encoder = std::make_unique<Encoder>(opened->family.config, std::move(weights), backend, precision);
    require_pooler(sentence.pooling);
    decisions.push_back(
        {"backend", std::string(backend.name()), options.backend == "auto" ? "best of this machine" : "--backend"});
  }

  void require_pooler(const std::vector<PoolingMode>& pooling) const {
    if (std::find(pooling.begin(), pooling.end(), PoolingMode::pooler) == pooling.end()) return;
    if (encoder->weights().pooler.weight.present()) return;
    throw_usage("--pooling pooler: " + opened->files->origin() +
                ": this model has no pooler weights; use --pooling cls or --pooling mean");
  }

  std::shared_ptr<const OpenedModel> opened;
  const Backend& backend;
  Precision precision;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const WeightSource> source;
  SentenceConfig sentence;
  std::vector<Decision> decisions;
  std::vector<std::string> notes;
  std::vector<std::string> unused;
  std::unique_ptr<const Encoder> encoder;
  WeightCount count;
};

Model::Model(std::shared_ptr<const OpenedModel> opened, const LoadOptions& options)
    : impl_(std::make_unique<Impl>(std::move(opened), options)) {}
Model::~Model() = default;

const ModelLocation& Model::location() const { return impl_->opened->location; }
const ModelConfig& Model::config() const { return impl_->opened->family.config; }
const Tokenizer& Model::tokenizer() const { return *impl_->tokenizer; }
std::shared_ptr<const Tokenizer> Model::shared_tokenizer() const { return impl_->tokenizer; }
const Encoder& Model::encoder() const { return *impl_->encoder; }
const SentenceConfig& Model::sentence() const { return impl_->sentence; }
std::optional<std::size_t> Model::max_length() const { return impl_->opened->max_length; }
const std::vector<Decision>& Model::decisions() const { return impl_->decisions; }
std::vector<ModelFile> Model::files() const { return impl_->opened->files->opened(); }
const std::vector<std::string>& Model::unused_tensors() const { return impl_->unused; }
const std::vector<std::string>& Model::notes() const { return impl_->notes; }
std::size_t Model::parameters() const { return impl_->count.parameters; }
std::size_t Model::weight_bytes() const { return impl_->count.bytes; }
std::string Model::weights_dtype() const { return impl_->count.dtype; }

std::size_t Model::embedding_width(const std::vector<PoolingMode>& pooling) const {
  impl_->require_pooler(pooling);
  std::size_t width = sentence().token_width(config().d_model) * pooling.size();
  for (const DenseModule& dense : sentence().dense) {
    if (dense.in != width) {
      throw_usage("--pooling: the dense module " + dense.folder + " of this model expects " + std::to_string(dense.in) +
                  " values, this pooling gives " + std::to_string(width) + "; leave --pooling out");
    }
    width = dense.out;
  }
  return width;
}

std::vector<Task> Model::tasks() const { return tasks_of(impl_->opened->family, *impl_->source); }

std::shared_ptr<const Head> Model::load_head(Task task) const {
  std::vector<std::string> unused = impl_->unused;
  return std::make_shared<const Head>(
      bind_head(impl_->opened->family, task, encoder().weights(), *impl_->source, unused), impl_->backend,
      impl_->precision);
}

std::shared_ptr<const Model> Model::load(const ModelHeader& header, const LoadOptions& options) {
  return std::shared_ptr<const Model>(new Model(header.opened, options));
}

std::shared_ptr<const Model> Model::load(const ModelLocation& location, const LoadOptions& options) {
  return std::shared_ptr<const Model>(new Model(open_model(location, options), options));
}

}  // namespace mha
