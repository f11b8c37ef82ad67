#include "gpu_worker/compile/builder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/limits.h"
#include "core/plan.h"
#include "gpu_worker/compile/extension_manifest.h"
#include "gpu_worker/compile/file_guard.h"
#include "gpu_worker/compile/object.h"
#include "gpu_worker/compile/outcome.h"
#include "gpu_worker/core/limit.h"
#include "gpu_worker/machine/scratch.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kHeaderLimitMs = 600'000;   // of making one prefix
constexpr int kNiceAhead = 19;                      // of making a prefix that no build waits for
constexpr int kNice = 5;                            // the same for one that builds wait for, as for other compilers
constexpr std::int64_t kNoLimitMs = 1'000'000'000;  // eleven days

// Files that the build adds to its directory, beside the compiled modules.
constexpr std::string_view kNeedsGpu = "kq_needs_gpu";
constexpr std::string_view kLaunchesTriton = "kq_triton";  // harness/kernels/build_child.py
constexpr std::size_t kTritonBytesMax = 64u << 20;
constexpr std::string_view kForThisMachine = "kq_native";  // an extension was compiled with -march=native

Built ended_build(Verdict verdict) {
  return {.verdict = std::move(verdict), .dir = {}, .cached = false, .ms = 0};
}

Expected<void> write(const std::string& path, std::string_view text) {
  std::error_code ignored;
  fs::remove(path, ignored);
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) return our_fault("cannot write " + path);
  return {};
}

// Whether a build used the compilers that its key names, which are those of the zygote. A child may see other
// compilers, or they may have been replaced since the zygote was started.
bool has_compilers_of_key(const Zygote& zygote, const std::string& dir) {
  const auto toolchain = toolchain_id_in(dir);
  return !toolchain || zygote.compilers().find(*toolchain) != std::string::npos;
}

// Whether a build ended because it needed more memory than it may have.
bool is_for_memory(const Verdict& verdict) {
  const auto evidence = evidence_of(verdict);
  return name_of(verdict) == VerdictName::out_of_memory && evidence && evidence->reason == "host";
}

// Whether a build failed after Linux had killed one of its compilers because of the memory limit, so that it may
// succeed with more memory. `dir` has the files that its child left.
bool has_failed_for_memory(const std::optional<Verdict>& verdict, const BuildEnd& end, const std::string& dir) {
  return verdict && name_of(*verdict) == VerdictName::build_failed && end.was_killed_for_memory && !is_final(dir);
}

// Returns the verdict on a submission that goes on without an extension although it was submitted with
// --need-extensions.
Verdict extension_needed(const FailedExtension& failed) {
  return ended(VerdictName::build_failed,
               {.stage = Stage::build,
                .reason = {},
                .message = failed.error,
                .hint = "the submission catches this error and would run without the extension, which it was submitted "
                        "to need (--need-extensions)",
                .rule = {},
                .place = place_in(failed.error),
                .mismatch = {}});
}

// Whether a flag or a source contains "=native", as in "-march=native".
bool is_for_this_machine(const ExtensionCall& call) {
  const auto is_native = [](const std::string& text) { return text.find("=native") != std::string::npos; };
  return std::any_of(call.flags.begin(), call.flags.end(), [&](const auto& flag) { return is_native(flag.second); }) ||
         std::any_of(call.sources.begin(), call.sources.end(),
                     [&](const auto& source) { return is_native(source.second); });
}

}  // namespace

Builder::Builder(BuilderOptions options, BuildCache cache, ZygoteSource zygote)
    : options_(std::move(options)),
      cache_(std::move(cache)),
      zygote_(std::move(zygote)),
      preforked_({.scratch = options_.scratch,
                  .first_uid = options_.uid == 0 ? 0 : options_.uid + kPreforkedUidOffset,
                  .host_bytes = options_.host_bytes,
                  .scratch_bytes = kBuildScratchBytes,
                  .cores = options_.cores}),
      headers_([this](const HeaderOrder& order, std::size_t thread,
                      const std::stop_token& stop) { return make_header(order, thread, stop); },
               std::clamp<std::size_t>(options_.headers_at_once, 1, kHeadersAtOnceMax)) {}

