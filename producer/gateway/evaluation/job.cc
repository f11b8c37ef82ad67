#include "producer/gateway/evaluation/job.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/limits.h"
#include "producer/formats/io_contract.h"

namespace kq::gateway::evaluation {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

constexpr std::size_t kNameBytesMaxOfTensor = 79;  // of a tensor's name in the tables of judge and child
constexpr std::uint32_t kWarmupTrials = 2;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Returns whether a text has a phrase as whole words.
bool holds(std::string_view text, std::string_view phrase) {
  for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
    const std::size_t end = at + phrase.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// A kernel that is launched as its IOContract says, and not by a function or class of its file.
bool is_bare(const KernelCode& kernel) {
  return kernel.type == Backend::cuda || (kernel.type == Backend::triton && kernel.io.has_value());
}
bool has_get_inputs(const KernelCode& kernel) {
  return kernel.type != Backend::cuda &&
         (holds(kernel.source, "def get_inputs") || holds(kernel.source, "get_input_groups"));
}

Json text(std::string_view value) {
  return Json{std::string(value)};
}
Json list(const std::vector<std::int64_t>& sizes) {
  JsonArray array;
  for (const std::int64_t size : sizes) array.push_back(Json{size});
  return Json{std::move(array)};
}
Json list(const std::array<std::int64_t, 3>& sizes) {
  return list(std::vector<std::int64_t>(sizes.begin(), sizes.end()));
}
template <class Texts>
Json texts(const Texts& values) {
  JsonArray array;
  for (const auto& value : values) array.push_back(text(value));
  return Json{std::move(array)};
}
Json object(JsonObject members) {
  return Json{std::move(members)};
}

// ---- arguments

// How a kernel uses one tensor. A tensor may be read and written.
struct Use {
  bool reads = false;
  bool writes = false;
};

// Returns how each argument of a kernel is used. Where no tensor is marked as written, a bare kernel writes them all.
// An output with values of its own starts from them.
std::vector<Use> uses_of(const KernelCode& kernel) {
  const auto is_marked = [](const Argument& arg) { return arg.tensor && arg.role != Role::input; };
  const bool writes_all = is_bare(kernel) && std::ranges::none_of(kernel.io->args, is_marked);
  std::vector<Use> uses;
  for (const Argument& arg : kernel.io->args) {
    const bool has_values = arg.tensor && (arg.tensor->init || arg.tensor->data);
    uses.push_back({.reads = arg.tensor && (arg.role != Role::output || has_values),
                    .writes = arg.tensor && (arg.role != Role::input || writes_all)});
  }
  return uses;
}

// A tensor among the inputs of a problem.
struct Input {
  std::string name;
  const TensorSpec* spec = nullptr;
  std::string field{};  // of its argument
};

// The tensors that a kernel reads, in the order of its arguments. An output that starts from values comes behind them.
struct Inputs {
  std::vector<Input> given{};
  std::vector<Input> started{};
};
Inputs inputs_of(const KernelCode& kernel) {
  Inputs inputs;
  if (!kernel.io) return inputs;
  const std::vector<Use> uses = uses_of(kernel);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Argument& arg = kernel.io->args[i];
    if (!uses[i].reads) continue;
    Input input{arg.name, &*arg.tensor, kernel.field + " -> io -> args -> " + std::to_string(i)};
    (arg.role == Role::output ? inputs.started : inputs.given).push_back(std::move(input));
  }
  return inputs;
}

bool is_random(const TensorSpec& spec) {
  if (spec.data) return false;
  const std::string kind = spec.init ? *spec.init->front().value.text() : "randn";
  return kind == "randn" || kind == "uniform";
}

Json spec_json(const Input& input) {
  JsonObject members;
  members.emplace_back("name", text(input.name));
  members.emplace_back("shape", list(input.spec->shape));
  members.emplace_back("dtype", text(input.spec->dtype));
  if (input.spec->data) {
    JsonObject data;
    data.emplace_back("z85", text(input.spec->data->packed));
    data.emplace_back("dtype", text(input.spec->data->dtype));
    data.emplace_back("shape", list(input.spec->data->shape));
    members.emplace_back("data", object(std::move(data)));
  } else if (input.spec->init) {
    members.emplace_back("init", object(*input.spec->init));
  } else {
    const bool is_float = input.spec->dtype.find("float") != std::string::npos;
    JsonObject init;
    init.emplace_back("kind", text(is_float ? "randn" : "zeros"));
    members.emplace_back("init", object(std::move(init)));
  }
  return object(std::move(members));
}
Json specs_json(const std::vector<Input>& inputs) {
  JsonArray array;
  for (const Input& input : inputs) array.push_back(spec_json(input));
  return Json{std::move(array)};
}
Json form_json(const Argument& arg) {
  JsonObject members;
  members.emplace_back("shape", list(arg.tensor->shape));
  members.emplace_back("dtype", text(arg.tensor->dtype));
  members.emplace_back("name", text(arg.name));
  return object(std::move(members));
}

// Gives every tensor of a kernel a name that a parameter of Python can have, and that no other argument has.
void make_names_usable(KernelCode& kernel) {
  if (!kernel.io) return;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < kernel.io->args.size(); ++i) {
    std::string& name = kernel.io->args[i].name;
    const bool is_identifier = !name.empty() && name.size() <= kNameBytesMaxOfTensor &&
                               std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                               std::ranges::all_of(name, is_word);
    if (!is_identifier || taken.contains(name)) name = "kq_" + std::to_string(i);
    taken.insert(name);
  }
}

