#include "producer/formats/jsonl.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/limits.h"
#include "producer/client/json.h"
#include "producer/client/when.h"
#include "producer/formats/kernelbench_problems.h"
#include "producer/formats/problems.h"
#include "producer/formats/recognise.h"
#include "producer/formats/single_file.h"
#include "sys/error_text.h"
#include "sys/nearest.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileName = "submissions.jsonl";

// The keys of a line. Other systems' lines may have others, which are ignored.
const std::vector<std::string> kKeys{"id",
                                     "problem",
                                     "problem_source",
                                     "path",
                                     "source",
                                     "files",
                                     "io",
                                     "metadata",
                                     "backend",
                                     "device",
                                     "precision",
                                     "baseline",
                                     "profile",
                                     "need_extensions",
                                     "streams",
                                     "graphs",
                                     "gpu",
                                     "author",
                                     "rtol",
                                     "atol",
                                     "workloads",
                                     "truth_rms",
                                     "truth_max",
                                     "truth",
                                     "allow_precision",
                                     "priority",
                                     "not_before",
                                     "deadline",
                                     "require",
                                     "time_limit_s",
                                     "params",
                                     "tags"};
const std::vector<std::string> kTrialKeys{"correctness", "warmup", "timed"};
// Words of other systems, of kq's own outputs and of "params" for what a key of a line says, where ignoring them would
// change how a kernel is named or judged.
const std::map<std::string, std::string, std::less<>> kOtherWords{{"tolerance", "rtol and atol"},
                                                                  {"timeout", "time_limit_s"},
                                                                  {"trials", "params"},
                                                                  {"dtype", "precision"},
                                                                  {"label", "id"},
                                                                  {"gpu_model", "gpu"},
                                                                  {"gpu_name", "gpu"},
                                                                  {"gpu_type", "gpu"},
                                                                  {"time_limit_ms", "time_limit_s"},
                                                                  {"not_before_ms", "not_before"},
                                                                  {"deadline_ms", "deadline"},
                                                                  {"correctness", "params.correctness"},
                                                                  {"warmup", "params.warmup"},
                                                                  {"timed", "params.timed"},
                                                                  {"answer", "source"},
                                                                  {"candidate", "source"},
                                                                  {"code", "source"},
                                                                  {"completion", "source"},
                                                                  {"custom_kernel", "source"},
                                                                  {"generated_code", "source"},
                                                                  {"generation", "source"},
                                                                  {"kernel", "source"},
                                                                  {"kernel_code", "source"},
                                                                  {"kernel_source", "source"},
                                                                  {"response", "source"},
                                                                  {"solution", "source"},
                                                                  {"submission", "source"},
                                                                  {"file_path", "path"},
                                                                  {"filename", "path"},
                                                                  {"kernel_path", "path"}};
constexpr std::size_t kUnknownKeysMax = 1'000;  // of one input, that are remembered
// The shortest of the other words whose misspellings are noted too. Shorter ones, such as "code", are too similar to
// keys that other systems use for something else, such as "mode".
constexpr std::size_t kOtherWordBytesMin = 8;

// Returns the known keys that an unknown one may stand for, or nothing.
std::string meant_by(const std::string& key) {
  if (const auto other = kOtherWords.find(key); other != kOtherWords.end()) return other->second;
  if (const auto meant = sys::nearest(key, kKeys)) return *meant;
  std::vector<std::string> long_words;
  for (const auto& [word, meant] : kOtherWords) {
    if (word.size() >= kOtherWordBytesMin) long_words.push_back(word);
  }
  const auto word = sys::nearest(key, long_words);
  return word ? kOtherWords.at(*word) : "";
}

// Reads the lines of a file, of which none may have more than kLineBytesMax bytes.
class LineReader {
 public:
  explicit LineReader(const fs::path& path)
      : file_(path, std::ios::binary), buffer_(std::make_unique_for_overwrite<char[]>(kRoomBytes)) {}

  bool opened() const { return file_.is_open(); }
  bool failed() const { return file_.bad(); }  // whether reading the file failed
  std::size_t number() const { return number_; }

