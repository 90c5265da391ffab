#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "mha/model/model.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::find_model;
using mha::ModelLocation;
using mha::ModelSearch;
using mha::test::error_of;
using mha::test::TemporaryFolder;
using Kind = mha::ModelLocation::Kind;

TEST_CASE("a folder, a weight file and a config file stand for their model") {
  const TemporaryFolder folder;
  folder.write("m/config.json", "{}");
  folder.write("m/model.safetensors", "x");
  folder.write("m/other.safetensors", "x");
  const std::string path = (folder / "m").string();
  for (const std::string& name : {path, path + "/", path + "/model.safetensors", path + "/config.json"}) {
    const ModelLocation found = find_model(name, {});
    CHECK(found.kind == Kind::folder);
    CHECK(std::filesystem::equivalent(found.path, path));
    CHECK(found.name == "m");
    CHECK(found.weights.empty());
  }
  CHECK(find_model(path + "/other.safetensors", {}).weights == "other.safetensors");
}

TEST_CASE("an mha-json file is a model, also when it is all that a folder has") {
  const TemporaryFolder folder;
  const auto file = folder.write("tiny.json", "{}");
  folder.write("two/model.json", "{}");
  CHECK(find_model(file.string(), {}).kind == Kind::json_file);
  CHECK(find_model(file.string(), {}).name == "tiny");
  const ModelLocation inside = find_model((folder / "two").string(), {});
  CHECK(inside.kind == Kind::json_file);
  CHECK(inside.path == (folder / "two/model.json").string());
  CHECK(inside.name == "two");
}

TEST_CASE("another kind of file is refused with advice") {
  const TemporaryFolder folder;
  const auto file = folder.write("pytorch_model.bin", "PK");
  CHECK_THAT(error_of(ErrorKind::model, [&] { find_model(file.string(), {}); }),
             Contains("safetensors") && Contains("convert"));
}

TEST_CASE("a name is looked up in the model path in order, then in the installed models") {
  const TemporaryFolder folder;
  folder.write("p1/other/config.json", "{}");
  folder.write("p2/mine/config.json", "{}");
  folder.write("p3/mine/config.json", "{}");
  folder.write("share/mine/config.json", "{}");
  folder.write("share/more.json", "{}");
  ModelSearch search;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  search.model_path = at("p0") + ":" + at("p1") + "::" + at("p2") + ":" + at("p3");
  search.share_dir = at("share");
  CHECK(find_model("mine", search).path == at("p2/mine"));
  CHECK(find_model("more", search).path == at("share/more.json"));
  CHECK(find_model("two-heads", search).kind == Kind::builtin);
}

TEST_CASE("a built-in model is found by its name, and the default is one") {
  CHECK(find_model("two-heads", {}).kind == Kind::builtin);
  CHECK(find_model(mha::default_model_name(), {}).kind == Kind::builtin);
}

TEST_CASE("a name is found in the Hugging Face cache by what refs/main says") {
  const TemporaryFolder folder;
  folder.write("models--acme--tiny/refs/main", "abc123\n");
  folder.write("models--acme--tiny/snapshots/old/config.json", "{}");
  folder.write("models--acme--tiny/snapshots/abc123/config.json", "{}");
  folder.write("models--acme--broken/refs/main", "../../../etc");
  folder.write("models--acme--half/refs/main", "gone");
  folder.write("models--plain/refs/main", "r");
  folder.write("models--plain/snapshots/r/config.json", "{}");
  ModelSearch search;
  search.hub_cache = folder.path().string();
  const ModelLocation found = find_model("acme/tiny", search);
  CHECK(found.path == (folder / "models--acme--tiny/snapshots/abc123").string());
  CHECK(found.name == "acme/tiny");
  CHECK(find_model("plain", search).name == "plain");
  CHECK_THAT(error_of(ErrorKind::model, [&] { find_model("acme/broken", search); }), Contains("refs/main"));
  CHECK_THAT(error_of(ErrorKind::model, [&] { find_model("acme/half", search); }), Contains("incomplete download?"));
  CHECK_THAT(error_of(ErrorKind::model, [&] { find_model("../tiny", search); }), Contains("searched"));

  std::vector<std::string> names;
  for (const ModelLocation& model : mha::list_models(search)) names.push_back(model.name);
  CHECK(names.front() == mha::default_model_name());
  CHECK(std::count(names.begin(), names.end(), "acme/tiny") == 1);
  CHECK(std::count(names.begin(), names.end(), "plain") == 1);
  CHECK(std::count(names.begin(), names.end(), "acme/broken") == 0);
}

TEST_CASE("a model that is not found lists every place that was searched, and the nearest name") {
  ModelSearch search;
  search.model_path = "/place-one:/place-two";
  search.share_dir = "/usr/share/mha/models";
  search.hub_cache = "/home/x/.cache/huggingface/hub";
  const std::string message = error_of(ErrorKind::model, [&] { find_model("two-head", search); });
  for (const char* place :
       {"two-head", "/place-one/two-head", "/place-two/two-head", "/usr/share/mha/models/two-head", "built-in models",
        "/home/x/.cache/huggingface/hub/models--two-head", "did you mean 'two-heads'?"}) {
    CHECK_THAT(message, Contains(place));
  }
  CHECK_FALSE(error_of(ErrorKind::usage, [&] { find_model("", search); }).empty());
}

TEST_CASE("a model of the model path hides the built-in one of its name, in the list too") {
  const TemporaryFolder folder;
  folder.write("two-heads/config.json", "{}");
  ModelSearch search;
  search.model_path = folder.path().string();
  CHECK(find_model("two-heads", search).kind == Kind::folder);
  for (const ModelLocation& model : mha::list_models(search)) {
    if (model.name == "two-heads") CHECK(model.kind == Kind::folder);
  }
}
