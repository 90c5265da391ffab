#include "cli/options/pooling.hpp"

#include "cli/options.hpp"

namespace mha::cli {
namespace {

void declare(OptionList& list, Options& options) {
  PoolingOptions& pooling = options.pooling;
  list.group("Sentence vectors");
  list.choice("--pooling", "MODE", "how token vectors become one vector; auto: what the model says", pooling.modes,
              {{"auto", {}},
               {"cls", {PoolingMode::cls}},
               {"mean", {PoolingMode::mean}},
               {"max", {PoolingMode::max}},
               {"last", {PoolingMode::last}},
               {"pooler", {PoolingMode::pooler}}});
  list.choice("--normalize", "HOW", "length of the vectors; auto: what the model says", pooling.normalize,
              {{"auto", std::nullopt}, {"l2", true}, {"none", false}});
  list.count("--dims", "N", "keep the first N numbers, then normalise", pooling.dims, 1).by_default("all");
}

}  // namespace

const OptionGroup kPooling{declare};

}  // namespace mha::cli