  enum class Got { line, too_long, end };
  Got next(std::string_view& line) {
    if (!file_.getline(buffer_.get(), static_cast<std::streamsize>(kRoomBytes)) && file_.gcount() == 0) return Got::end;
    ++number_;
    if (file_.fail() && !file_.eof()) {  // the buffer is full and its line goes on
      file_.clear();
      file_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
      return Got::too_long;
    }
    const auto got = static_cast<std::size_t>(file_.gcount());
    line = std::string_view(buffer_.get(), file_.eof() ? got : got - 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // the byte order mark
    return Got::line;
  }

 private:
  // One byte is for the end of the line, and one more shows that a line is too long.
  static constexpr std::size_t kRoomBytes = kLineBytesMax + 2;

  std::ifstream file_;
  std::unique_ptr<char[]> buffer_;  // not initialised, because most of the memory is never used
  std::size_t number_ = 0;
};

// Reads the object of one line into a Candidate. It reports every mistake of the line, not only the first one.
class LineParser {
 public:
  // `unknown_keys` holds the unknown keys of earlier lines.
  LineParser(std::string where, const fs::path& base, std::size_t number, const InputOptions& options,
             const CandidateSink& sink, std::set<std::string>& unknown_keys)
      : where_(std::move(where)),
        base_(base),
        number_(number),
        options_(options),
        finds_(sink),
        unknown_keys_(unknown_keys) {}

  void parse(std::string_view line) {
    const Expected<Json> json = parse_json(line);
    if (!json) return wrong("not JSON, " + json.error().message);
    if (json->object() == nullptr) return wrong("a line is an object {problem, path, ...}, got " + described(*json));
    const auto hosted = hosted_problem(*json);
    if (!hosted) return wrong(hosted.error().message);
    if (*hosted) return submit_reference(**hosted);
    line_ = &*json;
    note_misspelt_keys();

    Candidate candidate;
    candidate.where = where_;
    read_enum("backend", candidate.backend);
    read_problem(candidate);
    read_source(candidate);
    read_wishes(candidate);
    read_turn(candidate);
    read_trials(candidate);
    read_tags(candidate);
    read_label(candidate);
    if (!any_wrong_) finds_.candidate(std::move(candidate));
  }

  bool any_wrong() const { return any_wrong_; }

 private:
  // Submits the reference of a problem against itself, for a line of KernelBench's data set.
  void submit_reference(const HostedProblem& problem) {
    if (!options_.subset.has(problem.level, problem.id, 0)) return;
    const FileRef file{problem.file, where_, problem.code};
    finds_.candidate(reference_candidate(problem.level, problem.id, file, problem.code));
  }

  void wrong(const std::string& sentence) {
    finds_.mistake(where_ + ": " + sentence);
    any_wrong_ = true;
  }

  // Returns the text of a key, or a null pointer where the key is absent. Reports a mistake where it is no text.
  const std::string* text(const char* key) {
    const Json* json = line_->find(key);
    if (json != nullptr && json->text() == nullptr)
      wrong(std::string(key) + " must be a text, got " + described(*json));
    return json == nullptr ? nullptr : json->text();
  }
  void read_text(const char* key, std::string& value) {
    if (const std::string* given = text(key)) value = *given;
  }
  template <NamedEnum E>
  void read_enum(const char* key, std::optional<E>& value) {
    const std::string* name = text(key);
    if (name == nullptr) return;
    value = parse_enum<E>(*name);
    if (!value) wrong(std::string(key) + " must be one of " + known_names<E>() + ", got " + described(Json{*name}));
  }
  void read_tolerance(const char* key, std::optional<double>& value) {
    const Json* json = line_->find(key);
    if (json == nullptr) return;
    if (json->floating() != nullptr) value = *json->floating();
    if (json->integer() != nullptr) value = static_cast<double>(*json->integer());
    if (!value || !(*value >= 0 && *value <= 1))
      wrong(std::string(key) + " must be a number from 0 to 1, got " + described(*json));
  }

  void read_problem(Candidate& candidate) {
    const std::string* written = text("problem");
    if (line_->find("problem_source") != nullptr) return read_problem_source(candidate, written);
    if (line_->find("problem") == nullptr)
      return wrong("problem is missing: the path of its file, or its text as problem_source");
    if (written == nullptr) return;  // text() has reported the mistake
    if (written->empty()) return wrong("problem is empty: the path of its file is needed");
    const auto problem = find_problem(*written, base_, options_.problems);
    if (!problem) return wrong("problem " + problem.error().message);
    candidate.problem = problem->file;
    candidate.problem_name = problem->name;
  }

