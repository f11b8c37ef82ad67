#include "producer/formats/popcorn/problem_set.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/enum_names.h"
#include "producer/formats/file_ref.h"
#include "sys/clock.h"

namespace kq::producer::popcorn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTaskFile = "task.yml";
constexpr std::string_view kWorldSize = "world_size";
constexpr std::string_view kSubmissionSource = "@SUBMISSION@";

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

// Returns the value of a plain scalar as YAML 1.2 reads it: null, booleans and numbers, else a text.
Json plain_scalar(const std::string& text) {
  static const std::regex integer("[-+]?[0-9]+"), real(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  if (text.empty() || text == "~" || text == "null") return Json{nullptr};
  if (text == "true" || text == "True" || text == "false" || text == "False") return Json{lower(text) == "true"};
  try {
    if (std::regex_match(text, integer)) return Json{static_cast<std::int64_t>(std::stoll(text))};
    if (std::regex_match(text, real)) return Json{std::stod(text)};
  } catch (const std::out_of_range&) {
  }
  return Json{text};
}

Json json_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return node.Tag() == "!" ? Json{node.Scalar()} : plain_scalar(node.Scalar());
    case YAML::NodeType::Sequence: {
      JsonArray items;
      for (const YAML::Node& item : node) items.push_back(json_of(item));
      return Json{std::move(items)};
    }
    case YAML::NodeType::Map: {
      JsonObject members;
      for (const auto& one : node) members.emplace_back(one.first.as<std::string>(), json_of(one.second));
      return Json{std::move(members)};
    }
    default:
      return Json{nullptr};
  }
}

// Thrown while one file is read, with a sentence about it.
struct Mistake {
  std::string sentence;
};

[[noreturn]] void fail(const fs::path& file, const YAML::Node& at, const std::string& sentence) {
  throw Mistake{file.string() + ":" + std::to_string(at.Mark().line + 1) + ": " + sentence};
}

YAML::Node load(const fs::path& file) {
  const auto text = contents(file_ref(file));
  if (!text) throw Mistake{text.error().message};
  try {
    YAML::Node root = YAML::Load(*text);
    if (!root.IsMap()) throw Mistake{file.string() + ": the file must be a map of settings"};
    return root;
  } catch (const YAML::Exception& error) {
    throw Mistake{file.string() + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg};
  }
}

std::string text_in(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  return value && value.IsScalar() ? value.Scalar() : "";
}

// Reads task.yml of one problem.
class TaskReader {
 public:
  TaskReader(const fs::path& root, const fs::path& folder, Board& board)
      : root_(root), folder_(folder), file_(folder / kTaskFile), board_(board) {}

  void read() {
    const YAML::Node task = load(file_);
    board_.lang = text_in(task, "lang");
    if (board_.lang != "py" && board_.lang != "cu") throw Mistake{file_.string() + ": lang must be py or cu"};
    if (board_.description.empty()) board_.description = text_in(task, "description");
    if (const YAML::Node config = task["config"]) board_.config = json_of(config);
    if (const YAML::Node seed = task["seed"]; seed && !seed.IsNull()) board_.seed = seed.Scalar();
    board_.is_multi_gpu = task["multi_gpu"] && task["multi_gpu"].as<bool>();
    if (const YAML::Node ranking = task["ranking_by"]) {
      const auto found = parse_enum<Ranking>(ranking.as<std::string>());
      if (!found) fail(file_, ranking, "ranking_by must be last, mean or geom");
      board_.ranking = *found;
    }
    read_limit(task, "test_timeout", board_.test_s);
    read_limit(task, "benchmark_timeout", board_.benchmark_s);
    read_limit(task, "ranked_timeout", board_.ranked_s);
    board_.tests = cases(task, "tests");
    board_.benchmarks = cases(task, "benchmarks");
    if (board_.tests.size() + board_.benchmarks.size() > kCasesMax)
      throw Mistake{file_.string() + ": more than " + std::to_string(kCasesMax) + " tests and benchmarks"};
    if (board_.is_multi_gpu) read_world_sizes();
    read_files(task);
  }

