#include "tests/bench/limits.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "core/bytes/hash.h"
#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "tests/bench/floor.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::int64_t kCalibrationNs = 300'000'000;
constexpr std::int64_t kProbeNs = 1'000'000'000;

struct Rate {
  double per_s = 0;
  Latencies each;
};

Rate repeat(std::int64_t for_ns, const auto& once) {
  Rate rate;
  const std::int64_t start_ns = now_ns();
  for (std::int64_t before = start_ns, after; before < start_ns + for_ns; before = after) {
    once();
    after = now_ns();
    rate.each.add(after - before);
  }
  rate.per_s = static_cast<double>(rate.each.size()) / (static_cast<double>(now_ns() - start_ns) / 1e9);
  return rate;
}

Rate synced_appends(const std::string& dir, std::int64_t for_ns) {
  const std::string path = dir + "/append";
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) give_up(path + " cannot be written");
  const std::string page(4096, 'x');
  Rate rate = repeat(for_ns, [&] {
    if (write(file, page.data(), page.size()) < 0 || fdatasync(file) != 0)
      give_up(path + ": write or fdatasync failed");
  });
  close(file);
  unlink(path.c_str());
  return rate;
}

Rate zeromq_round_trips(const std::string& body) {
  zmq::context_t ours, theirs;
  zmq::socket_t router(theirs, zmq::socket_type::router), dealer(ours, zmq::socket_type::dealer);
  router.bind("tcp://127.0.0.1:*");
  dealer.connect(router.get(zmq::sockopt::last_endpoint));
  std::thread echo([&router] {
    for (zmq::message_t id, bytes;;) {
      if (!router.recv(id) || !router.recv(bytes)) return;
      if (bytes.size() == 0) return;
      router.send(id, zmq::send_flags::sndmore);
      router.send(zmq::buffer("ack", 3), zmq::send_flags::none);
    }
  });
  Rate rate = repeat(kProbeNs, [&] {
    zmq::message_t answer;
    dealer.send(zmq::buffer(body), zmq::send_flags::none);
    if (!dealer.recv(answer)) give_up("ZeroMQ lost a message");
  });
  dealer.send(zmq::message_t(), zmq::send_flags::none);
  echo.join();
  return rate;
}

// Commits jobs of one record each, which is less than any durable queue writes.
Rate synced_commits(store::Store& store, const Bodies& bodies, std::size_t job_count, std::uint64_t& number) {
  return repeat(kProbeNs, [&] {
    std::vector<store::Write> writes;
    for (std::size_t i = 0; i < job_count; ++i)
      writes.push_back({store::Family::body, store::sequence_key(++number), bodies.body(number)});
    if (const auto done = store.commit(writes); !done) give_up(done.error().message);
  });
}

}  // namespace

double calibrate_us(const std::string& dir) {
  return synced_appends(dir, kCalibrationNs).each.percentile_us(50);
}

nlohmann::json measure_limits(const std::string& dir, const Bodies& bodies) {
  nlohmann::json limits;
  Rate syncs = synced_appends(dir, kProbeNs);
  limits["fdatasync_4k_p50_us"] = syncs.each.percentile_us(50);
  limits["fdatasync_4k_p99_us"] = syncs.each.percentile_us(99);

  Rate trips = zeromq_round_trips(bodies.body(0));
  limits["zeromq_round_trip_p50_us"] = trips.each.percentile_us(50);
  limits["zeromq_round_trip_p99_us"] = trips.each.percentile_us(99);

  const std::string store_dir = dir + "/limits";
  auto store = store::open_rocks_store(store_dir, store::OpenMode::read_write);
  if (!store) give_up(store.error().message);
  std::uint64_t number = 0;
  for (const std::size_t job_count : {1, 64, 256}) {
    Rate commits = synced_commits(**store, bodies, job_count, number);
    const std::string name = "commit_" + std::to_string(job_count);
    limits[name + "_jobs_per_s"] = commits.per_s * static_cast<double>(job_count);
    limits[name + "_p50_us"] = commits.each.percentile_us(50);
    limits[name + "_p99_us"] = commits.each.percentile_us(99);
  }
  store->reset();
  std::filesystem::remove_all(store_dir);

  const std::string body = bodies.body(1);
  limits["sha256_4k_us"] = repeat(kProbeNs / 10, [&] { (void)sha256(body); }).each.percentile_us(50);
  limits["body_mean_bytes"] = bodies.mean_bytes();
  limits.update(measure_floor(dir, bodies));
  return limits;
}

}  // namespace kq::bench
