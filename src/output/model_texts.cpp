#include "output/model_texts.hpp"

#include <algorithm>
#include <string_view>

#include "core/json_writer.hpp"
#include "core/numbers.hpp"
#include "output/terminal_text.hpp"
#include "output/text_table.hpp"

namespace mha {
namespace {

std::string pooling_text(const SentenceConfig& sentence) {
  std::string text;
  for (const PoolingMode mode : sentence.pooling) (text += text.empty() ? "" : "+") += name_of(mode);
  return text;
}

const char* kind_of(const ModelLocation& model) {
  switch (model.kind) {
    case ModelLocation::Kind::folder:
      return "folder";
    case ModelLocation::Kind::json_file:
      return "file";
    case ModelLocation::Kind::builtin:
      return "built-in";
  }
  return "";
}

void write_files(JsonWriter& json, const std::vector<ModelFile>& files) {
  json.key("files").list(files, [&](const ModelFile& file) {
    json.begin_object().member("path", file.path).member("bytes", file.bytes).end_object();
  });
}

void write_texts(JsonWriter& json, const char* name, const std::vector<std::string>& texts) {
  json.key(name).list(texts, [&](const std::string& text) { json.text(text); });
}

std::string info_json(const ModelInfo& info) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("name", info.name).member("path", info.path).member("family", info.family);
  json.key("config").raw(info.config_json);
  json.member("parameters", info.parameters).member("bytes", info.bytes).member("dtype", info.dtype);
  json.key("parts").list(info.parts, [&](const ModelInfo::Part& part) {
    json.begin_object().member("name", part.name).member("parameters", part.parameters);
    json.member("bytes", part.bytes).end_object();
  });
  json.member("memory", info.memory).key("max_length");
  info.max_length ? json.number(*info.max_length) : json.null();
  json.member("pooling", pooling_text(info.sentence)).member("normalize", info.sentence.normalize);
  json.key("prompts").begin_object();
  for (const auto& [name, text] : info.sentence.prompts) json.member(name, text);
  json.end_object().key("tokenizer").begin_object();
  for (const auto& [name, value] : info.tokenizer) json.member(name, value);
  json.end_object().key("decisions").list(info.decisions, [&](const Decision& decision) {
    json.begin_object().member("what", decision.what).member("value", decision.value);
    json.member("from", decision.from).end_object();
  });
  write_files(json, info.files);
  write_texts(json, "unused_tensors", info.unused_tensors);
  json.member("embedding_width", info.embedding_width);
  write_texts(json, "tasks", info.tasks);
  write_texts(json, "ignored_keys", info.ignored_keys);
  write_texts(json, "notes", info.notes);
  json.end_object();
  return out + '\n';
}

// Decisions as a table. Where they came from is never cut: it goes on below, as far as columns go.
void append_decisions(std::string& text, const std::vector<Decision>& decisions, std::size_t columns) {
  std::size_t what_width = display_width("what");
  std::size_t value_width = display_width("value");
  for (const Decision& decision : decisions) {
    what_width = std::max(what_width, display_width(escape_controls(decision.what)));
    value_width = std::max(value_width, display_width(escape_controls(decision.value)));
  }
  what_width = std::min(what_width, columns / 3);
  value_width = std::min(value_width, columns / 4);
  const std::size_t indent = what_width + value_width + 4;
  const std::size_t room = columns > indent + 8 ? columns - indent : columns;
  const auto row = [&](const std::string& what, const std::string& value, const std::string& from) {
    text += pad_right(escape_controls(what), what_width) + "  " + pad_right(escape_controls(value), value_width) + "  ";
    std::size_t used = 0;
    for (std::size_t begin = 0; begin < from.size();) {
      const std::size_t end = std::min(from.find(' ', begin), from.size());
      const std::string_view word = std::string_view(from).substr(begin, end - begin);
      if (used > 0 && used + 1 + display_width(word) > room) {
        (text += '\n').append(columns - room, ' ');
        used = 0;
      }
      if (used > 0) text += ' ';
      used += (used > 0 ? 1 : 0) + display_width(word);
      text += word;
      begin = end + 1;
    }
    text += '\n';
  };
  row("what", "value", "from");
  for (const Decision& decision : decisions) row(decision.what, decision.value, escape_controls(decision.from));
}

std::string info_table(const ModelInfo& info, std::size_t columns) {
  std::string text;
  TextTable facts({{""}, {""}});
  facts.add({"name", info.name});
  facts.add({"path", info.path});
  facts.add({"family", info.family});
  facts.add({"parameters", std::to_string(info.parameters)});
  facts.add({"bytes", std::to_string(info.bytes)});
  facts.add({"dtype", info.dtype});
  facts.add({"max length", info.max_length ? std::to_string(*info.max_length) : "none"});
  facts.add({"embedding width", std::to_string(info.embedding_width)});
  facts.append_to(text, columns);
  text += "\nDecisions\n";
  append_decisions(text, info.decisions, columns);
  text += "\nParameters\n";
  TextTable parts({{"part"}, {"numbers", Align::right}, {"bytes", Align::right}});
  for (const ModelInfo::Part& part : info.parts) {
    parts.add({part.name, std::to_string(part.parameters), std::to_string(part.bytes)});
  }
  parts.append_to(text, columns);
  text += "in memory: " + std::to_string(info.memory) + " bytes\n";
  text += "\nTokenizer\n";
  TextTable tokenizer({{""}, {""}});
  for (const auto& [name, value] : info.tokenizer) tokenizer.add({name, value});
  tokenizer.append_to(text, columns);
  if (!info.sentence.prompts.empty()) {
    text += "\nPrompts\n";
    TextTable prompts({{""}, {""}});
    for (const auto& [name, value] : info.sentence.prompts) prompts.add({name, value});
    prompts.append_to(text, columns);
  }
  text += "\nFiles\n";
  TextTable files({{"path"}, {"bytes", Align::right}});
  for (const ModelFile& file : info.files) files.add({file.path, std::to_string(file.bytes)});
  files.append_to(text, columns);
  const auto add_list = [&](const char* title, const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    ((text += '\n') += title) += '\n';
    TextTable table(std::vector<TextTable::Column>{{""}});
    for (const std::string& entry : entries) table.add({entry});
    table.append_to(text, columns);
  };
  add_list("Heads", info.tasks);
  add_list("Unused tensors", info.unused_tensors);
  add_list("Ignored config keys", info.ignored_keys);
  add_list("Notes", info.notes);
  return text;
}

}  // namespace