Expected<Builder::Job> Builder::begin(const Lease& lease, std::stop_token stop, BuildPlace place,
                                      std::int64_t start_ms) const {
  KQ_TRY_VALUE(auto zygote, zygote_(lease.device.kind));
  return Job{.lease = lease,
             .arch = lease.device.arch.empty() ? options_.no_gpu_arch : lease.device.arch,
             .zygote = std::move(zygote),
             .stop = std::move(stop),
             .place = place,
             .end_ms = start_ms + limit_of(lease.submission, kNoLimitMs)};
}

BuildTime Builder::time_to_judge(const Lease& lease, const std::stop_token& stop, std::int64_t end_ms) const {
  return {.stop = stop,
          .end_ms = std::min(end_ms, sys::monotonic_now_ms() + options_.limit_ms),
          .limit_ms = limit_of(lease.submission, options_.limit_ms)};
}

BuildTime Builder::time_of(const Job& job) {
  return {.stop = job.stop, .end_ms = job.end_ms, .limit_ms = limit_of(job.lease.submission, kNoLimitMs)};
}

Hash Builder::key_of(const Job& job) {
  return build_key(job.lease.submission, job.lease.device.kind, job.arch, job.zygote->software(),
                   job.zygote->compilers());
}

Expected<Built> Builder::build(const Lease& lease, std::stop_token stop, BuildPlace place) {
  if (stop.stop_requested()) return our_fault("stopped before it began");
  // An eval program builds the submission itself. Its result is self-reported, so the guard has nothing to protect.
  if (lease.submission.backend == Backend::eval_program) return Built{.verdict = {}, .dir = {}};
  const std::int64_t start_ms = sys::monotonic_now_ms();
  std::vector<ReviewFinding> findings;
  const std::int64_t end_ms = start_ms + limit_of(lease.submission, kNoLimitMs);
  KQ_TRY_VALUE(auto judged, judge_files(lease, time_to_judge(lease, stop, end_ms), findings));
  if (judged) return ended_build(std::move(*judged));
  KQ_TRY_VALUE(auto job, begin(lease, std::move(stop), place, start_ms));
  job.findings = std::move(findings);
  const Hash key = key_of(job);
  const BuildTime time = time_of(job);
  const KeyLocks::Hold hold(key_locks_, key, time);
  if (auto over = time.over()) return over->map(ended_build);
  if (lease.object) adopt(job, key);
  auto cached = from_cache(job, key);
  auto built = cached ? Expected<Built>(std::move(*cached)) : run(job, key);
  if (built && lease.submission.trials.need_extensions && built->extensions && built->extensions->fell_back)
    built->verdict = extension_needed(built->extensions->failed.front());
  if (built) built->ms = sys::monotonic_now_ms() - start_ms;
  return built;
}

Expected<Built> Builder::build_object(const Lease& lease, std::stop_token stop, BuildPlace place) {
  auto built = build(lease, stop, place);
  if (!built || built->dir.empty()) return built;
  KQ_TRY_VALUE(const auto job, begin(lease, std::move(stop), place, sys::monotonic_now_ms()));
  std::error_code error;
  if (!has_compilers_of_key(*job.zygote, built->dir))
    return our_fault("builds here find other compilers than this worker found when it started");
  if (fs::exists(built->dir + "/" + std::string(kForThisMachine), error))
    return our_fault("the build is for the processor of this machine only");
  KQ_TRY_VALUE(auto object, pack_object(built->dir, lease.device.kind, lease.device.arch, key_of(job)));
  built->object = std::move(object);
  return built;
}

// Puts the artifact that came with the lease into the cache. An invalid artifact is ignored, and the build runs here.
void Builder::adopt(const Job& job, const Hash& key) {
  if (job.lease.object->key != key || cache_.has(key)) return;
  const auto scratch = this->scratch(job, "object");
  if (!scratch || !unpack_object(*job.lease.object, scratch->out())) return;
  (void)cache_.put(key, scratch->out());
}

