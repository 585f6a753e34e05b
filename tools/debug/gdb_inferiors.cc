// See gdb_inferiors.h.
#include "tools/debug/gdb_inferiors.h"

#include <charconv>

namespace pmixhost {

void GdbInferiors::on_record(const GdbRecord &record) {
    std::string id = gdb_word(record.values, "id"), group = gdb_word(record.values, "group-id");
    if (record.kind == '*' && record.word == "running") {
        on_running(gdb_word(record.values, "thread-id"));
    } else if (record.kind != '=') {
        return;
    } else if (record.word == "thread-group-started") {
        std::string number = gdb_word(record.values, "pid");
        pid_t pid = 0;
        std::from_chars(number.data(), number.data() + number.size(), pid);
        processes_[id] = pid;
    } else if (record.word == "thread-created" && !group.empty()) {
        threads_[id] = group;
        // Of a process that has become another program, and another inferior with that, gdb says no more than this.
        processes_.try_emplace(group, last_);
    } else if (record.word == "thread-exited") {
        threads_.erase(id);
    } else if (record.word == "thread-group-exited") {
        processes_.erase(id);
        std::erase_if(threads_, [&id](const auto &one) { return one.second == id; });
    }
    if (!processes_.contains(now_))
        now_ = processes_.empty() ? std::string() : processes_.rbegin()->first;
    if (pid_t pid = now(); pid > 0)
        last_ = pid;
}

// gdb says "all" where it has one process.
void GdbInferiors::on_running(const std::string &thread) {
    if (auto found = threads_.find(thread); found != threads_.end())
        now_ = found->second;
    else if (processes_.size() == 1)
        now_ = processes_.begin()->first;
}

pid_t GdbInferiors::now() const {
    auto found = processes_.find(now_);
    return found == processes_.end() ? 0 : found->second;
}

std::vector<pid_t> GdbInferiors::all() const {
    std::vector<pid_t> out;
    for (const auto &[id, pid] : processes_) {
        if (pid > 0)
            out.push_back(pid);
    }
    return out;
}

} // namespace pmixhost