// ---- the problem

class ProblemWriter {
 public:
  ProblemWriter(const EvaluationRequest& request, KernelCode kernel)
      : request_(request), kernel_(std::move(kernel)), kernel_inputs_(inputs_of(kernel_)) {}

  BodyError error;

  // Returns the text of the problem's file, or nothing where the request has no inputs for it.
  std::optional<std::string> write() {
    if (!request_.reference && is_bare(kernel_)) return measured_only();
    if (!request_.reference && kernel_.type == Backend::torch_cuda && describes_outputs(kernel_))
      return measured_only();
    KernelCode reference = request_.reference ? *request_.reference : kernel_;
    if (request_.reference) make_names_usable(reference);
    return of_reference(reference);
  }

 private:
  static bool describes_outputs(const KernelCode& kernel) {
    return kernel.io && std::ranges::any_of(uses_of(kernel), &Use::writes);
  }

  std::string with_plan(const std::string& source, JsonObject plan) {
    bool is_any_random = false, is_any = false;
    for (const Input& input : drawn_) {
      is_any = true;
      is_any_random |= is_random(*input.spec);
    }
    plan.emplace_back("vary", Json{is_any && !is_any_random && !draws_own_});
    const std::string plan_text = producer::to_text(object(std::move(plan)));
    return "SOURCE = " + producer::json_quoted(source) + "\nPLAN = " + producer::json_quoted(plan_text) + "\n" +
           std::string(kReferenceSide);
  }

