#include "cli/options/heads.hpp"

#include <string>

#include "cli/options.hpp"

namespace mha::cli {
namespace {

void declare_selection(OptionList& list, Options& options) {
  HeadOptions& heads = options.heads;
  list.group("Heads");
  list.value("--layer", "LIST", "layers, such as 0,3-5,-1", ValueKind::layers,
             [&heads](const std::string& text) { heads.layers = parse_ranges(text, "--layer"); })
      .by_default("all");
  list.value("--head", "LIST", "heads, such as 0,3-5,-1", ValueKind::heads,
             [&heads](const std::string& text) { heads.heads = parse_ranges(text, "--head"); })
      .by_default("all");
}

void declare_ablation(OptionList& list, Options& options) {
  list.group("Heads");
  list.value("--ablate", "LIST", "heads that contribute nothing, as layer.head, such as 0.3,1.*", ValueKind::ablation,
             [&options](const std::string& text) { options.heads.ablate = parse_ablate(text, "--ablate"); });
}

}  // namespace

const OptionGroup kSelection{declare_selection};
const OptionGroup kAblation{declare_ablation};

}  // namespace mha::cli
