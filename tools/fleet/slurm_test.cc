#include "tools/fleet/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::tools {
namespace {

using State = FleetJob::State;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// Remembers the last command and answers with a prepared end.
struct Commands {
  std::vector<std::string> words;
  Variables environment;
  CommandEnd end;

  RunCommand port() {
    return [this](const auto& run_words, const auto& run_environment) {
      words = run_words;
      environment = run_environment;
      return Expected<CommandEnd>(end);
    };
  }
};

SlurmOptions options() {
  return {.name = "tcp://b:5570",
          .script = "/kq/worker.sbatch",
          .arguments = {"--partition=gpu"},
          .broker = "tcp://b:5570",
          .worker_key = "/home/ann/worker.key",
          .worker = "/kq/bin/kq-worker",
          .labels = {"team"},
          .idle_exit_s = 180};
}

TEST(slurm, jobs_of_the_fleet_are_recognised_by_their_comment) {
  Commands commands;
  commands.end.output =
      "squeue: warning: something is slow\n"
      "7_0|PENDING|1795712885|N/A|kq-fleet any tcp://b:5570\n"
      "7_1|RUNNING|1795712885|1795716485|kq-fleet any tcp://b:5570\n"
      "8|COMPLETING|1795712886|1795712890|kq-fleet h100:2 tcp://b:5570\n"
      "9|FAILED|1795712887|1795712895|kq-fleet h100:2 tcp://b:5570\n"
      "10|NODE_FAIL|1795712888|1795712895|kq-fleet any tcp://b:5570\n"
      "11|RUNNING|1795712889|NONE|kq-fleet any tcp://b:5570|other\n"
      "12|RUNNING|1795712889|NONE|kq-fleet any\n"
      "13|RUNNING|1795712889|NONE|(null)\n"
      "14|RUNNING|1795712889|NONE|kq-fleet :x tcp://b:5570\n";
  std::vector<FleetPool> pools{{}};
  const auto jobs = Slurm(options(), commands.port()).jobs(pools);
  ASSERT_TRUE(jobs) << jobs.error().message;
  std::vector<std::string> ids;
  for (const FleetJob& job : *jobs) ids.push_back(job.id);
  EXPECT_THAT(ids, ElementsAre("7_0", "7_1", "8", "9", "10"));
  EXPECT_EQ((*jobs)[0].state, State::pending);
  EXPECT_EQ((*jobs)[0].submitted_ms, 1'795'712'885'000);
  EXPECT_EQ((*jobs)[0].ended_ms, 0);
  EXPECT_EQ((*jobs)[1].state, State::running);
  EXPECT_EQ((*jobs)[2].state, State::ending);
  EXPECT_EQ((*jobs)[2].pool, 1u);
  EXPECT_EQ((*jobs)[3].state, State::failed);
  EXPECT_EQ((*jobs)[3].ended_ms, 1'795'712'895'000);
  EXPECT_EQ((*jobs)[4].state, State::ended);
  EXPECT_THAT(pools, ElementsAre(FleetPool{}, FleetPool{.gpu = "h100", .gpus = 2, .is_wanted = false}));
  EXPECT_THAT(commands.environment, ElementsAre(Pair("SLURM_TIME_FORMAT", "%s")));
}

TEST(slurm, several_workers_are_one_array) {
  Commands commands;
  commands.end.output = "sbatch: warning: slow\n12;cluster\n";
  EXPECT_EQ(Slurm(options(), commands.port()).start({.gpu = "h100", .gpus = 2}, 3), "12");
  EXPECT_THAT(commands.words, ElementsAre("sbatch", "--partition=gpu", "--parsable", "--job-name=kq-worker",
                                          "--comment=kq-fleet h100:2 tcp://b:5570", "--gres=gpu:h100:2", "--array=0-2",
                                          "/kq/worker.sbatch"));
  EXPECT_THAT(commands.environment, Contains(Pair("KQ_LABELS", "team h100")));
  EXPECT_THAT(commands.environment, Contains(Pair("KQ_IDLE_EXIT", "180")));
  EXPECT_THAT(commands.environment, Contains(Pair("KQ_WORKER", "/kq/bin/kq-worker")));
}

TEST(slurm, path_of_the_key_is_in_the_environment_alone) {
  Commands commands;
  commands.end.output = "12\n";
  ASSERT_TRUE(Slurm(options(), commands.port()).start({}, 1));
  EXPECT_THAT(commands.words, Not(Contains(HasSubstr("key"))));
  EXPECT_THAT(commands.words, Not(Contains(HasSubstr("--array"))));
  EXPECT_THAT(commands.words, Not(Contains(HasSubstr("--gres"))));
  EXPECT_THAT(commands.environment, Contains(Pair("KQ_KEY", "/home/ann/worker.key")));
}

TEST(slurm, fleets_own_key_does_not_reach_the_workers) {
  Commands commands;
  commands.end.output = "12\n";
  SlurmOptions without = options();
  without.worker_key.clear();
  ASSERT_TRUE(Slurm(without, commands.port()).start({}, 1));
  EXPECT_THAT(commands.environment, Contains(Pair("KQ_KEY", "")));
}

TEST(slurm, cancel_spares_a_job_that_has_started_and_drain_signals_the_script) {
  Commands commands;
  ASSERT_TRUE(Slurm(options(), commands.port()).cancel("7_1"));
  EXPECT_THAT(commands.words, ElementsAre("scancel", "--state=PENDING", "7_1"));
  ASSERT_TRUE(Slurm(options(), commands.port()).drain("7_1"));
  EXPECT_THAT(commands.words, ElementsAre("scancel", "--batch", "--signal=USR1", "7_1"));
}

TEST(slurm, failures_are_sentences) {
  Commands commands;
  const Slurm slurm(options(), commands.port());
  std::vector<FleetPool> pools;
  commands.end = {1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"};
  EXPECT_EQ(slurm.jobs(pools).error(),
            (Error{ErrorKind::our_fault,
                   "squeue failed with exit code 1: slurm_load_jobs error: Unable to contact slurm controller (connect "
                   "failure)"}));
  commands.end = {1, "sbatch: error: invalid partition specified: gpu\nsbatch: error: Batch job submission failed\n"};
  EXPECT_EQ(slurm.start({}, 1).error(),
            (Error{ErrorKind::bad_input,
                   "sbatch failed with exit code 1: sbatch: error: invalid partition specified: gpu; sbatch: error: "
                   "Batch job submission failed"}));
  commands.end = {127, "cannot start squeue: No such file or directory\n"};
  EXPECT_EQ(slurm.jobs(pools).error().kind, ErrorKind::bad_input);
  EXPECT_THAT(slurm.jobs(pools).error().message, HasSubstr("run kq fleet on a machine that has Slurm's commands"));
  commands.end = {0, ""};
  EXPECT_EQ(slurm.start({}, 1).error(),
            (Error{ErrorKind::our_fault, "sbatch printed no job number: it printed nothing"}));
}

}  // namespace
}  // namespace kq::tools
