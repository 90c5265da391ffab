#pragma once

#include "encoder/scratch.hpp"
#include "mha/encoder/encoder.hpp"

namespace mha {

struct Workspace::Impl : Scratch {};

}  // namespace mha
