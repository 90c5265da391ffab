#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "core/round_up.hpp"
#include "ops/native/epilogue.hpp"
#include "ops/native/layout.hpp"

namespace mha::native {

/// Memory that is read next: the CPU fetches it while a block is multiplied.
struct Prefetch {
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

/// A block of sums whose epilogue runs while the next block is multiplied: products and epilogues use different parts
/// of the CPU. Its rows are panel() apart. sums.rows == 0: no block is pending.
struct PendingBlock {
  SumBlock sums;
  Epilogue epilogue;
};

/// Rows of an operand times steps [begin, end) of one panel. The operand's column 0 belongs to step `begin`.
struct PanelCall {
  const Packed& weights;
  std::size_t panel;
  std::size_t begin;
  std::size_t end;
  const std::byte* decoded;  // from Engine::decode_weights
  Operand operand;
  std::size_t rows;

  std::size_t steps() const { return end - begin; }
};

/// Arithmetic of one precision on one kind of CPU: multiplies blocks of rows by panels of weights. Stateless.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual const Layout& layout() const = 0;
  /// Weights in the engine's layout.
  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const;

  /// Brackets work on one thread (tile registers).
  virtual void begin() const {}
  virtual void end() const {}

  /// Bytes of scratch that `decode_weights` needs for `steps` of a panel.
  virtual std::size_t decoded_bytes(std::size_t) const { return 0; }
  /// Turns the call's weights from the stored form into the one that `multiply` reads, in `scratch`, which becomes
  /// call.decoded.
  virtual void decode_weights(const PanelCall&, std::byte*) const {}
  /// sums (+)= rows [sums.row, sums.row + sums.rows) of the operand · the call's steps. sums.row is a multiple of
  /// row_block(), sums.rows at most that. Rows up to row_block() of the sums and of the operand may be touched.
  virtual void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch next) const = 0;
  /// decode_weights and multiply in one, for an operand of a single block, whose products would wait for the decoded
  /// panel.
  virtual void decode_and_multiply(const PanelCall& call, std::byte* scratch, const SumBlock& sums,
                                   bool accumulate) const;

  /// Blocks of sums that `multiply_panel` needs.
  virtual std::size_t sum_blocks() const { return 1; }
  /// All rows of the call, and their epilogues. The last block may be left pending, its sums in `sums`. `next` is read
  /// after this panel.
  virtual void multiply_panel(const PanelCall& call, const Epilogue& epilogue, float* sums, PendingBlock& pending,
                              Prefetch next) const;

  /// Writes the results of a block of sums.
  void apply(const Epilogue& epilogue, const SumBlock& sums) const;
  /// The same for a pending block, if there is one.
  void apply(PendingBlock& pending) const;
};

/// The call's steps as they were packed.
inline const std::byte* stored_weights(const PanelCall& call) {
  return call.weights.panel(call.panel) + call.weights.engine->layout().step_bytes(call.begin);
}

/// Cuts a prefetch into one share for each block of rows.
class PrefetchShares {
 public:
  PrefetchShares(Prefetch next, std::size_t blocks)
      : next_(next), share_(round_up(divide_up(next.bytes, blocks), kLine)) {}
  Prefetch take() {
    const Prefetch share{next_.from, std::min(share_, next_.bytes)};
    next_.from += share.bytes;
    next_.bytes -= share.bytes;
    return share;
  }

 private:
  static constexpr std::size_t kLine = 64;
  Prefetch next_;
  std::size_t share_;
};

}  // namespace mha::native
