#include "gpu_worker/judge/device/cuda_kernels.h"

#include <algorithm>
#include <string_view>

#include "core/base/check.h"
#include "gpu_worker/judge/device/cuda_measure.h"
#include "gpu_worker/judge/device/cuda_text.h"

namespace kq::judge::cuda {
namespace {

using channel::Dtype;

constexpr unsigned kBlock = 256;  // threads
static_assert(kPublishMax <= kBlock);
constexpr unsigned kBlocksMax = 2'048;  // where there is more work, each thread runs a loop
static_assert(kMeasureThreads % kBlock == 0 && kMeasureThreads / kBlock <= kBlocksMax);

constexpr std::string_view kHead = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .entry kq_probe(.param .u64 at, .param .u32 number)
{
  .reg .b32 %number;
  .reg .b64 %at;
  ld.param.u64 %at, [at];
  cvta.to.global.u64 %at, %at;
  ld.param.u32 %number, [number];
  st.volatile.global.u32 [%at], %number;
  ret;
}

.visible .entry kq_stamp(.param .u64 at)
{
  .reg .b64 %at, %now;
  ld.param.u64 %at, [at];
  cvta.to.global.u64 %at, %at;
  mov.u64 %now, %globaltimer;
  membar.sys;
  st.volatile.global.u64 [%at], %now;
  ret;
}

.visible .entry kq_spin(.param .u64 words, .param .u32 number, .param .u64 limit)
{
  .reg .pred %p;
  .reg .b32 %number, %seen;
  .reg .b64 %words, %limit, %began, %last, %now, %gap, %worst;
  ld.param.u64 %words, [words];
  cvta.to.global.u64 %words, %words;
  ld.param.u32 %number, [number];
  ld.param.u64 %limit, [limit];
  mov.u64 %began, %globaltimer;
  mov.u64 %last, %began;
  mov.u64 %worst, 0;
  st.volatile.global.u64 [%words+8], %began;
  st.volatile.global.u32 [%words+4], %number;
  membar.sys;
POLL:
  ld.volatile.global.u32 %seen, [%words];
  mov.u64 %now, %globaltimer;
  sub.u64 %gap, %now, %last;
  max.u64 %worst, %worst, %gap;
  mov.u64 %last, %now;
  setp.eq.u32 %p, %seen, %number;
  @%p bra STOPPED;
  sub.u64 %gap, %now, %began;
  setp.lt.u64 %p, %gap, %limit;
  @%p bra POLL;
STOPPED:
  st.volatile.global.u64 [%words+16], %worst;
  st.volatile.global.u64 [%words+24], %now;
  ret;
}
)";

// NAME and BOTH are replaced. BOTH compares what lies at %i of both memories and branches to NEXT where it is equal.
constexpr std::string_view kDiffer = R"(
.visible .entry NAME(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 found)
{
  .reg .pred %p;
  .reg .b32 %x<4>, %y<4>, %d<4>, %block, %threads, %thread, %blocks;
  .reg .b64 %a, %b, %n, %found, %i, %step, %at;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u64 %n, [n];
  ld.param.u64 %found, [found];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %b, %b;
  cvta.to.global.u64 %found, %found;
  EACH
  BOTH
  mov.u32 %x0, 1;
  st.global.u32 [%found], %x0;
DONE:
  ret;
}
)";

// BOTH for one part. WORD, the type that is loaded, and SIZE are replaced.
constexpr std::string_view kLoadOne = R"(mad.lo.u64 %at, %i, SIZE, %a;
  ld.global.WORD %x0, [%at];
  mad.lo.u64 %at, %i, SIZE, %b;
  ld.global.WORD %y0, [%at];
  add.u64 %i, %i, %step;
  setp.eq.u32 %p, %x0, %y0;
  @%p bra NEXT;)";