bool Builder::is_of_this_toolchain(const Job& job, const std::string& dir) {
  if (has_compilers_of_key(*job.zygote, dir)) return true;
  const std::lock_guard lock(toolchain_mutex_);
  return toolchain_id_in(dir) == toolchain_;
}

// Returns the build from the cache, or nothing. Removes an entry that is damaged, as only successful builds are cached,
// or that other compilers made.
std::optional<Built> Builder::from_cache(const Job& job, const Hash& key) {
  const auto entry = cache_.find(key);
  if (!entry) return std::nullopt;
  if (is_of_this_toolchain(job, *entry)) {
    auto built = outcome(job, *entry, true);
    if (!built.verdict || name_of(*built.verdict) != VerdictName::build_failed) return built;
  }
  cache_.remove(key);
  return std::nullopt;
}

Expected<Scratch> Builder::scratch(const Job& job, const std::string& name) const {
  return Scratch::make(options_.scratch, name + std::to_string(job.place.slot),
                       options_.uid == 0 ? 0 : options_.uid + static_cast<std::uint32_t>(job.place.slot));
}

BuildChild Builder::child_of(const Job& job, ChildRole role, std::uint32_t limit_ms, const std::string& shared) const {
  return {.role = role,
          .arch = job.arch,
          .shared = shared,
          .uid = options_.uid == 0 ? 0 : options_.uid + static_cast<std::uint32_t>(job.place.slot),
          .host_bytes = options_.host_bytes,
          .cores = job.place.may_use_all_cores ? std::vector<int>() : options_.cores,
          .limit_ms =
              static_cast<std::uint32_t>(std::clamp<std::int64_t>(job.end_ms - sys::monotonic_now_ms(), 1, limit_ms)),
          .whole_limit_ms = static_cast<std::uint32_t>(limit_of(job.lease.submission, limit_ms))};
}

Expected<BuildEnd> Builder::run_child(const Job& job, ChildRole role, const Scratch& scratch, std::uint32_t limit_ms,
                                      const std::string& shared) const {
  return run_build_child(child_of(job, role, limit_ms, shared), job.lease, scratch, *job.zygote, job.stop);
}

