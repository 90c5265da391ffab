#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mha/model/model.hpp"
#include "model/model_tools.hpp"
#include "output/format.hpp"

namespace mha {

// What the model commands print: JSON, or tables within `columns`.

std::string model_list_text(const std::vector<ModelLocation>& models, Format format, std::size_t columns);
std::string model_info_text(const ModelInfo& info, Format format, std::size_t columns);
/// Problems are part of the JSON only: as text they are messages.
std::string model_report_text(const std::string& name, const ModelReport& report, Format format, std::size_t columns);
std::string drift_text(const EmbeddingDrift& drift, Format format, std::size_t columns);

}  // namespace mha