 private:
  void read_world_sizes() {
    for (const std::vector<Json>* list : {&board_.tests, &board_.benchmarks}) {
      for (const Json& one : *list) {
        const Json* const size = one.find(kWorldSize);
        const std::int64_t* const count = size == nullptr ? nullptr : size->integer();
        if (count == nullptr || *count < 1 || *count > std::int64_t{kDeviceCountMax})
          throw Mistake{file_.string() + ": multi_gpu is true, so each test and benchmark needs " +
                        std::string(kWorldSize) + ", a number of GPUs from 1 to " + std::to_string(kDeviceCountMax)};
        board_.device_count = std::max(board_.device_count, static_cast<std::uint32_t>(*count));
      }
    }
  }

  void read_limit(const YAML::Node& task, const char* key, std::uint32_t& seconds) {
    const YAML::Node value = task[key];
    if (!value) return;
    seconds = value.as<std::uint32_t>(0);
    if (seconds == 0) fail(file_, value, std::string(key) + " must be a number of seconds");
  }

  std::vector<Json> cases(const YAML::Node& task, const char* key) {
    std::vector<Json> found;
    const YAML::Node list = task[key];
    if (!list || list.IsNull()) return found;
    if (!list.IsSequence()) fail(file_, list, std::string(key) + " must be a list of maps");
    for (const YAML::Node& one : list) {
      if (!one.IsMap()) fail(file_, one, std::string(key) + " must be a list of maps");
      found.push_back(json_of(one));
    }
    return found;
  }

  void read_files(const YAML::Node& task) {
    const YAML::Node files = task["files"];
    if (!files || !files.IsSequence()) throw Mistake{file_.string() + ": files must be a list of name and source"};
    const std::string main = task["config"] && task["config"].IsMap() ? text_in(task["config"], "main") : "";
    for (const YAML::Node& one : files) {
      const std::string name = one.IsMap() ? text_in(one, "name") : "",
                        source = one.IsMap() ? text_in(one, "source") : "";
      if (name.empty() || source.empty() || name.front() == '.' || name.find('/') != std::string::npos)
        fail(file_, one, "a file has a source, and a name that is no path and not hidden");
      if (source == kSubmissionSource) {
        board_.submission_name = name;
      } else if (name == main) {
        board_.program = BoardFile{name, inside(one, source)};
      } else {
        board_.files.push_back({name, inside(one, source)});
      }
    }
    if (board_.submission_name.empty())
      fail(file_, files, "no file has the source @SUBMISSION@, in whose place the submission is put");
  }

  // Returns the path of a source, which must be inside the checkout.
  fs::path inside(const YAML::Node& at, const std::string& source) {
    std::error_code error;
    const fs::path path = fs::canonical(folder_ / source, error);
    if (error) fail(file_, at, "there is no file " + source);
    const auto [end, _] = std::mismatch(root_.begin(), root_.end(), path.begin(), path.end());
    if (end != root_.end()) fail(file_, at, "the file " + source + " is outside of the checkout");
    return path;
  }

  const fs::path& root_;
  const fs::path folder_;
  const fs::path file_;
  Board& board_;
};

// Returns the sentence with paths that begin in the checkout, because clients read it.
std::string inside_paths(std::string sentence, const fs::path& root) {
  const std::string prefix = root.string() + "/";
  for (std::size_t at = sentence.find(prefix); at != std::string::npos; at = sentence.find(prefix, at))
    sentence.erase(at, prefix.size());
  return sentence;
}

void read_task(const fs::path& root, const fs::path& folder, Board& board) {
  try {
    TaskReader(root, folder, board).read();
  } catch (const Mistake& mistake) {
    board.mistake = inside_paths(mistake.sentence, root);
  } catch (const YAML::Exception& error) {
    const std::string place = (folder / kTaskFile).string() + ":" + std::to_string(error.mark.line + 1) + ": ";
    board.mistake = inside_paths(place + error.msg, root);
  }
}

