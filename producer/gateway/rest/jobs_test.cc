#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;

class RestJobs : public testing::Test {
 protected:
  RestJobs() {
    Request request = test_request("POST", "/api/v1/jobs", test_line("a"));
    request.query.emplace("run", "r");
    post_jobs(request, service_);
  }
  static Request request(const std::string& id, const std::string& name = "", const std::string& value = "") {
    Request made = test_request("GET", "/api/v1/jobs/x");
    made.path_values["id"] = id;
    if (!name.empty()) made.query.emplace(name, value);
    return made;
  }

  const std::string id_ = JobId{1, "r", "a"}.text();
  FakeService service_;
};

TEST_F(RestJobs, a_queued_job_says_why_it_waits) {
  const Response response = get_job(request(id_), service_);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr(R"("state": "queued")"));
  EXPECT_THAT(response.body, HasSubstr(R"("waiting": {"reason": "behind", "served": false, "position": 3)"));
}

TEST_F(RestJobs, unknown_ids_are_404) {
  for (const std::string& id : {std::string("x"), JobId{2, "r", "a"}.text(), JobId{1, "s", "a"}.text()}) {
    EXPECT_EQ(get_job(request(id), service_).status, 404);
    EXPECT_EQ(get_job_result(request(id), service_).status, 404);
    EXPECT_EQ(get_job_log(request(id), service_).status, 404);
    EXPECT_EQ(delete_job(request(id), service_).status, 404);
  }
}

TEST_F(RestJobs, a_result_comes_when_it_is_there) {
  const Response early = get_job_result(request(id_), service_);
  EXPECT_EQ(early.status, 202);
  EXPECT_EQ(early.headers.at(0).first, "Retry-After");
  service_.finish("r", "a", VerdictName::passed);
  const Response late = get_job_result(request(id_, "wait", "5"), service_);
  EXPECT_EQ(late.status, 200);
  const auto body = producer::parse_json(late.body).value();
  EXPECT_EQ(*body.find("result")->find("verdict")->text(), "passed");
  EXPECT_EQ(body.find("samples"), nullptr);
  EXPECT_THAT(get_job_result(request(id_, "samples", "true"), service_).body,
              HasSubstr(R"("samples": {"submission_ns": [10, 12], "reference_ns": [20]})"));
}

TEST_F(RestJobs, the_wait_is_bounded) {
  for (const char* wait : {"-1", "301", "1.5", "soon"})
    EXPECT_EQ(get_job_result(request(id_, "wait", wait), service_).status, 400) << wait;
  EXPECT_EQ(get_job_result(request(id_, "samples", "some"), service_).status, 400);
}

TEST_F(RestJobs, a_log_belongs_to_a_finished_job) {
  EXPECT_EQ(get_job_log(request(id_), service_).status, 409);
  service_.finish("r", "a", VerdictName::wrong_answer, "printed\n");
  const Response log = get_job_log(request(id_), service_);
  EXPECT_EQ(log.body, "printed\n");
  EXPECT_THAT(log.type, HasSubstr("text/plain"));
}

TEST_F(RestJobs, a_job_goes_on_for_another_submitter) {
  service_.is_shared = true;
  const Response cancelled = delete_job(request(id_), service_);
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_THAT(cancelled.body, AllOf(HasSubstr(R"("state": "queued")"), HasSubstr(R"("detail": "it goes on")")));
}

TEST_F(RestJobs, a_file_is_found_by_its_hash) {
  const Hash hash = service_.rows.at({"r", "a"}).entry.submission.files.at(0).hash;
  const auto asked = [&](const std::string& text) {
    Request file = request(id_);
    file.path_values["hash"] = text;
    return get_job_file(file, service_);
  };
  EXPECT_EQ(asked(to_hex(hash)).body, "import torch\n");
  EXPECT_THAT(asked(to_hex(hash)).type, HasSubstr("text/plain"));
  EXPECT_EQ(asked(to_hex(sha256("other"))).status, 404);
  EXPECT_EQ(asked("xyz").status, 400);
}

TEST_F(RestJobs, a_finished_job_is_not_cancelled) {
  EXPECT_EQ(delete_job(request(id_), service_).status, 200);
  service_.finish("r", "a", VerdictName::passed);
  EXPECT_EQ(delete_job(request(id_), service_).status, 409);
}

}  // namespace
}  // namespace kq::gateway
