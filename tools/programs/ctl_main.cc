// kq-ctl: shows and controls the queue of a broker. Its verbs are listed in tools/ctl/ctl.cc.
#include <iostream>

#include "producer/client/standard_output.h"
#include "store/backup.h"
#include "store/rocks/rocks_store.h"
#include "store/verify.h"
#include "sys/clock.h"
#include "tools/cli/default_place.h"
#include "tools/cli/source.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/world.h"
#include "tools/stack/stop_signals.h"

namespace {

kq::Expected<kq::store::Verified> verify_at(const std::string& dir, const kq::tools::ReportProblem& report) {
  KQ_TRY_VALUE(const auto store, kq::store::open_rocks_store(dir, kq::store::OpenMode::read_only));
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

int run(int argc, char** argv) {
  kq::tools::StopSignals signals;
  const kq::tools::CtlWorld world{
      .out = std::cout,
      .err = std::cerr,
      .connect =
          [&](const std::string& url, const std::string& key) {
            auto client = kq::producer::Client::connect(
                url.empty() ? kq::tools::default_broker(kq::tools::process_environment) : url, key);
            if (client) client->stop_when([&] { return signals.take(0).has_value(); });
            return client;
          },
      .unix_now_ms = kq::sys::unix_now_ms,
      .sleep = [&](std::int64_t ms) { return signals.take(ms).has_value(); },
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