// BOTH for 16 bytes at once, which is as fast as the memory. FIRST and SECOND, the addresses of both memories, are
// replaced.
constexpr std::string_view kLoadQuads = R"(mad.lo.u64 %at, %i, 16, FIRST;
  ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%at];
  mad.lo.u64 %at, %i, 16, SECOND;
  ld.global.v4.u32 {%y0, %y1, %y2, %y3}, [%at];
  add.u64 %i, %i, %step;
  xor.b32 %d0, %x0, %y0;
  xor.b32 %d1, %x1, %y1;
  xor.b32 %d2, %x2, %y2;
  xor.b32 %d3, %x3, %y3;
  or.b32 %d0, %d0, %d1;
  or.b32 %d2, %d2, %d3;
  or.b32 %d0, %d0, %d2;
  setp.eq.u32 %p, %d0, 0;
  @%p bra NEXT;)";

constexpr std::string_view kWord = R"(
.visible .entry kq_word(.param .u64 at, .param .u32 word, .param .u64 n, .param .u64 found)
{
  .reg .pred %p;
  .reg .b32 %x, %y, %word, %block, %threads, %thread, %blocks;
  .reg .b64 %begin, %n, %found, %i, %step, %at;
  ld.param.u64 %begin, [at];
  ld.param.u32 %word, [word];
  ld.param.u64 %n, [n];
  ld.param.u64 %found, [found];
  cvta.to.global.u64 %begin, %begin;
  cvta.to.global.u64 %found, %found;
  EACH
  add.u64 %at, %i, %begin;
  ld.global.u8 %x, [%at];
  cvt.u32.u64 %y, %at;
  and.b32 %y, %y, 3;
  shl.b32 %y, %y, 3;
  shr.u32 %y, %word, %y;
  and.b32 %y, %y, 255;
  add.u64 %i, %i, %step;
  setp.eq.u32 %p, %x, %y;
  @%p bra NEXT;
  mov.u32 %x, 1;
  st.global.u32 [%found], %x;
DONE:
  ret;
}
)";

// The kernel runs as one block of threads.
constexpr std::string_view kPublish = R"(
.visible .entry kq_publish(.param .u64 to, .param .u64 from, .param .u64 n, .param .u64 flag, .param .u32 number)
{
  .reg .pred %p;
  .reg .b32 %thread, %number;
  .reg .b64 %to, %from, %n, %flag, %i, %at, %word;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  ld.param.u64 %n, [n];
  ld.param.u64 %flag, [flag];
  ld.param.u32 %number, [number];
  cvta.to.global.u64 %to, %to;
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %flag, %flag;
  mov.u32 %thread, %tid.x;
  cvt.u64.u32 %i, %thread;
  setp.ge.u64 %p, %i, %n;
  @%p bra WRITTEN;
  mad.lo.u64 %at, %i, 8, %from;
  ld.global.u64 %word, [%at];
  mad.lo.u64 %i, %i, 8, %to;
  st.volatile.global.u64 [%i], %word;
  mov.u64 %word, 0;
  st.global.u64 [%at], %word;
  membar.sys;
WRITTEN:
  bar.sync 0;
  setp.ne.u32 %p, %thread, 0;
  @%p bra END;
  membar.sys;
  st.volatile.global.u32 [%flag], %number;
END:
  ret;
}
)";