// Adds the boards of a file such as SET.yaml. A file without a list of problems is none of a set.
void add_set(const fs::path& root, const fs::path& problems, const fs::path& file, std::map<std::string, Board>& boards,
             std::set<fs::path>& named) {
  try {
    const YAML::Node set = load(file);
    if (!set["problems"] || !set["problems"].IsSequence()) return;
    for (const YAML::Node& one : set["problems"]) {
      const std::string name = one.IsMap() ? text_in(one, "name") : "",
                        directory = one.IsMap() ? text_in(one, "directory") : "";
      if (name.empty() || directory.empty()) continue;
      const fs::path folder = (problems / directory).lexically_normal();
      if (boards.size() >= kBoardsMax) continue;
      named.insert(folder);
      Board board{.name = name, .deadline = text_in(one, "deadline")};
      read_task(root, folder, board);
      boards.try_emplace(lower(name), std::move(board));
    }
  } catch (const Mistake&) {  // a file of another form
  } catch (const YAML::Exception&) {
  }
}

// Returns the folders with a task.yml and the files with the ending .yaml directly in the folder of problems.
std::pair<std::vector<fs::path>, std::vector<fs::path>> found_in(const fs::path& problems) {
  std::vector<fs::path> folders, sets;
  std::error_code error;
  for (fs::recursive_directory_iterator at(problems, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    const fs::path name = at->path().filename();
    std::error_code unreadable;  // a link that leads nowhere, for example
    if (at->is_directory(unreadable) && (name.string().starts_with('.') || at.depth() >= int{kProblemFoldersDepthMax}))
      at.disable_recursion_pending();
    if (name == kTaskFile) folders.push_back(at->path().parent_path().lexically_normal());
    if (at.depth() == 0 && name.extension() == ".yaml") sets.push_back(at->path());
  }
  std::ranges::sort(folders);
  std::ranges::sort(sets);
  return {folders, sets};
}

}  // namespace

bool is_problem(const fs::path& folder) {
  return is_file(folder / kTaskFile);
}

Expected<Board> read_board(const fs::path& folder) {
  std::error_code error;
  const fs::path place = fs::canonical(folder, error);
  if (error || !is_problem(place)) return bad_input(folder.string() + " has no " + std::string(kTaskFile));
  Board board{.name = place.filename().string()};
  read_task(place.parent_path().parent_path(), place, board);
  if (!board.mistake.empty()) return bad_input(board.mistake);
  return board;
}

Expected<std::vector<Board>> read_boards(const fs::path& checkout) {
  std::error_code error;
  const fs::path root = fs::canonical(checkout, error);
  if (error || !fs::is_directory(root, error)) return bad_input("--popcorn " + checkout.string() + " is no folder");
  const fs::path problems = fs::is_directory(root / "problems", error) ? root / "problems" : root;
  const auto [folders, sets] = found_in(problems);
  std::map<std::string, Board> boards;
  std::set<fs::path> named;
  for (const fs::path& file : sets) add_set(root, problems, file, boards, named);
  for (const fs::path& folder : folders) {
    if (named.contains(folder) || boards.size() >= kBoardsMax) continue;
    Board board{.name = folder.filename().string()};
    read_task(root, folder, board);
    boards.try_emplace(lower(board.name), std::move(board));
  }
  if (boards.empty())
    return bad_input("--popcorn " + checkout.string() + " has no folder with a " + std::string(kTaskFile));
  std::vector<Board> all;
  for (auto& [_, board] : boards) {
    board.id = static_cast<std::int64_t>(all.size()) + 1;
    all.push_back(std::move(board));
  }
  return all;
}

const Board* find_board(const std::vector<Board>& boards, std::string_view name) {
  const auto found = std::ranges::find_if(boards, [&](const Board& one) { return lower(one.name) == lower(name); });
  return found == boards.end() ? nullptr : &*found;
}

Expected<std::unique_ptr<ProblemSet>> ProblemSet::open(fs::path checkout) {
  std::unique_ptr<ProblemSet> set(new ProblemSet(std::move(checkout)));
  KQ_TRY(set->boards());
  return set;
}

Expected<std::shared_ptr<const std::vector<Board>>> ProblemSet::boards() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ms = sys::monotonic_now_ms();
  if (boards_ == nullptr || now_ms - read_at_ms_ > kProblemSetAgeMsMax) {
    KQ_TRY_VALUE(auto read, read_boards(checkout_));
    boards_ = std::make_shared<const std::vector<Board>>(std::move(read));
    read_at_ms_ = now_ms;
  }
  return boards_;
}

}  // namespace kq::producer::popcorn