  void read_problem_source(Candidate& candidate, const std::string* name) {
    const std::string* code = text("problem_source");
    if (code == nullptr) return;  // text() has reported the mistake
    const fs::path given = name == nullptr || fs::path(*name).filename().empty() ? "problem.py" : *name;
    candidate.problem = {given.filename().replace_extension(".py").string(), where_, *code};
    candidate.problem_name = fs::path(given).replace_extension().string();
  }

  // Reads the files of a submission that has several. The first is the entry.
  void read_files(Candidate& candidate, const Json& files) {
    const JsonObject* named = files.object();
    if (named == nullptr || named->empty())
      return wrong("files must be an object of texts by file name, got " + described(files));
    for (const auto& [name, content] : *named) {
      if (content.text() == nullptr)
        return wrong("files must be an object of texts by file name, got " + described(content) + " for " + name);
      candidate.files.push_back({name, where_, *content.text()});
    }
  }

  // Returns what follows the sentence about a missing source: which key of the line may hold it.
  std::string other_word_for_source() const {
    for (const auto& [key, value] : *line_->object()) {
      const auto other = kOtherWords.find(key);
      if (other != kOtherWords.end() && (other->second == "source" || other->second == "path"))
        return "; the key '" + key + "' is unknown, did you mean " + other->second + "?";
    }
    return "";
  }

  void read_source(Candidate& candidate) {
    const std::string* path = text("path");
    const std::string* source = text("source");
    const std::optional<std::string> contract = this->contract();
    const Json* files = line_->find("files");
    if ((path != nullptr) + (source != nullptr) + (files != nullptr) != 1)
      return wrong("one of path, source and files is needed" +
                   (path == nullptr && source == nullptr && files == nullptr ? other_word_for_source() : ""));
    if (path != nullptr && path->empty())
      return wrong("path is empty: the path of a kernel is needed, or its text as source");
    if (files != nullptr) {
      read_files(candidate, *files);
      if (candidate.files.empty()) return;  // read_files() has reported the mistake
    } else if (path != nullptr) {
      const fs::path file = base_ / *path;
      candidate.files = contract ? std::vector{file_ref(file)} : source_files(file);
    } else if (!contract && !candidate.backend && is_torch_extension(*source)) {
      candidate.files = extension_files({"submission.cu", fs::path(where_), *source});
    } else {
      // A source with an IOContract is CUDA unless the text shows that it is Python.
      const bool is_cuda = candidate.backend
                               ? candidate.backend == Backend::cuda
                               : line_->find("io") != nullptr && recognise_backend("", *source) == Backend::torch;
      const fs::path place = where_;
      candidate.files = {{is_cuda ? "submission.cu" : "submission.py", place, *source}};
      if (is_cuda && !contract) return wrong("io is missing: a CUDA source needs its IOContract");
    }
    const fs::path entry = candidate.files[0].name;
    if (contract)
      candidate.files.push_back({fs::path(entry).replace_extension(".json").string(), where_ + ": io", *contract});
  }

  // Notes a key that is ignored but looks like a known one, once for each input. All keys of params are kq's own.
  void note_misspelt_keys() {
    for (const auto& [key, meant] : unknown_keys(*line_->object())) {
      if (meant.empty() || unknown_keys_.size() >= kUnknownKeysMax || !unknown_keys_.insert(key).second) continue;
      finds_.note(where_ + ": the key '" + key + "' is unknown and ignored; did you mean " + meant + "?");
    }
  }

  // Returns the members "io" and "metadata" in the form of X.json, or nothing where neither is present.
  std::optional<std::string> contract() {
    const Json* io = line_->find("io");
    const Json* metadata = line_->find("metadata");
    for (const auto& [key, json] : {std::pair{"io", io}, std::pair{"metadata", metadata}}) {
      if (json != nullptr && json->object() == nullptr)
        wrong(std::string(key) + " must be an object, got " + described(*json));
    }
    if (any_wrong_ || (io == nullptr && metadata == nullptr)) return std::nullopt;
    if (metadata == nullptr) return to_text(*io);
    JsonObject both = io == nullptr ? JsonObject() : *io->object();
    both.emplace_back("metadata", *metadata);
    return to_text(Json{std::move(both)});
  }

