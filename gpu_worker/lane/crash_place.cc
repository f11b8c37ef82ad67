#include "gpu_worker/lane/crash_place.h"

#include "gpu_worker/child/runtime/python_place.h"

namespace kq::worker {
namespace {

constexpr std::string_view kHeading = "Fatal Python error: ";  // the first line of faulthandler

}  // namespace

std::string crash_place(std::string_view log, const std::vector<SourceFile>& files) {
  const std::size_t begin = log.rfind(kHeading);
  if (begin == log.npos) return {};
  const std::string place = runtime::place_in_traceback(log.substr(begin));
  const std::size_t colon = std::min(place.rfind(':'), place.size());
  const std::string_view path = std::string_view(place).substr(0, colon);
  for (const SourceFile& file : files) {
    if (path == file.name || path.ends_with("/" + file.name)) return file.name + place.substr(colon);
  }
  return place;
}

}  // namespace kq::worker
