// kq-judge as the control process starts it: descriptor 3, one report for each plan, and its exit codes.
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

std::string program() {
  char path[PATH_MAX] = {};
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string self(path, n < 0 ? 0 : static_cast<std::size_t>(n));
  return self.substr(0, self.rfind('/')) + "/kq-judge";
}

class Program {
 public:
  explicit Program(std::vector<std::string> arguments) : ends_(std::move(*sys::packet_pair())) {
    std::string path = program();
    std::vector<char*> argv{path.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (ends_.second.get() == 3 ? ::fcntl(3, F_SETFD, 0) != 0 : ::dup2(ends_.second.get(), 3) != 3) ::_exit(99);
      ::execv(path.c_str(), argv.data());
      ::_exit(98);
    }
    ends_.second = sys::Fd();
  }
  ~Program() { hang_up(); }

  int socket() const { return ends_.first.get(); }

  std::optional<JudgeReply> reply() {
    const auto packet = sys::receive_packet(socket(), 60'000);
    if (!packet || !*packet) return std::nullopt;
    auto message = decode_message<JudgeReply>((*packet)->bytes);
    if (!message) return std::nullopt;
    return std::move(message->body);
  }

  int exit_code() {
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int hang_up() {
    ends_.first = sys::Fd();
    return exit_code();
  }

  pid_t pid() const { return pid_; }

 private:
  std::pair<sys::Fd, sys::Fd> ends_;
  pid_t pid_ = 0;
};

TEST(JudgeProgram, serves_plans_until_control_hangs_up) {
  Program judge({"--device", "cpu", "--index", "0"});
  const auto ready = judge.reply();
  ASSERT_TRUE(ready && std::holds_alternative<JudgeReady>(*ready));
  EXPECT_EQ(std::get<JudgeReady>(*ready).device.kind, DeviceKind::cpu);

  FakeChild calibrator([](FakeTurn&) {});
  FakeChild reference(fake_reference());
  const sys::Fd calibrator_socket = calibrator.take_socket();
  const sys::Fd reference_socket = reference.take_socket();
  for (std::uint64_t id = 1; id <= 2; ++id) {
    FakeChild submission(fake_submission());
    const sys::Fd submission_socket = submission.take_socket();
    Plan plan;
    plan.id = id;
    plan.fresh_calibrator = plan.fresh_reference = id == 1;
    plan.trials = {.correctness = 1, .warmup = 0, .timed = 2};
    std::vector<int> channels{submission_socket.get()};
    if (id == 1) channels.insert(channels.begin(), {calibrator_socket.get(), reference_socket.get()});
    ASSERT_TRUE(sys::send_packet(judge.socket(), encode_message(Message<JudgeRequest>{0, plan}), channels));
    const auto reply = judge.reply();
    ASSERT_TRUE(reply && std::holds_alternative<Report>(*reply));
    const Report& report = std::get<Report>(*reply);
    EXPECT_EQ(report.id, id);
    EXPECT_TRUE(report.verdict && name_of(*report.verdict) == VerdictName::passed) << report.error;
    EXPECT_EQ(report.samples.submission_ns.size(), 2u);
  }
  EXPECT_EQ(judge.hang_up(), 0);
}

TEST(JudgeProgram, keeps_to_the_cores_of_its_lane) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all)) --last;
  for (const std::string& cores : {std::to_string(last), std::string()}) {
    Program judge({"--device", "cpu", "--index", "0", "--cores", cores});
    ASSERT_TRUE(judge.reply());
    cpu_set_t kept;
    ASSERT_EQ(::sched_getaffinity(judge.pid(), sizeof kept, &kept), 0);
    EXPECT_EQ(CPU_COUNT(&kept), cores.empty() ? CPU_COUNT(&all) : 1);
    EXPECT_TRUE(CPU_ISSET(last, &kept));
  }
}

TEST(JudgeProgram, receives_the_exit_of_a_child) {
  Program judge({"--device", "cpu", "--index", "0"});
  ASSERT_TRUE(judge.reply());
  FakeChild calibrator([](FakeTurn&) {});
  FakeChild reference(fake_reference());
  FakeChild submission(fake_submission(at(channel::Command::load, [&](FakeTurn& turn) {
    turn.ends = true;
    EXPECT_TRUE(sys::send_packet(judge.socket(),
                                 encode_message(Message<JudgeRequest>{0, ChildExited{ChildRole::submission, 6}})));
  })));
  const sys::Fd calibrator_socket = calibrator.take_socket();
  const sys::Fd reference_socket = reference.take_socket();
  const sys::Fd submission_socket = submission.take_socket();
  const std::array<int, 3> channels{calibrator_socket.get(), reference_socket.get(), submission_socket.get()};
  ASSERT_TRUE(sys::send_packet(judge.socket(), encode_message(Message<JudgeRequest>{0, Plan{}}), channels));
  const auto reply = judge.reply();
  ASSERT_TRUE(reply && std::holds_alternative<Report>(*reply));
  const Report& report = std::get<Report>(*reply);
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::crashed);
}

TEST(JudgeProgram, exits_with_5_where_no_such_device_exists) {
  EXPECT_EQ(Program({"--device", "cuda", "--index", "4096"}).exit_code(), static_cast<int>(ExitCode::nothing));
}

TEST(JudgeProgram, a_malformed_message_from_control_is_our_fault) {
  Program judge({"--device", "cpu", "--index", "0"});
  ASSERT_TRUE(judge.reply());
  ASSERT_TRUE(sys::send_packet(judge.socket(), "nonsense"));
  EXPECT_EQ(judge.exit_code(), static_cast<int>(ExitCode::our_fault));
}

TEST(JudgeProgram, bad_usage_is_bad_input) {
  EXPECT_EQ(Program({"--device", "tpu", "--index", "0"}).exit_code(), static_cast<int>(ExitCode::bad_input));
  EXPECT_EQ(Program({"--device", "cpu", "--index", "-1"}).exit_code(), static_cast<int>(ExitCode::bad_input));
  EXPECT_EQ(Program({"--device", "cpu", "--index", "0", "--cores", "0-3"}).exit_code(),
            static_cast<int>(ExitCode::bad_input));
  EXPECT_EQ(Program({"--device", "cpu"}).exit_code(), static_cast<int>(ExitCode::bad_input));
}

}  // namespace
}  // namespace kq::judge