  void read_wishes(Candidate& candidate) {
    std::optional<DeviceWish> device;
    std::optional<Precision> precision;
    read_enum("device", device);
    read_enum("precision", precision);
    candidate.device = device.value_or(candidate.device);
    candidate.precision = precision.value_or(candidate.precision);
    std::optional<Baseline> baseline;
    read_enum("baseline", baseline);
    candidate.trials.baseline = baseline.value_or(candidate.trials.baseline);
    std::optional<Profiler> profile;
    read_enum("profile", profile);
    candidate.trials.profile = profile.value_or(candidate.trials.profile);
    std::optional<Streams> streams;
    read_enum("streams", streams);
    candidate.trials.streams = streams.value_or(candidate.trials.streams);
    std::optional<Graphs> graphs;
    read_enum("graphs", graphs);
    candidate.trials.graphs = graphs.value_or(candidate.trials.graphs);
    if (const Json* needed = line_->find("need_extensions")) {
      if (needed->boolean() == nullptr)
        return wrong("need_extensions must be true or false, got " + described(*needed));
      candidate.trials.need_extensions = *needed->boolean();
    }
    read_text("gpu", candidate.gpu_model);
    read_text("author", candidate.author);
    read_tolerance("rtol", candidate.rtol);
    read_tolerance("atol", candidate.atol);
    std::vector<std::string> workloads;
    read_texts("workloads", workloads);
    for (const std::string& name : workloads) candidate.workloads.push_back({name});
    read_truth(candidate.truth);
  }

  // Reads how the submission is measured by the truth.
  void read_truth(TruthRule& truth) {
    for (const auto& [key, factor] : {std::pair{"truth_rms", &truth.rms}, std::pair{"truth_max", &truth.max}}) {
      const Json* json = line_->find(key);
      if (json == nullptr) continue;
      const double number = json->floating() != nullptr  ? *json->floating()
                            : json->integer() != nullptr ? static_cast<double>(*json->integer())
                                                         : -1;
      if (!(number >= 0 && number <= kTruthFactorMax)) {
        wrong(std::string(key) + " must be a number from 0 to " + std::to_string(static_cast<int>(kTruthFactorMax)) +
              ", got " + described(*json));
      }
      *factor = number;
    }
    if (const Json* used = line_->find("truth")) {
      if (used->boolean() == nullptr) return wrong("truth must be true or false, got " + described(*used));
      truth.is_used = *used->boolean();
    }
    std::optional<AllowedPrecision> allowed;
    read_enum("allow_precision", allowed);
    truth.allowed = allowed.value_or(truth.allowed);
  }

  // Reads when and where the job may run.
  void read_turn(Candidate& candidate) {
    std::optional<Priority> priority;
    read_enum("priority", priority);
    candidate.priority = priority.value_or(candidate.priority);
    read_when("not_before", candidate.not_before_ms);
    read_when("deadline", candidate.deadline_ms);
    read_limit(candidate);
    read_texts("require", candidate.labels);
  }
  void read_texts(const std::string& key, std::vector<std::string>& values) {
    const Json* texts = line_->find(key);
    if (texts == nullptr) return;
    if (texts->array() == nullptr) return wrong(key + " must be an array of texts, got " + described(*texts));
    for (const Json& one : *texts->array()) {
      if (one.text() == nullptr) return wrong(key + " must be an array of texts, got " + described(*texts));
      values.push_back(*one.text());
    }
  }
  void read_when(const char* key, std::int64_t& value) {
    const std::string* given = text(key);
    if (given == nullptr) return;
    const auto when = parse_when(*given, options_.now_ms);
    if (!when) return wrong(std::string(key) + " " + when.error().message);
    value = *when;
  }

  void read_limit(Candidate& candidate) {
    const Json* json = line_->find("time_limit_s");
    if (json == nullptr) return;
    std::optional<double> seconds;
    if (json->floating() != nullptr) seconds = *json->floating();
    if (json->integer() != nullptr) seconds = static_cast<double>(*json->integer());
    const auto limit = limit_ms_of(seconds.value_or(0));
    if (!limit) return wrong("time_limit_s " + limit.error().message + ", got " + described(*json));
    candidate.time_limit_ms = *limit;
  }

