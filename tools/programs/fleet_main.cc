// kq-fleet: keeps as many workers in a batch system as the queue needs (tools/fleet/fleet.h).
#include <iostream>

#include "producer/client/standard_output.h"
#include "sys/clock.h"
#include "tools/fleet/command.h"
#include "tools/fleet/fleet.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"

namespace {

int run(int argc, char** argv) {
  kq::tools::StopSignals signals;
  bool stopped = false;
  const auto take = [&](std::int64_t ms) { return stopped = stopped || signals.take(ms).has_value(); };
  const kq::tools::FleetWorld world{
      .out = std::cout,
      .err = std::cerr,
      .connect =
          [&](const std::string& url, const std::string& key) {
            auto client = kq::producer::Client::connect(url, key);
            if (client) client->stop_when([&] { return take(0); });
            return client;
          },
      .run = [](const auto& words, const auto& environment) { return kq::tools::run_command(words, environment); },
      .unix_now_ms = kq::sys::unix_now_ms,
      .sleep = take,
      .programs = kq::tools::program_folder()};
  return kq::tools::run_fleet(argc, argv, world);
}

}  // namespace

int main(int argc, char** argv) {
  kq::producer::StandardOutput output("kq-fleet");
  return output.end(run(argc, argv));
}
