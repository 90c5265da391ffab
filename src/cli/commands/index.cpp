#include "search/index.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/passage_run.hpp"
#include "cli/record_run.hpp"
#include "core/json_writer.hpp"
#include "core/utf8.hpp"
#include "io/npy.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

struct IndexOptions {
  std::vector<VectorForm> forms;  ///< empty: f32
  std::size_t dims = 0;
  bool keep_missing = false;
  std::vector<std::string> accepted;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<IndexOptions>();
  list.group("Index");
  list.list("--store", "FORMS", "forms of the vectors that are kept, separated by commas", {"f32", "int8", "binary"},
            [&own](const std::string& text) {
              own.forms.clear();
              std::string_view rest = text;
              while (true) {
                const std::size_t comma = rest.find(',');
                own.forms.push_back(choose<VectorForm>(
                    "--store", std::string(rest.substr(0, comma)),
                    {{"f32", VectorForm::f32}, {"int8", VectorForm::int8}, {"binary", VectorForm::binary}}));
                if (comma == std::string_view::npos) break;
                rest.remove_prefix(comma + 1);
              }
              std::sort(own.forms.begin(), own.forms.end());
              own.forms.erase(std::unique(own.forms.begin(), own.forms.end()), own.forms.end());
            })
      .by_default("f32")
      .explain(
          "f32 makes searches exact. int8 takes a quarter of the room and binary one thirty-second; a search with them "
          "scores its best candidates again with the most exact form that is kept.");
  list.count("--dims", "N", "keep the first N numbers of each vector", own.dims, 1);
  list.flag("--keep-missing", "keep what came from files that are not among PATH", own.keep_missing);
  list.value("--accept", "MODEL", "also take queries of MODEL, whose vectors share this model's space",
             ValueKind::model, [&own](const std::string& name) { own.accepted.push_back(name); })
      .repeats();
}

const std::string& index_path(const Options& options) {
  if (options.input.texts.empty()) {
    throw_usage(std::string(options.command->name) + ": expected " + std::string(options.command->arguments) +
                ", got none");
  }
  return options.input.texts[0];
}

void refuse_more(const Options& options) {
  if (options.input.texts.size() <= 1) return;
  throw_usage(std::string(options.command->name) + ": expected one index, got also \"" +
              utf8::printable(options.input.texts[1]) + '"');
}

[[noreturn]] void refuse_change(const Index& index, const std::string& what, const std::string& had,
                                const std::string& got) {
  throw_usage(index.path().string() + ": expected " + what + " " + had + ", as the index was made, got " + got);
}

// What an index was made with cannot be changed by a later run.
void check_unchanged(const Options& options, const Index& index, const PassageRun& run) {
  const IndexHeader& header = index.header();
  const auto& own = options.own<IndexOptions>();
  if (!own.forms.empty() && own.forms != header.forms) {
    std::string had;
    for (const VectorForm form : header.forms) had += (had.empty() ? "" : ",") + std::string(name_of(form));
    refuse_change(index, "--store", had, "other forms");
  }
  const std::size_t tokens = options.files.passage_tokens.value_or(header.passage_tokens);
  if (tokens != header.passage_tokens) {
    refuse_change(index, "--chunk", std::to_string(header.passage_tokens), std::to_string(tokens));
  }
  if (options.files.by_line && !header.by_line) refuse_change(index, "passages of", "several lines", "--by-line");
  if (run.passage_prompt() != header.prompt) {
    refuse_change(index, "the prompt", utf8::quoted(header.prompt), utf8::quoted(run.passage_prompt()));
  }
}

std::string result_text(const Options& options, const Index& index, const IndexerResult& result, std::size_t passages) {
  const auto count = [](std::size_t number) { return std::to_string(number); };
  if (options.format() == Format::json) {
    std::string out;
    JsonWriter(out)
        .begin_object()
        .member("index", index.path().string())
        .member("files", result.files)
        .member("unchanged", result.unchanged)
        .member("removed", result.removed)
        .member("skipped", result.skipped)
        .member("embedded", result.passages)
        .member("passages", passages)
        .end_object();
    return out + '\n';
  }
  return count(result.files) + " files read, " + count(result.unchanged) + " unchanged, " + count(result.removed) +
         " removed, " + count(result.skipped) + " skipped; " + count(result.passages) + " passages embedded, " +
         count(passages) + " in the index\n";
}

