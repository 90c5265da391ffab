#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/help.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "mha/core/error.hpp"
#include "serve/server.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kHighestPort = 65535;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct ServeValues {
  std::string host = "127.0.0.1";
  unsigned port = 3000;
  std::string unix_path;
  std::string api_key_file;
  std::vector<std::string> cors_origins;
  std::string served_model_name;
  PromptChoice prompt;
  std::vector<PoolingMode> pooling;
  std::size_t max_concurrent_requests = 512;
  std::size_t max_batch_tokens = 0;
  std::size_t max_batch_requests = 0;
  std::size_t max_client_batch_size = 10000;
  std::size_t payload_limit = 16U << 20U;
  std::size_t max_memory = 512U << 20U;
  bool auto_truncate = true;
  std::size_t idle_seconds = 120;
  std::size_t drain_seconds = 30;
};

/// Each option can also come from an environment variable; the command line goes first. Variables have the names that
/// text-embeddings-inference gave them; its other names would clash with those of shells, so ours begin with MHA_.
struct ServeOptions {
  struct Variable {
    std::string name;
    std::string option;
    std::function<void(const std::string&)> set;
    bool given = false;
  };
  ServeValues values;
  std::vector<Variable> variables;
};

// Shared, so that the environment can be read once the command line is known.
using OwnOptions = std::shared_ptr<ServeOptions>;

void or_variable(OptionSpec& spec, ServeOptions& own, const char* variable) {
  spec.explain("Environment variable: " + std::string(variable) + ".");
  const std::size_t i = own.variables.size();
  own.variables.push_back({variable, std::string(spec.long_name()), spec.set});
  spec.set = [&own, i, set = spec.set](const std::string& text) {
    own.variables[i].given = true;
    set(text);
  };
}

void read_environment(ServeOptions& own) {
  for (const ServeOptions::Variable& variable : own.variables) {
    const std::string value = environment(variable.name.c_str());
    if (variable.given || value.empty()) continue;
    try {
      variable.set(value);
    } catch (const Error& error) {
      throw_usage("environment variable " + variable.name + ": " + error.what());
    }
  }
}

void declare(OptionList& list, Options& options) {
  auto& shared = options.own<OwnOptions>();
  if (!shared) shared = std::make_shared<ServeOptions>();
  ServeOptions& own = *shared;
  own.variables.clear();
  ServeValues& values = own.values;
  const auto count = [&](const char* name, const char* value, const char* help, auto& target, std::size_t least,
                         const char* variable, const char* standard, std::size_t most = static_cast<std::size_t>(-1)) {
    or_variable(list.count(name, value, help, target, least, most).by_default(standard), own, variable);
  };
  const auto named = [&](const char* name, const char* value, const char* help, ValueKind kind, std::string& target,
                         const char* variable) -> OptionSpec& {
    OptionSpec& spec = list.named(name, value, help, kind, target);
    or_variable(spec, own, variable);
    return spec;
  };
  list.group("Where it listens");
  named("--host", "ADDRESS", "address of this machine to listen on; 0.0.0.0 for all", ValueKind::text, values.host,
        "MHA_HOST")
      .by_default(ServeValues().host);
  count("--port", "N", "port to listen on; 0 takes a free one", values.port, 0, "PORT", "3000", kHighestPort);
  named("--unix", "PATH", "listen on a Unix socket instead", ValueKind::output, values.unix_path, "UDS_PATH");

  list.group("Who may ask");
  named("--api-key-file", "FILE", "answer only who sends one of the keys in FILE, one key per line", ValueKind::file,
        values.api_key_file, "MHA_API_KEY_FILE");
  or_variable(list.text("--cors-allow-origin", "ORIGIN", "let pages of ORIGIN send requests; * for all",
                        [&values](const std::string& origin) { values.cors_origins.push_back(origin); })
                  .repeats(),
              own, "CORS_ALLOW_ORIGIN");

  list.group("Model");
  named("--served-model-name", "NAME", "name of the model in answers", ValueKind::text, values.served_model_name,
        "SERVED_MODEL_NAME");
  or_variable(list.text("--default-prompt", "TEXT", "put TEXT before each input that names no prompt",
                        [&values](const std::string& text) { values.prompt.text = text; }),
              own, "DEFAULT_PROMPT");
  or_variable(list.text("--default-prompt-name", "NAME", "the model's prompt for inputs that name none",
                        [&values](const std::string& name) { values.prompt.name = name; }),
              own, "DEFAULT_PROMPT_NAME");
  using Modes = std::vector<PoolingMode>;
  or_variable(list.choice("--pooling", "MODE", "how token vectors become one", values.pooling,
                          {{"auto", Modes{}},
                           {"cls", Modes{PoolingMode::cls}},
                           {"mean", Modes{PoolingMode::mean}},
                           {"max", Modes{PoolingMode::max}},
                           {"last", Modes{PoolingMode::last}},
                           {"pooler", Modes{PoolingMode::pooler}}}),
              own, "POOLING");
  list.count("--max-length", "N", "most tokens of an input, special tokens included", options.tokens.max_length, 1)
      .by_default("what the model says");
  or_variable(list.choice("--auto-truncate", "BOOL", "cut inputs that are too long, unless a request says otherwise",
                          values.auto_truncate, {{"true", true}, {"false", false}}),
              own, "AUTO_TRUNCATE");

  list.group("Limits");
  count("--max-concurrent-requests", "N", "requests that wait or are answered at once; more get status 429",
        values.max_concurrent_requests, 1, "MAX_CONCURRENT_REQUESTS", "512");
  count("--max-client-batch-size", "N", "inputs of one request", values.max_client_batch_size, 1,
        "MAX_CLIENT_BATCH_SIZE", "10000");
  count("--max-batch-tokens", "N", "tokens that one thread computes at once", values.max_batch_tokens, 1,
        "MAX_BATCH_TOKENS", "what fits the cache");
  count("--max-batch-requests", "N", "inputs that are computed at once", values.max_batch_requests, 1,
        "MAX_BATCH_REQUESTS", "no limit");
  count("--payload-limit", "BYTES", "size of a request's body", values.payload_limit, 1, "PAYLOAD_LIMIT", "16777216");
  count("--max-memory", "BYTES", "memory of all requests and answers together, beside the model", values.max_memory, 1,
        "MHA_MAX_MEMORY", "536870912");
  count("--idle-timeout", "SECONDS", "how long a connection may wait between requests", values.idle_seconds, 1,
        "MHA_IDLE_TIMEOUT", "120", 1000000);
  count("--drain-timeout", "SECONDS", "how long answers may take once the server is told to stop", values.drain_seconds,
        0, "MHA_DRAIN_TIMEOUT", "30", 1000000);
}

