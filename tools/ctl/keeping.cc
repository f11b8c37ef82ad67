#include "tools/ctl/keeping.h"

#include <filesystem>
#include <ostream>

#include "tools/ctl/asking.h"
#include "tools/ctl/listing.h"

namespace kq {

Expected<ExitCode> ctl_backup(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  std::string given;
  Flags flags(argv[0], "Copies the store as it is now, while the broker works, into a directory of the broker's machine.");
  flags.argument("dir", "where it goes: absent or empty, best on the store's own disk, where it costs no space", given);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  std::error_code error;
  const std::filesystem::path dir = std::filesystem::absolute(given, error).lexically_normal();
  if (error || given.empty()) return bad_input("'" + given + "' is no directory's name");
  auto client = connect(world, broker);
  if (!client) return failure(client.error());
  if (const auto done = ask<Done>(*client, Backup{dir.string()}, kBackupTimeoutMs); !done) return failure(done.error());
  if (broker.json) {
    world.out << to_text(Json{JsonObject{{"dir", json_text(dir.string())}}}) << '\n';
  } else {
    world.out << "the store as of now is in " << printable(dir.string()) << '\n';
  }
  return ExitCode::ok;
}

}  // namespace kq
