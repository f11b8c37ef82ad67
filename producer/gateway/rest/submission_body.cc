#include "producer/gateway/rest/submission_body.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "producer/client/json.h"
#include "producer/formats/jsonl.h"
#include "producer/formats/problems.h"
#include "producer/formats/recognise.h"
#include "producer/formats/single_file.h"
#include "producer/gateway/rest/multipart.h"
#include "sys/error_text.h"
#include "sys/fd.h"

namespace kq::gateway {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

constexpr std::string_view kBodyName = "body";

// Returns the media type without its parameters, in lower case.
std::string media_type(const Request& request) {
  std::string type = request.header("content-type").value_or("");
  type = type.substr(0, std::min(type.find(';'), type.size()));
  for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  while (type.ends_with(' ')) type.pop_back();
  return type;
}

// Returns what is wrong with a line that would read a file of the gateway's machine, or nothing.
std::optional<std::string> path_error(const Json& line) {
  if (line.find("path") != nullptr)
    return "path names a file of another machine; send the kernel's text as source or files";
  const auto hosted = producer::hosted_problem(line);
  const bool is_hosted = hosted && hosted->has_value();
  if (!is_hosted && line.find("problem") != nullptr && line.find("problem_source") == nullptr)
    return "problem names a file of another machine; send the problem's text as problem_source";
  return std::nullopt;
}

// Reads the lines with the reader of files, from memory that has a path.
Expected<std::vector<producer::Candidate>> candidates_of(const std::string& text, std::int64_t now_ms, BodyJobs& body) {
  const sys::Fd file(::memfd_create("kq-gateway-body", MFD_CLOEXEC));
  if (!file) return our_fault(sys::error_text("the gateway has no memory for the body"));
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + at, text.size() - at);
    if (written <= 0) return our_fault(sys::error_text("the gateway has no memory for the body"));
    at += static_cast<std::size_t>(written);
  }
  producer::InputOptions options;
  options.now_ms = now_ms;
  options.input_name = kBodyName;
  producer::Found found = producer::collect([&](const producer::CandidateSink& sink) {
    producer::read_jsonl("/proc/self/fd/" + std::to_string(file.get()), options, sink);
  });
  body.mistakes.insert(body.mistakes.end(), found.mistakes.begin(), found.mistakes.end());
  body.notes = std::move(found.notes);
  return std::move(found.candidates);
}

Expected<BodyJobs> jobs_of_lines(const std::string& text, std::int64_t now_ms) {
  BodyJobs body;
  std::size_t number = 0;
  std::size_t jobs = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (++jobs > kJobsPerRequestMax)
      return bad_input("the body has more than " + std::to_string(kJobsPerRequestMax) +
                       " jobs, the most of one request");
    const auto json = producer::parse_json(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    if (!json) continue;  // the reader below reports it
    if (const auto wrong = path_error(*json))
      body.mistakes.push_back(std::string(kBodyName) + ":" + std::to_string(number) + ": " + *wrong);
  }
  if (!body.mistakes.empty()) return body;
  KQ_TRY_VALUE(const auto candidates, candidates_of(text, now_ms, body));
  producer::Packer packer;
  std::set<std::string> labels;
  for (const producer::Candidate& candidate : candidates) {
    auto job = packer.pack(candidate, body.mistakes);
    if (!job) continue;
    if (!labels.insert(job->submission.label).second)
      body.mistakes.push_back(candidate.where + ": the label " + job->submission.label +
                              " is used twice; each job of a request needs an id of its own");
    body.jobs.push_back(std::move(*job));
  }
  return body;
}

// Returns the objects of a JSON value as lines.
Expected<std::string> lines_of_json(std::string_view text) {
  const auto json = producer::parse_json(text);
  if (!json) return bad_input("the body is not JSON, " + json.error().message);
  if (json->array() == nullptr) return producer::to_text(*json);
  std::string lines;
  for (const Json& one : *json->array()) lines += producer::to_text(one) + "\n";
  return lines;
}

// Reads the part `settings` of a form, of which every key is kq's own.
Expected<JsonObject> read_settings(std::string_view text) {
  const auto json = producer::parse_json(text);
  if (!json || json->object() == nullptr) return bad_input("the part settings of the form must be a JSON object");
  for (const auto& [key, meant] : producer::unknown_keys(*json->object()))
    return bad_input("the part settings of the form has an unknown key '" + key + "'" +
                     (meant.empty() ? "; /docs lists the members of a submission" : "; did you mean " + meant + "?"));
  return *json->object();
}

