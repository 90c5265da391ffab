#include "mha/model/prompts.hpp"

#include <vector>

#include "core/nearest.hpp"
#include "mha/core/error.hpp"

namespace mha {

namespace {

std::string prompt_named(const SentenceConfig& sentence, const std::string& name) {
  const auto prompt = sentence.prompts.find(name);
  if (prompt != sentence.prompts.end()) return prompt->second;
  std::vector<std::string> names;
  std::string list;
  for (const auto& [known, text] : sentence.prompts) {
    names.push_back(known);
    list += (list.empty() ? "" : ", ") + known;
  }
  std::string message = "--prompt-name: " + name + ": expected ";
  message += names.empty() ? "a model with prompts, this one has none" : "one of " + list;
  if (const auto near = nearest(name, names)) message += "; did you mean '" + *near + "'?";
  throw_usage(message);
}

}  // namespace

std::string choose_prompt(const SentenceConfig& sentence, const PromptChoice& choice) {
  if (choice.text) return *choice.text;
  if (choice.name) return prompt_named(sentence, *choice.name);
  if (choice.role) {
    std::vector<std::string> names;
    if (*choice.role == "query") {
      names = {"query"};
    } else if (*choice.role == "document") {
      names = {"document", "passage", "corpus"};
    } else {
      throw_usage("--role: expected query or document, got " + *choice.role);
    }
    for (const std::string& name : names) {
      if (const auto prompt = sentence.prompts.find(name); prompt != sentence.prompts.end()) return prompt->second;
    }
  }
  return sentence.default_prompt_name.empty() ? "" : sentence.prompts.at(sentence.default_prompt_name);
}

std::size_t prompt_token_count(const Tokenizer& tokenizer, const std::string& prompt, const EncodeOptions& options,
                               TokenizerScratch& scratch) {
  if (prompt.empty()) return 0;
  Encoding encoding;
  tokenizer.encode(prompt, std::nullopt, options, scratch, encoding);
  const bool closed = encoding.size() > 0 && tokenizer.is_special(encoding.input_ids.back());
  return encoding.size() - (closed ? 1 : 0);
}

}  // namespace mha
