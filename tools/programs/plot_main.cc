// kq-plot: draws one plot of a run as SVG or PNG, or writes its specification in Vega-Lite.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/standard_output.h"
#include "store/rocks/rocks_store.h"
#include "tools/cli/flags.h"
#include "tools/cli/output_file.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/fleet/command.h"
#include "tools/report/page.h"
#include "tools/report/plots.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"

namespace {

namespace fs = std::filesystem;
using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-plot";
constexpr int kNoLibrary = 4;  // exit code of render.py

struct Options {
  std::string run;
  std::string kind;
  std::string out;
  std::string problem;
  bool dark = false;
  kq::tools::SourceOptions source;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  std::vector<std::string> kinds;
  for (const std::string_view kind : kq::tools::plot_kinds()) kinds.emplace_back(kind);
  kq::tools::Flags flags(kProgram,
                         "Draws one plot of a run, as the report shows it. SVG and PNG need the Python package "
                         "vl-convert-python.");
  flags.argument("run", "name of the run", options.run);
  flags.optional_argument("kind", "what to draw", options.kind, kinds);
  flags.option("-o,--out", "FILE",
               "file to write: NAME.svg, NAME.png, or NAME.json for the specification in Vega-Lite (default: "
               "run-kind.svg)",
               options.out);
  flags.option("--problem", "NAME", "samples: the problem whose kernels are drawn (default: the first)",
               options.problem);
  flags.flag("--dark", "draw for a dark background", options.dark);
  kq::tools::add_flags(flags, options.source);
  return flags.parse(argc, argv);
}

Expected<void> check(const Options& options) {
  std::string kinds;
  bool is_known = false;
  for (const std::string_view kind : kq::tools::plot_kinds()) {
    is_known = is_known || kind == options.kind;
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind);
  }
  if (options.kind.empty()) return kq::bad_input("a kind of plot is required beside the run: " + kinds);
  if (!is_known)
    return kq::bad_input("there is no plot '" + kq::tools::printable(options.kind) + "'; known are " + kinds);
  const std::string end = fs::path(options.out).extension().string();
  if (!options.out.empty() && end != ".svg" && end != ".png" && end != ".json")
    return kq::bad_input("the FILE of -o must end in .svg, .png or .json, got '" + kq::tools::printable(options.out) +
                         "'");
  if (!options.problem.empty() && options.kind != "samples")
    return kq::bad_input("--problem goes with the plot samples");
  return {};
}

Expected<std::string> values_of(const Options& options, const kq::tools::PlotBuilder& builder,
                                const kq::tools::Leaderboard& board, std::string& problem, std::string& note) {
  if (options.kind != "samples") {
    for (kq::tools::PlotValues& plot : builder.values(board)) {
      if (plot.kind != options.kind) continue;
      KQ_TRY(kq::tools::check_drawable(plot));
      return std::move(plot.values);
    }
  }
  const std::vector<std::string> problems = builder.problems_with_samples();
  if (problems.empty()) return kq::failure(kq::Error{ErrorKind::not_found, "no kernel of the run has samples"});
  problem = options.problem.empty() ? problems.front() : options.problem;
  std::string values = builder.samples_of(problem);
  note = builder.note_of_samples(problem);
  if (!values.empty()) return values;
  std::string known;
  for (const std::string& name : problems) known += (known.empty() ? "" : ", ") + kq::tools::printable(name);
  return kq::bad_input("no kernel of problem '" + kq::tools::printable(problem) + "' has samples; known are " + known);
}

// Runs render.py by the first Python that has the library: KQ_PYTHON, then python3.
Expected<void> render(const std::string& specification, const fs::path& out) {
  const fs::path partial = out.parent_path() / ("." + out.filename().string() + ".vl.json");
  {
    KQ_TRY_VALUE(auto file, kq::tools::OutputFile::open(partial.string()));
    KQ_TRY(file.write(specification));
    KQ_TRY(file.commit());
  }
  std::vector<std::string> pythons;
  if (const char* python = std::getenv("KQ_PYTHON"); python != nullptr && *python != '\0') pythons.emplace_back(python);
  pythons.push_back(kq::tools::program_folder() + "/../../../.venv/bin/python");
  pythons.emplace_back("python3");
  const std::string script = kq::tools::program_folder() + "/../share/kq/report/render.py";
  const std::string form = out.extension().string().substr(1);
  Expected<void> result = kq::our_fault("no Python was found to draw with");
  for (const std::string& python : pythons) {
    const auto ended = kq::tools::run_command({python, "-I", script, form, partial.string(), out.string()}, {});
    if (!ended) {
      result = kq::failure(ended.error());
      break;
    }
    if (ended->exit_code == 0) {
      result = {};
      break;
    }
    if (ended->exit_code == 127) continue;
    result = ended->exit_code == kNoLibrary
                 ? kq::bad_input(
                       "SVG and PNG need the Python package vl-convert-python: pip install vl-convert-python, and "
                       "let KQ_PYTHON name that Python; NAME.json needs nothing")
                 : kq::our_fault("drawing failed: " + kq::tools::printable(ended->output));
    if (ended->exit_code != kNoLibrary) break;
  }
  std::error_code ignored;
  fs::remove(partial, ignored);
  return result;
}

Expected<void> work(const Options& options) {
  KQ_TRY(check(options));
  KQ_TRY_VALUE(const auto files, kq::tools::read_page_files(kq::tools::program_folder() + "/../share/kq/report"));
  KQ_TRY_VALUE(const auto open, kq::tools::open_source(options.source, [](const std::string& folder) {
                 return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
               }));
  kq::tools::PlotBuilder builder;
  kq::tools::LeaderboardBuilder board(options.run);
  std::size_t row_count = 0;
  const auto add = [&](const kq::RunRow& row) {
    ++row_count;
    builder.add(row);
    board.add(row);
    return Expected<void>();
  };
  KQ_TRY(kq::tools::each_row(*open.source, options.run, add, options.kind == "samples"));
  if (row_count == 0) return kq::failure(kq::tools::no_such_run(*open.source, options.run));
  std::string problem, note;
  KQ_TRY_VALUE(std::string values, values_of(options, builder, board.finish(), problem, note));
  const std::string subtitle =
      options.run + (problem.empty() ? "" : ", " + problem) + (note.empty() ? "" : ": " + note);
  KQ_TRY_VALUE(const std::string whole,
               kq::tools::whole_plot(files.plots, {.kind = options.kind, .values = std::move(values), .note = ""},
                                     subtitle, options.dark));
  if (fs::path(options.out).extension() != ".json") return render(whole, options.out);
  KQ_TRY_VALUE(auto file, kq::tools::OutputFile::open(options.out));
  KQ_TRY(file.write(whole));
  return file.commit();
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  const bool is_named = !options.out.empty();
  if (!is_named) options.out = kq::tools::default_file_name(options.run, "-" + options.kind + ".svg");
  const auto done = work(options);
  if (done && !is_named) std::cerr << kProgram << ": wrote " << kq::tools::printable(options.out) << '\n';
  return done ? static_cast<int>(ExitCode::ok) : report_error(kProgram, done.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
