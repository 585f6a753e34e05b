// The process sets that processes of this host know of (process_sets.h), and their way into the library.
#pragma once

#include "server-glue/sets/process_sets.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class StepSets final : public StepService, private ProcessSetPort {
  public:
    explicit StepSets(StepContext &context) : StepService(context.services), context_(context) {}

    ProcessSets &sets() { return sets_; }
    void on_library() override { sets_.define(context_.step.nspace, context_.step.process_sets); }

  private:
    void define_set(const std::string &name, const Bytes &nspace, const std::vector<Rank> &ranks) override;
    void delete_set(const std::string &name) override;
    void name_taken(const std::string &name, const Bytes &nspace) override;

    StepContext &context_;
    ProcessSets sets_{*this};
};

} // namespace pmixhost