  void read_trials(Candidate& candidate) {
    const Json* params = line_->find("params");
    if (params == nullptr) return;
    if (params->object() == nullptr)
      return wrong("params must be an object {correctness, warmup, timed}, got " + described(*params));
    const auto read = [&](const char* key, std::uint32_t min, std::uint32_t& value) {
      const Json* json = params->find(key);
      if (json == nullptr) return;
      if (json->integer() != nullptr && *json->integer() >= min && *json->integer() <= kTrialsMax) {
        value = static_cast<std::uint32_t>(*json->integer());
      } else {
        wrong("params." + std::string(key) + " must be an integer from " + std::to_string(min) + " to " +
              std::to_string(kTrialsMax) + ", got " + described(*json));
      }
    };
    read("correctness", 1, candidate.trials.correctness);
    read("warmup", 0, candidate.trials.warmup);
    read("timed", 0, candidate.trials.timed);
  }

  void read_tags(Candidate& candidate) {
    const Json* tags = line_->find("tags");
    if (tags == nullptr) return;
    if (tags->object() == nullptr) return wrong("tags must be an object of texts, got " + described(*tags));
    for (const auto& [name, value] : *tags->object()) {
      if (value.array() != nullptr || value.object() != nullptr) {
        wrong("tags." + name + " must be a text, got " + described(value));
      } else {
        candidate.tags[name] = value.text() != nullptr ? *value.text() : to_text(value);
      }
    }
  }

  void read_label(Candidate& candidate) {
    if (const std::string* id = text("id")) {
      candidate.label = *id;
    } else if (const Json* path = line_->find("path"); path != nullptr && path->text() != nullptr) {
      candidate.label = fs::path(*path->text()).replace_extension().string();
    } else {
      candidate.label = candidate.problem_name + "/line_" + std::to_string(number_);
    }
  }

  std::string where_;
  const fs::path& base_;  // the directory of relative paths
  std::size_t number_;
  const InputOptions& options_;
  const CandidateSink& finds_;
  std::set<std::string>& unknown_keys_;
  const Json* line_ = nullptr;
  bool any_wrong_ = false;
};

}  // namespace

std::string recognise_jsonl(const fs::path& input) {
  if (is_file(input) && input.extension() == ".jsonl") return "its name ends in .jsonl";
  return is_file(input / kFileName) ? "it holds a " + std::string(kFileName) : "";
}

std::vector<UnknownKey> unknown_keys(const JsonObject& line) {
  std::vector<UnknownKey> unknown;
  for (const auto& [key, value] : line) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) unknown.push_back({key, meant_by(key)});
    if (key != "params" || value.object() == nullptr) continue;
    for (const auto& [inner, number] : *value.object()) {
      if (std::ranges::find(kTrialKeys, inner) == kTrialKeys.end())
        unknown.push_back({"params." + inner, "correctness, warmup or timed"});
    }
  }
  return unknown;
}

void read_jsonl(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  const fs::path file = is_file(input) ? input : input / kFileName;
  const std::string name = options.input_name.empty() ? file.string() : options.input_name;
  const fs::path base = options.input_name.empty() ? file.parent_path() : fs::path();
  LineReader lines(file);
  if (!lines.opened()) return sink.mistake(sys::error_text(name));
  if (options.problem) sink.mistake(name + ": --problem serves single files, each line here names its own");
  bool any = false;
  std::set<std::string> unknown_keys;
  std::string_view line;
  for (LineReader::Got got = lines.next(line); got != LineReader::Got::end && !sink.stopped(); got = lines.next(line)) {
    const std::string where = name + ":" + std::to_string(lines.number());
    if (got == LineReader::Got::too_long) {
      sink.left_out();
      sink.mistake(where + ": the line has more than " + std::to_string(kLineBytesMax) +
                   " bytes; put the source into a file and name its path");
    } else if (line.find_first_not_of(" \t") != std::string_view::npos) {
      LineParser parser(where, base, lines.number(), options, sink, unknown_keys);
      parser.parse(line);
      if (parser.any_wrong()) sink.left_out();
    } else {
      continue;
    }
    any = true;
  }
  if (lines.failed()) sink.mistake(name + " cannot be read to its end");
  if (!any) sink.mistake(name + " holds no submissions");
}

}  // namespace kq::producer
