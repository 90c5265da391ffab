// The example of docs/library.md.
#include <cstdio>
#include <mha/model/model.hpp>

int main() {
  const auto model = mha::Model::load(mha::find_model("two-heads", {}), {});
  mha::TokenizerScratch scratch;  // one per thread
  mha::Encoding tokens;
  model->tokenizer().encode("She is a great leader", std::nullopt, {}, scratch, tokens);

  const std::size_t row_begin[] = {0, tokens.input_ids.size()};  // where each input begins; here there is one input
  mha::Workspace workspace;                                      // one per thread
  mha::Wanted wanted;
  wanted.attention_layers = {0};
  mha::Captured captured;
  const mha::ConstMatrix vectors =  // [tokens, d_model], valid until the next call with this workspace
      model->encoder().forward({tokens.input_ids, tokens.token_type_ids, row_begin}, workspace, wanted, &captured);

  std::printf("%zu vectors of %zu numbers\n", vectors.rows, vectors.cols);
  return captured.attention_probs.size() == 1 ? 0 : 1;  // one layer: [heads][query][key] of each input
}
