// The program kq-bench: puts one load on one queue and prints one line of JSON. scripts/bench broker starts the servers
// and makes tables of the lines.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/bench/codec_cost.h"
#include "tests/bench/crowd.h"
#include "tests/bench/cycle.h"
#include "tests/bench/first_lease.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/limits.h"

namespace {

using namespace kq::bench;

struct CommandLine {
  std::string peer = "kq";
  kq::bench::Address address;
  std::string corpus;
  std::string dir;
  kq::bench::Shape shape;
  kq::bench::Crowd crowd;
};

nlohmann::json cycle(const CommandLine& line) {
  const kq::bench::Bodies bodies(line.corpus);
  const auto peer = kq::bench::make_peer(line.peer, line.address);
  kq::bench::Outcome outcome = kq::bench::run_cycle(*peer, bodies, line.shape);
  return {{"jobs_per_s", static_cast<double>(line.shape.job_count) / outcome.seconds},
          {"seconds", outcome.seconds},
          {"put_p50_us", outcome.put.percentile_us(50)},
          {"put_p99_us", outcome.put.percentile_us(99)},
          {"life_p50_us", outcome.life.percentile_us(50)},
          {"life_p99_us", outcome.life.percentile_us(99)},
          {"producer_cpu_us", outcome.producer_cpu_us},
          {"consumer_cpu_us", outcome.consumer_cpu_us},
          {"client_cpu_us", outcome.process_cpu_us},
          {"lost", outcome.lost},
          {"doubled", outcome.doubled}};
}

nlohmann::json crowd(const CommandLine& line) {
  return kq::bench::run_crowd(line.address.port, kq::bench::Bodies(line.corpus), line.crowd);
}

nlohmann::json first_lease(const CommandLine& line) {
  return {{"at_ns", kq::bench::await_first_lease(line.address.port)}};
}

nlohmann::json limits(const CommandLine& line) {
  return kq::bench::measure_limits(line.dir, kq::bench::Bodies(line.corpus));
}

nlohmann::json codec(const CommandLine& line) {
  return kq::bench::measure_codec(kq::bench::Bodies(line.corpus));
}

nlohmann::json keys(const CommandLine& line) {
  kq::bench::issue_keys(line.dir);
  return nlohmann::json::object();
}

nlohmann::json calibrate(const CommandLine& line) {
  return {{"fdatasync_p50_us", kq::bench::calibrate_us(line.dir)}};
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line;
  nlohmann::json (*run)(const CommandLine&) = nullptr;
  CLI::App app("kq-bench puts one load on one queue and prints what it measured as one line of JSON", "kq-bench");
  app.require_subcommand(1);
  const auto command = [&](const char* name, const char* what, nlohmann::json (*function)(const CommandLine&)) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->callback([&run, function] { run = function; });
    return sub;
  };
  const auto add_corpus = [&](CLI::App* sub) {
    sub->add_option("--corpus", line.corpus,
                    "file with the paths of the sources of jobs, one per line; without it, jobs are random bytes");
  };
  const auto add_port = [&](CLI::App* sub) {
    sub->add_option("--port", line.address.port, "port of the server on 127.0.0.1")->required();
  };
  const auto add_dir = [&](CLI::App* sub) { sub->add_option("--dir", line.dir, "directory to write in")->required(); };

  CLI::App* sub = command("cycle", "put, take and finish jobs", cycle);
  add_corpus(sub);
  add_port(sub);
  sub->add_option("--peer", line.peer, "kq, beanstalkd, redis or rabbitmq")->capture_default_str();
  sub->add_option("--keys", line.address.keys, "kq only: folder that the command keys made");
  sub->add_option("--jobs", line.shape.job_count, "number of jobs")->required();
  sub->add_option("--first", line.shape.first_number,
                  "number of the first job; jobs with smaller numbers are queued already");
  sub->add_option("--producers", line.shape.producer_count, "connections that put jobs")->capture_default_str();
  sub->add_option("--consumers", line.shape.consumer_count, "connections that take jobs")->capture_default_str();
  sub->add_option("--batch", line.shape.batch, "jobs in one message")->capture_default_str();
  sub->add_option("--in-flight", line.shape.in_flight, "unacknowledged messages of a producer")->capture_default_str();
  sub->add_option("--at-once", line.shape.at_once, "jobs a consumer takes in one round")->capture_default_str();

  sub = command("crowd", "kq only: many idle workers, many submitters, one of them greedy", crowd);
  add_corpus(sub);
  add_port(sub);
  sub->add_option("--workers", line.crowd.worker_count, "workers that run one job at a time")->capture_default_str();
  sub->add_option("--submitters", line.crowd.submitter_count, "clients that submit single jobs at a steady pace")
      ->capture_default_str();
  sub->add_option("--pace", line.crowd.pace_per_s, "jobs per second of each submitter")->capture_default_str();
  sub->add_option("--run-ms", line.crowd.run_ms, "run time of a job in ms")->capture_default_str();
  sub->add_option("--seconds", line.crowd.seconds, "length of the measurement in s")->capture_default_str();
  sub->add_option("--greedy", line.crowd.greedy_job_count,
                  "jobs that one more submitter queues before the others start");

  add_port(command("first-lease", "kq only: wait for the first lease of a broker, which may start later", first_lease));
  sub = command("limits", "measure the limits of the machine", limits);
  add_corpus(sub);
  add_dir(sub);
  add_corpus(command("codec", "measure the cost of one job in the codec", codec));
  add_dir(command("keys", "make a folder of keys for kq-broker, with one key for clients and one for workers", keys));
  add_dir(command("calibrate", "measure the latency of a synced append", calibrate));

  CLI11_PARSE(app, argc, argv);
  std::puts(run(line).dump().c_str());
}
