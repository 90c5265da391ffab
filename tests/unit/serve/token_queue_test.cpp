#include "serve/token_queue.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <vector>

namespace {

using mha::serve::TokenQueue;
using mha::serve::Waiting;

/// A request of inputs of the same length.
struct Request {
  Request(std::size_t count, std::size_t tokens, const void* lane = nullptr) : inputs(count) {
    for (Waiting& input : inputs) {
      input.tokens = tokens;
      input.lane = lane;
    }
  }
  void enter(TokenQueue& queue, int priority = 0) {
    std::vector<Waiting*> all;
    for (Waiting& input : inputs) all.push_back(&input);
    queue.add(all, priority);
  }
  std::size_t left() const {
    std::size_t count = 0;
    for (const Waiting& input : inputs) count += input.queued ? 1 : 0;
    return count;
  }
  std::deque<Waiting> inputs;
};

}  // namespace

TEST_CASE("token queue: a short request overtakes the rest of a long one") {
  TokenQueue queue;
  Request bulk(512, 50);
  bulk.enter(queue);
  queue.take(200, 1000);
  Request single(1, 10);
  single.enter(queue);
  const auto round = queue.take(200, 1000);
  REQUIRE(round.size() == 1);  // nobody who is due waits for somebody who is not
  CHECK(round[0] == &single.inputs[0]);
  CHECK(queue.size() == bulk.left());
}

TEST_CASE("token queue: a long request keeps its share under a load that never ends") {
  TokenQueue queue;
  Request bulk(100, 50);
  bulk.enter(queue);
  std::deque<Request> singles;
  std::size_t rounds = 0;
  while (bulk.left() > 0) {
    REQUIRE(++rounds < 10000);
    singles.emplace_back(4, 50);
    singles.back().enter(queue);
    queue.take(200, 1000);
  }
  // About an eighth of the tokens: 100 inputs of 50 tokens, eight times as many in all, 200 in a round, and those who
  // came before.
  CHECK(rounds <= 100 * 50 * 8 / 200 * 5 / 4);
}

TEST_CASE("token queue: rounds keep to tokens, inputs and lanes") {
  TokenQueue queue;
  const int first = 0;
  const int second = 0;
  Request a(10, 30, &first);
  Request b(10, 30, &second);
  a.enter(queue);
  b.enter(queue);
  std::size_t served = 0;
  while (queue.size() > 0) {
    const auto round = queue.take(100, 2);
    REQUIRE(!round.empty());
    CHECK(round.size() <= 2);
    for (const Waiting* input : round) CHECK(input->lane == round[0]->lane);
    served += round.size();
  }
  CHECK(served == 20);
  CHECK(queue.tokens() == 0);
  Request large(1, 5000, &first);
  large.enter(queue);
  CHECK(queue.take(100, 2).size() == 1);  // an input over the budget is a round of its own
  CHECK(queue.take(100, 2).empty());
}

TEST_CASE("token queue: lower priority is served first, and who left is not served") {
  TokenQueue queue;
  Request late(3, 10);
  Request soon(3, 10);
  late.enter(queue, 5);
  soon.enter(queue, -5);
  queue.remove(soon.inputs[1]);
  queue.remove(soon.inputs[1]);
  CHECK(queue.size() == 5);
  CHECK(queue.tokens() == 50);
  std::vector<const Waiting*> order;
  while (queue.size() > 0) order.push_back(queue.take(10, 1).at(0));
  CHECK(order == std::vector<const Waiting*>{&soon.inputs[0], &soon.inputs[2], &late.inputs[0], &late.inputs[1],
                                             &late.inputs[2]});
}

TEST_CASE("token queue: two long requests share") {
  TokenQueue queue;
  Request a(100, 10);
  a.enter(queue);
  for (int i = 0; i < 50; ++i) queue.take(10, 1);
  Request b(100, 10);
  b.enter(queue);
  for (int i = 0; i < 100; ++i) queue.take(10, 1);
  CHECK(a.left() < 50);  // who came first is not overtaken by all of the other
  CHECK(b.left() < 100);
  while (queue.size() > 0) queue.take(10, 1);
  CHECK(a.left() + b.left() == 0);
}
