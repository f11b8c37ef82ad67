#include "tools/ctl/keygen.h"

#include <ostream>

#include "core/submission.h"
#include "net/keys.h"
#include "net/zmq/keys.h"
#include "producer/client/sentences.h"
#include "tools/cli/flags.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

struct KeygenFlags {
  std::string folder;
  std::string name;
  std::string role;
  std::string out;
  std::string revoke;
  bool json = false;
};

Expected<ExitCode> revoke_keys(const CtlWorld& world, const KeygenFlags& flags) {
  KQ_TRY_VALUE(const auto gone, net::revoke(flags.folder, flags.revoke));
  if (flags.json) {
    producer::JsonArray keys;
    for (const net::AuthorizedKey& key : gone) {
      keys.push_back(producer::Json{producer::JsonObject{{"role", json_text(to_string(key.who.role))},
                                                         {"public_key", json_text(key.public_key)}}});
    }
    world.out << producer::to_text(producer::Json{producer::JsonObject{{"name", json_text(flags.revoke)},
                                                                       {"revoked", producer::Json{std::move(keys)}}}})
              << '\n';
  } else {
    world.out << producer::counted(gone.size(), "key") << " of '" << printable(flags.revoke)
              << "' revoked; a running broker applies this at once\n";
  }
  return ExitCode::ok;
}

Expected<ExitCode> make_key(const CtlWorld& world, const KeygenFlags& flags) {
  if (flags.name.empty() || flags.role.empty())
    return bad_input("--name NAME and --role submit, work, admin, gateway or standby are needed");
  if (const auto wrong = name_error(flags.name)) return bad_input("--name '" + flags.name + "' " + *wrong);
  const Identity who{.name = flags.name, .role = *parse_enum<Role>(flags.role)};
  if (flags.out.empty() && flags.name.find('/') != std::string::npos) {
    return bad_input("--name '" + flags.name + "' cannot be a file name; name the file of the key with -o FILE");
  }
  const std::string path = flags.out.empty() ? flags.name + ".key" : flags.out;
  KQ_TRY_VALUE(const auto key, net::issue_key(flags.folder, who, path));
  if (flags.json) {
    world.out << producer::to_text(producer::Json{producer::JsonObject{{"name", json_text(flags.name)},
                                                                       {"role", json_text(flags.role)},
                                                                       {"file", json_text(path)},
                                                                       {"public_key", json_text(key.own.public_key)}}})
              << '\n';
  } else {
    world.out << printable(path) << " is the key of '" << printable(flags.name) << "', role " << flags.role
              << "; send it over a secure channel, programs read it with --key FILE or KQ_KEY\n";
  }
  return ExitCode::ok;
}

}  // namespace

Expected<ExitCode> ctl_keygen(int argc, const char* const* argv, const CtlWorld& world) {
  KeygenFlags given;
  Flags flags(
      argv[0],
      "Issues a key for one person or worker, or revokes the keys of a name. Creates the broker's folder of keys "
      "if it is missing. A running broker applies the change at once. docs/operator/security.md explains the "
      "keys.");
  flags.option("--keys", "DIR", "the broker's folder of keys", given.folder, "KQ_KEYS");
  flags.option("--name", "NAME", "name of the person or worker that the key identifies", given.name);
  flags.choice("--role", "what the key allows", given.role, {"submit", "work", "admin", "gateway", "standby"});
  flags.option("-o,--out", "FILE", "file to write the key to; it must not exist (default: NAME.key)", given.out);
  flags.option("--revoke", "NAME", "revoke all keys of this name", given.revoke);
  flags.json("print one JSON object on standard output", given.json);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (given.folder.empty()) return bad_input("--keys DIR is needed, the broker's folder of keys");
  return given.revoke.empty() ? make_key(world, given) : revoke_keys(world, given);
}

}  // namespace kq::tools
