// Fuzzes the decoding of arbitrary bytes as each kind of record, and the key of a submission that can be decoded.
#include "core/records.h"
#include "tests/fuzz/codec.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::check_record<Submission>(bytes);
  fuzz::check_record<JobRecord>(bytes);
  fuzz::check_record<Result>(bytes);
  fuzz::check_record<Samples>(bytes);
  fuzz::check_record<Requirements>(bytes);
  fuzz::check_record<RunEntry>(bytes);
  fuzz::check_record<RunRow>(bytes);
  fuzz::check_record<LeaderboardRow>(bytes);
  fuzz::check_record<BuildObject>(bytes);

  if (const auto submission = decode<Submission>(bytes)) {
    KQ_CHECK(submission_key(*submission) == submission_key(*decode<Submission>(encode(*submission))));
    if (const auto valid = validate(*submission); !valid) KQ_CHECK(valid.error().kind == ErrorKind::bad_input);
  }
  return 0;
}
