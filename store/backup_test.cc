#include "store/backup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BackupTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy(std::string(KQ_STORES) + "/schema_1", path("store"));
    store = open("store");
  }

  std::string path(const std::string& name) const { return directory.path() + "/" + name; }
  std::unique_ptr<Store> open(const std::string& name) {
    return open_rocks_store(path(name), OpenMode::read_write, {.space = {.reserve_bytes = 0}}).value();
  }
  Expected<Verified> restore_to(const std::string& name) {
    return restore(path("copy"), path(name), [this](const std::string& line) { problems.push_back(line); });
  }

  const TemporaryDirectory directory;
  std::unique_ptr<Store> store;
  std::vector<std::string> problems;
};

TEST_F(BackupTest, a_restored_store_holds_what_the_running_one_held_and_can_be_written) {
  ASSERT_TRUE(backup(*store, path("copy")));
  const auto restored = restore_to("restored");
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->finished_count, 4u);
  const auto again = open("restored");
  const Write write{Family::meta, "key", "value"};
  EXPECT_TRUE(again->commit({&write, 1}));
  EXPECT_EQ(again->get(Family::state, sequence_key(7)).value(), store->get(Family::state, sequence_key(7)).value());
  EXPECT_TRUE(restore_to("restored too")) << "the copy can be restored again";
}

TEST_F(BackupTest, restore_refuses_a_directory_that_is_not_empty) {
  ASSERT_TRUE(backup(*store, path("copy")));
  EXPECT_EQ(restore_to("store").error(),
            (Error{ErrorKind::bad_input,
                   "nothing is restored to " + path("store") + ": it is not empty; name a new or an empty directory"}));
  fs::create_directory(path("empty"));
  EXPECT_TRUE(restore_to("empty"));
}

TEST_F(BackupTest, a_copy_with_problems_is_not_restored) {
  const Write removal{Family::body, sequence_key(3), std::nullopt};
  ASSERT_TRUE(store->commit({&removal, 1}));
  ASSERT_TRUE(backup(*store, path("copy")));
  EXPECT_EQ(restore_to("restored").error().message,
            "store at " + path("copy") + " has 1 problems; nothing was restored");
  EXPECT_THAT(problems, testing::ElementsAre(HasSubstr("job 3: its submission is missing")));
  EXPECT_FALSE(fs::exists(path("restored")));
}

TEST_F(BackupTest, a_damaged_copy_is_not_restored) {
  ASSERT_TRUE(backup(*store, path("copy")));
  for (const auto& entry : fs::directory_iterator(path("copy"))) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40);
    file << "damage";
  }
  EXPECT_EQ(restore_to("restored").error().kind, ErrorKind::our_fault);
  EXPECT_FALSE(fs::exists(path("restored")));
}

TEST_F(BackupTest, a_store_that_another_process_has_open_is_not_restored) {
  ASSERT_TRUE(backup(*store, path("copy")));
  const std::string lock = path("copy") + "/LOCK";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    const int file = ::open(lock.c_str(), O_CREAT | O_RDWR, 0600);
    const char word = fcntl(file, F_SETLK, &whole) == 0 ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  const auto refused = restore_to("restored");
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(refused.error().message, HasSubstr("is in use by a running broker"));
  EXPECT_FALSE(fs::exists(path("restored")));
  EXPECT_TRUE(restore_to("restored")) << "its lock is gone";
}

// Lets no file of this process grow beyond a byte for its lifetime.
class FilesOfOneByte {
 public:
  FilesOfOneByte() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit low{.rlim_cur = 1, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &low);
  }
  ~FilesOfOneByte() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }
  FilesOfOneByte(const FilesOfOneByte&) = delete;
  FilesOfOneByte& operator=(const FilesOfOneByte&) = delete;

 private:
  rlimit before_{};
};

TEST_F(BackupTest, a_copy_that_fails_leaves_nothing) {
  ASSERT_TRUE(backup(*store, path("copy")));
  fs::create_directory(path("empty"));
  {
    const FilesOfOneByte limit;
    EXPECT_FALSE(restore_to("restored"));
    EXPECT_FALSE(restore_to("empty"));
  }
  EXPECT_FALSE(fs::exists(path("restored")));
  EXPECT_TRUE(fs::is_empty(path("empty")));
  EXPECT_TRUE(restore_to("restored"));
}

TEST_F(BackupTest, a_folder_beside_the_files_of_a_backup_is_left_out) {
  ASSERT_TRUE(backup(*store, path("copy")));
  fs::create_directory(path("copy") + "/lost+found");
  EXPECT_TRUE(restore_to("restored"));
  EXPECT_FALSE(fs::exists(path("restored") + "/lost+found"));
}

}  // namespace
}  // namespace kq::store
