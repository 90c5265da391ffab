#include "serve/served_model.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "serve/api_error.hpp"

namespace mha::serve {
namespace {

TokenizerScratch& scratch() {
  thread_local TokenizerScratch scratch;
  return scratch;
}

/// Inputs of many requests share a batch of a head; what the logits mean is a matter of each request.
class ReaderOfEach : public TaskReader {
 public:
  ReaderOfEach(Task task, std::optional<std::int32_t> mask) : task_(task), mask_(mask) {}

  void encode(std::string_view, TokenizerScratch&, Record&) const override {
    throw_internal("serve: inputs are encoded by the reader of their request");
  }
  void choose_tokens(const Encoding& encoding, std::vector<std::size_t>& tokens) const override {
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (is_read(encoding, i)) tokens.push_back(i);
    }
  }
  void read(const Encoding& encoding, std::size_t number, ConstMatrix logits, Record& record) const override {
    static_cast<const JobInput&>(record).reader->read(encoding, number, logits, record);
  }
  void finish(Record& record) const override { static_cast<const JobInput&>(record).reader->finish(record); }
  ResultLayout layout() const override { return {}; }

 private:
  // The tokens that the readers of the task choose (tasks.hpp), whatever the request.
  bool is_read(const Encoding& encoding, std::size_t i) const {
    if (task_ == Task::fill_mask) return encoding.input_ids[i] == mask_;
    return task_ != Task::tag || encoding.special_tokens_mask[i] == 0;
  }

  Task task_;
  std::optional<std::int32_t> mask_;
};

bool starts_with(const std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& start) {
  return ids.size() >= start.size() && std::equal(start.begin(), start.end(), ids.begin());
}
bool ends_with(const std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& end) {
  return ids.size() >= end.size() && std::equal(end.rbegin(), end.rend(), ids.rbegin());
}

std::string routes_of(const std::vector<Task>& tasks) {
  std::string list = "/embed, /embed_all, /v1/embeddings, /similarity, /attention";
  for (const Task task : tasks) {
    if (task == Task::classify) list += ", /predict";
    if (task == Task::fill_mask || task == Task::tag || task == Task::answer)
      list += ", / (" + std::string(name_of(task)) + ")";
  }
  return list;
}

}  // namespace

ServedModel::ServedModel(ModelHeader header, std::shared_ptr<const Model> model, const PromptChoice& prompt,
                         const std::vector<PoolingMode>& pooling, Engine& engine)
    : header_(std::move(header)), model_(std::move(model)), engine_(engine), tasks_(model_->tasks()) {
  work_.tokenizer = &model_->tokenizer();
  work_.encode.max_length = model_->max_length();
  work_.encoder = &model_->encoder();
  work_.sentence = model_->sentence();
  if (!pooling.empty()) work_.sentence.pooling = pooling;
  token_work_ = work_;
  work_.parts.embedding = true;
  token_work_.parts.last_hidden_state = true;
  tail_work_ = work_;
  tail_work_.encode.keep = TruncationSide::tail;
  width_ = work_.sentence.dense.empty() ? model_->config().d_model * work_.sentence.pooling.size()
                                        : work_.sentence.dense.back().out;
  default_prompt_ = choose_prompt(work_.sentence, prompt);
  for (const char* role : {"query", "document"}) {
    PromptChoice chosen;
    chosen.role = role;
    role_prompts_[role] = choose_prompt(work_.sentence, chosen);
  }
  vectors_ = engine_.add_lane(model_workers(work_));

  Encoding example;
  work_.tokenizer->encode("a", std::nullopt, EncodeOptions(), scratch(), example);
  const auto is_text = [&](std::size_t i) { return example.special_tokens_mask[i] == 0; };
  std::size_t first = 0;
  while (first < example.size() && !is_text(first)) opening_.push_back(example.input_ids[first++]);
  std::size_t last = example.size();
  while (last > first && !is_text(last - 1)) --last;
  closing_.assign(example.input_ids.begin() + static_cast<std::ptrdiff_t>(last), example.input_ids.end());
}

const std::string& ServedModel::prompt(const std::optional<std::string>& name) {
  if (!name) return default_prompt_;
  const auto place = work_.sentence.prompts.find(*name);
  if (place != work_.sentence.prompts.end()) return place->second;
  std::string known;
  for (const auto& [other, text] : work_.sentence.prompts) (known += known.empty() ? "" : ", ") += other;
  fail_shape("prompt_name", known.empty() ? "none, because the model has no prompts" : "one of " + known,
             '"' + *name + '"');
}

const std::string& ServedModel::prompt_of_role(const std::string& role) { return role_prompts_.at(role); }

EncodeOptions ServedModel::options(const Preparation& how) const {
  EncodeOptions options = work_.encode;
  options.keep = how.keep;
  options.add_special_tokens = how.special_tokens;
  return options;
}

void ServedModel::check_length(const Encoding& encoding, const Preparation& how, const std::string& place) const {
  if (how.truncate || !encoding.truncated()) return;
  fail(422, "Tokenizer",
       "`" + place + "` must have less than " + std::to_string(*work_.encode.max_length + 1) +
           " tokens. Given: " + std::to_string(encoding.full_length),
       place);
}

