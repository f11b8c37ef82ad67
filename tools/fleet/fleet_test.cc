#include "tools/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "producer/client/scripted_link.h"

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A broker with a queue, and a Slurm whose answers are prepared. Each sleep ends the program after `rounds` rounds.
struct FleetTest : ::testing::Test {
  std::ostringstream out;
  std::ostringstream err;
  producer::ScriptedBroker broker;
  std::uint64_t queued = 0;
  CommandEnd squeue;
  CommandEnd sbatch{0, "12\n"};
  std::vector<std::string> commands;
  std::vector<std::int64_t> sleeps;
  std::size_t rounds = 1;
  std::string programs = ::testing::TempDir() + "/fleet_test/bin";

  void SetUp() override {
    const auto script = std::filesystem::path(programs) / "../share/kq/slurm/worker.sbatch";
    std::filesystem::create_directories(programs);
    std::filesystem::create_directories(script.parent_path());
    std::ofstream(script) << "#!/bin/sh\n";
    broker.on_request = [this](const Message<ClientRequest>& request) {
      if (std::holds_alternative<BrokerQuery>(request.body)) {
        BrokerReply reply;
        reply.queued = queued;
        broker.reply(request.request_id, reply);
      } else {
        QueueReply reply;
        if (queued > 0) {
          reply.lanes.emplace_back();
          reply.lanes[0].queued = queued;
        }
        broker.reply(request.request_id, reply);
      }
    };
  }

  int run(std::vector<const char*> words) {
    words.insert(words.begin(), "kq-fleet");
    const FleetWorld world{
        .out = out,
        .err = err,
        .connect = [this](const std::string&,
                          const std::string&) { return Expected<producer::Client>(broker.client()); },
        .run = [this](const std::vector<std::string>& command, const Variables&) -> Expected<CommandEnd> {
          commands.push_back(command[0]);
          return command[0] == "squeue" ? squeue : command[0] == "sbatch" ? sbatch : CommandEnd{};
        },
        .unix_now_ms = [] { return std::int64_t{1'795'284'000'000}; },
        .sleep =
            [this](std::int64_t ms) {
              sleeps.push_back(ms);
              return sleeps.size() >= rounds;
            },
        .programs = programs};
    return run_fleet(static_cast<int>(words.size()), words.data(), world);
  }
};

TEST_F(FleetTest, once_starts_what_the_queue_needs) {
  queued = 25;
  EXPECT_EQ(run({"slurm", "--max", "8", "--once"}), 0) << err.str();
  EXPECT_EQ(out.str(),
            "25 queued jobs, 0 leased jobs; 0 Slurm jobs of the fleet run, 0 wait to start\n"
            "started 3 workers of pool any as Slurm job 12: 25 jobs need 3 workers\n");
  EXPECT_THAT(commands, ElementsAre("squeue", "sbatch"));
}

TEST_F(FleetTest, dry_run_changes_nothing) {
  queued = 25;
  squeue.output = "7|PENDING|1795283000|N/A|kq-fleet h100:1 tcp://127.0.0.1:5570\n";
  EXPECT_EQ(run({"slurm", "--max", "8", "--once", "--dry-run"}), 0);
  EXPECT_THAT(out.str(),
              HasSubstr("would cancel 7: 0 jobs need 0 workers\nwould start 3 workers of pool any: 25 jobs"));
  EXPECT_THAT(commands, ElementsAre("squeue"));
}

TEST_F(FleetTest, failed_rounds_are_repeated_with_growing_pauses_and_then_end_the_fleet) {
  rounds = 100;
  squeue = {1, "Unable to contact slurm controller\n"};
  EXPECT_EQ(run({"slurm", "--max", "8", "--every", "10"}), 3);
  EXPECT_THAT(sleeps, ElementsAre(20'000, 40'000, 80'000, 160'000, 300'000, 300'000, 300'000, 300'000, 300'000));
  EXPECT_THAT(err.str(), HasSubstr("Unable to contact slurm controller; the fleet tries again in 20 s"));
}

TEST_F(FleetTest, wrong_arguments_of_sbatch_end_the_fleet_in_its_first_round) {
  queued = 1;
  sbatch = {1, "sbatch: error: invalid partition specified: none\n"};
  EXPECT_EQ(run({"slurm", "--max", "8"}), 2);
  EXPECT_THAT(err.str(), HasSubstr("invalid partition specified"));
  EXPECT_TRUE(sleeps.empty());
}

TEST_F(FleetTest, missing_slurm_is_bad_input) {
  squeue = {127, "cannot start squeue: No such file or directory\n"};
  EXPECT_EQ(run({"slurm", "--max", "8"}), 2);
}

TEST_F(FleetTest, broker_that_does_not_answer_is_a_fault) {
  broker.reachable = false;
  EXPECT_EQ(run({"slurm", "--max", "8", "--once"}), 3);
  EXPECT_TRUE(commands.empty());
}

TEST_F(FleetTest, stop_signal_leaves_the_workers_alone) {
  rounds = 2;
  EXPECT_EQ(run({"slurm", "--max", "8"}), 0);
  EXPECT_THAT(commands, ElementsAre("squeue", "squeue"));
  EXPECT_THAT(err.str(), HasSubstr("its workers go on"));
}

TEST_F(FleetTest, mistakes_on_the_command_line_are_sentences) {
  for (const auto& [words, sentence] : std::vector<std::pair<std::vector<const char*>, std::string>>{
           {{"kubernetes", "--max", "1"}, "there is no engine 'kubernetes'; the engine is slurm"},
           {{"slurm"}, "--max is missing"},
           {{"slurm", "--max", "1", "--min", "2"}, "--min 2 is more than --max 1"},
           {{"slurm", "--max", "1", "--gpu", "h100:0"}, "--gpu 'h100:0' is not a GPU model"},
           {{"slurm", "--max", "1", "--gpu", "h100", "--gpu", "h100:1"}, "--gpu h100:1 is given twice"},
           {{"slurm", "--max", "1", "--script", "/no/script"}, "the job script /no/script does not exist"},
           {{"slurm", "--max", "1", "--broker", "nowhere"}, "nowhere"},
           {{"slurm", "--max", "1", "--label", "two words"}, "--label 'two words' has a space"}}) {
    err.str("");
    EXPECT_EQ(run(words), 2) << sentence;
    EXPECT_THAT(err.str(), HasSubstr(sentence));
    EXPECT_TRUE(commands.empty());
  }
}

}  // namespace
}  // namespace kq::tools
