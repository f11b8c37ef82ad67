#include "tools/ctl/store_verbs.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <thread>

#include "producer/client/sentences.h"
#include "sys/clock.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

// Prints the problems of a store as they are found, then the counts of what the store holds.
class VerifyReport {
 public:
  VerifyReport(const CtlWorld& world, bool json)
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
  // Ends the list of problems without counts, for a store that could not be read to its end.
  void end() { listing_.finish(); }

 private:
  const CtlWorld& world_;
  bool json_;
  Listing listing_;
};

// Returns the absolute path of a directory, without a slash at its end.
std::filesystem::path absolute_directory(const std::string& name, std::error_code& error) {
  const std::filesystem::path path = std::filesystem::absolute(name, error).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Expected<ExitCode> ctl_restore(int argc, const char* const* argv, const CtlWorld& world) {
  std::string from;
  std::string store;
  bool json = false;
  Flags flags(argv[0],
              "Makes a store from a backup and leaves the backup as it is. A backup with problems is refused, and each "
              "problem is printed. Start kq-broker with --store afterwards.");
  flags.argument("backup", "directory that kq-ctl backup made", from);
  flags.option("--store", "DIR", "directory of the new store; it must be missing or empty", store);
  flags.json("print one JSON object on standard output", json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (store.empty()) return bad_input("--store DIR is needed, the directory of the new store");
  VerifyReport findings(world, json);
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
  Flags flags(
      argv[0],
      "Reads a whole store and prints one line for each problem: a record that cannot be read, a reference to a "
      "missing record, a file whose content does not match its hash, a board that does not follow from the "
      "results. The exit code is 3 when there is a problem.");
  flags.option("--store,--state", "DIR",
               "directory of the store, of a stopped broker or of a backup, or the state folder with the store", store,
               "KQ_STORE");
  flags.json("print one JSON object on standard output", json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (store.empty()) return bad_input("--store DIR is needed, the store to verify");
  VerifyReport findings(world, json);
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
              "Copies the store as it is now to a directory on the broker's machine, while the broker keeps working.");
  flags.argument("dir", "missing or empty directory; on the disk of the store the copy needs almost no space", given);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  std::error_code error;
  const std::filesystem::path dir = absolute_directory(given, error);
  if (error || given.empty()) return bad_input("'" + given + "' is not the name of a directory");
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY(ask<BrokerReply>(client, BrokerQuery{}));  // an absent broker is told at once, not after kBackupTimeoutMs
  KQ_TRY(ask<Done>(client, Backup{dir.string()}, kBackupTimeoutMs));
  if (broker.json) {
    world.out << producer::to_text(producer::Json{producer::JsonObject{{"dir", json_text(dir.string())}}}) << '\n';
  } else {
    world.out << "the store is copied to " << printable(dir.string()) << '\n';
  }
  return ExitCode::ok;
}

// The standby removes the file beside its store (broker/standby/service.h, promote_path) when it begins to serve.
Expected<ExitCode> ctl_promote(int argc, const char* const* argv, const CtlWorld& world) {
  namespace fs = std::filesystem;
  std::string store;
  bool json = false;
  Flags flags(
      argv[0],
      "Orders the standby of this machine that has this store to serve. Without a lease file, stop the broker "
      "that served before, if it still runs. With a lease file, the standby serves once the lease is free, even "
      "if its copy may lack acknowledged jobs.");
  flags.option("--store", "DIR", "directory of the standby's store", store, "KQ_STORE");
  flags.json("print one JSON object on standard output", json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (store.empty()) return bad_input("--store DIR is needed, the store of the standby");
  std::error_code error;
  const fs::path path = absolute_directory(store, error);
  if (!fs::is_directory(path, error)) return bad_input("there is no store at " + store);
  const fs::path order = path.string() + ".promote";
  if (!std::ofstream(order)) return bad_input(order.string() + " cannot be written; use the account of the broker");
  for (const std::int64_t end_ms = sys::monotonic_now_ms() + kPromoteTimeoutMs; fs::exists(order);) {
    if (sys::monotonic_now_ms() >= end_ms) {
      fs::remove(order, error);
      return our_fault("no standby with the store " + store +
                       " has begun to serve: its log says why, unless its broker served already");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (json) {
    world.out << producer::to_text(producer::Json{producer::JsonObject{{"store", json_text(path.string())}}}) << '\n';
  } else {
    world.out << "the broker with the store " << printable(store) << " serves\n";
  }
  return ExitCode::ok;
}

}  // namespace kq::tools
