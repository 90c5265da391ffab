#include "search/file_walk.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "search/ignore_rules.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using namespace mha;
using Verdict = IgnoreRules::Verdict;

namespace {

std::vector<std::string> walked(const test::TemporaryFolder& folder, const WalkOptions& options = {}) {
  std::vector<std::string> names;
  for (const auto& path : walk_files({folder.path().string()}, options, [](const std::string&) {})) {
    names.push_back(std::filesystem::relative(path, folder.path()).string());
  }
  return names;
}

}  // namespace

TEST_CASE("globs: segments, double stars and classes", "[search]") {
  CHECK(glob_matches("*.md", "a.md"));
  CHECK_FALSE(glob_matches("*.md", "b/a.md"));
  CHECK(glob_matches("**/*.md", "a.md"));
  CHECK(glob_matches("**/*.md", "b/c/a.md"));
  CHECK(glob_matches("b/**/a.md", "b/a.md"));
  CHECK(glob_matches("b/**/a.md", "b/x/y/a.md"));
  CHECK(glob_matches("b/**", "b/x/y"));
  CHECK_FALSE(glob_matches("b/**", "b"));
  CHECK(glob_matches("[ab]?.txt", "bx.txt"));
  CHECK_FALSE(glob_matches("[!ab]?.txt", "bx.txt"));
  CHECK(glob_matches("*", ".hidden"));
  CHECK_FALSE(glob_matches("a", "b"));
}

TEST_CASE("ignore rules: the last that matches decides", "[search]") {
  const IgnoreRules rules("# comment\n*.log\n!keep.log\n/top\nbuild/\ndoc/*.txt\n\\#literal\n  \n");
  CHECK(rules.verdict("a.log", false) == Verdict::ignored);
  CHECK(rules.verdict("x/y/a.log", false) == Verdict::ignored);
  CHECK(rules.verdict("x/keep.log", false) == Verdict::kept);
  CHECK(rules.verdict("top", false) == Verdict::ignored);
  CHECK(rules.verdict("x/top", false) == Verdict::none);
  CHECK(rules.verdict("x/build", true) == Verdict::ignored);
  CHECK(rules.verdict("x/build", false) == Verdict::none);
  CHECK(rules.verdict("doc/a.txt", false) == Verdict::ignored);
  CHECK(rules.verdict("doc/b/a.txt", false) == Verdict::none);
  CHECK(rules.verdict("#literal", false) == Verdict::ignored);
}

TEST_CASE("a walk honours ignore files, hidden names and globs, in the order of names", "[search]") {
  test::TemporaryFolder folder;
  folder.write(".git/config", "");
  folder.write(".gitignore", "*.log\nout/\n");
  folder.write("b.md", "");
  folder.write("a/inner.md", "");
  folder.write("a/.gitignore", "!kept.log\nsecret.md\n");
  folder.write("a/kept.log", "");
  folder.write("a/secret.md", "");
  folder.write("a/other.log", "");
  folder.write("out/x.md", "");
  folder.write(".hidden.md", "");
  CHECK(walked(folder) == std::vector<std::string>{"a/inner.md", "a/kept.log", "b.md"});
  CHECK(walked(folder, {.globs = {"*.md"}}) == std::vector<std::string>{"a/inner.md", "b.md"});
  CHECK(walked(folder, {.globs = {"!a/**"}}) == std::vector<std::string>{"b.md"});
  CHECK(walked(folder, {.globs = {"*.md"}, .hidden = true}) ==
        std::vector<std::string>{".hidden.md", "a/inner.md", "b.md"});
  CHECK(walked(folder, {.globs = {"*.log"}, .ignore_files = false}) ==
        std::vector<std::string>{"a/kept.log", "a/other.log"});
}

TEST_CASE("a walk takes files that are named, each once, and refuses what is not there", "[search]") {
  test::TemporaryFolder folder;
  const std::string file = folder.write("a.log", "").string();
  folder.write(".gitignore", "*.log\n");
  CHECK(walk_files({file, file, folder.path().string()}, {}, [](const std::string&) {}).size() == 1);
  CHECK(test::error_of(ErrorKind::input, [&] {
          walk_files({(folder / "none").string()}, {}, [](const std::string&) {});
        }).find("none") != std::string::npos);
}