// NAME and NUMBERS are replaced. NUMBERS compares the numbers that lie at %i of both memories.
constexpr std::string_view kAgree = R"(
.visible .entry NAME(.param .u64 expected, .param .u64 got, .param .u64 n, .param .f64 rtol, .param .f64 atol,
                     .param .u64 words)
{
  .reg .pred %p, %q;
  .reg .b16 %half, %other;
  .reg .b32 %x<4>, %y<4>, %d<4>, %word, %low, %high, %block, %threads, %thread, %blocks;
  .reg .b64 %expected, %got, %n, %words, %i, %step, %at, %bits, %known;
  .reg .f32 %single;
  .reg .f64 %value, %e, %g, %rtol, %atol, %size, %error, %limit, %relative, %worst_abs, %worst_rel;
  ld.param.u64 %expected, [expected];
  ld.param.u64 %got, [got];
  ld.param.u64 %n, [n];
  ld.param.f64 %rtol, [rtol];
  ld.param.f64 %atol, [atol];
  ld.param.u64 %words, [words];
  cvta.to.global.u64 %expected, %expected;
  cvta.to.global.u64 %got, %got;
  cvta.to.global.u64 %words, %words;
  mov.f64 %worst_abs, 0d0000000000000000;
  mov.f64 %worst_rel, 0d0000000000000000;
  EACH
  NUMBERS
  bra NEXT;
DONE:
  mov.b64 %bits, %worst_abs;
  ld.volatile.global.u64 %known, [%words+8];
  setp.le.u64 %p, %bits, %known;
  @%p bra RELATIVE;
  red.global.max.u64 [%words+8], %bits;
RELATIVE:
  mov.b64 %bits, %worst_rel;
  ld.volatile.global.u64 %known, [%words+16];
  setp.le.u64 %p, %bits, %known;
  @%p bra END;
  red.global.max.u64 [%words+16], %bits;
END:
  ret;
}
)";

// NUMBERS for one number. SIZE and LOAD are replaced: LOAD loads the number at %at into %value as a double.
constexpr std::string_view kNumber = R"(mad.lo.u64 %at, %i, SIZE, %expected;
  LOAD
  mov.f64 %e, %value;
  mad.lo.u64 %at, %i, SIZE, %got;
  LOAD
  mov.f64 %g, %value;
  add.u64 %i, %i, %step;)";

// Compares %e and %g. PART makes the labels unique. A thread ends at its first wrong element: the host then compares by
// itself, and counting every element of a wrong output in one word would take 8 ns each.
constexpr std::string_view kCompare = R"(
  setp.eq.f64 %p, %e, %g;
  @%p bra COMPARED_PART;
  testp.notanumber.f64 %p, %e;
  testp.notanumber.f64 %q, %g;
  @!%p bra NUMBER_PART;
  @%q bra COMPARED_PART;
  bra WRONG_PART;
NUMBER_PART:
  @%q bra WRONG_PART;
  testp.finite.f64 %p, %e;
  @!%p bra WRONG_PART;
  testp.finite.f64 %p, %g;
  @!%p bra WRONG_PART;
  abs.f64 %size, %e;
  sub.f64 %error, %g, %e;
  abs.f64 %error, %error;
  fma.rn.f64 %limit, %rtol, %size, %atol;
  setp.gt.f64 %p, %error, %limit;
  @%p bra WRONG_PART;
  max.f64 %worst_abs, %worst_abs, %error;
  setp.eq.f64 %p, %size, 0d0000000000000000;
  @%p bra COMPARED_PART;
  div.rn.f64 %relative, %error, %size;
  max.f64 %worst_rel, %worst_rel, %relative;
  bra COMPARED_PART;
WRONG_PART:
  mov.u64 %bits, 1;
  st.global.u64 [%words], %bits;
  ret;
COMPARED_PART:)";

// A kernel of kDiffer, and the type and size of the parts that its threads compare.
struct Differ {
  const char* kernel;
  std::string_view word;
  std::uint64_t bytes;
};
constexpr Differ kWords{"kq_differ_words", "u32", 4};
constexpr Differ kBytes{"kq_differ_bytes", "u8", 1};
constexpr char kQuads[] = "kq_differ_quads";

