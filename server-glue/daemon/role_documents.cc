// See role_documents.h.
#include "server-glue/daemon/role_documents.h"

#include "common/rendezvous/asked_run.h"
#include "common/start/step_secret.h"
#include "server-glue/core/central_roles.h"

#include <climits>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace pmixhost {

Result<StartDocument> session_document(int argc, char **argv) {
    StartDocumentWriter document;
    document.add("role", name_of(CentralRole::session));
    document.add("backend", argv[2]);
    for (int i = 3; i < argc; ++i) {
        std::string_view pair = argv[i];
        auto equals = pair.find('=');
        if (equals == std::string_view::npos)
            return error(ErrorKind::invalid, "'{}' is not KEY=VALUE", pair);
        document.add(pair.substr(0, equals), pair.substr(equals + 1));
    }
    for (char **variable = environ; *variable; ++variable) {
        std::string_view entry = *variable;
        if (entry.starts_with(step_secret_variable) && entry.substr(step_secret_variable.size()).starts_with('=')) {
            document.add("secret", entry.substr(step_secret_variable.size() + 1));
            blank_value(*variable);
        } else if (entry.starts_with("PMIXHOST_")) {
            document.add("env", entry);
        }
    }
    unsetenv(std::string(step_secret_variable).c_str());
    return document.finish();
}

Result<StartDocument> desk_document(char **argv) {
    StartDocumentWriter document;
    document.add("role", "desk");
    document.add("desk.job", argv[2]);
    document.add("desk.directory", argv[3]);
    document.add("desk.fd", argv[4]);
    if (const char *asked_by = std::getenv(asked_by_variable))
        document.add("desk.asked_by", asked_by);
    for (char **variable = environ; *variable; ++variable) {
        std::string_view entry = *variable;
        if (entry.starts_with("PMIXHOST_") && !entry.starts_with(asked_by_variable))
            document.add("env", entry);
    }
    return document.finish();
}

Result<StartDocument> gate_desk_document(char **argv) {
    StartDocumentWriter document;
    document.add("role", "gate_desk");
    document.add("gate.fd", argv[2]);
    return document.finish();
}

Result<StartDocument> lobby_document(char **argv) {
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    StartDocumentWriter document;
    document.add("backend", argv[3]);
    document.add("lobby.fd", argv[2]);
    document.add("host", host);
    document.add("directory", argv[4]);
    document.add("job", "lobby");
    return document.finish();
}

} // namespace pmixhost
