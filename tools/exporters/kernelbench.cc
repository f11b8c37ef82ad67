// Writes a run as the folder of files that KernelBench's own scripts read:
//
//   eval_results.json        the result of every sample
//   pass_at_k_results.json   pass@k, if a problem has more than one sample
//   timing/GPU/*.json        the times of the references, all levels in one file; a file for each device model, and
//                            another for references under torch.compile
//
// If the run has several levels, the first two files are in folders level1, level2, ... Times are in milliseconds with
// all digits.
//
// Rows come in the order of labels, but results are ordered by problem and sample. The text of each result is therefore
// appended to a temporary file without a name, and only its position is kept in memory until finish().
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "producer/formats/sample_name.h"
#include "sys/error_text.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"
#include "tools/exporters/exporter.h"
#include "tools/kernelbench/figures.h"
#include "tools/kernelbench/outcome.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntryStep = 4;
constexpr std::size_t kPassAtKStep = 2;
constexpr const char* kBaselineFiles[] = {"baseline_time_torch.json",
                                          "baseline_time_torch_compile_inductor_default.json"};  // index: Baseline

// The position of one result in the temporary file.
struct Entry {
  std::uint32_t level, problem, sample, bytes;
  std::uint64_t offset;
};

producer::Json null_stats(const DeviceInfo& device) {
  return producer::Json{producer::JsonObject{{"mean", producer::Json{nullptr}},
                                             {"std", producer::Json{nullptr}},
                                             {"min", producer::Json{nullptr}},
                                             {"max", producer::Json{nullptr}},
                                             {"num_trials", producer::Json{std::int64_t{0}}},
                                             {"hardware", producer::Json{device.model}},
                                             {"device", producer::Json{std::string(to_string(device.kind))}}}};
}

std::string file_name_of(const std::string& device_model) {
  std::string name = device_model;
  for (char& c : name) c = c == '/' || c == ' ' ? '_' : c;
  return name;
}

class KernelBenchExport final : public Export {
 public:
  KernelBenchExport(const ExportOptions& options, const Selection& selection, int entries_fd, bool created_folder)
      : folder_(options.out),
        options_(options),
        selection_(selection),
        entries_fd_(entries_fd),
        made_folder_(created_folder) {}
  ~KernelBenchExport() override {
    ::close(entries_fd_);
    std::error_code is_in_use;  // a folder with files is not removed
    if (made_folder_) fs::remove(folder_, is_in_use);
  }

  Expected<void> add(const RunRow& row) override {
    if (!selection_.matches(row)) return {};
    const auto place = figures_.add(row, options_.strict);
    switch (place.added) {
      case KernelBenchFigures::Added::no_problem:
        ++no_problem_count_;
        return {};
      case KernelBenchFigures::Added::no_result:
        ++no_result_count_;
        return {};
      case KernelBenchFigures::Added::only_compiled:
        ++only_compiled_count_;
        return {};
      case KernelBenchFigures::Added::older_result:
        ++older_count_;
        return {};
      case KernelBenchFigures::Added::newer_result:
        ++older_count_;
        break;
      case KernelBenchFigures::Added::result:
        break;
    }
    ++row_count_;
    if (devices_.size() < kDevicesNoted) devices_.insert(row.result->device.model);
    KernelBenchOutcome outcome = kernelbench_outcome(row, options_.strict);
    std::get<producer::JsonObject>(outcome.metadata.value)
        .emplace_back(producer::kKernelBenchLevelKey, producer::Json{std::int64_t{place.level}});
    const std::string text = producer::indented_text(
        producer::Json{producer::JsonObject{{"sample_id", producer::Json{std::int64_t{place.sample}}},
                                            {"compiled", producer::Json{outcome.compiled}},
                                            {"correctness", producer::Json{outcome.correct}},
                                            {"metadata", std::move(outcome.metadata)},
                                            {"runtime", producer::Json{outcome.runtime_ms}},
                                            {"runtime_stats", std::move(outcome.runtime_stats)}}},
        kEntryStep, 2 * kEntryStep);
    entries_.push_back(
        {place.level, place.problem, place.sample, static_cast<std::uint32_t>(text.size()), entries_bytes_});
    return append_entry(text);
  }

