// See query_service.h.
#include "server-glue/query/query_service.h"

#include "server-glue/library/convert.h"
#include "server-glue/spawn/spawn_directives.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <pmix.h>
#include <set>

namespace pmixhost {

namespace {

constexpr const char *keys_of_every_backend[] = {
    PMIX_QUERY_NUM_PSETS,   PMIX_QUERY_PSET_NAMES,       PMIX_QUERY_PSET_MEMBERSHIP,  PMIX_QUERY_NUM_GROUPS,
    PMIX_QUERY_GROUP_NAMES, PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_QUERY_NAMESPACES,       PMIX_QUERY_NAMESPACE_INFO,
    PMIX_QUERY_JOB_STATUS,  PMIX_QUERY_PROC_TABLE,       PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_SUPPORTED_KEYS,
    PMIX_JOB_SIZE,
};

const std::pair<const char *, RmQuestion::Kind> keys_of_the_rm[] = {
    {PMIX_TIME_REMAINING, RmQuestion::Kind::time_remaining},
    {PMIX_QUERY_ALLOC_STATUS, RmQuestion::Kind::allocation_status},
    {PMIX_QUERY_QUEUE_LIST, RmQuestion::Kind::queues},
    {PMIX_QUERY_QUEUE_STATUS, RmQuestion::Kind::queues},
};

// PMIX_RANGE_SESSION and wider: whatever is known here.
bool in_range(std::uint8_t range, bool of_own_job) {
    return of_own_job || (range != PMIX_RANGE_NAMESPACE && range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL);
}

std::string spawn_attribute_list() {
    std::string list;
    for (const auto &attribute : spawn_attributes()) {
        if (attribute.treatment != SpawnAttribute::Treatment::missing)
            list += fmt::format("{}{}", list.empty() ? "" : ",", attribute.key);
    }
    return list;
}

void add_table(InfoList &out, const std::string &key, const StepInfo &step, const std::vector<ProcessEntry> &entries) {
    std::vector<InfoList::ProcessInfo> table;
    for (const auto &entry : entries) {
        std::string executable = entry.executable;
        for (const auto &app : step.apps) {
            bool its = app.ranks.empty() || std::binary_search(app.ranks.begin(), app.ranks.end(), entry.rank);
            if (executable.empty() && its && !app.argv.empty())
                executable = app.argv.front();
        }
        table.push_back({proc_of(step.nspace, entry.rank), step.map.hosts()[entry.host], std::move(executable),
                         entry.pid, entry.exit_code, entry.state});
    }
    out.add_process_infos(key.c_str(), table);
}

bool is_table(const std::string &key) {
    return key == PMIX_QUERY_PROC_TABLE || key == PMIX_QUERY_LOCAL_PROC_TABLE;
}

} // namespace

std::vector<std::string> QueryService::supported_keys() {
    std::vector<std::string> keys{std::begin(keys_of_every_backend), std::end(keys_of_every_backend)};
    if (port_.spawns())
        keys.push_back(PMIX_QUERY_SPAWN_SUPPORT);
    for (const auto &[key, kind] : keys_of_the_rm) {
        if (auto *rm = port_.rm_questions(); rm && rm->answers(kind))
            keys.push_back(key);
    }
    return keys;
}

void QueryService::query(TimePoint now, QueryAsk ask) {
    if (pending_.size() >= max_waiting)
        return ask.reply(PMIX_ERR_OUT_OF_RESOURCE, nullptr);
    Duration timeout{};
    std::size_t keys = 0;
    for (const auto &query : ask.queries) {
        bool said = query.timeout && query.timeout->count() > 0;
        timeout = std::max<Duration>(timeout, said ? Duration(*query.timeout) : patience);
        keys += query.keys.size();
    }
    std::uint64_t id = next_id_++;
    Pending &pending = pending_[id];
    pending.deadline = now + timeout;
    pending.reply = std::move(ask.reply);
    pending.missing = keys + 1; // so that it stays until all have been started
    pending.answers.resize(keys);
    std::size_t place = 0;
    std::set<std::string> tables; // as large as the job: each once in a call
    for (const auto &query : ask.queries) {
        for (const auto &key : query.keys) {
            pending.answers[place].key = key;
            if (is_table(key) && !tables.insert(key).second)
                answer(id, place++, [](InfoList &, std::string &why) {
                    why = "this table was asked for already in the same call";
                    return PMIX_ERR_BAD_PARAM;
                });
            else
                start(id, place++, key, query, timeout);
        }
    }
    if (--pending.missing == 0)
        finish(id);
}

void QueryService::start(std::uint64_t id, std::size_t place, const std::string &key, const Query &query,
                         Duration timeout) {
    if (!query.unsupported.empty())
        return answer(id, place, [](InfoList &, std::string &) { return PMIX_ERR_NOT_SUPPORTED; });
    if (key == PMIX_QUERY_PROC_TABLE && !query.local_only) {
        if (auto bad = check_namespace(query); bad != PMIX_SUCCESS)
            return answer(id, place, [bad](InfoList &, std::string &) { return bad; });
        // A little earlier than all, so that what else was asked is answered.
        return port_.gather_table(timeout * 9 / 10,
                                  [this, id, place, key](std::int32_t status, const std::vector<ProcessEntry> &table) {
                                      answer(id, place, [&](InfoList &out, std::string &) -> pmix_status_t {
                                          if (status == PMIX_SUCCESS)
                                              add_table(out, key, port_.step(), table);
                                          return status;
                                      });
                                  });
    }
    if (ask_rm(id, place, key, query))
        return;
    bool known = true;
    answer(id, place, [&](InfoList &out, std::string &) {
        pmix_status_t status = answer_now(key, query, out, known);
        return known ? status : PMIX_ERR_NOT_SUPPORTED;
    });
}

void QueryService::answer(std::uint64_t id, std::size_t place, const Fill &fill) {
    auto found = pending_.find(id);
    if (found == pending_.end())
        return; // its time was up
    Answer &slot = found->second.answers[place];
    slot.status = fill(slot.found, slot.why);
    if (--found->second.missing == 0)
        finish(id);
}

// Only of the own job is known what is asked.
pmix_status_t QueryService::check_namespace(const Query &query) const {
    if (query.nspace.empty() || query.nspace == port_.step().nspace)
        return PMIX_SUCCESS;
    auto others = port_.other_namespaces();
    bool other = std::find(others.begin(), others.end(), query.nspace) != others.end();
    return other ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_NOT_FOUND;
}

InfoList QueryService::describe_namespace(const Bytes &nspace) const {
    InfoList info;
    info.add(PMIX_NSPACE, nspace);
    if (nspace != port_.step().nspace)
        return info;
    std::vector<std::string> programs;
    for (const auto &app : port_.step().apps)
        programs.push_back(fmt::format("{}", fmt::join(app.argv, " ")));
    info.add(PMIX_CMD_LINE, fmt::format("{}", fmt::join(programs, " : ")));
    info.add(PMIX_JOB_SIZE, std::uint32_t{port_.step().map.rank_count()});
    return info;
}

pmix_status_t QueryService::answer_now(const std::string &key, const Query &query, InfoList &out, bool &known) {
    const char *name = key.c_str();
    const StepInfo &step = port_.step();
    if (key == PMIX_QUERY_NAMESPACES) {
        auto all = port_.other_namespaces();
        all.insert(all.begin(), step.nspace);
        out.add(name, fmt::format("{}", fmt::join(all, ",")));
        return PMIX_SUCCESS;
    }
    if (key == PMIX_QUERY_NAMESPACE_INFO) {
        auto all = port_.other_namespaces();
        all.insert(all.begin(), step.nspace);
        InfoList array;
        for (const auto &nspace : all) {
            if (query.nspace.empty() || query.nspace == nspace)
                array.add_array(PMIX_JOB_INFO_ARRAY, describe_namespace(nspace));
        }
        if (array.size() == 0)
            return PMIX_ERR_NOT_FOUND;
        out.add_array(name, std::move(array));
        return PMIX_SUCCESS;
    }
    if (key == PMIX_QUERY_JOB_STATUS || key == PMIX_JOB_SIZE || is_table(key)) {
        if (auto bad = check_namespace(query); bad != PMIX_SUCCESS)
            return bad;
        if (key == PMIX_QUERY_JOB_STATUS)
            out.add_status(name, port_.first_bad_end());
        else if (key == PMIX_JOB_SIZE)
            out.add(name, std::uint32_t{step.map.rank_count()});
        else
            add_table(out, key, step, port_.local_table());
        return PMIX_SUCCESS;
    }
    if (key == PMIX_QUERY_SPAWN_SUPPORT && port_.spawns()) {
        out.add(name, spawn_attribute_list());
        return PMIX_SUCCESS;
    }
    if (key == PMIX_QUERY_SUPPORTED_KEYS) {
        out.add(name, fmt::format("{}", fmt::join(supported_keys(), ",")));
        return PMIX_SUCCESS;
    }
    pmix_status_t status = about_sets(key, query, out, known);
    if (known)
        return status;
    known = true;
    return about_groups(key, query, out, known);
}

pmix_status_t QueryService::about_sets(const std::string &key, const Query &query, InfoList &out, bool &known) {
    const char *name = key.c_str();
    if (key == PMIX_QUERY_PSET_MEMBERSHIP) {
        if (query.process_set.empty())
            return PMIX_ERR_BAD_PARAM;
        const auto *set = port_.process_sets().find(query.process_set);
        if (!set)
            return PMIX_ERR_NOT_FOUND;
        out.add_processes(name, procs_of(set->nspace, set->set.ranks));
        return PMIX_SUCCESS;
    }
    if (key != PMIX_QUERY_NUM_PSETS && key != PMIX_QUERY_PSET_NAMES) {
        known = false;
        return PMIX_ERR_NOT_SUPPORTED;
    }
    std::vector<std::string> names;
    for (const auto &set : port_.process_sets().all()) {
        if (in_range(query.range, set.nspace == port_.step().nspace) &&
            (query.nspace.empty() || query.nspace == set.nspace))
            names.push_back(set.set.name);
    }
    if (key == PMIX_QUERY_NUM_PSETS)
        out.add_size(name, names.size());
    else // groups are an array of strings, sets are not: so say the headers of every version
        out.add(name, fmt::format("{}", fmt::join(names, ",")));
    return PMIX_SUCCESS;
}

pmix_status_t QueryService::about_groups(const std::string &key, const Query &query, InfoList &out, bool &known) {
    const char *name = key.c_str();
    const StepInfo &step = port_.step();
    if (key == PMIX_QUERY_GROUP_MEMBERSHIP) {
        if (query.group.empty())
            return PMIX_ERR_BAD_PARAM;
        const Group *group = port_.groups().find(query.group);
        if (!group)
            return PMIX_ERR_NOT_FOUND;
        std::vector<pmix_proc_t> members;
        for (const auto &member : group->members.all()) {
            Rank size = member.nspace == step.nspace ? step.map.rank_count() : 0;
            if (!member.wildcard || size == 0)
                members.push_back(proc_of(member.nspace, member.wildcard ? PMIX_RANK_WILDCARD : member.rank));
            for (Rank rank = 0; member.wildcard && rank < size; ++rank)
                members.push_back(proc_of(member.nspace, rank));
        }
        out.add_processes(name, members);
        return PMIX_SUCCESS;
    }
    if (key != PMIX_QUERY_NUM_GROUPS && key != PMIX_QUERY_GROUP_NAMES) {
        known = false;
        return PMIX_ERR_NOT_SUPPORTED;
    }
    std::vector<std::string> names;
    for (const auto &[group_name, group] : port_.groups().all()) {
        if (in_range(query.range, group.members.only_of(step.nspace)))
            names.push_back(group_name);
    }
    if (key == PMIX_QUERY_NUM_GROUPS)
        out.add_size(name, names.size());
    else
        out.add_strings(name, names);
    return PMIX_SUCCESS;
}

bool QueryService::ask_rm(std::uint64_t id, std::size_t place, const std::string &key, const Query &query) {
    auto known = std::find_if(std::begin(keys_of_the_rm), std::end(keys_of_the_rm),
                              [&](const auto &entry) { return key == entry.first; });
    RmQuestions *rm = port_.rm_questions();
    if (known == std::end(keys_of_the_rm) || !rm || !rm->answers(known->second))
        return false;
    RmQuestion question{known->second, query.allocation};
    pmix_status_t bad = PMIX_SUCCESS;
    if (question.kind == RmQuestion::Kind::allocation_status && question.allocation.empty())
        bad = PMIX_ERR_BAD_PARAM;
    else if (question.kind == RmQuestion::Kind::time_remaining)
        bad = check_namespace(query); // the others may be in another allocation
    if (bad != PMIX_SUCCESS) {
        answer(id, place, [bad](InfoList &, std::string &) { return bad; });
        return true;
    }
    rm->ask(question, pending_.at(id).deadline, [this, id, place, key, queue = query.queue](Result<RmAnswer> result) {
        answer(id, place, [&](InfoList &out, std::string &why) -> pmix_status_t {
            const char *name = key.c_str();
            if (!result) {
                why = result.failure().text;
                return status_of(result.failure());
            }
            if (key == PMIX_TIME_REMAINING) {
                out.add(name, result->seconds);
            } else if (key == PMIX_QUERY_ALLOC_STATUS) {
                out.add(name, result->text);
            } else if (key == PMIX_QUERY_QUEUE_LIST) {
                std::vector<std::string> names;
                for (const auto &[queue_name, state] : result->queues)
                    names.push_back(queue_name);
                out.add(name, fmt::format("{}", fmt::join(names, ",")));
            } else {
                InfoList array;
                for (const auto &[queue_name, state] : result->queues) {
                    if (queue.empty() || queue == queue_name)
                        array.add(queue_name.substr(0, PMIX_MAX_KEYLEN).c_str(), state);
                }
                if (array.size() == 0)
                    return PMIX_ERR_NOT_FOUND;
                out.add_array(name, std::move(array));
            }
            return PMIX_SUCCESS;
        });
    });
    return true;
}

void QueryService::finish(std::uint64_t id) {
    auto node = pending_.extract(id);
    Pending &pending = node.mapped();
    auto found = std::make_shared<InfoList>();
    std::size_t good = 0;
    for (auto &answer : pending.answers) {
        if (answer.status == PMIX_SUCCESS) {
            ++good;
            found->append_all(std::move(answer.found));
        } else {
            port_.unanswered(answer.key, answer.status, answer.why);
        }
    }
    if (good == pending.answers.size())
        return pending.reply(PMIX_SUCCESS, std::move(found));
    if (good > 0)
        return pending.reply(PMIX_ERR_PARTIAL_SUCCESS, std::move(found));
    pending.reply(pending.answers.front().status, nullptr);
}

TimePoint QueryService::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, pending] : pending_)
        next = std::min(next, pending.deadline);
    return next;
}

void QueryService::on_time(TimePoint now) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        if (pending->second.deadline <= now)
            finish(pending->first);
    }
}

} // namespace pmixhost
