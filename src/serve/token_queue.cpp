#include "serve/token_queue.hpp"

namespace mha::serve {

void TokenQueue::add(std::span<Waiting* const> request, int priority) {
  double turn = clock_ + priority * kPriorityTokens;
  for (Waiting* waiting : request) {
    waiting->turn = turn;
    waiting->order = arrivals_++;
    waiting->queued = true;
    lanes_[waiting->lane].insert(waiting);
    turn += kBulkFactor * static_cast<double>(waiting->tokens);
    ++size_;
    tokens_ += waiting->tokens;
  }
}

std::vector<Waiting*> TokenQueue::take(std::size_t tokens, std::size_t inputs) {
  std::vector<Waiting*> round;
  if (lanes_.empty()) return round;
  auto chosen = lanes_.begin();
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    if (Sooner()(*lane->second.begin(), *chosen->second.begin())) chosen = lane;
  }
  Lane& lane = chosen->second;
  const bool only_due = (*lane.begin())->turn <= clock_;
  const double due = clock_;
  std::size_t taken = 0;
  while (!lane.empty() && round.size() < inputs) {
    Waiting& next = **lane.begin();
    if (!round.empty() && (taken + next.tokens > tokens || (only_due && next.turn > due))) break;
    taken += next.tokens;
    round.push_back(&next);
    lane.erase(lane.begin());
    forget(next);
  }
  if (lane.empty()) lanes_.erase(chosen);
  clock_ += static_cast<double>(taken);
  return round;
}

void TokenQueue::remove(Waiting& waiting) {
  if (!waiting.queued) return;
  const auto lane = lanes_.find(waiting.lane);
  lane->second.erase(&waiting);
  if (lane->second.empty()) lanes_.erase(lane);
  forget(waiting);
}

void TokenQueue::forget(Waiting& waiting) {
  waiting.queued = false;
  --size_;
  tokens_ -= waiting.tokens;
}

}  // namespace mha::serve