  // The problem of a kernel without a reference.
  std::string measured_only() {
    std::vector<Input> inputs = kernel_inputs_.given;
    inputs.insert(inputs.end(), kernel_inputs_.started.begin(), kernel_inputs_.started.end());
    drawn_ = inputs;
    JsonArray outputs;
    const std::vector<Use> uses = uses_of(kernel_);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].writes) outputs.push_back(form_json(kernel_.io->args[i]));
    }
    JsonObject target;
    target.emplace_back("kind", text("none"));
    JsonObject plan;
    plan.emplace_back("inputs", specs_json(inputs));
    plan.emplace_back("names", names_json(inputs));
    plan.emplace_back("spare", Json{JsonArray{}});
    plan.emplace_back("extra", Json{JsonArray{}});
    plan.emplace_back("target", object(std::move(target)));
    plan.emplace_back("call", Json{nullptr});
    plan.emplace_back("outputs", Json{std::move(outputs)});
    return with_plan("", std::move(plan));
  }

  std::optional<std::string> of_reference(const KernelCode& reference) {
    const bool has_own = !reference.io && has_get_inputs(reference);
    if (!reference.io && !has_own && !kernel_.io) {
      const std::string field = reference.field.ends_with("_code") ? reference.field : reference.field + " -> io";
      error.fields.push_back({field,
                              "is missing, and the source defines no get_inputs(): name the tensors that the kernel "
                              "gets in io, or define get_inputs()",
                              "missing"});
      return std::nullopt;
    }
    if (is_plain(reference, has_own)) return reference.source;

    const Inputs own = inputs_of(reference);
    std::vector<Input> inputs = reference.io ? own.given : has_own ? std::vector<Input>{} : kernel_inputs_.given;
    std::vector<Input> extra;
    const bool is_compared = request_.reference.has_value();
    if (is_compared && reference.io && kernel_.io) extra = match(inputs);
    if (reference.io) extra.insert(extra.end(), own.started.begin(), own.started.end());
    if (is_compared) extra.insert(extra.end(), kernel_inputs_.started.begin(), kernel_inputs_.started.end());
    if (!error.fields.empty()) return std::nullopt;
    draws_own_ = has_own;
    drawn_ = inputs;
    drawn_.insert(drawn_.end(), extra.begin(), extra.end());

    JsonObject plan;
    plan.emplace_back("inputs", has_own ? Json{nullptr} : specs_json(inputs));
    plan.emplace_back("names", names_json(has_own ? kernel_inputs_.given : inputs));
    plan.emplace_back("spare", has_own ? specs_json(kernel_inputs_.given) : Json{JsonArray{}});
    plan.emplace_back("extra", specs_json(extra));
    plan.emplace_back("target", target_of(reference));
    plan.emplace_back("call", call_of(reference, inputs.size(), extra));
    plan.emplace_back("outputs", Json{JsonArray{}});
    return with_plan(reference.source, std::move(plan));
  }

  // Whether the source of a reference is a problem as it is.
  bool is_plain(const KernelCode& reference, bool has_own) const {
    const Metadata& names = reference.metadata;
    const bool has_target = names.function_name || names.class_name || names.method_name || names.entry_point;
    return has_own && !kernel_.io && !has_target && holds(reference.source, "class Model");
  }

  // Names the reference's inputs as the kernel's contract does: by name where all of them are there, else by place.
  // Returns the tensors that only the kernel reads.
  std::vector<Input> match(std::vector<Input>& inputs) {
    std::vector<Input> left = kernel_inputs_.given;
    const auto find = [&](const std::string& name) { return std::ranges::find(left, name, &Input::name); };
    const bool by_name =
        std::ranges::all_of(inputs, [&](const Input& input) { return find(input.name) != left.end(); });
    std::set<std::string> taken;
    for (const Input& input : left) taken.insert(input.name);
    for (const Input& input : kernel_inputs_.started) taken.insert(input.name);
    for (Input& input : inputs) {
      const auto partner = by_name ? find(input.name) : left.begin();
      if (partner == left.end()) {
        while (!taken.insert(input.name).second) input.name += "_";
        continue;
      }
      if (input.spec->dtype != partner->spec->dtype ||
          elements_of(input.spec->shape) != elements_of(partner->spec->shape)) {
        error.fields.push_back({partner->field + " -> tensor_spec",
                                "has another dtype or number of elements than " + input.field +
                                    " of the reference: both kernels get the same inputs",
                                "value_error"});
      }
      input.name = partner->name;
      left.erase(partner);
    }
    return left;
  }

  static Json names_json(const std::vector<Input>& inputs) {
    std::vector<std::string> names;
    for (const Input& input : inputs) names.push_back(input.name);
    return texts(names);
  }

  static Json target_of(const KernelCode& reference) {
    const Metadata& names = reference.metadata;
    const auto name_or_null = [](const std::optional<std::string>& name) { return name ? text(*name) : Json{nullptr}; };
    JsonObject target;
    if (is_bare(reference)) {
      const bool is_cuda = reference.type == Backend::cuda;
      const Launch& launch = reference.io->launch;
      target.emplace_back("kind", text(is_cuda ? "cuda" : "triton"));
      target.emplace_back("name", name_or_null(names.kernel_name));
      target.emplace_back("grid", list(launch.grid));
      if (is_cuda) {
        target.emplace_back("block", list(launch.block));
        target.emplace_back("shared_mem_bytes", Json{launch.shared_mem_bytes});
        target.emplace_back("compiler_options", texts(names.compiler_options));
      } else {
        JsonObject options;
        if (launch.num_warps) options.emplace_back("num_warps", Json{*launch.num_warps});
        if (launch.num_stages) options.emplace_back("num_stages", Json{*launch.num_stages});
        target.emplace_back("options", object(std::move(options)));
      }
      target.emplace_back("has_init_inputs", Json{false});
      return object(std::move(target));
    }
    const auto& function = reference.type == Backend::multi_kernel ? names.entry_point : names.function_name;
    target.emplace_back("kind", text(function ? "function" : "class"));
    const bool is_new = reference.type != Backend::torch && holds(reference.source, "class ModelNew");
    target.emplace_back("name", text(function ? *function : names.class_name.value_or(is_new ? "ModelNew" : "Model")));
    target.emplace_back("method", text(names.method_name.value_or("forward")));
    target.emplace_back("has_init_inputs", Json{!function});
    return object(std::move(target));
  }

  // The arguments of the reference by its contract: inputs by their number among all that are drawn.
  static Json call_of(const KernelCode& reference, std::size_t input_count, const std::vector<Input>& extra) {
    if (!reference.io) return Json{nullptr};
    const std::vector<Use> uses = uses_of(reference);
    JsonArray call;
    std::size_t next = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Argument& arg = reference.io->args[i];
      JsonObject entry;
      entry.emplace_back("name", text(arg.name));
      if (!arg.tensor) {
        entry.emplace_back("value", arg.value);
        if (arg.is_meta) entry.emplace_back("is_meta", Json{true});
      } else if (uses[i].reads) {
        std::size_t number = next;
        if (arg.role == Role::output) {
          const auto is_it = [&](const Input& input) { return input.spec == &*arg.tensor; };
          number = input_count + static_cast<std::size_t>(std::ranges::find_if(extra, is_it) - extra.begin());
        } else {
          ++next;
        }
        entry.emplace_back("input", Json{static_cast<std::int64_t>(number)});
        entry.emplace_back("written", Json{uses[i].writes});
      } else {
        entry.emplace_back("output", form_json(arg));
      }
      call.push_back(object(std::move(entry)));
    }
    return Json{std::move(call)};
  }

  const EvaluationRequest& request_;
  KernelCode kernel_;
  Inputs kernel_inputs_;
  std::vector<Input> drawn_{};  // all tensors that the problem draws itself
  bool draws_own_ = false;      // whether the source draws inputs, too
};

