// See query_service.h.
#include "server-glue/query/query_service.h"

#include "common/text/printable.h"
#include "server-glue/library/convert.h"

#include <algorithm>
#include <cstring>
#include <pmix_common.h>
#include <set>

namespace pmixhost {

namespace {

// In one call, unless the job is larger: what one part that is as large as the job has, and another one.
constexpr std::size_t enough_told = 200'000;

// Each string is one, and so is each further part of it.
std::size_t elements_of(const pmix_app_t &app) {
    std::size_t strings = 0, bytes = 0;
    auto add = [&](const char *text) {
        ++strings;
        bytes += std::strlen(text);
    };
    for (const char *text : {app.cmd, app.cwd}) {
        if (text)
            add(text);
    }
    for (char **list : {app.argv, app.env}) {
        for (; list && *list; ++list)
            add(*list);
    }
    return strings + bytes / sizeof(pmix_proc_t);
}

// Of about the size of a pmix_proc_t.
std::size_t elements_of(const pmix_info_t *infos, std::size_t count) {
    std::size_t out = count;
    for (std::size_t i = 0; i < count; ++i) {
        const pmix_value_t &value = infos[i].value;
        if (value.type == PMIX_STRING && value.data.string)
            out += std::strlen(value.data.string) / sizeof(pmix_proc_t);
        if (value.type != PMIX_DATA_ARRAY || !value.data.darray)
            continue;
        const pmix_data_array_t &array = *value.data.darray;
        bool nested = array.type == PMIX_INFO && array.array;
        out += nested ? elements_of(static_cast<const pmix_info_t *>(array.array), array.size) : array.size;
        for (std::size_t app = 0; array.type == PMIX_APP && array.array && app < array.size; ++app)
            out += elements_of(static_cast<const pmix_app_t *>(array.array)[app]);
    }
    return out;
}

} // namespace

// As long as the tables of processes wait at most (process_table.h), and far from where a share of it overflows.
static constexpr std::chrono::seconds longest_query = std::chrono::hours(24);

std::vector<std::string> QueryService::supported_keys() {
    return supported_query_keys(port_);
}

void QueryService::query(TimePoint now, QueryAsk ask) {
    if (pending_.size() >= max_waiting)
        return ask.reply(PMIX_ERR_OUT_OF_RESOURCE, nullptr);
    Duration timeout{};
    std::size_t keys = 0;
    for (const auto &query : ask.queries) {
        bool said = query.timeout && query.timeout->count() > 0;
        timeout = std::max<Duration>(timeout, said ? Duration(std::min(*query.timeout, longest_query)) : patience);
        keys += query.keys.size();
    }
    std::uint64_t id = next_id_++;
    Pending &pending = pending_[id];
    pending.deadline = now + timeout;
    pending.reply = std::move(ask.reply);
    pending.missing = keys + 1; // so that it stays until all have been started
    pending.answers.resize(keys);
    std::size_t place = 0;
    std::set<std::string> parts; // as large as the job, or as a program's environment: each once in a call
    for (const auto &query : ask.queries) {
        for (const auto &key : query.keys) {
            pending.answers[place].key = key;
            const QueryKey *known = find_query_key(key, port_);
            std::string part = known && !query.asks_qualifiers ? known->part_of_table(query) : std::string();
            if (!known)
                refuse(id, place++, PMIX_ERR_NOT_SUPPORTED, "no such key is answered here");
            else if (!query.malformed.empty())
                refuse(id, place++, PMIX_ERR_BAD_PARAM,
                       fmt::format("the value of the qualifier {} is of a wrong type", printable(query.malformed)));
            else if (!part.empty() && !parts.insert(std::move(part)).second)
                refuse(id, place++, PMIX_ERR_BAD_PARAM, "this was asked for already in the same call");
            else
                start(id, place++, *known, query, timeout);
        }
    }
    if (--pending.missing == 0)
        finish(id);
}

void QueryService::refuse(std::uint64_t id, std::size_t place, pmix_status_t status, std::string why) {
    answer(id, place, [&](InfoList &, std::string &reason) {
        reason = std::move(why);
        return status;
    });
}

void QueryService::start(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query,
                         Duration timeout) {
    if (std::string disobeyed = key.disobeyed(query); !disobeyed.empty())
        return refuse(id, place, PMIX_ERR_NOT_SUPPORTED,
                      fmt::format("the qualifier {} is required, and not known for this key", printable(disobeyed)));
    if (query.asks_qualifiers) {
        return answer(id, place, [&](InfoList &out, std::string &) {
            out.add(key.key, key.all_qualifiers());
            return PMIX_SUCCESS;
        });
    }
    if (key.of_other_job(port_, query))
        return ask_other_job(id, place, key, query, timeout);
    if (pmix_status_t bad = key.check ? key.check(port_, query) : PMIX_SUCCESS; bad != PMIX_SUCCESS)
        return refuse(id, place, bad, "");
    if (key.from_rm)
        return ask_rm(id, place, key, query);
    if (key.from_rights) {
        return port_.ask_rights([this, id, place, &key](const ToolActions &rights) {
            answer(id, place, [&](InfoList &out, std::string &) {
                key.from_rights(rights, key.key, out);
                return PMIX_SUCCESS;
            });
        });
    }
    if (key.from_table && !key.is_local(port_, query))
        return ask_hosts(id, place, key, query, timeout);
    answer(id, place, [&](InfoList &out, std::string &) {
        return key.from_table ? key.from_table(port_.step(), query, port_.local_table(), key.key, out)
                              : key.from_here(port_, query, key.key, out);
    });
}

void QueryService::answer(std::uint64_t id, std::size_t place, const Fill &fill) {
    auto found = pending_.find(id);
    if (found == pending_.end())
        return; // its time was up
    Pending &pending = found->second;
    Answer &slot = pending.answers[place];
    if (pending.told > std::max<std::size_t>(enough_told, 2 * std::size_t{port_.step().map.rank_count()})) {
        slot.status = PMIX_ERR_OUT_OF_RESOURCE;
        slot.why = "more was asked for in one call than is told in one";
    } else {
        slot.status = fill(slot.found, slot.why);
        pending.told += elements_of(slot.found.data(), slot.found.size());
    }
    if (--pending.missing == 0)
        finish(id);
}

// The table comes a little earlier than all is over, so that what else was asked is answered.
void QueryService::ask_hosts(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query,
                             Duration timeout) {
    port_.gather_table(timeout * 9 / 10, [this, id, place, &key, query](std::int32_t status, const JobTable &table) {
        answer(id, place, [&](InfoList &out, std::string &) -> pmix_status_t {
            return status == PMIX_SUCCESS ? key.from_table(port_.step(), query, table, key.key, out) : status;
        });
    });
}

void QueryService::ask_other_job(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query,
                                 Duration timeout) {
    port_.find_job(query.nspace, timeout * 9 / 10, [this, id, place, &key, query, timeout](pmix_status_t status) {
        const StepInfo *job = status == PMIX_SUCCESS ? port_.job(query.nspace) : nullptr;
        HostIndex host = no_host;
        if (job)
            status = key.check_other_job(port_, *job, query, host);
        if (!job || status != PMIX_SUCCESS)
            return refuse(id, place, job || status != PMIX_SUCCESS ? status : PMIX_ERR_NOT_FOUND, "");
        port_.gather_table_of(*job, host, timeout * 9 / 10,
                              [this, id, place, &key, query, host](std::int32_t said, const JobTable &table) {
                                  answer(id, place, [&](InfoList &out, std::string &) -> pmix_status_t {
                                      const StepInfo *job = port_.job(query.nspace);
                                      if (said != PMIX_SUCCESS || !job)
                                          return said != PMIX_SUCCESS ? said : PMIX_ERR_NOT_FOUND;
                                      Query of_it = query; // what is this host's here has another number there
                                      if (std::exchange(of_it.local_only, false))
                                          of_it.node = host;
                                      return key.from_table(*job, of_it, table, key.key, out);
                                  });
                              });
    });
}

void QueryService::ask_rm(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query) {
    port_.rm_questions()->ask({key.question, query.allocation}, pending_.at(id).deadline,
                              [this, id, place, &key, query](Result<RmAnswer> result) {
                                  answer(id, place, [&](InfoList &out, std::string &why) -> pmix_status_t {
                                      if (result)
                                          return key.from_rm(*result, query, key.key, out);
                                      why = result.failure().text;
                                      return status_of(result.failure());
                                  });
                              });
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
