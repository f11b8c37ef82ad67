#include "gpu_worker/judge/bystanders.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

// Counts, for as long as it is not stopped.
class Counting {
 public:
  Counting() : count_(static_cast<std::atomic<long>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    process_ = ::fork();
    if (process_ == 0) {
      for (;;) ++*count_;
    }
  }
  ~Counting() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::munmap(count_, 4096);
  }
  int process() const { return process_; }
  long count() const { return *count_; }
  bool counts() const {
    const long before = count();
    for (int i = 0; i < 2000 && count() == before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count() != before;
  }

 private:
  std::atomic<long>* count_;
  int process_ = 0;
};

class BystandersTest : public testing::Test {
 protected:
  BystandersTest() : control_(*Warming::make()), bystanders_(*Warming::map(Fd(::dup(control_.fd())))) {}
  Warming control_;
  Bystanders bystanders_;
};

TEST_F(BystandersTest, stands_still_while_it_is_quiet_and_goes_on_after) {
  const Counting counting;
  ASSERT_TRUE(counting.counts());
  control_.set(1, counting.process());
  {
    const Quiet quiet(&bystanders_);
    const long stopped_at = counting.count();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(counting.count(), stopped_at);
    control_.set(1, 0);  // it is warm: whom we have stopped goes on all the same
  }
  EXPECT_TRUE(counting.counts());
}

TEST_F(BystandersTest, nobody_is_stopped_where_nobody_warms_up_or_who_did_is_gone) {
  { const Quiet quiet(&bystanders_); }
  { const Quiet nobody(nullptr); }
  int gone = 0;
  { const Counting counting; gone = counting.process(); }
  control_.set(0, gone);
  { const Quiet quiet(&bystanders_); }
}

}  // namespace
}  // namespace kq::judge