  Expected<void> finish() override {
    sort_entries();
    const std::vector<std::uint32_t> levels = figures_.levels();
    if (options_.merge && levels.size() > 1)
      return bad_input(
          "--merge needs a run of one level, because KernelBench's file has one; choose a level with "
          "--where label~level_1_");
    for (const std::uint32_t level : levels) {
      if (options_.merge) {
        if (const auto merged = merge_results(level); !merged) return merged;
      }
      const fs::path folder = levels.size() == 1 ? folder_ : folder_ / ("level" + std::to_string(level));
      if (const auto written = write_results(folder, level); !written) return written;
      if (const auto written = write_pass_at_k(folder, level); !written) return written;
    }
    return write_baselines();
  }

  std::uint64_t row_count() const override { return row_count_; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    const auto note = [&](std::uint64_t n, const std::string& why) {
      if (n > 0) notes.push_back(std::to_string(n) + (n == 1 ? " row was" : " rows were") + " left out: " + why);
    };
    note(no_result_count_,
         "the job is not finished, or its verdict says nothing about the kernel (cancelled, expired, abandoned, "
         "too_large, ...)");
    note(no_problem_count_,
         "the job has neither the tags level and problem_id, nor a label or problem named as in KernelBench");
    note(only_compiled_count_,
         "the verdict is compiled_only, so no device has run the kernel; connect a worker with a GPU and submit again");
    note(older_count_, "a newer row of the run has the same level, problem and sample");
    notes.insert(notes.end(), warnings_.begin(), warnings_.end());
    if (merged_count_ > 0)
      notes.push_back(std::to_string(merged_count_) + (merged_count_ == 1 ? " result" : " results") +
                      " of other samples were kept in eval_results.json");
    if (devices_.size() > 1)
      notes.push_back(
          "the run has results of several device models, but KernelBench's scripts expect one; select one with --where "
          "device_model=NAME");
    return notes;
  }

 private:
  static constexpr std::size_t kDevicesNoted = 2;

  Expected<void> append_entry(std::string_view text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(entries_fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return our_fault(sys::error_text("cannot write in " + folder_.string()));
      done += static_cast<std::size_t>(n);
    }
    entries_bytes_ += text.size();
    return {};
  }

