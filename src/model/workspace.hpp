#pragma once

#include "layers/scratch.hpp"
#include "mha/model/encoder.hpp"

namespace mha {

struct Workspace::Impl : Scratch {};

}  // namespace mha
