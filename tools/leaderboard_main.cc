// kq-leaderboard: the fastest right kernel of each problem on each device model, of one run or of all time.
#include <iostream>
#include <string>

#include "store/rocks_store.h"
#include "tools/boards.h"
#include "tools/flags.h"
#include "tools/source.h"
#include "tools/stop_signals.h"

namespace {

using kq::complain;
using kq::ExitCode;
using kq::Expected;

const std::string kProgram = "kq-leaderboard";

std::string formatted(const kq::Leaderboard& board, const std::string& format) {
  if (format == "csv") return kq::leaderboard_csv(board);
  if (format == "json") return kq::to_text(kq::leaderboard_json(board)) + '\n';
  return kq::leaderboard_table(board);
}

}  // namespace

int main(int argc, char** argv) {
  kq::end_quietly_when_nobody_reads();
  std::string run;
  std::string format = "table";
  kq::SourceOptions source;
  kq::Flags flags(
      kProgram,
      "Prints the best passed time of each problem on each device model, the geometric mean of the speedups, and "
      "fast_p: the fraction of problems solved more than p times as fast as the reference.");
  flags.option("--run", "NAME", "only this run (default: all boards)", run);
  flags.choice("--format", "how to write it (default: table)", format, {"table", "csv", "json"});
  add_flags(flags, source);
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);

  const Expected<kq::OpenSource> open = kq::open_source(
      source, [](const std::string& folder) { return kq::open_rocks_store(folder, kq::OpenMode::read_only); });
  if (!open) return complain(kProgram, open.error());
  const Expected<kq::Leaderboard> board =
      run.empty() ? kq::leaderboard_of_boards(*open->source) : kq::leaderboard_of_run(*open->source, run);
  if (!board) return complain(kProgram, board.error());
  std::cout << formatted(*board, format) << std::flush;
  if (board->rows.empty() && run.empty())
    return complain(kProgram, {ExitCode::nothing, "there are no boards yet: no job has passed"});
  return static_cast<int>(ExitCode::ok);
}
