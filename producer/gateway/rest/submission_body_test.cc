#include "producer/gateway/rest/submission_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Expected<BodyJobs> read(const std::string& type, const std::string& body) {
  Request request = test_request("POST", "/api/v1/jobs", body);
  if (!type.empty()) request.headers["content-type"] = type;
  return read_jobs(request, 0);
}

std::string mistake_of(const std::string& line) {
  const auto body = read("application/jsonl", line);
  if (!body) return body.error().message;
  return body->mistakes.empty() ? "no mistake" : body->mistakes.front();
}

std::string form(const std::string& kernel_name, const std::string& more = "") {
  const auto part = [](const std::string& head, std::string_view content) {
    return "--B\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + std::string(content) + "\r\n";
  };
  return part("name=kernel; filename=" + kernel_name, kTestKernel) + part("name=problem; filename=p.py", kTestProblem) +
         more + "--B--\r\n";
}

TEST(SubmissionBody, lines_are_jobs) {
  const auto body = read("application/jsonl", test_line("a") + "\n" + test_line("b"));
  ASSERT_TRUE(body) << body.error().message;
  ASSERT_THAT(body->mistakes, ElementsAre());
  ASSERT_EQ(body->jobs.size(), 2u);
  EXPECT_EQ(body->jobs[1].submission.label, "b");
  EXPECT_EQ(*body->jobs[1].files[0].text, kTestKernel);
}

TEST(SubmissionBody, a_json_value_is_one_job_or_several) {
  EXPECT_EQ(read("application/json; charset=utf-8", test_line("a"))->jobs.size(), 1u);
  std::string first = test_line("a");
  first.pop_back();
  EXPECT_EQ(read("Application/JSON", "[" + first + ", " + test_line("b") + "]")->jobs.size(), 2u);
  EXPECT_THAT(read("application/json", "[1").error().message, HasSubstr("the body is not JSON"));
}

TEST(SubmissionBody, a_form_has_files_and_settings) {
  const std::string settings = "--B\r\nContent-Disposition: form-data; name=settings\r\n\r\n{\"device\": \"cpu\"}\r\n";
  const auto body = read("multipart/form-data; boundary=B", form("dir/fast.py", settings));
  ASSERT_TRUE(body) << body.error().message;
  ASSERT_THAT(body->mistakes, ElementsAre());
  const Submission& submission = body->jobs.at(0).submission;
  EXPECT_EQ(submission.label, "fast");
  EXPECT_EQ(submission.files[0].name, "fast.py");
  EXPECT_EQ(submission.device, DeviceWish::cpu);
}

TEST(SubmissionBody, an_id_in_the_settings_of_a_form_is_that_of_its_one_kernel) {
  const std::string settings = "--B\r\nContent-Disposition: form-data; name=settings\r\n\r\n{\"id\": \"first\"}\r\n";
  const std::string second =
      "--B\r\nContent-Disposition: form-data; name=kernel; filename=b.py\r\n\r\nclass ModelNew: ...\r\n";
  const auto body = read("multipart/form-data; boundary=B", form("a.py", settings));
  ASSERT_TRUE(body && body->jobs.size() == 1u);
  EXPECT_EQ(body->jobs[0].submission.label, "first");
  EXPECT_THAT(read("multipart/form-data; boundary=B", form("a.py", settings + second)).error().message,
              HasSubstr("has an id, which is for one kernel, and the form has 2"));
}

TEST(SubmissionBody, device_code_in_a_form_needs_its_contract) {
  const auto error = [](const std::string& name) {
    return read("multipart/form-data; boundary=B", form(name)).error().message;
  };
  EXPECT_THAT(error("fast.cu"), HasSubstr("the kernel fast.cu needs the part io of the form, its IOContract"));
  EXPECT_THAT(error("fast.ptx"), HasSubstr("needs the part io"));
  EXPECT_THAT(error("fast.json"), HasSubstr("must be a .py, .cu, .ptx or .cubin file; an IOContract is the part io"));
}

