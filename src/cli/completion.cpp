#include "cli/completion.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/models.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// What the words before the one that is completed say.
class Line {
 public:
  explicit Line(const std::vector<std::string>& words) {
    options_.command = nullptr;
    list_ = all_options(options_);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) take(words[i]);
  }

  const Command* command() const { return options_.command; }
  /// "model" of `model info`, as long as the rest is not there.
  const std::string& name() const { return name_; }
  const OptionList& list() const { return list_; }
  /// The option whose value comes next, or nullptr.
  const OptionSpec* open() const { return open_; }
  bool texts_only() const { return texts_only_; }
  bool given(const OptionSpec& spec) const {
    return std::find(given_.begin(), given_.end(), spec.long_name()) != given_.end();
  }
  std::size_t arguments() const { return arguments_; }
  const Options& options() const { return options_; }

 private:
  void take(const std::string& word) {
    if (open_ != nullptr) {
      set(*open_, word);
      open_ = nullptr;
    } else if (texts_only_) {
      ++arguments_;
    } else if (word == "--") {
      texts_only_ = true;
    } else if (is_option(word)) {
      take_option(word);
    } else {
      take_text(word);
    }
  }

  void take_option(const std::string& word) {
    const std::size_t sign = word.find('=');
    const OptionSpec* spec = list_.find(word.substr(0, sign));
    if (spec == nullptr) return;
    given_.emplace_back(spec->long_name());
    if (spec->value.empty()) return;
    if (sign == std::string::npos) {
      open_ = spec;
    } else {
      set(*spec, word.substr(sign + 1));
    }
  }

  void take_text(const std::string& word) {
    if (name_.empty() && word == "help") return;
    const std::string longer = name_.empty() ? word : name_ + ' ' + word;
    const auto all = commands();
    const auto known = std::find_if(all.begin(), all.end(), [&](const Command* c) { return c->name == longer; });
    const bool family =
        std::any_of(all.begin(), all.end(), [&](const Command* c) { return c->name.starts_with(longer + ' '); });
    if (known == all.end() && !family) {
      ++arguments_;
      return;
    }
    name_ = longer;
    if (known == all.end()) return;
    const std::string model = options_.global.model;
    options_ = {};
    options_.global.model = model;
    options_.command = *known;
    list_ = all_options(options_);
  }

  // Values may be half written, or wrong: only those that are right count.
  static void set(const OptionSpec& spec, const std::string& value) {
    try {
      spec.set(value);
    } catch (const Error&) {
    }
  }

  Options options_;
  OptionList list_;
  std::string name_;
  const OptionSpec* open_ = nullptr;
  bool texts_only_ = false;
  std::vector<std::string> given_;
  std::size_t arguments_ = 0;
};

/// Candidates that begin with what is there.
class Candidates {
 public:
  /// `kept`: what stands before the part that is completed, such as `--with=text,`.
  Candidates(std::string kept, std::string typed) : kept_(std::move(kept)), typed_(std::move(typed)) {}

  void add(std::string_view word, std::string_view description = {}) {
    if (!word.starts_with(typed_)) return;
    (out_ += kept_) += word;
    if (!description.empty()) (out_ += '\t') += description;
    out_ += '\n';
  }
  void ask_for(const std::string& directive) { out_ += ":" + directive + "\n"; }
  const std::string& typed() const { return typed_; }
  /// The rest of a list: what stands behind its last comma is completed.
  Candidates rest_of_list() const {
    const std::size_t comma = typed_.rfind(',');
    if (comma == std::string::npos) return {kept_, typed_};
    return {kept_ + typed_.substr(0, comma + 1), typed_.substr(comma + 1)};
  }
  std::string out() const { return out_; }

 private:
  std::string kept_;
  std::string typed_;
  std::string out_;
};

void add_models(Candidates& candidates) {
  for (const ModelLocation& model : list_models(model_search())) candidates.add(model.name);
  candidates.ask_for("folders");
}

void add_numbers(Candidates& candidates, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) candidates.add(std::to_string(i));
}