void ServedModel::prepare(const Input& input, const Preparation& how, JobInput& out) const {
  try {
    if (input.is_ids) {
      encode_ids(input, how, out.encoding);
    } else {
      std::string prompted;
      std::string_view text = input.text;
      if (how.prompt != nullptr && !how.prompt->empty()) text = prompted = *how.prompt + input.text;
      work_.tokenizer->encode(text, std::nullopt, options(how), scratch(), out.encoding);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fail(422, "Tokenizer", input.place + ": " + error.what(), input.place);
  }
  check_length(out.encoding, how, input.place);
  out.truncated = out.encoding.truncated();
  if (how.prompt != nullptr) out.prompt = *how.prompt;
}

void ServedModel::prepare_task(const Preparation& how, const std::string& place, JobInput& out) const {
  try {
    out.reader->encode(out.input.text, scratch(), out);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fail(422, "Tokenizer", place + ": " + error.what(), place);
  }
  check_length(out.encoding, how, place);
  if (out.encoding.size() == 0) fail(422, "Tokenizer", place + ": no tokens to look at", place);
}

// Ids that already begin and end with the special tokens of a text are one whole input; others get them here.
void ServedModel::encode_ids(const Input& input, const Preparation& how, Encoding& out) const {
  const std::size_t vocabulary = work_.tokenizer->vocab_size();
  for (std::size_t i = 0; i < input.ids.size(); ++i) {
    if (static_cast<std::size_t>(input.ids[i]) < vocabulary) continue;
    const std::string place = input.place + '[' + std::to_string(i) + ']';
    fail(422, "Tokenizer",
         place + ": expected a token id below the vocabulary size " + std::to_string(vocabulary) + ", got " +
             std::to_string(input.ids[i]) +
             "; these look like OpenAI token ids: send texts (LangChain: "
             "OpenAIEmbeddings(check_embedding_ctx_length=False))",
         place);
  }
  const bool has_specials = !(opening_.empty() && closing_.empty()) &&
                            input.ids.size() >= opening_.size() + closing_.size() && starts_with(input.ids, opening_) &&
                            ends_with(input.ids, closing_);
  std::vector<std::int32_t> text = input.ids;
  if (has_specials) {
    text.erase(text.end() - static_cast<std::ptrdiff_t>(closing_.size()), text.end());
    text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(opening_.size()));
  }
  if (how.prompt != nullptr && !how.prompt->empty()) {
    EncodeOptions bare;
    bare.add_special_tokens = false;
    Encoding prompt;
    work_.tokenizer->encode(*how.prompt, std::nullopt, bare, scratch(), prompt);
    text.insert(text.begin(), prompt.input_ids.begin(), prompt.input_ids.end());
  }
  const bool adds = how.special_tokens || has_specials;
  const std::size_t around = adds ? opening_.size() + closing_.size() : 0;
  out.clear();
  out.full_length = text.size() + around;
  if (const auto most = work_.encode.max_length; most && out.full_length > *most) {
    const auto room = static_cast<std::ptrdiff_t>(*most - std::min(*most, around));
    if (how.keep == TruncationSide::head) {
      text.erase(text.begin() + room, text.end());
    } else {
      text.erase(text.begin(), text.end() - room);
    }
  }
  const auto add = [&out](const std::vector<std::int32_t>& ids, bool special) {
    for (const std::int32_t id : ids) {
      out.input_ids.push_back(id);
      out.token_type_ids.push_back(0);
      out.offsets.push_back({});
      out.special_tokens_mask.push_back(special ? 1 : 0);
      out.word_ids.push_back(-1);
      out.sequence_ids.push_back(special ? std::int8_t{-1} : std::int8_t{0});
    }
  };
  if (adds) add(opening_, true);
  add(text, false);
  if (adds) add(closing_, true);
}

const void* ServedModel::vectors(const std::string& prompt) {
  if (work_.sentence.include_prompt || prompt.empty()) return vectors_;
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = prompted_.try_emplace(prompt);
  Prompted& prompted = place->second;
  if (is_new) {
    prompted.work = work_;
    prompted.work.prompt = prompt;
    prompted.lane = engine_.add_lane(model_workers(prompted.work));
  }
  return prompted.lane;
}

const void* ServedModel::token_vectors() {
  const std::lock_guard lock(mutex_);
  if (token_vectors_ == nullptr) token_vectors_ = engine_.add_lane(model_workers(token_work_));
  return token_vectors_;
}

bool ServedModel::has(Task task) const { return std::find(tasks_.begin(), tasks_.end(), task) != tasks_.end(); }

const ServedModel::TaskLane& ServedModel::task(Task task, const char* what) {
  if (!has(task)) {
    fail(424, "Backend", std::string("model is not ") + what + " model; it answers on " + routes_of(tasks_));
  }
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = task_lanes_.try_emplace(task);
  TaskLane& lane = place->second;
  if (lane.lane == nullptr) {
    lane.head = model_->load_head(task);
    lane.reader = std::make_unique<ReaderOfEach>(task, work_.tokenizer->role_id("mask_token"));
    const ModelConfig& config = model_->config();
    lane.work = {&work_, lane.head.get(), lane.reader.get(),
                 model_->encoder().backend().rows_in_cache(config.d_model, config.d_ff)};
    lane.lane = engine_.add_lane(task_workers(lane.work));
  }
  return lane;
}

const HeadLabels& ServedModel::labels(Task task) {
  const std::lock_guard lock(mutex_);
  const auto place = labels_.find(task);
  if (place != labels_.end()) return place->second;
  return labels_.emplace(task, read_head_labels(header_, task_lanes_.at(task).head->outputs())).first->second;
}

}  // namespace mha::serve
