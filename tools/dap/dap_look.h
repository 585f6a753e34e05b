// What a client of the Debug Adapter Protocol looks at in a rank that has stopped: frames, variables, expressions.
// Pure.
#pragma once

#include "tools/dap/dap_client.h"
#include "tools/dap/dap_ranks.h"
#include "tools/dap/dap_references.h"

namespace pmixhost {

class DapLook {
  public:
    DapLook(DapRanks &ranks, DapReferences &references) : ranks_(&ranks), references_(&references) {}
    // stackTrace, scopes, variables.
    void add_to(DapHandlers &handlers);
    // The request "evaluate" of an expression: in its frame, or where the lowest rank stands that has stopped.
    void evaluate(const DapRequest &request);

  private:
    using WithObject = std::function<void(const nlohmann::json &values)>;
    void stack_trace(const DapRequest &request);
    void variables(const DapRequest &request);
    void locals(const DapRequest &request, const DapFrame &frame);
    void show_locals(const DapRequest &request, const DapFrame &frame, const nlohmann::json &variables,
                     const nlohmann::json &all);
    void children(const DapRequest &request, const DapFrame &frame, const std::string &object);
    void make_object(const DapRequest &request, const DapFrame &frame, const std::string &expression, WithObject then);
    void ask(const DapRequest &request, Rank rank, const std::string &command, WithObject then,
             std::function<void()> otherwise = nullptr);

    DapRanks *ranks_;
    DapReferences *references_;
};

} // namespace pmixhost
