// Tests that the work of the broker per job does not grow with the number of jobs or of workers. The tests compare
// counts of reads and writes, which are the same on every machine. `kq-sim scale` runs larger worlds and measures
// times.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"
#include "tests/sim/scale/scale_world.h"

namespace kq::sim {
namespace {

constexpr double kGrowthMax = 1.2;

ScaleOutcome run(std::uint64_t worker_count, std::uint64_t job_count) {
  spdlog::set_level(spdlog::level::off);
  const store::TemporaryDirectory folder;
  auto store = store::open_rocks_store(folder.path() + "/store", store::OpenMode::read_write);
  EXPECT_TRUE(store) << store.error().message;
  ScaleOutcome outcome =
      run_scale({.worker_count = worker_count, .job_count = job_count, .run_ms_max = 500, .keep_jobs = 0}, **store, {});
  EXPECT_EQ(outcome.violation, std::nullopt);
  return outcome;
}

// The reads and writes of the broker's store per job in one phase.
double work_per_job(const ScaleOutcome& outcome, ScalePhase phase) {
  std::uint64_t work = 0;
  std::uint64_t job_count = 0;
  for (const ScaleFigures& tenth : outcome.tenths) {
    if (tenth.phase != phase) continue;
    work += tenth.store.read_count + tenth.store.visit_count + tenth.store.write_count;
    job_count += tenth.job_count;
  }
  return static_cast<double>(work) / static_cast<double>(job_count);
}

TEST(Scale, work_per_job_does_not_grow_with_jobs) {
  const ScaleOutcome small = run(50, 1'000);
  const ScaleOutcome large = run(50, 6'000);
  for (const ScalePhase phase : {ScalePhase::fill, ScalePhase::drain}) {
    EXPECT_LT(work_per_job(large, phase), kGrowthMax * work_per_job(small, phase)) << to_string(phase);
  }
}

TEST(Scale, work_per_job_does_not_grow_with_workers) {
  const ScaleOutcome few = run(10, 3'000);
  const ScaleOutcome many = run(300, 3'000);
  EXPECT_LT(work_per_job(many, ScalePhase::drain), kGrowthMax * work_per_job(few, ScalePhase::drain));
}

TEST(Scale, broker_that_starts_again_finds_every_unfinished_job) {
  const ScaleOutcome outcome = run(50, 1'000);
  EXPECT_GT(outcome.crash_count, 0u);
  EXPECT_GT(outcome.recovered_count, 400u);
}

}  // namespace
}  // namespace kq::sim
