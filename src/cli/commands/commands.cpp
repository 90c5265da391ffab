#include "cli/commands/all.hpp"

namespace mha::cli {

std::span<const Command* const> commands() {
  static constexpr const Command* kAll[] = {
      &kEncode,       &kEmbed,      &kAttention,   &kExplain,     &kTokenize,  &kSimilarity, &kHeads,
      &kCompare,      &kFillMask,   &kClassify,    &kTag,         &kRerank,    &kAnswer,     &kSearch,
      &kIndex,        &kIndexStats, &kIndexVerify, &kIndexExport, &kModelList, &kModelInfo,  &kModelVerify,
      &kModelConvert, &kModelInit,  &kBench,       &kServe,       &kComplete,  &kGenerate,
  };
  return kAll;
}

}  // namespace mha::cli
