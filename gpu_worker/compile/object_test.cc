#include "gpu_worker/compile/object.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "gpu_worker/compile/cache.h"
#include "gpu_worker/compile/test_builds.h"

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

// Gives the object of one builder to another builder with a cache of its own.
class BuildObjectTransferTest : public ::testing::Test, protected TestBuilds {
 protected:
  static void SetUpTestSuite() {
    const auto ready = set_up();
    ASSERT_TRUE(ready) << ready.error().message;
  }
  static void TearDownTestSuite() { tear_down(); }
  static Expected<Built> build_with(const std::string& cache, const Lease& lease, bool for_others = false) {
    Builder builder({.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"},
                    BuildCache(root_ / cache), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
    return for_others ? builder.build_object(lease) : builder.build(lease);
  }
  static Lease lease_for(const std::string& source) { return lease_of(Backend::torch_cuda, {{"k.py", source}}); }
};

TEST_F(BuildObjectTransferTest, an_object_replaces_the_build) {
  Lease lease = lease_for(extension("int number = 30;"));
  const auto built = build_with("theirs", lease, true);
  ASSERT_EQ(verdict_of(built), "built") << evidence(built).message;
  ASSERT_TRUE(built->object);
  lease.object = built->object;
  const auto found = build_with("ours", lease);
  ASSERT_EQ(verdict_of(found), "built");
  EXPECT_TRUE(found->cached);
  EXPECT_EQ(found->toolchain, built->toolchain);
  EXPECT_NE(found->toolchain.flags.find("-DNAME"), std::string::npos);
  EXPECT_TRUE(fs::exists(found->dir + "/kq_extension_0.so"));
  lease.object.reset();
  EXPECT_TRUE(build_with("ours", lease)->cached) << "the object stays in the cache";
}

TEST_F(BuildObjectTransferTest, an_object_may_be_a_cuda_kernel) {
  const std::string source =
      "extern \"C\" __global__ void copy(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x] + 0; }";
  Lease lease = lease_of(Backend::cuda, {{"k.cu", source}, {"k.json", std::string(kContract)}});
  const auto built = build_with("theirs", lease, true);
  if (verdict_of(built) == "unsupported_here") GTEST_SKIP() << "skipped: no CUDA toolkit: " << evidence(built).message;
  ASSERT_TRUE(built->object);
  lease.object = built->object;
  const auto found = build_with("ours", lease);
  ASSERT_EQ(verdict_of(found), "compiled_only");
  EXPECT_TRUE(found->cached);
  EXPECT_EQ(found->toolchain, built->toolchain);
}

TEST_F(BuildObjectTransferTest, only_the_object_of_the_same_build_is_used) {
  Lease lease = lease_for(extension("int number = 31;"));
  const auto right = build_with("theirs", lease, true);
  ASSERT_TRUE(right && right->object);
  const auto other = build_with("theirs", lease_for(extension("int number = 32;")), true);
  ASSERT_TRUE(other && other->object);
  BuildObject garbled = *right->object;
  garbled.bytes[garbled.bytes.size() / 2] = static_cast<char>(garbled.bytes[garbled.bytes.size() / 2] ^ 1);
  // Makes an object with the right key that other compilers made.
  fs::create_directories(root_ / "forged");
  for (const auto& file : fs::directory_iterator(right->dir)) {
    if (file.path().filename() != kEntryListName) fs::copy_file(file.path(), root_ / "forged" / file.path().filename());
  }
  fs::remove(root_ / "forged/toolchain_id");
  std::ofstream(root_ / "forged/toolchain_id") << "extensions/3 of another machine";
  const auto forged = pack_object(BuildCache(root_ / "forger").put(right->object->key, root_ / "forged").value(),
                                  DeviceKind::cpu, "", right->object->key);
  ASSERT_TRUE(forged);
  int i = 0;
  for (const BuildObject& wrong : {*other->object, garbled, *forged}) {
    lease.object = wrong;
    const auto built = build_with("ours" + std::to_string(++i), lease);
    ASSERT_EQ(verdict_of(built), "built");
    EXPECT_FALSE(built->cached) << i;
  }
}

// A child does not see the folder with this compiler in its sandbox and uses another one.
TEST_F(BuildObjectTransferTest, a_compiler_that_only_the_worker_sees_prevents_objects_but_not_caching) {
  fs::create_directories(root_ / "bin");
  std::ofstream(root_ / "bin/g++") << "#!/bin/sh\necho 'g++ (Other) 11.1.1'\n";
  fs::permissions(root_ / "bin/g++", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", ((root_ / "bin").string() + ":" + path).c_str(), 1);
  auto started = Zygote::start(TestLane::options().zygote);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(started) << started.error().message;
  const std::shared_ptr<Zygote> zygote = std::move(*started);
  ASSERT_NE(zygote->compilers().find("11.1.1"), std::string::npos);
  Builder builder({.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"},
                  BuildCache(root_ / "odd"), [&](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote); });
  const Lease lease = lease_for(extension("int number = 34;"));
  ASSERT_EQ(verdict_of(builder.build(lease)), "built");
  fs::remove_all(root_ / "scratch");
  const auto again = builder.build(lease);
  ASSERT_EQ(verdict_of(again), "built");
  EXPECT_FALSE(fs::exists(root_ / "scratch")) << "nothing was built";
  EXPECT_EQ(verdict_of(builder.build_object(lease)),
            "error: builds here find other compilers than this worker found when it started");
}

TEST_F(BuildObjectTransferTest, a_rejected_build_makes_no_object) {
  Lease lease = lease_for("import torch\ns = torch.cuda.Stream()\n");
  const auto built = build_with("theirs", lease, true);
  EXPECT_EQ(verdict_of(built), "rejected");
  EXPECT_FALSE(built->object);
}

TEST_F(BuildObjectTransferTest, a_build_for_the_builders_own_processor_makes_no_object) {
  for (int i = 0; i < 2; ++i) {
    const auto built = build_with(
        "theirs",
        lease_for(extension("int number = 33;", ", extra_ldflags=[]").replace(0, 0, "FLAG = '-march=' + 'native'\n") +
                  "other = load_inline('small', SOURCE + '// 2', no_implicit_headers=True, "
                  "extra_cflags=['-DNAME=\"small\"', FLAG])\n"),
        true);
    EXPECT_EQ(verdict_of(built), "error: the build is for the processor of this machine only");
  }
}

}  // namespace
}  // namespace kq::worker