TEST(SubmissionBody, a_form_without_its_parts_is_refused) {
  const auto refusal = [](const std::string& body) {
    return read("multipart/form-data; boundary=B", body).error().message;
  };
  const auto part = [](const std::string& head, const std::string& content) {
    return "--B\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + content + "\r\n--B--";
  };
  EXPECT_THAT(refusal(part("name=kernel; filename=a.py", "x")), HasSubstr("no part problem"));
  EXPECT_THAT(refusal(part("name=problem; filename=a.py", "x")), HasSubstr("no part kernel"));
  EXPECT_THAT(refusal(part("name=problem", "x")), HasSubstr("must be a file with a name"));
  EXPECT_THAT(refusal(part("name=other", "x")), HasSubstr("unknown part 'other'"));
  EXPECT_THAT(refusal(part("name=settings", "[1]")), HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal(part("name=settings", R"({"auther": "ada"})")),
              HasSubstr("unknown key 'auther'; did you mean author?"));
  EXPECT_THAT(refusal(part("name=settings", R"({"params": {"time": 3}})")), HasSubstr("unknown key 'params.time'"));
  EXPECT_THAT(refusal(part("name=settings", R"({"zebra": 1})")), HasSubstr("unknown key 'zebra'; /docs lists"));
  EXPECT_THAT(refusal(part("name=kernel; filename=a.py", "\xFF")), HasSubstr("no UTF-8 text"));
}

// A path in a line would name a file of the gateway's machine.
TEST(SubmissionBody, no_line_can_read_a_file_of_the_gateway) {
  EXPECT_THAT(mistake_of(R"({"problem_source": "x", "path": "/etc/passwd"})"), HasSubstr("body:1: path names a file"));
  EXPECT_THAT(mistake_of(R"({"problem": "/etc/passwd", "source": "x"})"), HasSubstr("body:1: problem names a file"));
  const std::string settings =
      "--B\r\nContent-Disposition: form-data; name=settings\r\n\r\n{\"path\": \"/etc/passwd\"}\r\n";
  EXPECT_THAT(read("multipart/form-data; boundary=B", form("a.py", settings))->mistakes.at(0),
              HasSubstr("path names a file"));
}

// A problem in a folder takes files beside it along; a problem in a body has no folder.
TEST(SubmissionBody, a_problem_takes_no_files_of_the_gateway_along) {
  const std::string problem = std::string(kTestProblem) + "open(\"10_layer_norm.json\")\n";
  const std::string body = R"({"id": "a", "problem": "/etc/p", "problem_source": )" + producer::json_quoted(problem) +
                           R"(, "source": )" + producer::json_quoted(kTestKernel) + "}\n";
  const auto jobs = read("application/jsonl", body);
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_THAT(jobs->mistakes, ElementsAre());
  const producer::FileRef& file = jobs->jobs.at(0).files.back();
  EXPECT_EQ(producer::contents(file).value(), problem);
  EXPECT_EQ(file.name, "p.py");
}

TEST(SubmissionBody, mistakes_are_named_with_their_line) {
  EXPECT_THAT(mistake_of("{\"a\": "), HasSubstr("body:1: not JSON"));
  EXPECT_THAT(mistake_of(test_line("a") + test_line("a")), HasSubstr("the label a is used twice"));
  EXPECT_THAT(mistake_of(""), HasSubstr("body holds no submissions"));
  EXPECT_THAT(mistake_of(R"({"problem_source": "x = 1", "source": "y"})"), HasSubstr("a problem defines class Model"));
}

TEST(SubmissionBody, the_number_of_jobs_is_limited) {
  std::string lines;
  for (std::size_t i = 0; i <= kJobsPerRequestMax; ++i) lines += "{}\n";
  EXPECT_THAT(mistake_of(lines), HasSubstr("more than 10000 jobs"));
}

}  // namespace
}  // namespace kq::gateway