// ---- the submission

// Returns the contract of the submission, X.json beside its file, or nothing where it needs none.
std::optional<Json> contract_of(const KernelCode& kernel, std::vector<std::string>& notes) {
  const Metadata& names = kernel.metadata;
  JsonObject members;
  if (kernel.io) {
    const std::vector<Use> uses = uses_of(kernel);
    JsonArray args;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Argument& arg = kernel.io->args[i];
      JsonObject entry;
      entry.emplace_back("name", text(arg.name));
      entry.emplace_back("type", text(arg.type));
      if (!arg.tensor) {
        entry.emplace_back("value", arg.value);
        if (arg.is_meta) entry.emplace_back("is_meta", Json{true});
      } else if (uses[i].reads && uses[i].writes) {
        entry.emplace_back("role", text("inout"));
      } else if (uses[i].writes) {
        entry.emplace_back("role", text("output"));
        JsonObject spec;
        spec.emplace_back("shape", list(arg.tensor->shape));
        spec.emplace_back("dtype", text(arg.tensor->dtype));
        entry.emplace_back("tensor_spec", object(std::move(spec)));
      }
      if (arg.tensor && arg.role == Role::output && uses[i].reads)
        notes.push_back(kernel.field + " -> io -> args -> " + std::to_string(i) +
                        " is an output that starts from given values: the copy is part of the measured time; leave out "
                        "init and data where the kernel writes every element");
      if (arg.tensor && arg.role != Role::output && !arg.tensor->init && !arg.tensor->data)
        notes.push_back(kernel.field + " -> io -> args -> " + std::to_string(i) +
                        " has neither init nor data: floats are drawn as randn, everything else is 0");
      args.push_back(object(std::move(entry)));
    }
    members.emplace_back("args", Json{std::move(args)});
  }
  if (is_bare(kernel)) {
    const Launch& launch = kernel.io->launch;
    const auto sizes = [](const std::array<std::int64_t, 3>& values) {
      JsonObject dimensions;
      for (std::size_t i = 0; i < values.size(); ++i)
        dimensions.emplace_back(std::string_view("xyz").substr(i, 1), Json{values[i]});
      return object(std::move(dimensions));
    };
    JsonObject entry;
    entry.emplace_back("grid", sizes(launch.grid));
    if (kernel.type == Backend::cuda) {
      entry.emplace_back("block", sizes(launch.block));
      entry.emplace_back("shared_mem_bytes", Json{launch.shared_mem_bytes});
    }
    if (launch.num_warps) entry.emplace_back("num_warps", Json{*launch.num_warps});
    if (launch.num_stages) entry.emplace_back("num_stages", Json{*launch.num_stages});
    members.emplace_back("launch", object(std::move(entry)));
    if (names.kernel_name) members.emplace_back("kernel_name", text(*names.kernel_name));
    if (kernel.type == Backend::cuda) {
      if (names.backend) members.emplace_back("compiler", text(*names.backend));
      if (!names.compiler_options.empty()) members.emplace_back("compiler_options", texts(names.compiler_options));
      if (!names.name_expressions.empty()) members.emplace_back("name_expressions", texts(names.name_expressions));
    }
  } else {
    if (names.function_name) members.emplace_back("function_name", text(*names.function_name));
    std::optional<std::string> class_name = names.class_name;
    if (!class_name && kernel.type == Backend::torch && holds(kernel.source, "class Model")) class_name = "Model";
    const bool is_default = !holds(kernel.source, "class ModelNew") && class_name == "Model";
    if (class_name && !is_default) members.emplace_back("class_name", text(*class_name));
    if (names.method_name) members.emplace_back("method_name", text(*names.method_name));
    if (names.entry_point) members.emplace_back("entry_point", text(*names.entry_point));
  }
  return members.empty() ? std::nullopt : std::optional(object(std::move(members)));
}

