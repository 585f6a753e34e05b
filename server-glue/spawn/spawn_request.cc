// See spawn_request.h.
#include "server-glue/spawn/spawn_request.h"

#include "server-glue/library/convert.h"

#include <cmath>
#include <cstring>
#include <pmix.h>

namespace pmixhost {

namespace {

// Copies while the bounds allow; remembers that they did not.
class Copier {
  public:
    bool over() const { return over_; }

    Bytes text(const char *source) {
        if (!source)
            return {};
        std::size_t length = strnlen(source, left_ + 1);
        if (!take(length))
            return {};
        return Bytes(source, length);
    }
    std::vector<Bytes> list(char *const *entries) {
        std::vector<Bytes> out;
        for (; entries && *entries && !over_; ++entries) {
            if (take(sizeof(char *))) // an empty entry costs something too
                out.push_back(text(*entries));
        }
        return out;
    }
    std::vector<wire::SpawnDirective> directives(const pmix_info_t *info, std::size_t count) {
        std::vector<wire::SpawnDirective> out;
        for (std::size_t i = 0; info && i < count && !over_; ++i) {
            if (directives_++ == max_spawn_directives)
                over_ = true;
            else
                out.push_back(directive(info[i]));
        }
        return out;
    }

  private:
    bool take(std::size_t bytes) {
        if (over_ || bytes > left_) {
            over_ = true;
            return false;
        }
        left_ -= bytes;
        return true;
    }

    wire::SpawnDirective directive(const pmix_info_t &info) {
        wire::SpawnDirective out;
        out.key = key_of(info);
        out.required = PMIX_INFO_IS_REQUIRED(&info) ? 1 : 0;
        auto set = [&](SpawnValue kind, std::uint64_t number = 0) {
            out.kind = static_cast<std::uint8_t>(kind);
            out.number = number;
        };
        auto number = [&](long long value) { set(SpawnValue::number, static_cast<std::uint64_t>(value)); };
        const auto &data = info.value.data;
        switch (info.value.type) {
        case PMIX_UNDEF:
            set(SpawnValue::flag, 1);
            break; // a bare key means yes
        case PMIX_BOOL:
            set(SpawnValue::flag, data.flag ? 1 : 0);
            break;
        case PMIX_BYTE:
            number(data.byte);
            break;
        case PMIX_SIZE:
            set(SpawnValue::number, data.size);
            break;
        case PMIX_INT:
            number(data.integer);
            break;
        case PMIX_INT8:
            number(data.int8);
            break;
        case PMIX_INT16:
            number(data.int16);
            break;
        case PMIX_INT32:
            number(data.int32);
            break;
        case PMIX_INT64:
            number(data.int64);
            break;
        case PMIX_UINT:
            number(data.uint);
            break;
        case PMIX_UINT8:
            number(data.uint8);
            break;
        case PMIX_UINT16:
            number(data.uint16);
            break;
        case PMIX_UINT32:
            number(data.uint32);
            break;
        case PMIX_UINT64:
            set(SpawnValue::number, data.uint64);
            break;
        case PMIX_PROC_RANK:
            number(data.rank);
            break;
        case PMIX_FLOAT: // of memory, in MiB
            if (out.key == PMIX_ALLOC_MEM_SIZE && data.fval > 0 && data.fval < static_cast<float>(INT32_MAX))
                number(static_cast<long long>(std::ceil(data.fval)));
            break;
        case PMIX_STRING:
            set(SpawnValue::text);
            out.text = text(data.string);
            break;
        case PMIX_PROC:
            if (data.proc) {
                set(SpawnValue::process, data.proc->rank);
                out.text = process_of(*data.proc).nspace;
            }
            break;
        case PMIX_DATA_ARRAY:
            if (data.darray)
                ranks(*data.darray, out);
            break;
        case PMIX_ENVAR:
            set(SpawnValue::variable, static_cast<unsigned char>(data.envar.separator));
            out.text = text(data.envar.envar);
            out.text += '=';
            out.text += text(data.envar.value);
            break;
        default:
            break;
        }
        return out;
    }

    // Ranks, or processes of a job that has no name yet: an array of anything else stays what it is, other.
    void ranks(const pmix_data_array_t &array, wire::SpawnDirective &out) {
        bool processes = array.type == PMIX_PROC;
        if (!array.array || array.size == 0 || (!processes && array.type != PMIX_PROC_RANK))
            return;
        for (std::size_t i = 0; i < array.size && !over_; ++i) {
            pmix_rank_t rank = processes ? static_cast<const pmix_proc_t *>(array.array)[i].rank
                                         : static_cast<const pmix_rank_t *>(array.array)[i];
            std::string word = fmt::format("{}{}", i ? "," : "", rank);
            if (take(word.size()))
                out.text += word;
        }
        out.kind = static_cast<std::uint8_t>(SpawnValue::ranks);
    }

    std::size_t left_ = max_spawn_bytes;
    std::size_t directives_ = 0;
    bool over_ = false;
};

} // namespace

Result<wire::SpawnRequest> copy_spawn_request(const pmix_info_t *info, std::size_t info_count, const pmix_app_t *apps,
                                              std::size_t app_count) {
    if (!apps || app_count == 0)
        return error(ErrorKind::invalid, "PMIx_Spawn without a program");
    if (app_count > max_spawn_apps)
        return error(ErrorKind::limit, "PMIx_Spawn with {} programs; at most {} are taken", app_count, max_spawn_apps);
    Copier copier;
    wire::SpawnRequest request;
    request.directives = copier.directives(info, info_count);
    for (std::size_t i = 0; i < app_count && !copier.over(); ++i) {
        wire::SpawnApp app;
        app.command = copier.text(apps[i].cmd);
        app.argv = copier.list(apps[i].argv);
        app.environment = copier.list(apps[i].env);
        app.directory = copier.text(apps[i].cwd);
        app.count = apps[i].maxprocs;
        app.directives = copier.directives(apps[i].info, apps[i].ninfo);
        request.apps.push_back(std::move(app));
    }
    if (copier.over())
        return error(ErrorKind::limit, "a PMIx_Spawn with more than {} KiB of text or {} directives is not taken",
                     max_spawn_bytes >> 10, max_spawn_directives);
    return request;
}

void place_directories(wire::SpawnRequest &request, const std::string &base) {
    auto place = [&base](std::string &directory) {
        if (!directory.empty() && directory.front() != '/')
            directory = base + (base.ends_with('/') ? "" : "/") + directory;
    };
    auto place_those_of = [&place](std::vector<wire::SpawnDirective> &directives) {
        for (auto &directive : directives) {
            if (directive.key == PMIX_WDIR)
                place(directive.text);
        }
    };
    place_those_of(request.directives);
    for (auto &app : request.apps) {
        place(app.directory);
        place_those_of(app.directives);
    }
}

} // namespace pmixhost
