#include "model/weight_sources.hpp"

#include <utility>

#include "io/mapped_file.hpp"
#include "io/weight_files.hpp"

namespace mha {

namespace {

class SafetensorsSource final : public WeightSource {
 public:
  SafetensorsSource(const FileSet& files, const std::string& name)
      : files_(std::make_shared<const WeightFiles>(files, name)) {}

  const TensorView* find(std::string_view name) const override { return files_->find(name); }
  std::vector<std::string> names() const override { return files_->names(); }
  std::shared_ptr<const void> owner() const override { return files_; }
  std::string place(std::string_view name) const override { return path_text(files_->file_of(name)); }

 private:
  std::shared_ptr<const WeightFiles> files_;
};

class JsonSource final : public WeightSource {
 public:
  JsonSource(std::shared_ptr<const JsonModel> model, std::string origin)
      : model_(std::move(model)), origin_(std::move(origin)) {}

  const TensorView* find(std::string_view name) const override { return model_->find(name); }
  std::vector<std::string> names() const override { return model_->names(); }
  std::shared_ptr<const void> owner() const override { return model_; }
  std::string place(std::string_view) const override { return origin_; }

 private:
  std::shared_ptr<const JsonModel> model_;
  std::string origin_;
};

}  // namespace

std::shared_ptr<const WeightSource> safetensors_source(const FileSet& files, const std::string& name) {
  return std::make_shared<const SafetensorsSource>(files, name);
}

std::shared_ptr<const WeightSource> json_source(std::shared_ptr<const JsonModel> model, const std::string& origin) {
  return std::make_shared<const JsonSource>(std::move(model), origin);
}

}  // namespace mha
