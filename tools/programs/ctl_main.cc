// kq-ctl: shows and controls the queue of a broker. Its verbs are listed in tools/ctl/ctl.cc.
#include <iostream>

#include "producer/client/standard_output.h"
#include "store/backup.h"
#include "store/rocks/rocks_store.h"
#include "store/verify.h"
#include "sys/clock.h"
#include "tools/cli/default_place.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/world.h"
#include "tools/stack/state_broker.h"
#include "tools/stack/stop_signals.h"

namespace {

kq::Expected<kq::store::Verified> verify_at(const std::string& dir, const kq::tools::ReportProblem& report) {
  KQ_TRY_VALUE(const auto store, kq::store::open_rocks_store(kq::tools::store_in(dir), kq::store::OpenMode::read_only));
  return kq::store::verify(*store, report);
}

kq::Expected<std::unique_ptr<kq::store::Store>> open_store_at(const std::string& dir) {
  const std::string store = dir.empty() ? kq::tools::default_place({.environment = kq::tools::process_environment,
                                                                    .is_listening = kq::tools::is_listening})
                                              .store
                                        : dir;
  if (store.empty()) return nullptr;
  return kq::store::open_rocks_store(kq::tools::store_in(store), kq::store::OpenMode::read_only);
}

// Returns the state folder whose broker, which does not run, may be started: the one whose store readers would read.
// Returns an empty text where a broker is found or named.
std::string idle_state_folder() {
  return kq::tools::default_place(
             {.environment = kq::tools::process_environment, .is_listening = kq::tools::is_listening})
      .state_folder;
}

int run(int argc, char** argv) {
  kq::tools::StopSignals signals;
  const auto stops = [&](std::int64_t ms) { return signals.take(ms).has_value(); };
  kq::tools::StateBroker state_broker(kq::tools::program_folder(), stops, [](const std::string& sentence) {
    std::cerr << "kq-ctl: " << kq::tools::printable(sentence) << '\n';
  });
  const auto stoppable = [&](kq::Expected<kq::producer::Client> client) {
    if (client) client->stop_when([&] { return stops(0); });
    return client;
  };
  const auto connect = [&](const std::string& url, const std::string& key) {
    return stoppable(kq::producer::Client::connect(url, key));
  };
  const kq::tools::CtlWorld world{.out = std::cout,
                                  .err = std::cerr,
                                  .connect = connect,
                                  .connect_or_start =
                                      [&](const std::string& state, const std::string& key) {
                                        const std::string folder = state.empty() ? idle_state_folder() : state;
                                        return folder.empty() ? connect("", key)
                                                              : stoppable(state_broker.connect(folder, key));
                                      },
                                  .unix_now_ms = kq::sys::unix_now_ms,
                                  .sleep = stops,
                                  .verify = verify_at,
                                  .restore = kq::store::restore,
                                  .open_store = open_store_at};
  return kq::tools::run_ctl(argc, argv, world);
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output("kq-ctl");
  return output.end(run(argc, argv));
}
