#include "tools/doctor/doctor.h"

#include <unistd.h>

#include <algorithm>

#include "tools/cli/text.h"

namespace kq::tools {
namespace {

// How to get a missing layer of the sandbox.
struct LayerAdvice {
  std::string_view layer;
  std::string_view advice;
};
constexpr LayerAdvice kLayerAdvice[] = {
    {"uid", "start kq-worker as root, so that jobs get a user id of their own"},
    {"user", "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or user.max_user_namespaces above 0"},
    {"pid", "start kq-worker as root, or allow user namespaces"},
    {"mount", "start kq-worker as root, or allow user namespaces; in a container, mounts must be allowed"},
    {"ipc", "start kq-worker as root, or allow user namespaces"},
    {"net", "start kq-worker as root, or allow user namespaces; until then jobs can reach the network"},
    {"uts", "start kq-worker as root, or allow user namespaces"},
    {"landlock", "use a Linux kernel of 5.13 or newer with landlock in its lsm= list"},
    {"seccomp", "use a Linux kernel with CONFIG_SECCOMP_FILTER"},
    {"cgroup",
     "start kq-worker as root, or by systemd with Delegate=yes and DelegateSubgroup=worker, so that shared memory is "
     "limited too"},
};

std::string advice_for(std::string_view layer) {
  const auto* row = std::find_if(std::begin(kLayerAdvice), std::end(kLayerAdvice),
                                 [&](const LayerAdvice& known) { return known.layer == layer; });
  return row == std::end(kLayerAdvice) ? "" : std::string(row->advice);
}

std::vector<std::string> texts_in(const producer::Json& object, std::string_view key) {
  std::vector<std::string> texts;
  const producer::Json* list = object.find(key);
  if (list == nullptr || list->array() == nullptr) return texts;
  for (const producer::Json& one : *list->array()) {
    if (one.text() != nullptr) texts.push_back(printable(*one.text()));
  }
  return texts;
}

std::string text_in(const producer::Json& object, std::string_view key) {
  const producer::Json* value = object.find(key);
  return value != nullptr && value->text() != nullptr ? printable(*value->text()) : "";
}

Finding device_finding(const producer::Json& device) {
  const producer::Json* memory = device.find("memory_bytes");
  const std::string gib =
      memory != nullptr && memory->integer() != nullptr ? ", " + std::to_string(*memory->integer() >> 30) + " GiB" : "";
  return {.what = "device: " + text_in(device, "kind"), .found = text_in(device, "model") + gib, .advice = ""};
}

Finding software_finding(const producer::Json& software, const char* name, Health missing, const std::string& advice) {
  const std::string version = text_in(software, name);
  if (!version.empty()) return {.what = std::string("python: ") + name, .found = version, .advice = ""};
  return {.what = std::string("python: ") + name, .health = missing, .found = "not found", .advice = advice};
}

}  // namespace

std::vector<Finding> findings_of(const producer::Json& self_test, const std::string& torch_advice) {
  std::vector<Finding> findings;
  const producer::Json* devices = self_test.find("devices");
  if (devices != nullptr && devices->array() != nullptr) {
    for (const producer::Json& device : *devices->array()) findings.push_back(device_finding(device));
  }
  for (const std::string& failure : texts_in(self_test, "failures")) {
    const bool lacks_torch = failure.find("cannot import torch") != std::string::npos;
    findings.push_back({.what = "worker",
                        .health = Health::bad,
                        .found = failure,
                        .advice = lacks_torch ? torch_advice : "a worker would not start here"});
  }
  if (findings.empty())
    findings.push_back(
        {.what = "device", .health = Health::bad, .found = "none", .advice = "start kq-worker with --devices cpu"});
  const producer::Json* software = self_test.find("software");
  if (software != nullptr && !text_in(*software, "python").empty()) {
    findings.push_back(software_finding(*software, "python", Health::bad, ""));
    findings.push_back(software_finding(*software, "torch", Health::bad, torch_advice));
    findings.push_back(software_finding(*software, "triton", Health::weak, "triton submissions need triton"));
  }
  if (const producer::Json* loop = self_test.find("triton_loop"); loop != nullptr && loop->text() != nullptr) {
    const std::string why = printable(*loop->text());
    findings.push_back(why.empty() ? Finding{.what = "triton: loops", .found = "work", .advice = ""}
                                   : Finding{.what = "triton: loops",
                                             .health = Health::weak,
                                             .found = why,
                                             .advice = "triton submissions may fail here: install a pair of triton and "
                                                       "numpy that work together, such as triton 3.6 and numpy 2.3"});
  }
  const auto layers = texts_in(self_test, "sandbox");
  for (const std::string& layer : layers)
    findings.push_back({.what = "sandbox: " + layer, .found = "in force", .advice = ""});
  // Without a layer in force, the self-test did not get as far as the sandbox, and its list of missing layers means
  // nothing.
  for (const std::string& layer : layers.empty() ? layers : texts_in(self_test, "sandbox_missing")) {
    findings.push_back(
        {.what = "sandbox: " + layer, .health = Health::weak, .found = "missing", .advice = advice_for(layer)});
  }
  return findings;
}

Finding program_finding(const std::string& what, const std::string& program, const std::string& path,
                        const std::string& advice) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t colon = std::min(path.find(':', from), path.size());
    const std::string file = path.substr(from, colon - from) + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return {.what = what, .found = file, .advice = ""};
    from = colon + 1;
  }
  return {.what = what, .health = Health::weak, .found = program + " is not in PATH", .advice = advice};
}

Health worst(const std::vector<Finding>& findings) {
  Health health = Health::good;
  for (const Finding& finding : findings) health = std::max(health, finding.health);
  return health;
}

std::string doctor_text(const std::vector<Finding>& findings) {
  constexpr std::size_t kFoundMax = 72;  // bytes of a cell; a longer text stands on lines of its own
  std::vector<std::vector<std::string>> rows;
  for (const Finding& finding : findings) {
    const bool is_long = finding.found.size() > kFoundMax;
    rows.push_back({std::string(to_string(finding.health)), finding.what, is_long ? "see below" : finding.found});
  }
  std::string text = table({{""}, {"what"}, {"found"}}, rows);
  for (const Finding& finding : findings) {
    if (finding.found.size() > kFoundMax) text += '\n' + printable(finding.what + ": " + finding.found) + '\n';
    if (!finding.advice.empty()) text += '\n' + printable(finding.what + ", what to do: " + finding.advice) + '\n';
  }
  return text;
}

std::string doctor_json(const std::vector<Finding>& findings) {
  producer::JsonArray list;
  for (const Finding& finding : findings) {
    list.push_back(
        producer::Json{producer::JsonObject{{"what", producer::Json{finding.what}},
                                            {"health", producer::Json{std::string(to_string(finding.health))}},
                                            {"found", producer::Json{finding.found}},
                                            {"advice", producer::Json{finding.advice}}}});
  }
  return producer::to_text(
             producer::Json{producer::JsonObject{{"health", producer::Json{std::string(to_string(worst(findings)))}},
                                                 {"findings", producer::Json{std::move(list)}}}}) +
         '\n';
}

}  // namespace kq::tools
