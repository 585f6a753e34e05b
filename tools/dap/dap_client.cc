// See dap_client.h.
#include "tools/dap/dap_client.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pmixhost {

using nlohmann::json;

void DapClient::send(json message) {
    message["seq"] = next_++;
    send_(message);
}

void DapClient::event(const char *name, json body) {
    send({{"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void DapClient::output(const char *category, const std::string &text) {
    event("output", {{"category", category}, {"output", text}});
}

DapRequest::DapRequest(DapClient &client, const json &message)
    : client_(&client), command_(dap_text(message, "command")), seq_(dap_number(message, "seq")) {
    if (auto found = message.find("arguments"); found != message.end() && found->is_object())
        arguments_ = *found;
}

void DapRequest::reply(json message) const {
    if (std::exchange(*answered_, true))
        return;
    message["type"] = "response";
    message["request_seq"] = seq_;
    message["command"] = command_;
    client_->send(std::move(message));
}

void DapRequest::answer(json body) const {
    reply({{"success", true}, {"body", std::move(body)}});
}

// A client may show it in a window of its own. Most requests are made by the client itself, as those for what is under
// the pointer, and the answer stands where that is shown.
bool DapRequest::is_of_the_user() const {
    static constexpr std::string_view names[] = {"attach",  "launch", "continue",  "next",      "stepIn",
                                                 "stepOut", "pause",  "terminate", "disconnect"};
    return std::find(std::begin(names), std::end(names), command_) != std::end(names);
}

void DapRequest::refuse(const std::string &why) const {
    std::string text = why.substr(0, why.find_last_not_of('\n') + 1);
    reply({{"success", false},
           {"message", text},
           {"body",
            {{"error",
              {{"id", 1}, {"format", "{why}"}, {"variables", {{"why", text}}}, {"showUser", is_of_the_user()}}}}}});
}

std::string DapRequest::text(const char *name) const {
    return dap_text(arguments_, name);
}

int DapRequest::number(const char *name) const {
    return dap_number(arguments_, name);
}

bool DapRequest::flag(const char *name) const {
    return dap_flag(arguments_, name);
}

std::string dap_text(const json &object, const char *name) {
    auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                             : std::string();
}

int dap_number(const json &object, const char *name) {
    auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end() || !found->is_number_integer())
        return 0;
    auto number = found->get<std::int64_t>();
    return number >= 0 && number <= INT32_MAX ? static_cast<int>(number) : 0;
}

bool dap_flag(const json &object, const char *name) {
    auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() && found->is_boolean() && found->get<bool>();
}

} // namespace pmixhost
