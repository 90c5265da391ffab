#pragma once

#include "analysis/questions.hpp"
#include "cli/options/group.hpp"

namespace mha::cli {

/// What is asked of attention maps; fills `Options::questions`.
extern const OptionGroup kQuestions;

}  // namespace mha::cli