Index open_for_update(const Options& options, PassageRun& run, const std::filesystem::path& path) {
  const auto& own = options.own<IndexOptions>();
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::file_size(path, error) == 0) {
    return Index::create(path, run.header(own.forms.empty() ? std::vector{VectorForm::f32} : own.forms));
  }
  Index index = Index::open(path, true);
  run.check(index);
  check_unchanged(options, index, run);
  return index;
}

int update(const Options& options, Log& log) {
  const std::filesystem::path path = index_path(options);
  std::vector<std::string> paths(options.input.texts.begin() + 1, options.input.texts.end());
  const auto& own = options.own<IndexOptions>();
  std::size_t dims = own.dims;
  std::error_code error;
  if (std::filesystem::exists(path, error) && std::filesystem::file_size(path, error) > 0) {
    const Index index = Index::open(path, false);
    if (dims == 0) dims = index.header().width;
    if (dims != index.header().width) {
      refuse_change(index, "--dims", std::to_string(index.header().width), std::to_string(dims));
    }
  }
  PassageRun run(options, dims, log);
  if (own.dims > run.width()) {
    throw_usage("--dims: expected at most " + std::to_string(run.width()) + ", got " + std::to_string(own.dims));
  }
  const auto out = open_output(options);
  Index index = open_for_update(options, run, path);
  for (const std::string& name : own.accepted) {
    Options other = options;
    other.global.model = name;
    index.add_space(PassageRun(other, dims, log).space());
  }
  // Without paths what is there is brought up to date.
  if (paths.empty()) {
    for (const IndexSource& source : index.sources()) {
      if (std::filesystem::exists(source.path, error)) paths.push_back(source.path);
    }
  }
  const IndexerResult result = run.update(index, paths, !own.keep_missing);
  out->write(result_text(options, index, result, index.passages()));
  out->commit();
  return 0;
}

int stats(const Options& options, Log&) {
  refuse_more(options);
  const auto out = open_output(options);
  Index index = Index::open(index_path(options), false);
  index.begin_read();
  const IndexHeader& header = index.header();
  std::string forms;
  for (const VectorForm form : header.forms) forms += (forms.empty() ? "" : ",") + std::string(name_of(form));
  std::string models;
  for (const VectorSpace& space : header.spaces) models += (models.empty() ? "" : ",") + space.model;
  const std::size_t free = index.free_slots().size();
  std::size_t incomplete = 0;
  const std::vector<IndexSource> sources = index.sources();
  for (const IndexSource& source : sources) incomplete += source.complete ? 0 : 1;
  const auto bytes = static_cast<std::size_t>(std::filesystem::file_size(index.path()));
  std::string text;
  if (options.format() == Format::json) {
    JsonWriter(text)
        .begin_object()
        .member("index", index.path().string())
        .member("model", models)
        .member("width", header.width)
        .member("store", forms)
        .member("similarity", header.similarity)
        .member("prompt", header.prompt)
        .member("chunk", header.passage_tokens)
        .member("by_line", header.by_line)
        .member("files", sources.size())
        .member("incomplete_files", incomplete)
        .member("passages", index.passages())
        .member("free_slots", free)
        .member("bytes", bytes)
        .end_object();
    text += '\n';
  } else {
    const auto row = [&text](const char* key, const std::string& value) {
      text += std::string(key) + std::string(18 - std::string_view(key).size(), ' ') + value + '\n';
    };
    row("model", utf8::printable(models));
    row("width", std::to_string(header.width));
    row("store", forms);
    row("similarity", utf8::printable(header.similarity));
    row("prompt", header.prompt.empty() ? "none" : utf8::quoted(header.prompt));
    row("chunk", std::to_string(header.passage_tokens) + (header.by_line ? " tokens, by line" : " tokens"));
    row("files", std::to_string(sources.size()));
    row("incomplete files", std::to_string(incomplete));
    row("passages", std::to_string(index.passages()));
    row("free slots", std::to_string(free));
    row("bytes", std::to_string(bytes));
  }
  out->write(text);
  out->commit();
  return 0;
}