// How a number gets into %value: `load` takes it from %at, `even` and `odd` take it from the words of a quad. SIDE,
// HERE and THERE are replaced in them.
struct Agree {
  FloatFormat format;
  std::string_view load;
  std::string_view even, odd;       // for the first and the second number of a word, or of two words for doubles
  std::string_view from_byte = {};  // of formats of eight bits, in place of the others: from the lowest byte of %word
};
constexpr std::string_view kFromSingle = "mov.b32 %single, %SIDEHERE; cvt.f64.f32 %value, %single;";
constexpr std::string_view kFromDouble = "mov.b64 %value, {%SIDEHERE, %SIDETHERE};";
constexpr Agree kAgrees[] = {
    {{"kq_agree_float64", 8}, "ld.global.f64 %value, [%at];", kFromDouble, kFromDouble},
    {{"kq_agree_float32", 4}, "ld.global.f32 %single, [%at]; cvt.f64.f32 %value, %single;", kFromSingle, kFromSingle},
    {{"kq_agree_float16", 2},
     "ld.global.b16 %half, [%at]; cvt.f32.f16 %single, %half; cvt.f64.f32 %value, %single;",
     "mov.b32 {%half, %other}, %SIDEHERE; cvt.f32.f16 %single, %half; cvt.f64.f32 %value, %single;",
     "mov.b32 {%other, %half}, %SIDEHERE; cvt.f32.f16 %single, %half; cvt.f64.f32 %value, %single;"},
    {{"kq_agree_bfloat16", 2},
     "ld.global.b16 %half, [%at]; cvt.u32.u16 %word, %half; shl.b32 %word, %word, 16; mov.b32 %single, %word; "
     "cvt.f64.f32 %value, %single;",
     "shl.b32 %word, %SIDEHERE, 16; mov.b32 %single, %word; cvt.f64.f32 %value, %single;",
     "and.b32 %word, %SIDEHERE, 0xFFFF0000; mov.b32 %single, %word; cvt.f64.f32 %value, %single;"},
    // As a half, the bits of an e4m3 are its value divided by 256.
    {{"kq_agree_float8_e4m3fn", 1},
     {},
     {},
     {},
     "and.b32 %low, %word, 127; and.b32 %high, %word, 128; shl.b32 %word, %low, 7; shl.b32 %high, %high, 8; "
     "or.b32 %word, %word, %high; cvt.u16.u32 %half, %word; cvt.f32.f16 %single, %half; "
     "mul.f32 %single, %single, 0f43800000; setp.eq.u32 %q, %low, 127; "
     "selp.f32 %single, 0f7FC00000, %single, %q; cvt.f64.f32 %value, %single;"},
    // The bits of an e5m2 are the upper half of a half.
    {{"kq_agree_float8_e5m2", 1},
     {},
     {},
     {},
     "shl.b32 %word, %word, 8; cvt.u16.u32 %half, %word; cvt.f32.f16 %single, %half; cvt.f64.f32 %value, %single;"},
};

std::string quads_name(const FloatFormat& format) {
  return std::string(format.kernel) + "_quads";
}

std::string load_quads(const char* first, const char* second) {
  return filled(kLoadQuads, {{"FIRST", first}, {"SECOND", second}});
}

// Returns NUMBERS for a quad. Numbers with equal bits agree, whatever they are.
std::string compare_quad(const Agree& agree) {
  std::string text = load_quads("%expected", "%got");
  const std::uint64_t parts = 16 / agree.format.part_bytes;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t word = part * agree.format.part_bytes / 4;
    const std::string of_byte =
        "shr.u32 %word, %SIDEHERE, " + std::to_string(part % 4 * 8) + "; and.b32 %word, %word, 255; ";
    const std::string taken = agree.from_byte.empty() ? std::string(part % 2 == 0 ? agree.even : agree.odd)
                                                      : of_byte + std::string(agree.from_byte);
    for (const auto& [side, to] : {std::pair("x", "%e"), std::pair("y", "%g")}) {
      text +=
          "\n  " + filled(taken, {{"SIDE", side}, {"THERE", std::to_string(word + 1)}, {"HERE", std::to_string(word)}});
      text += std::string("\n  mov.f64 ") + to + ", %value;";
    }
    text += filled(kCompare, {{"PART", std::to_string(part)}});
  }
  return text;
}

std::string load_of(const Agree& agree) {
  return agree.from_byte.empty() ? std::string(agree.load)
                                 : "ld.global.u8 %word, [%at]; " + std::string(agree.from_byte);
}