// Returns the mistakes of a contract with the paths of the request: "args[2].role" is "kernel -> io -> args -> 2 ->
// role".
FieldErrors mistakes_of(const KernelCode& kernel, const std::string& contract) {
  FieldErrors errors;
  for (const std::string& sentence : producer::io_contract_mistakes("", contract, kernel.type)) {
    const std::string_view rest = std::string_view(sentence).substr(2);  // behind ": "
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    std::string field = kernel.field + " -> io -> ";
    for (const char c : rest.substr(0, blank)) {
      if (c == '[' || c == '.')
        field += " -> ";
      else if (c != ']')
        field += c;
    }
    errors.push_back({field, std::string(rest.substr(std::min(blank + 1, rest.size()))), "value_error"});
  }
  return errors;
}

void put_file(EvaluationJob& made, std::string name, std::string content) {
  made.job.submission.files.push_back({name, sha256(content)});
  made.job.files.push_back({std::move(name), "the request", std::move(content)});
}

// A worker chooses among its own GPUs, so a number of a GPU means any.
DeviceWish device_of(const std::string& gpu_device) {
  if (gpu_device.empty()) return DeviceWish::any;
  return gpu_device == "cpu" ? DeviceWish::cpu : DeviceWish::cuda;
}

std::string cut(std::string name) {
  return name.size() <= kNameBytesMax && !name_error(name) ? name : "";
}

}  // namespace

tl::expected<EvaluationJob, BodyError> job_of(const EvaluationRequest& request, const EvaluationSettings& settings) {
  KernelCode kernel = request.kernel;
  make_names_usable(kernel);
  ProblemWriter writer(request, kernel);
  const std::optional<std::string> problem = writer.write();
  if (!problem) return tl::unexpected(std::move(writer.error));
  if (problem->size() > kFileBytesMax) {
    Refusal refusal{"the reference and the data of its inputs have " + std::to_string(problem->size()) +
                    " bytes when packed, at most " + std::to_string(kFileBytesMax) +
                    " are possible: use init for data"};
    return tl::unexpected(BodyError{.refusal = std::move(refusal)});
  }

  EvaluationJob made;
  Submission& submission = made.job.submission;
  submission.backend = kernel.type;
  put_file(made, kernel.type == Backend::cuda ? "kernel.cu" : "kernel.py", kernel.source);
  if (const auto contract = contract_of(kernel, made.notes)) {
    const std::string content = producer::to_text(*contract);
    if (FieldErrors wrong = mistakes_of(kernel, content); !wrong.empty())
      return tl::unexpected(BodyError{.fields = std::move(wrong)});
    put_file(made, "kernel.json", content);
  }
  submission.problem.file = "problem.py";
  submission.problem.hash = sha256(*problem);
  submission.problem.name = "evaluation/" + to_hex(submission.problem.hash).substr(0, 12);
  made.job.files.push_back({"problem.py", "the request", *problem});
  submission.problem.rtol = request.rtol;
  submission.problem.atol = request.atol;
  submission.device = device_of(settings.gpu_device);
  submission.trials.warmup = kWarmupTrials;
  submission.trials.timed = std::min(request.num_trials, kTrialsMax);
  if (request.num_trials > kTrialsMax) {
    made.notes.push_back("num_trials is " + std::to_string(request.num_trials) + ": " + std::to_string(kTrialsMax) +
                         " calls are timed, which is the most for one job");
  }
  if (settings.device_metrics) submission.trials.profile = Profiler::ncu;
  submission.time_limit_ms = request.timeout_s * 1'000;
  auto& tags = submission.tags;
  tags[std::string(kRequestTag)] = request.reference ? "compare" : "evaluate";
  tags[std::string(kKernelTypeTag)] = std::string(to_string(kernel.type));
  tags[std::string(kTrialsTag)] = std::to_string(request.num_trials);
  tags[std::string(kTimeoutTag)] = std::to_string(request.timeout_s);
  if (!settings.gpu_type.empty()) tags[std::string(kGpuTypeTag)] = settings.gpu_type;
  const Metadata& names = kernel.metadata;
  for (const auto& name : {names.kernel_name, names.function_name, names.entry_point}) {
    if (name && !cut(*name).empty()) tags.try_emplace(std::string(kKernelNameTag), *name);
  }
  return made;
}

}  // namespace kq::gateway::evaluation
