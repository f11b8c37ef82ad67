#include "tests/sim/job_text.h"

namespace kq::sim {

std::string text_of(Sequence seq) {
  return "job " + std::to_string(seq);
}

std::string text_of(const JobRecord& job) {
  return text_of(job.seq) + " (" + std::string(to_string(job.state)) + ", attempt " + std::to_string(job.attempt) + ")";
}

bool is_delayed(const JobRecord& job) {
  return job.state == JobState::queued && job.not_before_ms != 0;
}

}  // namespace kq::sim
