#include "gpu_worker/child/runtime/view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gpu_worker/child/sandbox/sandboxed.h"

namespace kq::runtime {
namespace {

namespace fs = std::filesystem;

// A directory of mode 0700 with a secret file beside a directory to bind.
class View : public testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::temp_directory_path() / ("kq-view-" + std::to_string(::getpid()));
    fs::create_directories(home_ / "src");
    fs::create_directories(home_ / "out");
    std::ofstream(home_ / "secret") << "secret";
    std::ofstream(home_ / "src/a.py") << "source";
    fs::permissions(home_ / "out", fs::perms::all);
    fs::permissions(home_, fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(home_); }

  std::string run(const std::function<std::string()>& job) {
    const std::string view = sandbox::kTestView + "ro\t" + (home_ / "src").string() + "\t/kq/src\nrw\t" +
                             (home_ / "out").string() + "\t/kq/out\n";
    const sandbox::Sandboxed result = sandbox::run(
        {.uid = sandbox::kTestUid, .wanted = sandbox::kAllLayers, .host_bytes = 64u << 20, .view = view}, true, job);
    EXPECT_EQ(result.error, "");
    EXPECT_NE(result.layers & sandbox::kMount, 0u);
    return result.said;
  }
  fs::path home_;
};

bool writable(const char* path) {
  const int fd = ::open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

TEST_F(View, binds_a_directory_below_a_closed_home_and_hides_the_rest) {
  EXPECT_EQ(run([this] {
              std::string text;
              std::ifstream("/kq/src/a.py") >> text;
              return text + (fs::exists(home_) ? " home" : "") + (fs::exists("/etc/shadow") ? " shadow" : "") +
                     (fs::exists("/home") ? " homes" : "");
            }),
            "source");
}

TEST_F(View, is_read_only_except_for_scratch_and_rw_entries) {
  EXPECT_EQ(run([] {
              std::string places;
              for (const char* place : {"/usr/x", "/x", "/kq/x", "/kq/src/a.py", "/kq/src/x", "/etc/x", "/etc/passwd",
                                        "/dev/x", "/sys/x", "/tmp/x", "/kq/work/x", "/w/y", "/kq/out/x", "/dev/null"}) {
                if (writable(place)) places += std::string(place) + " ";
              }
              return places;
            }),
            "/tmp/x /kq/work/x /w/y /kq/out/x /dev/null ");
  EXPECT_TRUE(fs::exists(home_ / "out/x"));
}

TEST_F(View, limits_the_bytes_and_files_of_scratch) {
  EXPECT_EQ(run([] {
              std::ofstream file("/tmp/big", std::ios::binary);
              const std::string block(65536, 'x');
              int blocks = 0;
              while (blocks < 1000 && file.write(block.data(), 65536).flush()) ++blocks;
              ::truncate("/tmp/big", 0);
              int files = 0;
              while (files < 1000 && writable(("/kq/work/" + std::to_string(files)).c_str())) ++files;
              return std::string(blocks < 17 ? "bytes " : "many bytes ") + (files < 64 ? "files" : "many files");
            }),
            "bytes files");
}

TEST_F(View, refuses_device_nodes) {
  EXPECT_EQ(run([] {
              const bool made = ::mknod("/tmp/null", S_IFCHR | 0666, 0x103) == 0;
              return std::string(made ? "made a node" : "no");
            }),
            "no");
}

TEST_F(View, an_unknown_line_is_an_error_that_names_it) {
  const sandbox::Sandboxed result = sandbox::run(
      {.uid = sandbox::kTestUid, .wanted = sandbox::kAllLayers, .host_bytes = 64u << 20, .view = "dance\t/x\n"}, true,
      [] { return std::string(); });
  EXPECT_EQ(result.error, "error the view's plan has an unknown line: it begins with 'dance' and has 2 fields");
  EXPECT_EQ(result.layers, 0u);
}

TEST_F(View, a_missing_rw_source_is_an_error_that_names_it) {
  const sandbox::Sandboxed result = sandbox::run(
      {.uid = sandbox::kTestUid, .wanted = sandbox::kAllLayers, .host_bytes = 64u << 20, .view = "rw\t/nonsense\t/x\n"},
      true, [] { return std::string(); });
  EXPECT_EQ(result.error, "error /nonsense: No such file or directory");
}

}  // namespace
}  // namespace kq::runtime
