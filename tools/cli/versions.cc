#include "tools/cli/versions.h"

#include "core/base/version.h"
#include "core/messages.h"
#include "core/records.h"
#include "core/submission.h"
#include "producer/client/json.h"
#include "tools/cli/text.h"
#include "tools/doctor/cuda_finder.h"

namespace kq::tools {
namespace {

VersionRow cuda_row(const Environment& environment) {
  const Expected<NvrtcFound> found = find_nvrtc(environment);
  if (!found) return {"cuda_toolkit", "", found.error().message};
  return {"cuda_toolkit", std::to_string(found->major) + "." + std::to_string(found->minor), "NVRTC, " + found->path};
}

}  // namespace

// CMake defines the versions of the packages as macros, so that this file needs no headers of the packages.
std::vector<VersionRow> versions(const Environment& environment) {
  return {
      {"kq", std::string(kVersion), ""},
      {"protocol", std::to_string(kProtocolVersion), "between programs"},
      {"schema", std::to_string(kSchemaVersion), "on disk"},
      {"evaluator", std::string(kEvaluatorVersion), "results of another evaluator are never reused"},
      {"cppzmq", KQ_CPPZMQ_VERSION, "built with"},
      {"libzmq", KQ_LIBZMQ_VERSION, "built with"},
      {"cpp-httplib", KQ_HTTPLIB_VERSION, "built with"},
      {"spdlog", KQ_SPDLOG_VERSION, "built with"},
      {"rocksdb", KQ_ROCKSDB_VERSION, "built with"},
      {"googletest", KQ_GTEST_VERSION, "tests built with"},
      cuda_row(environment),
      {"compiler", KQ_COMPILER, "built with"},
  };
}

std::string versions_text(const std::vector<VersionRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const VersionRow& row : rows) cells.push_back({row.name, row.version.empty() ? "-" : row.version, row.note});
  return table({{"name"}, {"version"}, {"note"}}, cells);
}

std::string versions_json(const std::vector<VersionRow>& rows) {
  producer::JsonObject object;
  for (const VersionRow& row : rows) {
    const producer::Json version = row.version.empty() ? producer::Json{nullptr} : producer::Json{row.version};
    object.emplace_back(row.name,
                        producer::Json{producer::JsonObject{{"version", version}, {"note", producer::Json{row.note}}}});
  }
  return producer::to_text(producer::Json{std::move(object)}) + '\n';
}

}  // namespace kq::tools
