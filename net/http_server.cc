#include "net/http_server.h"

#include <httplib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <semaphore>
#include <thread>
#include <utility>

namespace kq {
namespace {

constexpr std::size_t kRequestBytesMax = 1'024;  // of a body, which no GET needs

// The library's pool takes any number of connections; here the one that accepts them waits while too many are open.
class BoundedPool final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    room_.acquire();
    pool_.enqueue([this, task = std::move(task)] {
      task();
      room_.release();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::counting_semaphore<> room_{kHttpThreads + kHttpWaitingMax};
  httplib::ThreadPool pool_{kHttpThreads};
};

// The library's own options would let a second program share the port, and each would get some of the requests.
void socket_options(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace

struct HttpServer::Parts {
  httplib::Server server;
  std::uint16_t port = 0;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Expected<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& host, std::uint16_t port, HttpPages pages) {
  auto parts = std::make_unique<Parts>();
  httplib::Server& server = parts->server;
  const auto patience = std::chrono::milliseconds(kHttpPatienceMs);
  server.new_task_queue = [] { return new BoundedPool; };
  server.set_socket_options(socket_options);
  server.set_read_timeout(std::chrono::milliseconds(kHttpRequestMs));
  server.set_write_timeout(patience);
  server.set_keep_alive_timeout(kHttpPatienceMs / 1000);
  server.set_keep_alive_max_count(1);  // a thread is nobody's between two requests
  server.set_payload_max_length(kRequestBytesMax);
  // One handler for all: the library reads the paths given to Get() as patterns.
  server.Get(".*", [pages = std::move(pages)](const httplib::Request& request, httplib::Response& response) {
    const auto page = pages.find(request.path);
    if (page == pages.end()) {
      response.status = 404;
      std::string known;
      for (const auto& [path, answer] : pages) known += (known.empty() ? "" : ", ") + path;
      response.set_content("there is nothing here; known are " + known + "\n", "text/plain");
      return;
    }
    const HttpAnswer answer = page->second();
    response.set_content(answer.body, answer.type);
  });
  errno = 0;
  const int bound = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
  if (bound <= 0) {
    return bad_input("http://" + host + ":" + std::to_string(port) + " cannot be listened on: " +
                     (errno != 0 ? std::strerror(errno) : "not an address of this machine") + "; another port may be free");
  }
  parts->port = static_cast<std::uint16_t>(bound);
  parts->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();  // else a stop that comes first would be forgotten
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

HttpServer::~HttpServer() {
  parts_->server.stop();
  parts_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return parts_->port;
}

}  // namespace kq