// Returns the members of one job of a form: its files, and the settings that all jobs of the form share.
Json form_line(const FormPart& kernel, const FormPart& problem, const std::string& io, const JsonObject& settings) {
  const std::filesystem::path name = std::filesystem::path(kernel.file_name).filename();
  JsonObject line;
  const auto id = std::ranges::find(settings, "id", &producer::JsonMember::name);
  line.emplace_back("id",
                    id != settings.end() ? id->value : Json{std::filesystem::path(name).replace_extension().string()});
  line.emplace_back("problem", Json{problem.file_name});
  line.emplace_back("problem_source", Json{std::string(problem.content)});
  if (name.extension() == ".cu" || io.empty() == false) {
    line.emplace_back("source", Json{std::string(kernel.content)});
  } else {
    line.emplace_back("files", Json{JsonObject{{name.string(), Json{std::string(kernel.content)}}}});
  }
  if (auto contract = producer::parse_json(io)) line.emplace_back("io", std::move(*contract));
  for (const auto& member : settings) {
    const bool is_known =
        std::any_of(line.begin(), line.end(), [&](const auto& one) { return one.name == member.name; });
    if (!is_known) line.push_back(member);
  }
  return Json{std::move(line)};
}

Expected<void> check_kernel_name(const FormPart& kernel) {
  if (producer::is_named_as_kernel(kernel.file_name)) return {};
  return bad_input("the part kernel of the form, " + kernel.file_name +
                   ", must be a .py, .cu, .ptx or .cubin file; an IOContract is the part io");
}

// Returns whether the kernel is device code, which nothing but an IOContract says how to call.
bool needs_contract(const FormPart& kernel) {
  return producer::is_device_code(kernel.file_name) && !producer::is_torch_extension(kernel.content);
}

// Returns the jobs of a form as lines: a part `kernel` for each job, `problem`, and perhaps `io` and `settings`.
Expected<std::string> lines_of_form(const Request& request) {
  KQ_TRY_VALUE(const auto parts, parse_form(request.header("content-type").value_or(""), request.body));
  const FormPart* problem = nullptr;
  std::string io;
  JsonObject settings;
  for (const FormPart& part : parts) {
    if (producer::json_quoted(part.content).find("\xEF\xBF\xBD") != std::string::npos &&
        part.content.find("\xEF\xBF\xBD") == std::string_view::npos)
      return bad_input("the part " + part.name + " of the form is no UTF-8 text");
    if (part.name == "problem") problem = &part;
    if (part.name == "io") io = part.content;
    if (part.name == "settings") {
      KQ_TRY_VALUE(settings, read_settings(part.content));
    }
    if (part.name != "problem" && part.name != "io" && part.name != "settings" && part.name != "kernel")
      return bad_input("the form has an unknown part '" + part.name + "'; known are kernel, problem, io and settings");
    if ((part.name == "problem" || part.name == "kernel") && part.file_name.empty())
      return bad_input("the part " + part.name + " of the form must be a file with a name");
    if (part.name == "kernel") KQ_TRY(check_kernel_name(part));
  }
  if (problem == nullptr) return bad_input("the form has no part problem, the file of the problem");
  if (!io.empty()) {
    if (const auto json = producer::parse_json(io); !json || json->object() == nullptr)
      return bad_input("the part io of the form must be a JSON object, the IOContract");
  }
  for (const FormPart& part : parts) {
    if (part.name == "kernel" && io.empty() && needs_contract(part))
      return bad_input("the kernel " + part.file_name +
                       " needs the part io of the form, its IOContract: a JSON object that says what to call");
  }
  const auto kernel_count = std::ranges::count(parts, "kernel", &FormPart::name);
  if (kernel_count > 1 && std::ranges::count(settings, "id", &producer::JsonMember::name) > 0)
    return bad_input("the part settings of the form has an id, which is for one kernel, and the form has " +
                     std::to_string(kernel_count) + "; the names of their files are their ids");
  std::string lines;
  for (const FormPart& part : parts) {
    if (part.name == "kernel") lines += producer::to_text(form_line(part, *problem, io, settings)) + "\n";
  }
  if (lines.empty()) return bad_input("the form has no part kernel, the file of a kernel");
  return lines;
}

// Returns the jobs of a body as JSON Lines.
Expected<std::string> lines_of(const Request& request) {
  const std::string type = media_type(request);
  if (type == "multipart/form-data") return lines_of_form(request);
  if (type == "application/json") return lines_of_json(request.body);
  return request.body;
}

}  // namespace

Expected<BodyJobs> read_jobs(const Request& request, std::int64_t now_ms) {
  KQ_TRY_VALUE(std::string lines, lines_of(request));
  KQ_TRY_VALUE(BodyJobs body, jobs_of_lines(lines, now_ms));
  body.lines = std::move(lines);
  return body;
}

}  // namespace kq::gateway