Expected<Built> Builder::run(const Job& job, const Hash& key) {
  auto preforked = job.lease.submission.backend == Backend::cuda ? preforked_.take(job.zygote, job.arch) : std::nullopt;
  if (preforked && !preforked->assign(job.lease)) preforked_.end(*std::exchange(preforked, std::nullopt));
  KQ_TRY_VALUE(auto scratch,
               preforked ? Expected<Scratch>(std::move(preforked->scratch)) : this->scratch(job, "build"));
  BuildChild child = child_of(job, ChildRole::build, options_.limit_ms);
  const auto outcome_of = [&](BuildEnd end) -> Built {
    if (end.verdict) return ended_build(std::move(*end.verdict));
    Built built = outcome(job, scratch.out(), false);
    if (has_failed_for_memory(built.verdict, end, scratch.out()))
      return ended_build(build_out_of_memory(child.host_bytes));
    return built;
  };
  if (!preforked) {
    KQ_TRY(put_sources(scratch, job.lease, true));
  }
  const BuildTime time = time_of(job);
  // Only a build of CUDA files runs compilers in this child.
  std::optional<BuildGate::Pass> together;
  if (job.lease.submission.backend == Backend::cuda) together.emplace(gate_, BuildGate::Kind::together, time);
  if (auto over = time.over()) return over->map(ended_build);
  KQ_TRY_VALUE(auto end, preforked ? run_preforked_build(child, *preforked, scratch, job.stop)
                                   : run_build_child(child, job.lease, scratch, *job.zygote, job.stop));
  together.reset();
  Built built = outcome_of(std::move(end));
  if (built.verdict && is_for_memory(*built.verdict) && may_run_alone()) {
    KQ_TRY_VALUE(scratch, this->scratch(job, "alone"));
    KQ_TRY(put_sources(scratch, job.lease, true));
    const BuildGate::Pass alone(gate_, BuildGate::Kind::alone, time);
    if (auto over = time.over()) return over->map(ended_build);
    child = child_of(job, ChildRole::build, options_.limit_ms);
    child.host_bytes = options_.alone_host_bytes;
    KQ_TRY_VALUE(end, run_build_child(child, job.lease, scratch, *job.zygote, job.stop));
    built = outcome_of(std::move(end));
  }
  if (built.verdict && is_for_memory(*built.verdict)) built.verdict = build_beyond_memory(child.host_bytes);
  if (built.verdict && name_of(*built.verdict) != VerdictName::compiled_only) return built;

  bool cached = false;
  if (const auto toolchain = toolchain_id_in(scratch.out())) {
    {
      const std::lock_guard lock(toolchain_mutex_);
      toolchain_ = *toolchain;
    }
    KQ_TRY_VALUE(auto extensions, build_extensions(job, *toolchain, scratch.out()));
    if (extensions.verdict) {
      Built failed = ended_build(std::move(*extensions.verdict));
      failed.toolchain = toolchain_in(scratch.out());
      failed.extensions = std::move(extensions.extensions);
      return failed;
    }
    cached = extensions.cached;
  }
  std::error_code error;
  if (fs::exists(scratch.out() + "/" + std::string(kLaunchesTriton), error)) {
    KQ_TRY(compile_ahead(job, scratch.out()));
  }
  const auto entry = cache_.put(key, scratch.out());
  if (!entry && entry.error().kind == ErrorKind::bad_input) {
    return ended_build(build_ended(VerdictName::build_failed, {}, entry.error().message));
  }
  if (!entry) return failure(entry.error());
  return outcome(job, *entry, cached);
}

Expected<Builder::Traced> Builder::trace(const Job& job, const ExtensionManifest& known) {
  KQ_TRY_VALUE(const auto scratch, this->scratch(job, "record"));
  KQ_TRY(put_sources(scratch, job.lease, true));
  if (!known.is_empty()) {
    KQ_TRY(scratch.put(kManifest, known.text()));
  }
  KQ_TRY_VALUE(auto end, run_child(job, ChildRole::record, scratch, options_.limit_ms));
  if (end.verdict && name_of(*end.verdict) != VerdictName::build_failed)
    return Traced{.verdict = std::move(end.verdict), .calls = {}};
  const auto text = read_child_file(scratch.out() + "/calls", kExtensionCallBytesMax + 1);
  if (!text) return Traced{.verdict = {}, .calls = {}};  // the child died before its calls; the run reports how
  const auto refused = [](const std::string& sentence) {
    return Traced{.verdict = build_ended(VerdictName::build_failed, {}, sentence), .calls = {}};
  };
  const auto complaint = read_child_file(scratch.out() + "/complaint", kMessageTextMax);
  if (complaint && !complaint->empty()) return refused(*complaint);
  const auto raised_text = read_child_file(scratch.out() + "/raised", kRaisedCallsBytesMax);
  std::vector<RaisedCall> raised = parse_raised(raised_text ? *raised_text : std::string());
  if (const auto uncaught = read_child_file(scratch.out() + "/uncaught", kNameBytesMax)) {
    std::optional<Verdict> verdict;
    if (const Verdict* failure = known.failure_of(*uncaught)) verdict = *failure;
    const auto call = std::ranges::find(raised, *uncaught, &RaisedCall::key);
    if (call != raised.end()) verdict = verdict_of(*call);
    if (verdict) return Traced{.verdict = std::move(verdict), .calls = {}, .raised = std::move(raised)};
  }
  auto calls = parse_calls(*text);
  if (!calls) return refused(calls.error().message);
  std::erase_if(*calls, [&](const ExtensionCall& call) { return known.knows(call); });
  if (known.call_count() + calls->size() > kExtensionCallsMax)
    return refused("load_inline is called more than " + std::to_string(kExtensionCallsMax) + " times");
  return Traced{.verdict = {}, .calls = std::move(*calls), .raised = std::move(raised)};
}

