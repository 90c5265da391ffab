#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "mha/core/error.hpp"

namespace mha::test {

/// The message of the mha::Error of this kind that `action` throws; a failed test when it throws none.
template <class Action>
std::string error_of(ErrorKind kind, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  FAIL("expected an error, got none");
  return {};
}

}  // namespace mha::test
