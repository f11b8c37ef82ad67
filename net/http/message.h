// One HTTP request and its answer, as a program sees them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kq::net {

struct HttpRequest {
  std::string method;                             // "GET", "POST", ...
  std::string path;                               // as sent, percent-encoded, without the query: "/runs/a%2Fb"
  std::multimap<std::string, std::string> query;  // decoded
  std::map<std::string, std::string> headers;     // by name in lower case; repeated ones are joined by ", "
  std::string body;
  std::string peer;  // the numeric address of the client, without its port
  std::string id;    // names the request in the log; HttpApp::admit sets it
  // Returns whether the client has closed the connection. A handler that waits for long asks now and then.
  std::function<bool()> is_abandoned = [] { return false; };

  // Returns the value of a query parameter, the last one where its name is repeated, or of a header; nothing where it
  // is absent.
  std::optional<std::string> query_value(const std::string& name) const;
  std::vector<std::string> query_values(const std::string& name) const;  // in their order
  std::optional<std::string> header(const std::string& name_in_lower_case) const;
};

// Sends a part of a body. Returns false once the client has gone; the maker of the body then returns.
using HttpWrite = std::function<bool(std::string_view bytes)>;

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Where it is set, it makes the body, whose length is unknown. It returns whether the body is complete; otherwise the
  // connection is cut, so that the client does not take a part for the whole.
  std::function<bool(const HttpWrite& write)> stream = {};
};

// Returns the text with %41 as "A", or nothing where an escape is malformed or stands for NUL. `plus_is_space` is set
// for queries.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space = false);

// Returns the standard phrase of a status: "Not Found".
std::string_view reason_phrase(int status);

}  // namespace kq::net
