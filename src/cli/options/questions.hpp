#pragma once

#include "analysis/questions.hpp"
#include "cli/options/group.hpp"

namespace mha::cli {

/// Questions about attention maps; fills `Options::questions`.
extern const OptionGroup kQuestions;

}  // namespace mha::cli