// Traces the submission and compiles its calls. After a failed call the submission is traced again with that failure
// raised, until a trace has no new call that fails.
Expected<Builder::ExtensionsBuilt> Builder::build_extensions(const Job& job, const std::string& toolchain,
                                                             const std::string& out) {
  ExtensionManifest manifest;
  ExtensionsBuilt built;
  for (int trace = 0; trace < kTracesMax; ++trace) {
    KQ_TRY_VALUE(auto traced, this->trace(job, manifest));
    for (const RaisedCall& call : traced.raised) manifest.add_raised(call);
    if (traced.verdict) {
      built.verdict = std::move(traced.verdict);
      if (!manifest.is_empty()) built.extensions = manifest.summary(false);
      return built;
    }
    KQ_TRY_VALUE(const bool has_failed, compile_calls(job, traced.calls, toolchain, out, manifest, built));
    if (built.verdict) return built;
    if (has_failed) continue;
    KQ_TRY(write(out + "/" + std::string(kManifest), manifest.text()));
    built.cached = built.cached && manifest.call_count() > 0;
    return built;
  }
  built.verdict = build_ended(VerdictName::build_failed, {},
                              "after " + std::to_string(kTracesMax) +
                                  " calls of load_inline that do not compile, the submission still makes another one");
  return built;
}

// Compiles calls that are new and adds them to the manifest. Returns whether one of them does not compile. Sets the
// verdict of `built` where the job ends.
Expected<bool> Builder::compile_calls(const Job& job, const std::vector<ExtensionCall>& calls,
                                      const std::string& toolchain, const std::string& out, ExtensionManifest& manifest,
                                      ExtensionsBuilt& built) {
  // The guard judges all calls before any is compiled.
  const BuildTime time = time_to_judge(job.lease, job.stop, job.end_ms);
  for (const ExtensionCall& call : calls) {
    built.verdict = judge_call(
        call, [&] { return !time.over(); }, policy_of(job.lease));
    if (built.verdict) return false;
    if (auto over = time.over()) {
      KQ_TRY_VALUE(built.verdict, std::move(*over));
      return false;
    }
  }
  bool has_failed = false;
  for (const ExtensionCall& call : calls) {
    KQ_TRY_VALUE(auto compiled, compile(job, call, toolchain));
    const bool is_shown = !compiled.toolchain.empty() && (!compiled.verdict || !built.has_toolchain);
    if (is_shown) (void)write(out + "/toolchain", compiled.toolchain);
    built.has_toolchain = built.has_toolchain || is_shown;
    built.cached = built.cached && compiled.cached;
    if (compiled.verdict && compiled.failure) {
      manifest.add_failed(call, *compiled.failure, std::move(*compiled.verdict));
      has_failed = true;
      continue;
    }
    if (compiled.verdict) {
      built.verdict = std::move(compiled.verdict);
      return false;
    }
    const std::string file = manifest.add_module(call);
    std::error_code error;
    fs::copy_file(compiled.dir + "/module.so", out + "/" + file, error);
    if (error) return our_fault("cannot copy a compiled module: " + error.message());
    if (is_for_this_machine(call)) (void)write(out + "/" + std::string(kForThisMachine), "");
    if (call.has_cuda_sources) (void)write(out + "/" + std::string(kNeedsGpu), "");
  }
  return has_failed;
}

