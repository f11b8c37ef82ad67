#include "producer/formats/kernels.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <vector>

#include "producer/client/sentences.h"
#include "producer/formats/formats.h"
#include "producer/formats/single_file.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDepthMax = 32;  // levels of directories below an input

// The formats of which a directory below an input may be. A directory of problems is no such format here, because
// kernels are often kept under the names of their problems: level1/19_ReLU.py.
constexpr std::string_view kFormatsBelow[] = {"jsonl", "kernelbench_run", "backendbench", "flashinfer"};

// A kernel, or a directory that another format reads.
struct Entry {
  fs::path path;
  const Format* format = nullptr;  // null for a kernel
};

// Receives the entries in their order. Returns false to end the search.
using VisitEntry = std::function<bool(const Entry& entry)>;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

const Format* format_below(const fs::path& folder) {
  for (const Format& format : formats()) {
    if (std::ranges::find(kFormatsBelow, format.name) != std::end(kFormatsBelow) && !format.recognise(folder).empty())
      return &format;
  }
  return nullptr;
}

// Returns whether the name would be that of a kernel in lower case, such as A.PY.
bool is_kernel_in_capitals(const fs::path& path) {
  std::string name = path.filename().string();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return is_named_as_kernel(name);
}

// Visits the kernels of a directory, then those of the directories in it. A path with the name of a kernel that is no
// regular file, such as a broken link or a pipe, is included, so that reading it reports the error. Returns whether the
// search should go on.
// `passed_over` gets the files whose names are those of kernels but for capitals.
bool each_entry(const fs::path& folder, std::size_t depth, const VisitEntry& visit,
                const std::function<void(const fs::path&)>& passed_over) {
  std::vector<fs::path> kernels, folders;
  std::error_code wrong;
  for (fs::directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    std::error_code ignored;
    const fs::path& path = entry->path();
    if (is_hidden(path)) continue;
    if (!fs::is_directory(path, ignored)) {
      if (is_package_marker(path)) continue;
      if (is_named_as_kernel(path)) {
        kernels.push_back(path);
      } else if (is_kernel_in_capitals(path)) {
        passed_over(path);
      }
    } else if (depth < kDepthMax && !entry->is_symlink(ignored) && path.filename() != "__pycache__") {
      folders.push_back(path);
    }
  }
  std::sort(kernels.begin(), kernels.end());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& kernel : kernels) {
    if (!visit({.path = kernel})) return false;
  }
  for (const fs::path& below : folders) {
    const Format* format = format_below(below);
    if (format != nullptr ? !visit({.path = below, .format = format})
                          : !each_entry(below, depth + 1, visit, passed_over))
      return false;
  }
  return true;
}

// Counts paths that are left out, and remembers the first for the note about them.
struct LeftOut {
  std::size_t count = 0;
  fs::path first;

  void add(const fs::path& path) {
    if (count++ == 0) first = path;
  }
};

}  // namespace

std::string recognise_kernels(const fs::path& input) {
  fs::path first;
  const auto find_first = [&](const Entry& entry) {
    first = entry.path;
    return false;
  };
  each_entry(input, 0, find_first, [](const fs::path&) {});
  return first.empty() ? "" : "it holds " + first.lexically_relative(input).string();
}

void read_kernels(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  LeftOut problems, capitals;
  const auto read = [&](const Entry& entry) {
    if (sink.stopped()) return false;
    if (entry.format != nullptr) {
      entry.format->read(entry.path, options, sink);
      return true;
    }
    if (!is_file(entry.path)) {
      if (const auto text = contents(file_ref(entry.path)); !text) {
        sink.left_out();
        sink.mistake(text.error().message);
        return true;
      }
    }
    if (is_problem_among_kernels(entry.path, options)) {
      problems.add(entry.path);
    } else {
      read_single_file(entry.path, options, sink);
    }
    return true;
  };
  each_entry(input, 0, read, [&](const fs::path& path) { capitals.add(path); });
  if (capitals.count > 0)
    sink.note(input.string() + ": " + counted(capitals.count, "file") + (capitals.count == 1 ? " is" : " are") +
              " passed over, because endings are written in small letters: " + capitals.first.string());
  if (problems.count > 0)
    sink.note(input.string() + ": " + counted(problems.count, "file") +
              (problems.count == 1 ? " is a problem and no kernel: " : " are problems and no kernels, such as ") +
              problems.first.string() + "; a kernel defines ModelNew");
}

}  // namespace kq::producer
