// Fuzzes the reading of a file of JSON Lines. Each job that is packed must be one that the broker accepts.
#include "core/base/check.h"
#include "core/submission.h"
#include "producer/formats/jsonl.h"
#include "producer/submit/pack.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

// Returns the directory with a problem and kernels that the lines can name.
const fuzz::Folder& folder() {
  static const fuzz::Folder folder;
  static const bool is_filled = [] {
    folder.put("p.py", "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n");
    folder.put("k.py", "import torch\nclass ModelNew: pass\n");
    folder.put("k.cu", "__global__ void k() {}\n");
    return true;
  }();
  KQ_CHECK(is_filled);
  return folder;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  folder().put("submissions.jsonl", fuzz::text_of(data, size));
  const producer::Found found =
      producer::collect([](const producer::CandidateSink& sink) { producer::read_jsonl(folder().path(), {}, sink); });
  KQ_CHECK(!found.candidates.empty() || !found.mistakes.empty());

  producer::Packer packer;
  for (const producer::Candidate& candidate : found.candidates) {
    std::vector<std::string> mistakes;
    const auto job = packer.pack(candidate, mistakes);
    KQ_CHECK(!job || (validate(job->submission) && mistakes.empty()));
  }
  return 0;
}
