// kq-dump: writes the rows of a run to files for other programs, in one of the formats of tools/exporters/exporters.cc.
#include <charconv>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "store/rocks/rocks_store.h"
#include "sys/clock.h"
#include "tools/cli/flags.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/exporters/dump_metadata.h"
#include "tools/exporters/exporter.h"
#include "tools/kernelbench/figures.h"
#include "tools/stack/stop_signals.h"
#include "tools/table/schema.h"
#include "tools/table/tag_names.h"

namespace {

using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-dump";

struct Options {
  std::vector<std::string> runs;
  std::string format;  // empty: by the ending of the output
  std::string pass_at_k = "1";
  std::string perf_p = "1";
  kq::tools::ExportOptions to;
  kq::tools::SelectionOptions selection;
  kq::tools::SourceOptions source;
  bool schema = false;
  bool no_metadata = false;
  bool excel_safe = false;  // has no effect any more
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  std::string formats;
  std::vector<std::string> levels;
  for (const kq::tools::Exporter& exporter : kq::tools::exporters())
    formats += (formats.empty() ? "" : "|") + std::string(exporter.name);
  for (const kq::tools::Level& level : kq::tools::levels()) levels.emplace_back(level.name);
  kq::tools::Flags flags(kProgram,
                         "Writes the rows of a run to files for other programs. An unknown value is empty in csv and "
                         "null in jsonl.");
  flags.runs("names of the runs to write; with --since all runs if none is named", options.runs);
  flags.group("What is written");
  flags.option("--format", formats, "format of the output (default: jsonl for a file that ends in .jsonl, else csv)",
               options.format);
  flags.short_formats(options.format, {"csv", "jsonl"});
  flags.option(
      "-o,--out", "PATH",
      "file to write, which appears whole or not at all; a folder for the formats with several files (default: "
      "-, standard output)",
      options.to.out);
  flags.choice("--level", "what one row stands for (default: job)", options.selection.level, levels);
  flags.option(
      "--columns", "A,B,...",
      "write only these columns, in this order; tag.NAME is the value of a tag (default: all columns of the level)",
      options.selection.columns);
  flags.repeatable_option(
      "--where", "CONDITION",
      "write only rows that meet this condition, such as verdict=passed or speedup>=2; the operators are =, !=, <, <=, "
      ">, >= and ~ (contains); may be repeated",
      options.selection.where);
  flags.option("--since", "WHEN",
               "write only rows that were submitted, started or finished since then: 2h, or 2026-11-21T18:00Z",
               options.selection.since);
  flags.flag("--excel-safe", "csv: no longer needed, text that a spreadsheet would take for a formula is always safe",
             options.excel_safe);
  flags.group("KernelBench, BackendBench and flashinfer-bench");
  flags.flag("--strict",
             "kernelbench: count a GPU fault or a timeout as not compiled, as KernelBench does; backendbench: count a "
             "failed test as a speedup of 1, as BackendBench does",
             options.to.strict);
  flags.option("--p", "NUMBER", "backendbench: the speedup above which an operator counts for perf@p (default: 1)",
               options.perf_p);
  flags.option("--trace-set", "DIR", "flashinfer-trace: the problem's folder or the trace set that was submitted",
               options.to.trace_set);
  flags.flag(
      "--merge",
      "kernelbench: keep the results in eval_results.json of samples that the run does not have, as after kq submit "
      "--resume",
      options.to.merge);
  flags.option("--pass-at-k", "K,...", "kernelbench: values of k for pass@k (default: 1)", options.pass_at_k);
  flags.group("Descriptions");
  flags.flag("--no-meta", "do not write FILE.meta.json, which holds the options, the source and the time of the dump",
             options.no_metadata);
  flags.flag("--schema",
             "print the meaning and unit of each column and write nothing; with --format jsonl as JSON Schema",
             options.schema);
  kq::tools::add_flags(flags, options.source);
  flags.examples(
      "  kq-dump r1 -o r1.csv\n"
      "  kq-dump r1 r2 --columns run,label,verdict,speedup,tag.model --where tag.model=m1\n"
      "  kq-dump --since 2026-11-23T00:00Z --format jsonl");
  return flags.parse(argc, argv);
}

struct Dumped {
  std::size_t row_count = 0;                // rows of the run
  std::size_t matched_count = 0;            // rows that meet --where and --since
  std::vector<kq::tools::TagNames> tags{};  // one for each column of a tag
};

// Writes all rows of the runs to `to`. When there is no such run, an existing output file stays as it is.
Expected<Dumped> dump(kq::tools::Source& source, const std::vector<std::string>& runs,
                      const kq::tools::Selection& selection, kq::tools::Export& to, bool is_file) {
  Dumped dumped;
  for (const kq::tools::SelectedColumn& column : selection.columns()) {
    if (!column.tag.empty()) dumped.tags.emplace_back(column.tag.substr(kq::tools::kTagPrefix.size()));
  }
  for (const std::string& run : runs) {
    std::size_t row_count = 0;
    const auto add = [&](const kq::RunRow& row) {
      ++row_count;
      dumped.matched_count += selection.matches(row) ? 1 : 0;
      for (kq::tools::TagNames& tag : dumped.tags) tag.add(row.entry.submission);
      return to.add(row);
    };
    KQ_TRY(kq::tools::each_row(source, run, add, selection.needs_samples()));
    if (row_count == 0) {
      if (!is_file) {
        KQ_TRY(to.finish());
      }
      return kq::failure(kq::tools::no_such_run(source, run));
    }
    dumped.row_count += row_count;
  }
  KQ_TRY(to.finish());
  return dumped;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Refuses options that the chosen format would silently ignore.
Expected<void> check_options_of_format(const Options& options) {
  const bool is_kernelbench = options.format == "kernelbench", is_backendbench = options.format == "backendbench";
  if (options.excel_safe && options.format != "csv") return kq::bad_input("--excel-safe goes with --format csv");
  if (!is_kernelbench && (options.to.merge || options.pass_at_k != "1")) {
    return kq::bad_input("--merge and --pass-at-k go with --format kernelbench");
  }
  if (!is_kernelbench && !is_backendbench && options.to.strict)
    return kq::bad_input("--strict goes with --format kernelbench or backendbench");
  if (!is_backendbench && options.perf_p != "1") return kq::bad_input("--p goes with --format backendbench");
  const bool is_flashinfer = options.format == "flashinfer-trace";
  if (!is_flashinfer && !options.to.trace_set.empty())
    return kq::bad_input("--trace-set goes with --format flashinfer-trace");
  const bool is_fixed = is_kernelbench || is_backendbench || is_flashinfer;
  if (is_fixed && options.runs.size() > 1)
    return kq::bad_input("--format " + options.format + " writes one RUN; kq ctl runs lists the runs");
  if (is_fixed && (options.selection.level != "job" || !options.selection.columns.empty())) {
    return kq::bad_input("--level and --columns do not go with --format " + options.format +
                         ", whose files have fixed contents");
  }
  return {};
}

Expected<void> work(Options& options) {
  KQ_TRY_VALUE(const auto ks, kq::tools::parse_pass_at_k(options.pass_at_k));
  options.to.pass_at_k = ks;
  const std::string& p = options.perf_p;
  const auto [end, error] = std::from_chars(p.data(), p.data() + p.size(), options.to.perf_p);
  if (error != std::errc{} || end != p.data() + p.size() || !(options.to.perf_p >= 0))
    return kq::bad_input("--p must be a number from 0 on, got '" + p + "'");
  if (options.format.empty()) {
    KQ_TRY_VALUE(options.format, kq::tools::format_of_file(options.to.out));
  }
  if (kq::tools::find_exporter(options.format) == nullptr)
    return kq::failure(kq::tools::unknown_format(options.format));
  KQ_TRY_VALUE(const auto selection, kq::tools::Selection::make(options.selection, kq::sys::unix_now_ms()));
  if (const auto fits = check_options_of_format(options); !fits) return fits;
  if (options.schema) {
    std::cout << (options.format == "jsonl" ? kq::tools::json_schema(selection) : kq::tools::schema_table(selection))
              << std::flush;
    return {};
  }
  // A run that is named twice is written once.
  std::set<std::string> named;
  std::erase_if(options.runs, [&](const std::string& run) { return !named.insert(run).second; });
  if (options.runs.empty() && options.selection.since.empty())
    return kq::bad_input("a RUN is needed, or --since WHEN for all runs; kq ctl runs lists the runs");
  const kq::tools::Exporter& exporter = *kq::tools::find_exporter(options.format);
  if (exporter.writes_folder && options.to.out == "-") {
    return kq::bad_input("--format " + options.format + " writes several files; name their folder with -o DIR");
  }
  // The output is opened before the rows are read, so that a file that cannot be written is reported at once.
  KQ_TRY_VALUE(const auto to, exporter.open(options.to, selection));
  KQ_TRY_VALUE(const auto open, kq::tools::open_source(options.source, [](const std::string& folder) {
                 return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
               }));
  if (options.runs.empty()) {
    KQ_TRY_VALUE(options.runs, kq::tools::all_runs(*open.source));
    if (options.runs.empty()) return kq::failure(kq::Error{ErrorKind::not_found, "there are no runs yet"});
  }
  KQ_TRY_VALUE(const auto dumped, dump(*open.source, options.runs, selection, *to, options.to.out != "-"));
  if (kq::tools::can_have_metadata(options.to.out) && !options.no_metadata) {
    const auto noted = kq::tools::write_dump_metadata({.file = options.to.out,
                                                       .run = joined(options.runs),
                                                       .source = open.place,
                                                       .format = options.format,
                                                       .selection = options.selection,
                                                       .columns = kq::tools::names_of(selection),
                                                       .row_count = to->row_count(),
                                                       .made_at_ms = kq::sys::unix_now_ms()});
    if (!noted) return noted;
  }
  for (const std::string& note : to->notes()) std::cerr << kProgram << ": " << note << '\n';
  for (const kq::tools::TagNames& tag : dumped.tags) {
    if (const auto missing = tag.missing()) std::cerr << kProgram << ": " << *missing << '\n';
  }
  const std::string rows = kq::producer::counted(dumped.row_count, "row");
  const std::string of_runs = options.runs.size() == 1 ? " of the run" : " of the runs";
  if (dumped.matched_count == 0)
    return kq::failure(kq::Error{ErrorKind::not_found,
                                 "nothing matched: none of the " + rows + of_runs + " meets --where and --since"});
  if (to->row_count() == 0 && exporter.writes_folder) {
    return kq::failure(kq::Error{ErrorKind::not_found, "none of the " + rows + of_runs + " can be written as " +
                                                           options.format + ", so nothing was written"});
  }
  if (to->row_count() == 0)
    std::cerr << kProgram << ": none of the " << rows << of_runs << " has anything at --level "
              << options.selection.level << '\n';
  return {};
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  const auto done = work(options);
  return done ? static_cast<int>(ExitCode::ok) : report_error(kProgram, done.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
