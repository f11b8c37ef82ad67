#include "producer/submit/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/blob.h"
#include "core/limits.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Pack : public testing::Test {
 protected:
  void SetUp() override { folder_.write("problem.py", kTestProblem); }

  Candidate candidate(std::string_view file, std::string_view text = kTestKernel) {
    Candidate candidate;
    const auto path = folder_.write(file, text);
    candidate.where = path.string();
    candidate.label = path.stem().string();
    candidate.files = {file_ref(path)};
    candidate.problem = file_ref(folder_ / "problem.py");
    candidate.problem_name = "problem";
    return candidate;
  }
  Candidate cuda_candidate(std::string_view contract = kTestContract) {
    Candidate cuda = candidate("scale.cu", "__global__ void scale() {}");
    cuda.files.push_back(file_ref(folder_.write("scale.json", contract)));
    return cuda;
  }
  PackedJob packed(const Candidate& candidate) {
    std::vector<std::string> mistakes;
    const auto job = Packer().pack(candidate, mistakes);
    EXPECT_TRUE(job) << testing::PrintToString(mistakes);
    return job.value_or(PackedJob{});
  }
  // Returns the mistakes without the path of the folder.
  std::vector<std::string> mistakes(const Candidate& candidate) {
    std::vector<std::string> mistakes;
    EXPECT_FALSE(Packer().pack(candidate, mistakes));
    for (std::string& mistake : mistakes) {
      const std::string prefix = (folder_ / "").string();
      if (mistake.starts_with(prefix)) mistake.erase(0, prefix.size());
    }
    return mistakes;
  }
  // Writes files that compress badly.
  std::vector<PackedJob> many(std::size_t n, std::size_t bytes) {
    std::mt19937 random(7);
    std::vector<PackedJob> jobs;
    for (std::size_t i = 0; i < n; ++i) {
      std::string text(bytes, '#');
      for (char& c : text) c = static_cast<char>(' ' + random() % 95);
      jobs.push_back(packed(candidate("k" + std::to_string(i) + ".py", text)));
    }
    return jobs;
  }

  TestFolder folder_;
};

TEST_F(Pack, a_submission_names_its_files_by_hash) {
  const PackedJob job = packed(candidate("add.py"));
  EXPECT_EQ(job.submission.label, "add");
  EXPECT_EQ(job.submission.backend, Backend::torch);
  EXPECT_EQ(job.submission.files, (std::vector<SourceFile>{{"add.py", sha256(kTestKernel)}}));
  EXPECT_EQ(job.submission.problem.hash, sha256(kTestProblem));
  EXPECT_EQ(job.submission.problem.file, "problem.py");
  EXPECT_EQ(job.files.size(), 2u);
}

TEST_F(Pack, the_backend_is_recognised_by_the_text_where_none_is_named) {
  const std::string triton = "import triton\n@triton.jit\ndef f(): ...\n";
  EXPECT_EQ(packed(candidate("add.py", triton)).submission.backend, Backend::triton);
  EXPECT_EQ(packed(cuda_candidate()).submission.backend, Backend::cuda);
  Candidate named = candidate("add.py", triton);
  named.backend = Backend::torch;
  EXPECT_EQ(packed(named).submission.backend, Backend::torch);
}

TEST_F(Pack, refuses_a_file_that_is_no_kernel) {
  EXPECT_THAT(mistakes(candidate("notes.txt")), ElementsAre("notes.txt: a kernel is a .py, .cu, .ptx or .cubin file"));
  EXPECT_THAT(mistakes(candidate("empty.py", "")), ElementsAre("empty.py is empty"));
  EXPECT_THAT(mistakes(candidate("binary.py", std::string_view("a\0b", 3))),
              ElementsAre("binary.py is no source text: it holds NUL bytes"));
  const Candidate big = candidate("big.py");
  std::filesystem::resize_file(folder_ / "big.py", 100u << 20);
  EXPECT_THAT(mistakes(big), ElementsAre("big.py is 104857600 bytes, a source may have 1048576"));
}

TEST_F(Pack, a_file_that_a_line_names_is_refused_with_the_line) {
  Candidate gone = candidate("gone.py");
  gone.where = "run.jsonl:3";
  std::filesystem::remove(folder_ / "gone.py");
  EXPECT_THAT(mistakes(gone),
              ElementsAre("run.jsonl:3: " + (folder_ / "gone.py").string() + ": No such file or directory"));
  Candidate text = candidate("notes.txt");
  text.where = "run.jsonl:4";
  EXPECT_THAT(mistakes(text), ElementsAre("run.jsonl:4: " + (folder_ / "notes.txt").string() +
                                          ": a kernel is a .py, .cu, .ptx or .cubin file"));
}

TEST_F(Pack, a_mistake_in_a_problem_is_reported_once) {
  folder_.write("problem.py", "def get_init_inputs(): ...");
  const std::string expected = (folder_ / "problem.py").string() +
                               ": a problem defines class Model and get_inputs; missing here: class Model, get_inputs";
  Packer packer;
  std::vector<std::string> reported;
  EXPECT_FALSE(packer.pack(candidate("a.py"), reported));
  EXPECT_FALSE(packer.pack(candidate("b.py"), reported));
  EXPECT_THAT(reported, ElementsAre(expected));
}