  Expected<std::string> read_back(const Entry& entry) const {
    std::string text(entry.bytes, '\0');
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n =
          ::pread(entries_fd_, text.data() + done, text.size() - done, static_cast<off_t>(entry.offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return our_fault("cannot read the temporary file in " + folder_.string());
      done += static_cast<std::size_t>(n);
    }
    return text;
  }

  Expected<OutputFile> open(const fs::path& path) const {
    std::error_code wrong;
    fs::create_directories(path.parent_path(), wrong);
    if (wrong) return bad_input("cannot create the folder " + path.parent_path().string() + ": " + wrong.message());
    return OutputFile::open(path.string());
  }

  Expected<void> write_whole(const fs::path& path, const std::string& text) const {
    Expected<OutputFile> file = open(path);
    if (!file) return failure(file.error());
    if (const auto written = file->write(text); !written) return written;
    return file->commit();
  }

  // Adds the results of an existing eval_results.json whose samples the run does not have.
  Expected<void> merge_results(std::uint32_t level) {
    const fs::path path = folder_ / "eval_results.json";
    KQ_TRY_VALUE(const auto results, read_kernelbench_results(path));
    const std::vector<Entry> of_run = entries_;  // sorted
    for (const auto& [problem, sample, result] : results) {
      if (const auto other = producer::level_of_result(result); other && *other != level)
        return bad_input(path.string() + " has results of level " + std::to_string(*other) + ", and those of level " +
                         std::to_string(level) + " would take their places; write them to another folder with -o");
      const Entry entry{level, problem, sample, 0, 0};
      if (std::binary_search(of_run.begin(), of_run.end(), entry, is_before)) continue;
      figures_.add_result(level, problem, sample, result);
      const std::string text = producer::indented_text(result, kEntryStep, 2 * kEntryStep);
      entries_.push_back({level, problem, sample, static_cast<std::uint32_t>(text.size()), entries_bytes_});
      if (const auto kept = append_entry(text); !kept) return kept;
      ++merged_count_;
    }
    sort_entries();
    return {};
  }

  static bool is_before(const Entry& a, const Entry& b) {
    return std::tie(a.level, a.problem, a.sample) < std::tie(b.level, b.problem, b.sample);
  }
  // Sorts the entries by level, problem and sample. Of several entries of one sample only the last that was written is
  // kept, which belongs to the newest job.
  void sort_entries() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return is_before(a, b) || (!is_before(b, a) && a.offset > b.offset);
    });
    const auto is_same = [](const Entry& a, const Entry& b) { return !is_before(a, b) && !is_before(b, a); };
    entries_.erase(std::unique(entries_.begin(), entries_.end(), is_same), entries_.end());
  }

  Expected<void> write_results(const fs::path& folder, std::uint32_t level) const {
    Expected<OutputFile> file = open(folder / "eval_results.json");
    if (!file) return failure(file.error());
    const std::string step(kEntryStep, ' ');
    const Entry* last = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.level != level) continue;
      const bool is_same = last != nullptr && last->problem == entry.problem;
      std::string lead = last == nullptr ? "{\n" : is_same ? ",\n" : "\n" + step + "],\n";
      if (!is_same) lead += step + "\"" + std::to_string(entry.problem) + "\": [\n";
      const Expected<std::string> text = read_back(entry);
      if (!text) return failure(text.error());
      if (const auto written = file->write(lead + step + step + *text); !written) return written;
      last = &entry;
    }
    if (const auto written = file->write(last == nullptr ? "{}" : "\n" + step + "]\n}"); !written) return written;
    return file->commit();
  }

  // Writes pass_at_k_results.json if a problem has more than one sample, as KernelBench does.
  Expected<void> write_pass_at_k(const fs::path& folder, std::uint32_t level) {
    for (const KernelBenchProblem* problem : figures_.problems()) {
      if (problem->level != level || problem->sample_count < 2) continue;
      const std::vector<std::string> warnings = figures_.pass_at_k_warnings(level, options_.pass_at_k);
      warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
      return write_whole(folder / "pass_at_k_results.json",
                         producer::indented_text(figures_.pass_at_k_results(level, options_.pass_at_k), kPassAtKStep));
    }
    return {};
  }

  // Writes the baseline files. A problem whose reference was never timed gets an entry without times, because
  // KernelBench's analysis ignores problems without an entry.
  Expected<void> write_baselines() const {
    std::map<std::pair<std::string, Baseline>, DeviceInfo> devices;
    for (const KernelBenchProblem* problem : figures_.problems()) {
      for (const auto& [which, reference] : problem->references) devices.emplace(which, reference.first);
    }
    for (const auto& [which, device] : devices) {
      std::map<std::uint32_t, producer::JsonObject> levels;
      for (const KernelBenchProblem* problem : figures_.problems()) {
        if (problem->file.empty()) continue;  // the problem is known only from a merged file
        const auto reference = problem->references.find(which);
        producer::Json stats = reference != problem->references.end()
                                   ? kernelbench_stats(reference->second.second, device)
                                   : null_stats(device);
        std::get<producer::JsonObject>(stats.value)
            .emplace_back("precision", producer::Json{std::string(to_string(problem->precision))});
        levels[problem->level].emplace_back(problem->file, std::move(stats));
      }
      producer::JsonObject baseline;
      for (auto& [level, problems] : levels)
        baseline.emplace_back("level" + std::to_string(level), producer::Json{std::move(problems)});
      const fs::path path =
          folder_ / "timing" / file_name_of(which.first) / kBaselineFiles[static_cast<std::size_t>(which.second)];
      if (const auto written =
              write_whole(path, producer::indented_text(producer::Json{std::move(baseline)}, kEntryStep));
          !written)
        return written;
    }
    return {};
  }

  const fs::path folder_;
  const ExportOptions options_;
  const Selection& selection_;
  const int entries_fd_;
  const bool made_folder_;
  std::uint64_t entries_bytes_ = 0;
  KernelBenchFigures figures_;
  std::vector<Entry> entries_;
  std::set<std::string> devices_;
  std::vector<std::string> warnings_;  // about pass@k
  std::uint64_t row_count_ = 0, no_problem_count_ = 0, no_result_count_ = 0, only_compiled_count_ = 0, older_count_ = 0,
                merged_count_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Export>> open_kernelbench(const ExportOptions& options, const Selection& selection) {
  std::error_code wrong;
  const bool is_new = !fs::exists(options.out, wrong);
  fs::create_directories(options.out, wrong);
  if (wrong) return bad_input("cannot create the folder " + options.out + ": " + wrong.message());
  std::string name = (fs::path(options.out) / ".kq-dump.XXXXXX").string();
  const int entries_fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (entries_fd < 0) return bad_input(sys::error_text("cannot create a file in " + options.out));
  ::unlink(name.c_str());
  return std::make_unique<KernelBenchExport>(options, selection, entries_fd, is_new);
}

}  // namespace kq::tools