std::string_view name_of(const FloatFormat& format) {
  return std::string_view(format.kernel).substr(std::string_view("kq_agree_").size());
}

std::vector<KernelText> measuring() {
  std::vector<NumberLoad> loads;
  for (const Agree& agree : kAgrees) {
    loads.push_back({std::string(name_of(agree.format)), load_of(agree), agree.format.part_bytes});
  }
  return measuring_kernels(loads);
}

}  // namespace

std::string ptx() {
  std::string text(kHead);
  const auto differ = [](const char* name, const std::string& both) {
    return filled(kDiffer, {{"EACH", std::string(kEach)}, {"BOTH", both}, {"NAME", name}});
  };
  for (const Differ& part : {kWords, kBytes}) {
    text +=
        differ(part.kernel, filled(kLoadOne, {{"WORD", std::string(part.word)}, {"SIZE", std::to_string(part.bytes)}}));
  }
  text += differ(kQuads, load_quads("%a", "%b"));
  text += filled(kWord, {{"EACH", std::string(kEach)}});
  text += kPublish;
  for (const Agree& agree : kAgrees) {
    const std::string one =
        filled(kNumber, {{"LOAD", load_of(agree)}, {"SIZE", std::to_string(agree.format.part_bytes)}}) +
        filled(kCompare, {{"PART", "0"}});
    for (const auto& [name, numbers] :
         {std::pair(std::string(agree.format.kernel), one), std::pair(quads_name(agree.format), compare_quad(agree))}) {
      text += filled(kAgree, {{"EACH", std::string(kEach)}, {"NUMBERS", numbers}, {"NAME", name}});
    }
  }
  for (const KernelText& kernel : measuring()) text += kernel.text;
  return text;
}

std::optional<FloatFormat> float_format(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
    case Dtype::complex128:
      return kAgrees[0].format;
    case Dtype::float32:
    case Dtype::complex64:
      return kAgrees[1].format;
    case Dtype::float16:
      return kAgrees[2].format;
    case Dtype::bfloat16:
      return kAgrees[3].format;
    case Dtype::complex32:
      return kAgrees[2].format;
    case Dtype::float8_e4m3fn:
      return kAgrees[4].format;
    case Dtype::float8_e5m2:
      return kAgrees[5].format;
    default:
      return std::nullopt;
  }
}

Kernels::~Kernels() {
  if (module_ != nullptr) driver_->module_unload(module_);
}

Expected<void> Kernels::load(const Driver& driver) {
  driver_ = &driver;
  if (const Result r = driver.module_load(&module_, ptx().c_str()); r != kSuccess) {
    module_ = nullptr;
    return failure(error_of(driver, "cuModuleLoadData of the judge's kernels", r));
  }
  std::vector<std::string> names{"kq_probe",   "kq_stamp", "kq_spin",     "kq_word",
                                 "kq_publish", kQuads,     kWords.kernel, kBytes.kernel};
  for (const Agree& agree : kAgrees) {
    names.emplace_back(agree.format.kernel);
    names.push_back(quads_name(agree.format));
  }
  for (const KernelText& kernel : measuring()) names.push_back(kernel.name);
  for (const std::string& name : names) {
    if (const Result r = driver.module_function(&functions_[name], module_, name.c_str()); r != kSuccess) {
      return failure(error_of(driver, ("cuModuleGetFunction of " + name).c_str(), r));
    }
  }
  return {};
}

Expected<void> Kernels::launch(const char* kernel, std::uint64_t threads, void** parameters) const {
  const auto block = static_cast<unsigned>(std::min<std::uint64_t>(threads, kBlock));
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>((threads + kBlock - 1) / kBlock, kBlocksMax));
  const Result r =
      driver_->launch(functions_.find(kernel)->second, blocks, 1, 1, block, 1, 1, 0, nullptr, parameters, nullptr);
  return r == kSuccess ? Expected<void>()
                       : failure(error_of(*driver_, (std::string("cuLaunchKernel of ") + kernel).c_str(), r));
}