TEST_F(Pack, a_cuda_kernel_needs_a_right_contract) {
  EXPECT_THAT(mistakes(cuda_candidate(
                  R"({"args": [{"name": "x", "type": "tensor", "role": "in"}], "launch": {"grid": {}, "block": {}}})")),
              ElementsAre("scale.json: args[0].role must be input, output or inout, got 'in'"));
  const Candidate alone = cuda_candidate();
  std::filesystem::remove(folder_ / "scale.json");
  EXPECT_THAT(mistakes(alone),
              ElementsAre("scale.cu needs scale.json beside it: the arguments and the launch of its kernel"));
  Candidate alone_in_python = candidate("add.py");
  alone_in_python.backend = Backend::multi_kernel;
  EXPECT_THAT(
      mistakes(alone_in_python),
      ElementsAre(
          "add.py: backend multi_kernel needs a .json file beside it with entry_point, the function that is called"));
  alone_in_python.files.push_back(file_ref(folder_.write("add.json", R"({"entry_point": ""})")));
  EXPECT_THAT(mistakes(alone_in_python), ElementsAre("add.json: entry_point must be a text, got ''"));
  Candidate wrong = candidate("add.py");
  wrong.backend = Backend::cuda;
  EXPECT_THAT(mistakes(wrong),
              ElementsAre(testing::StartsWith("add.py: backend cuda takes a .cu, .ptx or .cubin file")));
}

TEST_F(Pack, a_cubin_is_no_text) {
  Candidate cubin = candidate("scale.cubin", std::string_view("\x7f"
                                                              "ELF\0\2",
                                                              6));
  cubin.files.push_back(file_ref(folder_.write("scale.json", kTestContract)));
  EXPECT_EQ(packed(cubin).submission.backend, Backend::cuda);
}

TEST_F(Pack, a_name_with_a_newline_is_refused_with_its_place) {
  EXPECT_THAT(mistakes(candidate("a\nb.py")), ElementsAre("a\nb.py: the label holds a control character at byte 1"));
  Candidate tagged = candidate("a.py");
  tagged.tags["x"] = "a\nb";
  EXPECT_THAT(mistakes(tagged), ElementsAre("a.py: a: tag 'x' holds a control character at byte 1"));
}

TEST_F(Pack, repetitions_are_jobs_of_their_own_that_can_be_resubmitted) {
  const PackedJob job = packed(candidate("add.py"));
  EXPECT_EQ(repeated(job, 1, "").submission, job.submission);
  const Submission second = repeated(job, 2, "").submission;
  EXPECT_EQ(second.label, "add#2");
  EXPECT_EQ(submission_key(second), submission_key(repeated(job, 2, "").submission));
  EXPECT_NE(submission_key(second), submission_key(job.submission));
  EXPECT_NE(submission_key(second), submission_key(repeated(job, 3, "").submission));
  EXPECT_NE(submission_key(repeated(job, 1, "random").submission), submission_key(job.submission));
}

TEST_F(Pack, a_batch_has_each_blob_once) {
  const std::vector<PackedJob> jobs{packed(candidate("a.py")), packed(candidate("b.py")), packed(cuda_candidate())};
  const auto batch = next_batch("monday", jobs);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->run, "monday");
  EXPECT_EQ(batch->jobs.size(), 3u);
  std::vector<std::string> texts;
  Decompressor decompressor;
  for (const Blob& blob : batch->blobs) {
    const auto text = content_of(decompressor, blob);
    ASSERT_TRUE(text) << text.error().message;
    texts.push_back(*text);
  }
  EXPECT_THAT(texts, ElementsAre(kTestKernel, kTestProblem, "__global__ void scale() {}", kTestContract));
}

TEST_F(Pack, a_batch_has_a_maximum_of_jobs) {
  const std::vector<PackedJob> jobs(kSubmitJobsMax + 1, packed(candidate("a.py")));
  EXPECT_EQ(next_batch("r", jobs)->jobs.size(), kSubmitJobsMax);
  EXPECT_EQ(next_batch("r", std::span(jobs).subspan(kSubmitJobsMax))->jobs.size(), 1u);
  EXPECT_THAT(next_batch("r", {})->jobs, IsEmpty());
}

TEST_F(Pack, a_batch_has_a_maximum_of_unpacked_bytes) {
  std::vector<PackedJob> jobs;
  for (int i = 0; i < 70; ++i) {
    jobs.push_back(
        packed(candidate("k" + std::to_string(i) + ".py", std::string(kFileBytesMax - 8, '#') + std::to_string(i))));
  }
  const auto batch = next_batch("r", jobs);
  ASSERT_TRUE(batch);
  std::size_t content = 0;
  for (const Blob& blob : batch->blobs) content += content_bytes(blob.packing, blob.bytes);
  EXPECT_LE(content, kSubmitContentBytesMax);
  EXPECT_GT(content + kFileBytesMax, kSubmitContentBytesMax);
}

TEST_F(Pack, a_batch_has_a_maximum_of_bytes) {
  const std::vector<PackedJob> jobs = many(24, kFileBytesMax - 8);
  const auto batch = next_batch("r", jobs);
  ASSERT_TRUE(batch);
  std::size_t bytes = 0;
  for (const Blob& blob : batch->blobs) bytes += blob.bytes.size();
  EXPECT_LE(bytes, kSubmitBytesMax);
  EXPECT_GT(bytes + kFileBytesMax, kSubmitBytesMax);
  const std::size_t rest = jobs.size() - batch->jobs.size();
  EXPECT_GT(rest, 0u);
  EXPECT_EQ(next_batch("r", std::span(jobs).last(rest))->jobs.size(), rest);
}

TEST_F(Pack, a_file_that_changed_since_its_validation_is_not_sent) {
  const std::vector<PackedJob> jobs{packed(candidate("a.py"))};
  folder_.write("a.py", "something else");
  const auto batch = next_batch("r", jobs);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message, (folder_ / "a.py").string() + " changed while it was being submitted; submit again");
}

}  // namespace
}  // namespace kq::producer
