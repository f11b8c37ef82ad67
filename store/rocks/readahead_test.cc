#include "store/rocks/readahead.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/temporary_directory.h"

namespace kq::store {
namespace {

constexpr std::uint64_t kBytes = 2 * kAheadBytes + 1000;

using Range = std::pair<std::uint64_t, std::size_t>;

// A file system that records the ranges that are requested ahead. Every read returns the same bytes.
class RecordingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  class File final : public rocksdb::FSRandomAccessFile {
   public:
    explicit File(std::vector<Range>& requested) : requested_(requested) {}
    rocksdb::IOStatus Read(std::uint64_t, std::size_t, const rocksdb::IOOptions&, rocksdb::Slice* result, char*,
                           rocksdb::IODebugContext*) const override {
      *result = "read";
      return rocksdb::IOStatus::OK();
    }
    rocksdb::IOStatus Prefetch(std::uint64_t offset, std::size_t n, const rocksdb::IOOptions&,
                               rocksdb::IODebugContext*) override {
      requested_.emplace_back(offset, n);
      return rocksdb::IOStatus::NotSupported("a prefetch may fail");
    }

   private:
    std::vector<Range>& requested_;
  };

  RecordingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "RecordingFileSystem"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string&, const rocksdb::FileOptions&,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext*) override {
    *file = std::make_unique<File>(requested);
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus GetFileSize(const std::string&, const rocksdb::IOOptions&, std::uint64_t* bytes,
                                rocksdb::IODebugContext*) override {
    *bytes = kBytes;
    return rocksdb::IOStatus::OK();
  }

  std::vector<Range> requested;
};

class ReadaheadTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(with_reads_ahead(files_)->NewRandomAccessFile("a.blob", {}, &file_, nullptr).ok());
  }
  void read() {
    rocksdb::Slice result;
    ASSERT_TRUE(file_->Read(0, 4, {}, &result, nullptr, nullptr).ok());
    EXPECT_EQ(result, "read");
  }
  void read_many(std::size_t n) {
    std::vector<rocksdb::FSReadRequest> requests(n);
    ASSERT_TRUE(file_->MultiRead(requests.data(), n, {}, nullptr).ok());
    for (const auto& request : requests) EXPECT_EQ(request.result, "read");
  }

  const std::shared_ptr<RecordingFileSystem> files_ = std::make_shared<RecordingFileSystem>();
  std::unique_ptr<rocksdb::FSRandomAccessFile> file_;
};

TEST_F(ReadaheadTest, begins_after_some_reads_and_stops_at_the_end_of_the_file) {
  for (std::uint64_t i = 0; i < kReadsBeforeAhead; ++i) read();
  EXPECT_TRUE(files_->requested.empty());
  for (int i = 0; i < 10; ++i) read();
  EXPECT_EQ(files_->requested,
            (std::vector<Range>{{0, kAheadBytes}, {kAheadBytes, kAheadBytes}, {2 * kAheadBytes, 1000}}));
}

TEST_F(ReadaheadTest, a_multi_read_counts_all_its_reads_and_requests_one_part) {
  read_many(kReadsBeforeAhead + 1);
  EXPECT_EQ(files_->requested, (std::vector<Range>{{0, kAheadBytes}}));
}

// Reading a real file gives the same bytes with and without the requests to the kernel.
class AnyReads : public testing::TestWithParam<bool> {};

TEST_P(AnyReads, return_the_bytes_of_the_file) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.blob";
  std::string bytes(kBytes, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2'654'435'761u >> 24);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto plain = rocksdb::FileSystem::Default();
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE((GetParam() ? with_reads_ahead(plain) : plain)->NewRandomAccessFile(path, {}, &file, nullptr).ok());
  std::string scratch(1'000, '\0');
  for (std::uint64_t i = 0; i < 2 * kReadsBeforeAhead; ++i) {
    const std::size_t at = i * 7'919 % kBytes;
    rocksdb::Slice read;
    ASSERT_TRUE(file->Read(at, scratch.size(), {}, &read, scratch.data(), nullptr).ok());
    ASSERT_EQ(read.ToString(), bytes.substr(at, scratch.size())) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AnyReads, testing::Bool(),
                         [](const auto& one) { return one.param ? "with_readahead" : "plain"; });

}  // namespace
}  // namespace kq::store