// Lets a tracing child compile the submission's Triton kernels ahead of the run, and adds the archive of these kernels
// to `out`. A failed child is ignored: the run compiles the missing kernels and reports their errors.
Expected<void> Builder::compile_ahead(const Job& job, const std::string& out) {
  KQ_TRY_VALUE(const auto scratch, this->scratch(job, "record"));
  if (const auto put = put_sources(scratch, job.lease, true); !put) return put;
  KQ_TRY_VALUE(const auto end, run_child(job, ChildRole::record, scratch, options_.ahead_limit_ms));
  const auto archive = read_child_file(scratch.out() + "/" + std::string(kTritonArchive), kTritonBytesMax + 1);
  if (end.verdict || !archive || archive->size() > kTritonBytesMax) return {};
  if (const auto written = write(out + "/" + std::string(kTritonArchive), *archive); !written) return written;
  return write(out + "/toolchain", toolchain_in(out).compiler + "\ncompiled ahead\n");
}

Expected<Builder::Compiled> Builder::compile(const Job& job, const ExtensionCall& call, const std::string& toolchain) {
  const Hash key = extension_key(call, job.arch, toolchain);
  const BuildTime time = time_of(job);
  const KeyLocks::Hold hold(key_locks_, key, time);
  if (auto over = time.over())
    return over->map([](Verdict& verdict) { return Compiled{.verdict = std::move(verdict), .dir = {}}; });
  if (const auto entry = cache_.find(key))
    return Compiled{.verdict = {}, .dir = *entry, .cached = true, .toolchain = toolchain_text(*entry)};
  const Hash failed_key = failure_key(call, key);
  if (const auto entry = cache_.find(failed_key)) {
    auto verdict = read_outcome(*entry, policy_of(job.lease));
    const auto kept = failure_in(*entry);
    if (verdict && kept)
      return Compiled{.verdict = std::move(verdict),
                      .failure = kept,
                      .dir = {},
                      .cached = true,
                      .toolchain = toolchain_text(*entry)};
  }
  const Hash group = sha256(toolchain);
  const std::vector<std::string> variants = header_variants(call);
  std::string awaited;  // the first prefix, if it is missing: it tells whether the C++ sources compile
  for (const std::string& variant : variants) {
    if (cache_.has_header(group, variant)) continue;
    if (variant == variants.front()) awaited = variant;
    headers_.request({.group = group, .variant = variant, .zygote = job.zygote, .arch = job.arch});
  }
  const HeaderMaker::Turn turn(headers_, group, awaited, time);
  if (auto over = time.over())
    return over->map([](Verdict& verdict) { return Compiled{.verdict = std::move(verdict), .dir = {}}; });
  KQ_TRY_VALUE(const auto headers, cache_.headers(group));
  KQ_TRY_VALUE(auto scratch, this->scratch(job, "compile"));
  const auto compile_in = [&](BuildGate::Kind kind) -> Expected<std::optional<Verdict>> {
    KQ_TRY(scratch.put("call.json", call.text));
    KQ_TRY(scratch.put("variant", header_level(call)));
    return compile_once(job, scratch, headers, kind);
  };
  KQ_TRY_VALUE(auto verdict, compile_in(BuildGate::Kind::together));
  if (verdict && is_for_memory(*verdict) && may_run_alone()) {
    KQ_TRY_VALUE(scratch, this->scratch(job, "alone"));
    KQ_TRY_VALUE(verdict, compile_in(BuildGate::Kind::alone));
  }
  if (verdict && is_for_memory(*verdict))
    verdict = build_beyond_memory(may_run_alone() ? options_.alone_host_bytes : options_.host_bytes);
  if (verdict) {
    const bool has_failed = name_of(*verdict) == VerdictName::build_failed;
    const auto kind = has_failed ? failure_in(scratch.out()) : std::nullopt;
    if (kind && is_final(scratch.out()))
      (void)cache_.put(failed_key, scratch.out());  // a call that is not kept is compiled again
    return Compiled{.verdict = std::move(*verdict),
                    .failure = kind,
                    .dir = {},
                    .cached = false,
                    .toolchain = toolchain_text(scratch.out())};
  }
  auto entry = cache_.put(key, scratch.out());
  if (!entry && entry.error().kind == ErrorKind::bad_input) {
    return Compiled{.verdict = build_ended(VerdictName::build_failed, {}, entry.error().message), .dir = {}};
  }
  if (!entry) return failure(entry.error());
  std::string compilers = toolchain_text(*entry);
  return Compiled{.verdict = {}, .dir = std::move(*entry), .cached = false, .toolchain = std::move(compilers)};
}

