#include "producer/submit/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/codec/codec.h"
#include "core/limits.h"
#include "sys/error_text.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".kqbatch";

tl::unexpected<Error> cannot(const fs::path& path, const char* verb) {
  return bad_input(sys::error_text("cannot " + std::string(verb) + " " + path.string()));
}

// Writes a file so that it is either complete and on disk under its name, or absent.
Expected<void> write_whole(const fs::path& path, const std::string& bytes) {
  const std::string temporary = path.string() + ".part";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return cannot(temporary, "write");
  bool good = true;
  for (std::size_t done = 0; good && done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    good = n >= 0;
    done += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  good = good && ::fsync(fd) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
  const auto failed = good ? Expected<void>() : cannot(path, "write");
  ::close(fd);
  if (!good) ::unlink(temporary.c_str());
  return failed;
}

std::string file_name(std::int64_t now_ms, std::size_t number) {
  char name[64];
  std::snprintf(name, sizeof name, "%015lld-%d-%06zu%s", static_cast<long long>(now_ms), static_cast<int>(::getpid()),
                number, kEnding.data());
  return name;
}

Expected<SubmitBatch> read_batch(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open()) return cannot(path, "read");
  auto message = decode_message<ClientRequest>(bytes);
  if (!message)
    return bad_input(path.string() + " is no batch of kq-submit --spool: " + message.error().message + "; remove it");
  SubmitBatch* batch = std::get_if<SubmitBatch>(&message->body);
  if (batch == nullptr) return bad_input(path.string() + " is no batch of kq-submit --spool; remove it");
  return std::move(*batch);
}

}  // namespace

Expected<std::size_t> write_spool(const fs::path& folder, const JobSource& source, std::int64_t now_ms) {
  std::error_code wrong;
  fs::create_directories(folder, wrong);
  if (wrong) return bad_input("cannot create the folder " + folder.string() + ": " + wrong.message());
  KQ_TRY_VALUE(const auto there, spooled(folder));
  std::size_t file_count = there.size(), job_count = 0;
  const auto write = [&](const SubmitBatch& batch) -> Expected<void> {
    if (file_count == kSpoolFilesMax)
      return bad_input(folder.string() + " holds " + std::to_string(kSpoolFilesMax) +
                       " batches, it is full; send them first");
    job_count += batch.jobs.size();
    return write_whole(folder / file_name(now_ms, file_count++), encode_message(Message<ClientRequest>{0, batch}));
  };
  KQ_TRY(each_batch(source, write));
  return job_count;
}

Expected<std::vector<fs::path>> spooled(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code wrong;
  for (fs::directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    if (entry->path().extension() == kEnding) files.push_back(entry->path());
  }
  if (wrong && wrong != std::errc::no_such_file_or_directory)
    return bad_input(folder.string() + ": " + wrong.message());
  std::sort(files.begin(), files.end());
  return files;
}

SpoolEnd send_spool(Client& client, const fs::path& folder, const SubmitOptions& options, const VisitSent& visit) {
  SpoolEnd end;
  const auto files = spooled(folder);
  if (!files) {
    end.stopped = files.error();
    return end;
  }
  for (const fs::path& path : *files) {
    const auto batch = read_batch(path);
    if (!batch) {
      end.stopped = batch.error();
      return end;
    }
    const BatchEnd sent = send_batch(client, *batch, options);
    visit(*batch, sent);
    for (const JobAck& ack : sent.acks) end.accepted_count += ack.seq != 0 ? 1 : 0;
    if (sent.error) {
      end.stopped = sent.error;
      return end;
    }
    // From here on every job of the batch is on the broker's disk or is refused for good.
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  return end;
}

}  // namespace kq::producer
