// Fuzzes the parsers of names from users: labels, runs, hashes, and the file names of a KernelBench run.
#include "core/base/check.h"
#include "core/bytes/hash.h"
#include "core/limits.h"
#include "core/submission.h"
#include "producer/formats/recognise.h"
#include "producer/formats/sample_name.h"
#include "tests/fuzz/fuzz.h"
#include "tools/cli/text.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view name = fuzz::text_of(data, size);
  if (!name_error(name)) {
    KQ_CHECK(!name.empty() && name.size() <= kNameBytesMax);
    KQ_CHECK(tools::valid_utf8(name) == name);
  }
  if (const auto sample = producer::parse_sample_name(name)) {
    KQ_CHECK(producer::parse_sample_name("level_" + std::to_string(sample->level) + "_problem_" +
                                         std::to_string(sample->problem) + "_sample_" + std::to_string(sample->sample) +
                                         "_kernel.py") == sample);
  }
  if (const auto hash = hash_from_hex(name)) KQ_CHECK(hash_from_hex(to_hex(*hash)) == hash);
  if (const auto hash = hash_from_bytes(name)) KQ_CHECK(as_bytes(*hash) == name);

  const Backend backend = producer::recognise_backend("k.py", name);
  KQ_CHECK(producer::backend_error("k.py", backend).empty());
  KQ_CHECK(producer::missing_from_problem(name).size() <= 3);
  return 0;
}
