#include "gpu_worker/compile/object.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "gpu_worker/compile/cache.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class BuildObjectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("kq-object-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "made");
    fs::create_directories(root_ / "got");
  }
  void TearDown() override { fs::remove_all(root_); }

  void make(const std::string& name, const std::string& bytes) const {
    std::ofstream(root_ / "made" / name, std::ios::binary) << bytes;
  }
  std::string entry() const { return BuildCache(root_ / "cache").put(sha256("key"), root_ / "made").value(); }
  Expected<BuildObject> pack() const { return pack_object(entry(), DeviceKind::cuda, "sm_90", sha256("key")); }
  std::string got(const std::string& name) const {
    std::ifstream file(root_ / "got" / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // Makes an uncompressed object of this content with the right hash.
  static BuildObject object_of(const std::string& content) {
    BuildObject object{
        .kind = DeviceKind::cuda, .arch = "sm_90", .key = sha256("key"), .hash = {}, .bytes = "r" + content};
    object.hash = sha256(object.bytes);
    return object;
  }
  std::string unpack_error(const BuildObject& object) const {
    const auto done = unpack_object(object, root_ / "got");
    return done ? "" : done.error().message;
  }
  static std::string line(const std::string& bytes, const std::string& name) {
    return to_hex(sha256(bytes)) + " " + std::to_string(bytes.size()) + " " + name + "\n";
  }

  fs::path root_;
};

const std::string kPadding(400, 'x');  // something that LZ4 can compress

TEST_F(BuildObjectTest, an_entry_is_unpacked_as_it_was_packed) {
  make("status", "ok\n");
  make("module.so", std::string("\0\n\nelf", 6) + kPadding);
  make("empty", "");
  const auto object = pack();
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->arch, "sm_90");
  EXPECT_EQ(unpack_error(*object), "");
  EXPECT_EQ(got("status"), "ok\n");
  EXPECT_EQ(got("module.so"), std::string("\0\n\nelf", 6) + kPadding);
  EXPECT_TRUE(fs::exists(root_ / "got/empty"));
  // Put into another cache, the files make the same entry.
  const auto put = BuildCache(root_ / "other").put(sha256("key"), root_ / "got");
  ASSERT_TRUE(put);
  EXPECT_EQ(pack_object(*put, DeviceKind::cuda, "sm_90", sha256("key")).value().bytes, object->bytes);
}

TEST_F(BuildObjectTest, a_damaged_entry_is_not_packed) {
  make("status", "ok" + kPadding);
  const std::string entry = this->entry();
  fs::permissions(entry + "/status", fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(entry + "/status") << "no" + kPadding;
  EXPECT_FALSE(pack_object(entry, DeviceKind::cuda, "sm_90", sha256("key")));
}

TEST_F(BuildObjectTest, an_entry_that_is_too_large_is_not_packed) {
  std::mt19937_64 random(1);
  std::string noise(kObjectBytesMax + 1, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  make("status", "ok" + kPadding);
  make("module.so", noise);
  const auto object = pack();
  ASSERT_FALSE(object);
  EXPECT_NE(object.error().message.find("too large"), std::string::npos) << object.error().message;
}

TEST_F(BuildObjectTest, an_invalid_object_is_refused_with_a_reason) {
  const std::string good = "ok" + kPadding;
  BuildObject renamed = object_of(line(good, "status") + "\n" + good);
  EXPECT_EQ(unpack_error(renamed), "");
  renamed.hash = sha256("another");
  EXPECT_EQ(unpack_error(renamed), "its SHA-256 differs from the one that it names");
  EXPECT_EQ(unpack_error(object_of(line(good, "status") + "\n" + "no" + kPadding)),
            "status differs from its line in the list");
  EXPECT_EQ(unpack_error(object_of(line(good, "status") + "\n" + "ok")), "status is cut short");
  EXPECT_EQ(unpack_error(object_of(line(good, "status") + "\n" + good + "more")), "it is longer than its files");
  EXPECT_EQ(unpack_error(object_of(kPadding)), "it has no list of its files");
  for (const char* name : {"../status", "/tmp/status", "..", ".entry", ""}) {
    EXPECT_EQ(unpack_error(object_of(line(good, name) + "\n" + good)), "its list of files is invalid") << name;
  }
  for (const char* bytes : {"", "4", "4block", "zstd"}) {
    const BuildObject unpacked{
        .kind = DeviceKind::cuda, .arch = "sm_90", .key = sha256("key"), .hash = sha256(bytes), .bytes = bytes};
    EXPECT_NE(unpack_error(unpacked), "") << bytes;
  }
}

TEST_F(BuildObjectTest, an_object_with_any_changed_byte_is_refused) {
  make("status", "ok\n");
  make("module.so", kPadding);
  const BuildObject right = pack().value();
  for (std::size_t at = 0; at < right.bytes.size(); ++at) {
    BuildObject wrong = right;
    wrong.bytes[at] = static_cast<char>(wrong.bytes[at] ^ 1);
    EXPECT_EQ(unpack_error(wrong), "its SHA-256 differs from the one that it names");
  }
}

}  // namespace
}  // namespace kq::worker
