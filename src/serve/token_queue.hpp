#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace mha::serve {

/// One input that waits for its turn.
struct Waiting {
  const void* lane = nullptr;  ///< only inputs of one lane can share a round
  std::size_t tokens = 0;
  bool queued = false;
  double turn = 0;          ///< set by the queue: who has less is served first
  std::uint64_t order = 0;  ///< set by the queue: arrival, for those with the same turn
};

/// Which inputs are computed next. A clock counts the tokens that were served. An input's turn is the clock at its
/// arrival, plus eight times the tokens of its own request that stand before it, plus its priority. So a short request
/// overtakes the rest of a long one; yet every input has a fixed turn, and under any load a long request keeps an
/// eighth of the tokens.
///
/// Threads: one at a time. Entries belong to the caller and must outlive their stay.
class TokenQueue {
 public:
  /// The inputs of one request. Each step of `priority` is worth `kPriorityTokens` of waiting; lower is sooner.
  void add(std::span<Waiting* const> request, int priority);

  /// Removes and returns the next round: inputs of one lane, at most `tokens` tokens (or one input) and `inputs`
  /// inputs. While any input of the lane is due, only those that are due are in it, so that nobody who is due waits for
  /// somebody who is not.
  std::vector<Waiting*> take(std::size_t tokens, std::size_t inputs);

  /// Removes an input if it is still here.
  void remove(Waiting& waiting);

  std::size_t size() const { return size_; }
  std::size_t tokens() const { return tokens_; }

  static constexpr double kBulkFactor = 8;
  static constexpr double kPriorityTokens = 4096;

 private:
  struct Sooner {
    bool operator()(const Waiting* a, const Waiting* b) const {
      return a->turn != b->turn ? a->turn < b->turn : a->order < b->order;
    }
  };
  using Lane = std::set<Waiting*, Sooner>;

  void forget(Waiting& waiting);

  std::map<const void*, Lane> lanes_;
  double clock_ = 0;
  std::uint64_t arrivals_ = 0;
  std::size_t size_ = 0;
  std::size_t tokens_ = 0;
};

}  // namespace mha::serve
