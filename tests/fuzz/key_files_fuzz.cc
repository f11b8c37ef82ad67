// Fuzzes the parsers of the file of authorised keys and of the file of one client key.
#include "core/base/check.h"
#include "net/keys.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

constexpr const char* kRead = "read";
constexpr const char* kWritten = "written";

template <class T>
void check_refusal(const Expected<T>& answer) {
  if (!answer) KQ_CHECK(answer.error().kind == ErrorKind::bad_input && !answer.error().message.empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::string_view text = fuzz::text_of(data, size);
  const auto authorized = net::Authorized::parse(text, "authorized");
  check_refusal(authorized);
  if (authorized) KQ_CHECK(authorized->size() <= net::kAuthorizedKeysMax && authorized->find("") == nullptr);

  folder.put(kRead, text);
  std::filesystem::permissions(folder.path() / kRead,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto key = net::read_client_key(folder.path() / kRead);
  check_refusal(key);
  if (!key) return 0;
  folder.put(kWritten, "", false);
  KQ_CHECK(net::write_client_key(folder.path() / kWritten, *key));
  KQ_CHECK(net::read_client_key(folder.path() / kWritten) == *key);
  return 0;
}