std::string model_list_text(const std::vector<ModelLocation>& models, Format format, std::size_t columns) {
  std::string text;
  if (format == Format::json) {
    JsonWriter json(text);
    json.list(models, [&](const ModelLocation& model) {
      json.begin_object().member("name", model.name).member("kind", kind_of(model));
      json.member("path", model.path).end_object();
    });
    return text + '\n';
  }
  TextTable table({{"name"}, {"kind"}, {"path"}});
  for (const ModelLocation& model : models) {
    table.add({model.name, kind_of(model), model.kind == ModelLocation::Kind::builtin ? "" : model.path});
  }
  table.append_to(text, columns);
  return text;
}

std::string model_info_text(const ModelInfo& info, Format format, std::size_t columns) {
  return format == Format::json ? info_json(info) : info_table(info, columns);
}

std::string model_report_text(const std::string& name, const ModelReport& report, Format format, std::size_t columns) {
  std::string text;
  if (format == Format::json) {
    JsonWriter json(text);
    json.begin_object().member("name", name).member("sound", report.problems.empty());
    write_texts(json, "problems", report.problems);
    write_texts(json, "notes", report.notes);
    write_texts(json, "abilities", report.abilities);
    write_files(json, report.files);
    json.end_object();
    return text + '\n';
  }
  TextTable files({{"checked"}, {"bytes", Align::right}});
  for (const ModelFile& file : report.files) files.add({file.path, std::to_string(file.bytes)});
  files.append_to(text, columns);
  for (const std::string& note : report.notes) text += "note: " + escape_controls(note) + '\n';
  for (const std::string& ability : report.abilities) text += escape_controls(ability) + '\n';
  if (report.problems.empty()) text += escape_controls(name) + ": sound\n";
  return text;
}

std::string drift_text(const EmbeddingDrift& drift, Format format, std::size_t columns) {
  std::string text;
  if (format == Format::json) {
    JsonWriter json(text);
    json.begin_object().member("texts", drift.texts);
    json.member("mean_cosine", static_cast<float>(drift.mean_cosine));
    json.member("least_cosine", static_cast<float>(drift.least_cosine));
    json.member("max_abs", static_cast<float>(drift.max_abs)).end_object();
    return text + '\n';
  }
  const auto number = [](double value) {
    std::string digits;
    append_float(digits, static_cast<float>(value));
    return digits;
  };
  TextTable table({{""}, {"", Align::right}});
  table.add({"texts", std::to_string(drift.texts)});
  table.add({"mean cosine", number(drift.mean_cosine)});
  table.add({"least cosine", number(drift.least_cosine)});
  table.add({"largest difference", number(drift.max_abs)});
  table.append_to(text, columns);
  return text;
}

}  // namespace mha
