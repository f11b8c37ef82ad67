#include "producer/formats/single_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include "producer/formats/problems.h"
#include "producer/io_contract.h"
#include "producer/recognise.h"
#include "producer/settings.h"

namespace kq {
namespace {

// Settings that a sweep over kernels of others must not take from their text.
constexpr std::string_view kNotItsOwn[] = {"rtol", "atol", "correctness"};

std::vector<HeaderSetting> header_of(const std::filesystem::path& path) {
  std::string text(kHeaderBytesMax, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return read_header(text);
}

}  // namespace

std::string why_single_file(const std::filesystem::path& input) {
  const bool is_kernel = is_file(input) && (input.extension() == ".py" || is_device_code(input.filename().string()));
  return is_kernel ? "its name ends in " + input.extension().string() : "";
}

std::vector<FileRef> source_files(const std::filesystem::path& entry) {
  std::vector<FileRef> files{file_ref(entry)};
  const FileRef contract = file_ref(std::filesystem::path(entry).replace_extension(".json"));
  if (is_device_code(entry.filename().string())) files.push_back(contract);
  if (entry.extension() == ".py" && is_file(contract.path)) {
    const auto text = contents(contract);
    if (text && is_io_contract(*text)) files.push_back(contract);
  }
  return files;
}

void read_single_file(const std::filesystem::path& input, const InputOptions& options, const Finds& finds) {
  const std::string name = options.stand_in.empty() ? input.string() : options.stand_in;
  bool any_wrong = false;
  const auto wrong = [&](const std::string& sentence) {
    any_wrong = true;
    finds.mistake(sentence);
  };
  Candidate candidate;
  candidate.where = name;
  candidate.label = options.stand_in.empty() ? input.stem().string() : "stdin";
  candidate.files = source_files(input);
  if (!options.stand_in.empty()) candidate.files.front().name = "submission" + input.extension().string();
  const std::filesystem::path base = options.stand_in.empty() ? input.parent_path() : "";
  std::string problem_written;
  for (const HeaderSetting& setting : header_of(input)) {
    const std::string where = name + ":" + std::to_string(setting.line);
    if (std::ranges::find(kNotItsOwn, setting.key) != std::end(kNotItsOwn)) {
      wrong(where + ": kq: " + setting.key + " is not for a kernel to say, as it decides what counts as right; a line of JSON Lines may have it");
    } else if (const auto complaint = set_by_name(candidate, setting.key, setting.value, options.now_ms)) {
      wrong(where + ": kq: " + *complaint);
    } else {
      candidate.taken.push_back(setting.key + "=" + setting.value + " (" + where + ")");
    }
    if (setting.key == "problem") problem_written = setting.value;
  }
  if (!options.problem && problem_written.empty()) {
    return wrong(name + ": which problem does it solve? say --problem FILE, or kq: problem=FILE in a comment at its head");
  }
  const auto problem = options.problem ? find_problem(*options.problem, "", options.problems) : find_problem(problem_written, base, options.problems);
  if (!problem) return wrong((options.problem ? "--problem " : name + ": kq: problem ") + problem.error().message);
  candidate.problem = problem->file;
  candidate.problem_name = problem->name;
  if (!any_wrong) finds.candidate(std::move(candidate));
}

}  // namespace kq