// The heads that `--ablate` names: first the layer, then the head in it.
void add_heads_of_layers(Candidates& candidates, const ModelConfig& config) {
  const std::size_t dot = candidates.typed().find('.');
  if (dot == std::string::npos) {
    for (std::size_t layer = 0; layer < config.n_layers; ++layer) candidates.add(std::to_string(layer) + ".");
    candidates.add("*.");
    return;
  }
  const std::string layer = candidates.typed().substr(0, dot + 1);
  for (std::size_t head = 0; head < config.n_heads; ++head) candidates.add(layer + std::to_string(head));
  candidates.add(layer + "*");
}

std::string values(const Line& line, const OptionSpec& spec, Candidates candidates) {
  const auto header = [&] { return read_model_header(choose_model(line.options()), load_options(line.options())); };
  switch (spec.kind) {
    case ValueKind::choice:
      for (const std::string& word : spec.choices) candidates.add(word);
      break;
    case ValueKind::list:
      candidates = candidates.rest_of_list();
      for (const std::string& word : spec.choices) candidates.add(word);
      break;
    case ValueKind::file:
    case ValueKind::output: {
      std::string directive = "files";
      for (const std::string& ending : spec.endings) directive += ' ' + ending;
      candidates.ask_for(directive);
      break;
    }
    case ValueKind::model:
      add_models(candidates);
      break;
    case ValueKind::prompt:
      for (const auto& [name, text] : header().sentence.prompts) candidates.add(name, text);
      break;
    case ValueKind::layers:
      candidates = candidates.rest_of_list();
      add_numbers(candidates, header().config.n_layers);
      break;
    case ValueKind::heads:
      candidates = candidates.rest_of_list();
      add_numbers(candidates, header().config.n_heads);
      break;
    case ValueKind::ablation:
      candidates = candidates.rest_of_list();
      add_heads_of_layers(candidates, header().config);
      break;
    case ValueKind::none:
    case ValueKind::text:
    case ValueKind::number:
      break;
  }
  return candidates.out();
}

std::string option_names(const Line& line, const std::string& typed) {
  Candidates candidates("", typed);
  for (const OptionSpec& spec : line.list().specs()) {
    if (spec.repeatable || !line.given(spec)) candidates.add(spec.long_name(), spec.help);
  }
  candidates.add("--help", "print help");
  candidates.add("--version", "print version, backends and CPU features");
  return candidates.out();
}

std::string command_names(const Line& line, const std::string& typed) {
  Candidates candidates("", typed);
  const std::string before = line.name().empty() ? "" : line.name() + ' ';
  std::string last;
  for (const Command* command : commands()) {
    if (command->hidden || !command->name.starts_with(before)) continue;
    const std::string_view rest = command->name.substr(before.size());
    const std::string word(rest.substr(0, rest.find(' ')));
    if (word != last) candidates.add(word, word.size() == rest.size() ? command->summary : std::string_view());
    last = word;
  }
  if (before.empty()) candidates.add("help", "help about a command");
  return candidates.out();
}

// Texts cannot be guessed; names of models and files can.
std::string arguments(const Line& line, const std::string& typed) {
  Candidates candidates("", typed);
  const std::string_view expected = line.command()->arguments;
  if (expected.find("MODEL") != std::string_view::npos) {
    if (line.arguments() == 0) add_models(candidates);
  } else if (expected.find("PATH") != std::string_view::npos || expected.find("FILE") != std::string_view::npos) {
    candidates.ask_for("files");
  }
  return candidates.out();
}

std::string candidates_of(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const Line line(words);
  const std::string& typed = words.back();
  if (line.open() != nullptr) return values(line, *line.open(), {"", typed});
  if (line.texts_only()) return {};
  if (const std::size_t sign = typed.find('='); is_option(typed) && sign != std::string::npos) {
    const OptionSpec* spec = line.list().find(typed.substr(0, sign));
    if (spec == nullptr || spec->value.empty()) return {};
    return values(line, *spec, {typed.substr(0, sign + 1), typed.substr(sign + 1)});
  }
  if (typed.starts_with('-')) return option_names(line, typed);
  if (line.command() == nullptr) return command_names(line, typed);
  std::string found = arguments(line, typed);
  if (line.arguments() == 0) found += command_names(line, typed);  // `index` is a command, and `index stats`
  return found;
}

}  // namespace

