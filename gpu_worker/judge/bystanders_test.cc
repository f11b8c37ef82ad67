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

TEST_F(BystandersTest, work_goes_on_until_nobody_is_there_or_there_is_no_more_or_patience_ends) {
  int done = 0;
  bystanders_.begin_attempt();
  bystanders_.wait([&] { return ++done > 0; });
  EXPECT_EQ(done, 0) << "nobody is there";
  control_.set(2, ::getpid());
  bystanders_.wait([&] { return ++done < 7; });
  EXPECT_EQ(done, 7);
  bystanders_.wait([&] {
    if (++done == 17) control_.set(2, 0);
    return true;
  });
  EXPECT_EQ(done, 17);
  control_.set(2, ::getpid());
  bystanders_.wait([&] {
    ++done;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  });
  EXPECT_GT(done, 17);
  const int at_the_end = done;
  bystanders_.wait([&] { return ++done > 0; });
  EXPECT_EQ(done, at_the_end) << "there is no patience left";
}

}  // namespace
}  // namespace kq::judge
