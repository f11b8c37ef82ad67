#include "tools/stack/state_broker.h"

#include <filesystem>

#include "tools/stack/evaluation.h"
#include "tools/stack/state_folder.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

bool is_store(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "CURRENT", ignored);
}

// Returns the state folder of a store that was named instead of it; otherwise the given name.
std::string state_folder_of(const std::string& given) {
  fs::path path = fs::path(given).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path.filename() != "store" || !is_store(path) || is_store(path / "store")) return given;
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

}  // namespace

StateBroker::~StateBroker() {
  if (stack_) stack_->stop(sleep_);
}

Expected<producer::Client> StateBroker::connect(const std::string& given, const std::string& key) {
  const std::string state = state_folder_of(given);
  if (!stack_) {
    if (const auto holder = holder_of(state)) {
      if (holder->url.empty())
        return our_fault("process " + std::to_string(holder->pid) + " is starting or stopping in state folder " +
                         state + "; try again in a moment");
      return producer::Client::connect(holder->url, holder->url.starts_with("ipc://") ? "" : key);
    }
    if (!is_store(fs::path(state) / "store")) {
      return failure(Error{ErrorKind::not_found,
                           is_store(state) ? state +
                                                 " is a store outside of a state folder, so kq-broker "
                                                 "--store " +
                                                 state + " serves it"
                                           : "state folder " + state + " has no store, so there are no jobs in it"});
    }
    KQ_TRY_VALUE(stack_, Stack::start({.state_folder = state, .broker_url = "", .programs = programs_}, sleep_));
    say_("no broker runs; started one in " + stack_->folder().path() + " for this command");
    resume_submitters(stack_->broker_url(), stack_->left_paused());
    stack_->record_paused({});
  }
  return producer::Client::connect(stack_->broker_url(), "");
}

}  // namespace kq::tools