std::string completions(const std::vector<std::string>& words) {
  try {
    return candidates_of(words);
  } catch (const Error&) {
    return {};  // a model that cannot be read has no layers to offer
  }
}

std::string bash_completion() {
  return R"sh(# bash completion of mha-cli; the program itself knows what may follow.
_mha_cli() {
  local cur cword line kept='' IFS=$' \t\n'
  local -a words
  if declare -F _get_comp_words_by_ref > /dev/null; then
    _get_comp_words_by_ref -n '=:' cur words cword
  else
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  fi
  COMPREPLY=()
  # Readline replaces what stands behind the equals sign only.
  [[ $cur == --*=* && $COMP_WORDBREAKS == *=* ]] && kept=${cur%%=*}=
  while IFS= read -r line; do
    case $line in
      :files*) _mha_cli_files "${cur#"$kept"}" "${line#:files}" ;;
      :folders)
        compopt -o filenames 2> /dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "${cur#"$kept"}")
        ;;
      *)
        line=${line%%$'\t'*}
        [[ $line == *. ]] && compopt -o nospace 2> /dev/null
        COMPREPLY+=("${line#"$kept"}")
        ;;
    esac
  done < <("${words[0]/#\~/$HOME}" complete -- "${words[@]:1:cword}" 2> /dev/null)
}

# Folders, and the files with one of the endings; all files if none has.
_mha_cli_files() {
  local file ending
  local -a all=() fit=()
  compopt -o filenames 2> /dev/null
  while IFS= read -r file; do
    all+=("$file")
    [[ -d $file ]] && fit+=("$file") && continue
    for ending in $2; do [[ $file == *"$ending" ]] && fit+=("$file") && break; done
  done < <(compgen -f -- "$1")
  if ((${#fit[@]})) && [[ -n $2 ]]; then COMPREPLY+=("${fit[@]}"); else COMPREPLY+=("${all[@]}"); fi
}

complete -F _mha_cli mha-cli
)sh";
}

std::string zsh_completion() {
  return R"sh(#compdef mha-cli
# zsh completion of mha-cli; the program itself knows what may follow.
_mha_cli() {
  local line ending
  local -a described given endings
  given=("${(@Q)words[2,CURRENT]}")
  for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" complete -- "${given[@]}" 2> /dev/null)}"; do
    case $line in
      (:files*)
        endings=(${=line#:files})
        [[ $PREFIX == --*=* ]] && compset -P '*='
        if (( ${#endings} )); then _files -g "*(${(j:|:)endings})(-.)"; else _files; fi
        ;;
      (:folders)
        [[ $PREFIX == --*=* ]] && compset -P '*='
        _files -/
        ;;
      (?*)
        # _describe takes what stands behind a colon for the description.
        if [[ $line == *$'\t'* ]]; then
          described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        else
          described+=("${line//:/\\:}")
        fi
        ;;
    esac
  done
  (( ${#described} )) && _describe 'mha-cli' described
}
if [[ $funcstack[1] == _mha_cli || $funcstack[1] == _mha-cli ]]; then _mha_cli "$@"; else compdef _mha_cli mha-cli; fi
)sh";
}

std::string fish_completion() {
  return R"sh(# fish completion of mha-cli; the program itself knows what may follow.
function __mha_cli_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l typed (commandline -ct | string replace -r '^--[^=]*=' '')
    set -l kept (commandline -ct | string match -r '^--[^=]*=')
    for line in (command $words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case ':files*'
                set -l endings (string split -n ' ' -- (string replace ':files' '' -- $line))
                set -l fit
                for file in $typed*
                    if test -d $file
                        set -a fit $file/
                    else if test (count $endings) -eq 0
                        set -a fit $file
                    else
                        for ending in $endings
                            string match -q -- "*$ending" $file; and set -a fit $file
                        end
                    end
                end
                for file in $fit
                    echo "$kept$file"
                end
            case ':folders'
                for folder in $typed*/
                    echo "$kept$folder"
                end
            case '*'
                echo $line
        end
    end
end
complete -c mha-cli -f -a '(__mha_cli_complete)'
)sh";
}

}  // namespace mha::cli