Expected<std::optional<Verdict>> Builder::compile_once(const Job& job, const Scratch& scratch,
                                                       const std::string& headers, BuildGate::Kind kind) {
  const BuildTime time = time_of(job);
  const BuildGate::Pass pass(gate_, kind, time);
  if (!pass.is_held()) {
    if (auto over = time.over()) return over->map([](Verdict& verdict) { return std::optional(std::move(verdict)); });
  }
  BuildChild child = child_of(job, ChildRole::compile, options_.compile_limit_ms, headers);
  if (kind == BuildGate::Kind::alone) child.host_bytes = options_.alone_host_bytes;
  KQ_TRY_VALUE(auto end, run_build_child(child, job.lease, scratch, *job.zygote, job.stop));
  auto verdict = end.verdict ? std::move(end.verdict) : read_outcome(scratch.out(), policy_of(job.lease));
  if (has_failed_for_memory(verdict, end, scratch.out())) verdict = build_out_of_memory(child.host_bytes);
  return verdict;
}

Expected<void> Builder::make_headers_ahead(DeviceKind kind) {
  KQ_TRY_VALUE(const auto zygote, zygote_(kind));
  const Hash group = sha256(zygote->toolchain());
  for (const std::string& variant : zygote->prefixes()) {
    headers_.request(
        {.group = group, .variant = variant, .zygote = zygote, .arch = options_.no_gpu_arch, .is_ahead = true});
  }
  return {};
}

// Makes a prefix of torch's headers and puts it into the cache, unless it is there. Returns whether it is there then.
bool Builder::make_header(const HeaderOrder& order, std::size_t thread, const std::stop_token& stop) {
  if (cache_.has_header(order.group, order.variant)) return true;
  const std::uint32_t uid =
      options_.uid == 0 ? 0 : options_.uid + kHeaderUidOffset + static_cast<std::uint32_t>(thread);
  const auto scratch = Scratch::make(options_.scratch, "header" + std::to_string(thread), uid);
  if (!scratch ||
      !scratch->put(
          "call.json",
          nlohmann::json{{"precompile", order.variant}, {"nice", order.is_ahead ? kNiceAhead : kNice}}.dump()))
    return false;
  const BuildChild child{.role = ChildRole::compile,
                         .arch = order.arch,
                         .shared = {},
                         .uid = uid,
                         .host_bytes = std::max(options_.host_bytes, options_.header_host_bytes),
                         .limit_ms = kHeaderLimitMs,
                         .whole_limit_ms = kHeaderLimitMs};
  const auto end = run_build_child(child, Lease(), *scratch, *order.zygote, stop);
  // Verifies the new prefix here, so that no build has to.
  return end && !end->verdict && !read_outcome(scratch->out()) &&
         cache_.put_header(order.group, order.variant, scratch->out()) && cache_.has_header(order.group, order.variant);
}

Built Builder::outcome(const Job& job, const std::string& dir, bool cached) const {
  Built built{.verdict = {}, .dir = dir, .cached = cached, .ms = 0, .findings = job.findings};
  if (auto verdict = read_outcome(dir, policy_of(job.lease), &built.findings)) return ended_build(std::move(*verdict));
  built.toolchain = toolchain_in(dir);
  built.extensions = extensions_in(dir);
  std::error_code error;
  const bool needs_gpu =
      job.lease.submission.backend == Backend::cuda || fs::exists(dir + "/" + std::string(kNeedsGpu), error);
  if (needs_gpu && job.lease.device.kind == DeviceKind::cpu) {
    built.verdict = build_ended(VerdictName::compiled_only, {}, "built; running it needs a GPU");
  }
  return built;
}

}  // namespace kq::worker
