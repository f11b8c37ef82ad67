// Slurm as kq-fleet uses it: squeue lists the jobs of the fleet, sbatch starts workers, and scancel cancels and drains.
//
// The fleet knows its jobs by their name, kJobName, and by their comment, "kq-fleet POOL NAME", where NAME is the name
// of the fleet. So the fleet keeps no state, and several fleets of one user do not touch each other's jobs. Every user
// of the cluster can read names, comments and command lines of jobs, so these hold no key and no path of a key: the job
// script gets the path in its environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fleet/command.h"
#include "tools/fleet/plan.h"

namespace kq::tools {

inline constexpr std::string_view kSlurmJobName = "kq-worker";

struct SlurmOptions {
  std::string name{};                    // of the fleet
  std::string script{};                  // deploy/slurm/worker.sbatch or another one
  std::vector<std::string> arguments{};  // further arguments of sbatch, such as --partition=gpu
  std::string broker{};
  std::string worker_key{};  // path of the workers' key file, or empty
  std::string worker{};      // path of kq-worker, or empty: the script's own choice
  std::vector<std::string> labels{};
  std::uint32_t idle_exit_s = 0;  // after which a worker ends by itself, also without a fleet; 0: never
};

class Slurm {
 public:
  Slurm(SlurmOptions options, RunCommand run) : options_(std::move(options)), run_(std::move(run)) {}

  // Returns the jobs of this fleet, including those that ended a short while ago (MinJobAge of slurm.conf). Appends to
  // `pools` those pools that have jobs and are not listed yet.
  Expected<std::vector<FleetJob>> jobs(std::vector<FleetPool>& pools) const;

  // Starts workers and returns the number of the Slurm job, which has one task for each worker if there are several.
  Expected<std::string> start(const FleetPool& pool, std::uint32_t count) const;

  // Cancels a job that is still pending. A job that has started meanwhile goes on.
  Expected<void> cancel(const std::string& job) const;

  // Lets the worker of a job finish what it runs and end.
  Expected<void> drain(const std::string& job) const;

 private:
  Expected<std::string> output_of(const std::vector<std::string>& words, const Variables& environment,
                                  ErrorKind refused) const;

  SlurmOptions options_;
  RunCommand run_;
};

}  // namespace kq::tools