Expected<void> Kernels::probe(Pointer word, std::uint32_t number) const {
  void* parameters[] = {&word, &number};
  return launch("kq_probe", 1, parameters);
}

Expected<void> Kernels::stamp(Pointer at) const {
  void* parameters[] = {&at};
  return launch("kq_stamp", 1, parameters);
}

Expected<void> Kernels::spin(Pointer words, std::uint32_t number, std::uint64_t limit_ns) const {
  void* parameters[] = {&words, &number, &limit_ns};
  return launch("kq_spin", 1, parameters);
}

Expected<void> Kernels::differ(Pointer a, Pointer b, std::uint64_t bytes, Pointer found) const {
  // Quads first, where both memories are aligned to them, then words in the same way, then the rest as bytes.
  struct Pass {
    const char* kernel;
    std::uint64_t bytes;  // the size and alignment of the parts that it compares
  };
  for (const Pass& pass : {Pass{kQuads, 16}, Pass{kWords.kernel, kWords.bytes}, Pass{kBytes.kernel, kBytes.bytes}}) {
    std::uint64_t parts = a % pass.bytes == 0 && b % pass.bytes == 0 ? bytes / pass.bytes : 0;
    if (parts == 0) continue;
    void* parameters[] = {&a, &b, &parts, &found};
    if (const auto launched = launch(pass.kernel, parts, parameters); !launched) return launched;
    a += parts * pass.bytes;
    b += parts * pass.bytes;
    bytes -= parts * pass.bytes;
  }
  return {};
}

Expected<void> Kernels::word(Pointer at, std::uint32_t word, std::uint64_t bytes, Pointer found) const {
  if (bytes == 0) return {};
  void* parameters[] = {&at, &word, &bytes, &found};
  return launch("kq_word", bytes, parameters);
}

Expected<void> Kernels::publish(Pointer to, Pointer from, std::uint64_t words, Pointer flag,
                                std::uint32_t number) const {
  KQ_CHECK(words <= kPublishMax);
  void* parameters[] = {&to, &from, &words, &flag, &number};
  return launch("kq_publish", kPublishMax, parameters);
}

Expected<void> Kernels::agree(const FloatFormat& format, Pointer expected, Pointer got, std::uint64_t parts,
                              double rtol, double atol, Pointer words) const {
  const bool are_quads = expected % 16 == 0 && got % 16 == 0;
  std::uint64_t quads = are_quads ? parts * format.part_bytes / 16 : 0;
  if (quads > 0) {
    void* parameters[] = {&expected, &got, &quads, &rtol, &atol, &words};
    if (const auto launched = launch(quads_name(format).c_str(), quads, parameters); !launched) return launched;
  }
  Pointer expected_rest = expected + quads * 16;
  Pointer got_rest = got + quads * 16;
  std::uint64_t rest = parts - quads * 16 / format.part_bytes;
  if (rest == 0) return {};
  void* parameters[] = {&expected_rest, &got_rest, &rest, &rtol, &atol, &words};
  return launch(format.kernel, rest, parameters);
}

Expected<void> Kernels::measure(const FloatFormat& format, Pointer expected, Pointer got, std::uint64_t numbers,
                                double rtol, double atol, Pointer records) const {
  void* parameters[] = {&expected, &got, &numbers, &rtol, &atol, &records};
  return launch(measure_kernel(name_of(format)).c_str(), kMeasureThreads, parameters);
}

Expected<void> Kernels::truth(const FloatFormat& truth_format, Pointer truth, const FloatFormat& format,
                              Pointer expected, Pointer got, std::uint64_t numbers, double rtol, double atol,
                              Pointer records) const {
  void* parameters[] = {&truth, &expected, &got, &numbers, &rtol, &atol, &records};
  return launch(truth_kernel(name_of(truth_format), name_of(format)).c_str(), kMeasureThreads, parameters);
}

}  // namespace kq::judge::cuda
