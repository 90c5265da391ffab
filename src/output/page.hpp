#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "mha/core/error.hpp"

namespace mha {

/// Replaces the first `mark` of the template by `text`. Fill marks from the end of the page to its start, so that no
/// inserted text is searched for the next mark.
inline void fill_mark(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t at = page.find(mark);
  if (at == std::string::npos) throw_internal("page: no mark " + std::string(mark));
  page.replace(at, mark.size(), text);
}

/// JSON that is safe inside a <script> element: without '<' and '>', nothing in it looks like a tag.
std::string script_json(const nlohmann::ordered_json& value);

}  // namespace mha