int verify(const Options& options, Log& log) {
  refuse_more(options);
  Index index = Index::open(index_path(options), false);
  index.begin_read();
  const std::vector<std::string> wrong = index.verify();
  for (const std::string& what : wrong) log.error(index.path().string() + ": " + what);
  if (!wrong.empty()) return 1;
  const auto out = open_output(options);
  out->write("sound: " + std::to_string(index.passages()) + " passages\n");
  out->commit();
  return 0;
}

int export_vectors(const Options& options, Log&) {
  refuse_more(options);
  const auto out = open_output(options);
  Index index = Index::open(index_path(options), false);
  index.begin_read();
  const std::vector<std::size_t> free = index.free_slots();
  const std::size_t slots = index.slots();
  const auto each_slot = [&](const auto& use) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (!std::binary_search(free.begin(), free.end(), slot)) use(slot);
    }
  };
  if (options.format() == Format::npy) {
    NpyWriter array(*out, NpyType::float32, {index.header().width});
    each_slot([&](std::size_t slot) { array.write(index.vector(slot)); });
    array.finish();
  } else {
    each_slot([&](std::size_t slot) {
      const StoredPassage stored = index.passage(slot);
      const Passage& passage = stored.passage;
      std::string line;
      JsonWriter json(line, options.output.digits);
      json.begin_object().member("path", stored.path);
      json.member("line", passage.line).member("last_line", passage.last_line);
      if (!passage.id.empty()) json.key("id").raw(passage.id);
      json.member("text", passage.text);
      if (!passage.extra.empty()) json.raw(passage.extra);
      const std::array shape{index.header().width};
      json.key("embedding").numbers(index.vector(slot), shape).end_object();
      out->write(line + "\n");
    });
  }
  out->commit();
  return 0;
}

}  // namespace

const Command kIndex{
    .name = "index",
    .summary = "make or update an index of files, for search",
    .arguments = "INDEX [PATH…]",
    .about =
        "Cuts the text of files into passages, embeds them, and keeps passages and vectors in one file, INDEX. A later "
        "run reads only what has changed; what came from files that are no longer among PATH leaves. Without PATH the "
        "files that INDEX knows are looked at again. Files that end in .jsonl hold one record per line; their ids and "
        "further members are kept.",
    .examples = {"mha-cli index notes.db notes/ README.md", "mha-cli index --store f32,int8 faq.db faq.jsonl",
                 "mha-cli index notes.db"},
    .declare = declare,
    .options = {&kFiles, &kTokens, &kOutput},
    .formats = {Format::table, Format::json},
    .run = update,
};

const Command kIndexStats{
    .name = "index stats",
    .summary = "what an index holds",
    .arguments = "INDEX",
    .about = "Prints which model and settings an index was made with, and how much it holds.",
    .examples = {"mha-cli index stats notes.db --format json"},
    .options = {&kOutput},
    .formats = {Format::table, Format::json},
    .run = stats,
};

const Command kIndexVerify{
    .name = "index verify",
    .summary = "whether an index is sound",
    .arguments = "INDEX",
    .about = "Reads the whole index and checks it; exit code 1 if something is wrong.",
    .examples = {"mha-cli index verify notes.db"},
    .options = {&kOutput},
    .formats = {Format::table},
    .run = verify,
};

const Command kIndexExport{
    .name = "index export",
    .summary = "passages and vectors of an index",
    .arguments = "INDEX",
    .about =
        "Writes one JSON object per passage, or with --format npy all vectors as one array [passages, width] in the "
        "same order.",
    .examples = {"mha-cli index export notes.db -o notes.jsonl", "mha-cli index export notes.db -o notes.npy"},
    .options = {&kOutput},
    .formats = {Format::jsonl, Format::npy},
    .run = export_vectors,
};

}  // namespace mha::cli
