// A client of the Debug Adapter Protocol (an editor): events to it, and its requests with the way their answers go.
// Pure. What it sends is read by name and kind; anything else is as if it were not there.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace pmixhost {

class DapClient {
  public:
    // `send` gets whole messages; they have their numbers.
    explicit DapClient(std::function<void(const nlohmann::json &)> send) : send_(std::move(send)) {}
    void event(const char *name, nlohmann::json body = nlohmann::json::object());
    // Shown in the client's console. `category`: "console", "stdout", "stderr" or "important".
    void output(const char *category, const std::string &text);
    void send(nlohmann::json message);

  private:
    std::function<void(const nlohmann::json &)> send_;
    int next_ = 1;
};

// To be answered once, by any copy of it.
class DapRequest {
  public:
    DapRequest(DapClient &client, const nlohmann::json &message);
    const std::string &command() const { return command_; }
    void answer(nlohmann::json body = nlohmann::json::object()) const;
    void refuse(const std::string &why) const; // a sentence for people
    bool answered() const { return *answered_; }

    const nlohmann::json &arguments() const { return arguments_; }
    std::string text(const char *name) const; // empty: there is none
    int number(const char *name) const;       // 0: there is none
    bool flag(const char *name) const;        // false: there is none
    bool has(const char *name) const { return arguments_.contains(name); }

  private:
    void reply(nlohmann::json message) const;
    bool is_of_the_user() const;
    DapClient *client_;
    nlohmann::json arguments_ = nlohmann::json::object();
    std::string command_;
    int seq_;
    std::shared_ptr<bool> answered_ = std::make_shared<bool>(false);
};

// What is done for each request, by its name.
using DapHandlers = std::map<std::string, std::function<void(const DapRequest &)>>;

// Of any object: a text or a number by its name, or nothing of it.
std::string dap_text(const nlohmann::json &object, const char *name);
int dap_number(const nlohmann::json &object, const char *name);
bool dap_flag(const nlohmann::json &object, const char *name);

} // namespace pmixhost