// One key per line.
std::vector<std::string> read_keys(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw_input("--api-key-file: " + path + ": cannot be read");
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty()) throw_input("--api-key-file: " + path + ": expected a key, got none");
  return keys;
}

// The sockets of systemd, else the Unix socket, else the host and port.
std::vector<serve::Listening> open_sockets(const ServeValues& values) {
  if (environment("LISTEN_PID") == std::to_string(::getpid())) {
    return serve::handed_over_sockets(std::strtoul(environment("LISTEN_FDS").c_str(), nullptr, 10));
  }
  if (!values.unix_path.empty()) return {serve::listen_unix(values.unix_path)};
  return serve::listen_tcp(values.host, values.port);
}

serve::ServerSettings settings_of(const Options& options, const ServeValues& values, const std::string& model) {
  serve::ServerSettings settings;
  settings.service.version = program_version();
  settings.service.model = model;
  settings.service.served_model_name = values.served_model_name;
  settings.service.max_concurrent_requests = values.max_concurrent_requests;
  settings.service.max_client_batch_size = values.max_client_batch_size;
  settings.service.max_batch_requests = values.max_batch_requests;
  settings.service.max_batch_tokens = values.max_batch_tokens;
  settings.service.payload_limit = values.payload_limit;
  settings.service.auto_truncate = values.auto_truncate;
  settings.service.threads = thread_count(options);
  settings.service.cors_origins = values.cors_origins;
  if (!values.api_key_file.empty()) settings.service.api_keys = read_keys(values.api_key_file);
  // Never an option: everybody on the machine can read the command line of a process.
  if (const std::string key = environment("API_KEY"); !key.empty()) settings.service.api_keys.push_back(key);
  settings.memory_bytes = values.max_memory;
  settings.drain_seconds = static_cast<double>(values.drain_seconds);
  settings.http.idle_seconds = static_cast<double>(values.idle_seconds);
  settings.prompt = values.prompt;
  settings.pooling = values.pooling;
  settings.notify_socket = environment("NOTIFY_SOCKET");
  return settings;
}

int run(const Options& options, Log& log) {
  ServeOptions& own = *options.own<OwnOptions>();
  read_environment(own);
  const ServeValues& values = own.values;
  const ModelLocation location = choose_model(options);
  const serve::ServerSettings settings = settings_of(options, values, location.name);
  serve::raise_descriptor_limit();
  const std::vector<serve::Listening> sockets = open_sockets(values);
  const auto load = [&] {
    ModelHeader header = read_model_header(location, load_options(options));
    auto model = load_model(header, options, log);
    return serve::LoadedModel(std::move(header), std::move(model));
  };
  serve::serve(settings, sockets, load, [&] {
    for (const serve::Listening& socket : sockets) log.notice("serving " + location.name + " on " + socket.address);
  });
  if (!values.unix_path.empty()) ::unlink(values.unix_path.c_str());
  return 0;
}

}  // namespace

const Command kServe{
    .name = "serve",
    .summary = "the same answers over HTTP, and a page to look through",
    .arguments = "",
    .about =
        "Answers requests of clients for OpenAI, text-embeddings-inference, Cohere, Jina, ollama and the Hugging Face "
        "hub until it gets SIGTERM. It listens on this machine only, unless --host names another address.",
    .examples = {"mha-cli serve", "mha-cli serve --port 8080 --api-key-file keys.txt",
                 "curl -s 127.0.0.1:3000/embed -H 'content-type: application/json' -d '{\"inputs\": \"hello\"}'"},
    .declare = declare,
    .run = run,
};

}  // namespace mha::cli
