#include "tools/ctl/store_verbs.h"

#include <filesystem>
#include <ostream>

#include "producer/client/sentences.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"

namespace kq::tools {
namespace {

// Problems as they are found, then what is there.
class Findings {
 public:
  Findings(const CtlWorld& world, bool json)
      : world_(world), json_(json), listing_(world.out, json, "problems", {{"problem"}}) {}

  ReportProblem report() {
    return [this](const std::string& problem) { listing_.add({problem}, {{"problem", json_text(problem)}}); };
  }
  void finish(const store::Verified& found, const std::string& sentence) {
    listing_.finish({{"queued", json_number(found.queued_count)},
                     {"leased", json_number(found.leased_count)},
                     {"finished", json_number(found.finished_count)},
                     {"results", json_number(found.result_count)},
                     {"blobs", json_number(found.blob_count)},
                     {"blob_bytes", json_number(found.blob_bytes)},
                     {"labels", json_number(found.label_count)},
                     {"board_rows", json_number(found.board_row_count)}});
    if (json_) return;
    world_.out << printable(sentence) << ": " << producer::counted(found.queued_count, "job") << " queued, "
               << found.leased_count << " leased, " << found.finished_count << " finished, "
               << producer::counted(found.blob_count, "file") << " of " << bytes_text(found.blob_bytes) << ", "
               << producer::counted(found.board_row_count, "board row") << "; "
               << (found.problem_count == 0 ? "no problems" : producer::counted(found.problem_count, "problem"))
               << '\n';
  }
  // Those reported so far, when there is nothing to say of the rest.
  void end() { listing_.finish(); }

 private:
  const CtlWorld& world_;
  bool json_;
  Listing listing_;
};

}  // namespace

Expected<ExitCode> ctl_restore(int argc, const char* const* argv, const CtlWorld& world) {
  std::string from;
  std::string store;
  bool json = false;
  Flags flags(argv[0],
              "Makes a store of a backup, which stays as it is. A backup with problems is refused, each is told. Then "
              "start kq-broker with "
              "--store.");
  flags.argument("backup", "directory that kq-ctl backup made", from);
  flags.option("--store", "DIR", "the new store: a directory that is missing or empty", store);
  flags.flag("--json", "one JSON object on stdout", json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (store.empty()) return bad_input("where to? say --store DIR");
  Findings findings(world, json);
  const auto restored = world.restore(from, store, findings.report());
  if (!restored) {
    findings.end();
    return failure(restored.error());
  }
  findings.finish(*restored, "store at " + store);
  return ExitCode::ok;
}

Expected<ExitCode> ctl_verify(int argc, const char* const* argv, const CtlWorld& world) {
  std::string store;
  bool json = false;
  Flags flags(argv[0],
              "Reads a store once, whole, and tells every broken promise in a line: records that cannot be read, "
              "references that lead nowhere, "
              "files that are not what their name says, boards that are no refold of the results. Exit code 3 when "
              "there is one.");
  flags.option("--store", "DIR", "the store: of a broker that is down, or a backup", store, "KQ_STORE");
  flags.flag("--json", "one JSON object on stdout", json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (store.empty()) return bad_input("which store? say --store DIR");
  Findings findings(world, json);
  const auto found = world.verify(store, findings.report());
  if (!found) {
    findings.end();
    return failure(found.error());
  }
  findings.finish(*found, "store at " + store);
  return found->problem_count == 0 ? ExitCode::ok : ExitCode::our_fault;
}

Expected<ExitCode> ctl_backup(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  std::string given;
  Flags flags(argv[0],
              "Copies the store as it is now, while the broker works, into a directory of the broker's machine.");
  flags.argument("dir", "where it goes: absent or empty, best on the store's own disk, where it costs no space", given);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  std::error_code error;
  const std::filesystem::path dir = std::filesystem::absolute(given, error).lexically_normal();
  if (error || given.empty()) return bad_input("'" + given + "' is no directory's name");
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY(ask<Done>(client, Backup{dir.string()}, kBackupTimeoutMs));
  if (broker.json) {
    world.out << producer::to_text(producer::Json{producer::JsonObject{{"dir", json_text(dir.string())}}}) << '\n';
  } else {
    world.out << "the store as of now is in " << printable(dir.string()) << '\n';
  }
  return ExitCode::ok;
}

}  // namespace kq::tools
