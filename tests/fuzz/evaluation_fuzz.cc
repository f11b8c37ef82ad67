// Fuzzes the bodies of the evaluation server's routes. Every answer is a documented one, and every job is one that a
// broker accepts.
#include "core/base/check.h"
#include "producer/gateway/evaluation/answer_check.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;
using namespace kq::gateway::evaluation;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gateway::Routes kRoutes = evaluation_routes({});
  const std::string body(fuzz::text_of(data, size));
  for (const char* path : {"/evaluate", "/compare"}) {
    CannedService service = passing_service();
    const gateway::Response response = answer_to(kRoutes, service, path, body);
    const auto parsed = producer::parse_json(response.body);
    KQ_CHECK(parsed && !undocumented(response.status, *parsed));
    for (const producer::PackedJob& job : service.jobs) KQ_CHECK(!unacceptable(job));
  }
  CannedService service = passing_service();
  const gateway::Response response = answer_to(kRoutes, service, "/batch", body);
  KQ_CHECK(response.status == 200 || response.status == 400);
  return 0;
}
