#pragma once

#include "mha/tokenizer/encoding.hpp"
#include "tokenizer/post_processor/post_processor.hpp"
#include "tokenizer/token_sequence.hpp"
#include "tokenizer/trim_offsets.hpp"
#include "tokenizer/truncation.hpp"

namespace mha::tokenizer {

/// Writes encodings: special tokens and token ranges in the order of the post-processor's layout.
/// Refers to its arguments, which must outlive it.
class Assembler {
 public:
  Assembler(const TokenSequence (&sequences)[2], const PostProcessor& post_processor, const OffsetTrimmer& trimmer,
            const Vocab& vocab)
      : sequences_(sequences), post_processor_(post_processor), trimmer_(trimmer), vocab_(vocab) {}

  /// All tokens of the sequences.
  void write_whole(const PostProcessor::Layout& layout, Encoding& out) const;
  /// The kept ranges, and into `out.overflowing` all combinations with the other ranges, in the order of the
  /// reference. Source: tokenizers 0.22.2, tokenizer/encoding.rs, merge_with.
  void write_truncated(const PostProcessor::Layout& layout, const KeptRanges& kept, Encoding& out) const;

 private:
  /// Writes one slot from index `at` on; returns the index behind it.
  std::size_t write(const PostProcessor::Slot& slot, std::int32_t type_id, TokenRange range, std::size_t at,
                    Encoding& out) const;

  const TokenSequence (&sequences_)[2];
  const PostProcessor& post_processor_;
  const OffsetTrimmer& trimmer_;
  const Vocab& vocab_;
};

}  // namespace mha::tokenizer
