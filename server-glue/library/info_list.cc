// See info_list.h.
#include "server-glue/library/info_list.h"

#include "server-glue/library/convert.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <pmix.h>

namespace pmixhost {

InfoList::~InfoList() {
    for (auto &info : infos_)
        PMIX_INFO_DESTRUCT(&info);
}

void InfoList::remove_all(const char *key) {
    std::erase_if(infos_, [key](pmix_info_t &info) {
        bool is_it = PMIX_CHECK_KEY(&info, key);
        if (is_it)
            PMIX_INFO_DESTRUCT(&info);
        return is_it;
    });
}

pmix_info_t &InfoList::append(const char *key) {
    pmix_info_t &info = infos_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, key);
    return info;
}

static char *copied(const char *bytes, std::size_t size) {
    auto *copy = static_cast<char *>(std::malloc(size + 1));
    if (!copy)
        throw std::bad_alloc();
    std::memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

void *InfoList::empty_array(const char *key, pmix_data_type_t type, std::size_t count, std::size_t element_size) {
    pmix_data_array_t *array = make_array(type, count, element_size);
    pmix_info_t &info = append(key); // from here on the list's
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = array;
    return array->array;
}

void InfoList::add(const char *key, const std::string &text) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_STRING;
    info.value.data.string = copied(text.data(), text.size());
}
void InfoList::add(const char *key, std::uint32_t number) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_UINT32;
    info.value.data.uint32 = number;
}
void InfoList::add(const char *key, std::uint16_t number) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_UINT16;
    info.value.data.uint16 = number;
}
void InfoList::add(const char *key, std::uint64_t number) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_UINT64;
    info.value.data.uint64 = number;
}
void InfoList::add(const char *key, int number) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_INT;
    info.value.data.integer = number;
}
void InfoList::add(const char *key, bool flag) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_BOOL;
    info.value.data.flag = flag;
}
void InfoList::add_float(const char *key, float number) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_FLOAT;
    info.value.data.fval = number;
}
void InfoList::add_size(const char *key, std::size_t number) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_SIZE;
    info.value.data.size = number;
}
void InfoList::append_all(InfoList &&others) {
    infos_.insert(infos_.end(), others.infos_.begin(), others.infos_.end());
    others.infos_.clear();
}
pmix_info_t *InfoList::add_empty(std::size_t count) {
    std::size_t before = infos_.size();
    infos_.resize(before + count);
    for (std::size_t i = before; i < infos_.size(); ++i)
        PMIX_INFO_CONSTRUCT(&infos_[i]);
    return infos_.data() + before;
}
void InfoList::add_process_infos(const char *key, const std::vector<ProcessInfo> &processes) {
    auto *copies =
        static_cast<pmix_proc_info_t *>(empty_array(key, PMIX_PROC_INFO, processes.size(), sizeof(pmix_proc_info_t)));
    for (std::size_t i = 0; i < processes.size(); ++i) {
        const ProcessInfo &from = processes[i];
        copies[i].proc = from.process;
        copies[i].hostname = copied(from.host.data(), from.host.size());
        if (!from.executable.empty())
            copies[i].executable_name = copied(from.executable.data(), from.executable.size());
        copies[i].pid = from.pid;
        copies[i].exit_code = from.exit_code;
        copies[i].state = from.state;
    }
}
// As the library frees them.
static char **copied_list(const std::vector<std::string> &texts) {
    auto **list = static_cast<char **>(std::calloc(texts.size() + 1, sizeof(char *)));
    if (!list)
        throw std::bad_alloc();
    for (std::size_t i = 0; i < texts.size(); ++i)
        list[i] = copied(texts[i].data(), texts[i].size());
    return list;
}
void InfoList::add_app(const char *key, const App &app) {
    auto *copy = static_cast<pmix_app_t *>(empty_array(key, PMIX_APP, 1, sizeof(pmix_app_t)));
    copy->cmd = copied(app.command.data(), app.command.size());
    copy->argv = copied_list(app.argv);
    copy->env = copied_list(app.environment);
    copy->cwd = copied(app.directory.data(), app.directory.size());
    copy->maxprocs = 1;
}
void InfoList::add_attributes(const char *key, const std::vector<Attribute> &attributes) {
    auto *copies =
        static_cast<pmix_regattr_t *>(empty_array(key, PMIX_REGATTR, attributes.size(), sizeof(pmix_regattr_t)));
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        copies[i].name = copied(attributes[i].name.data(), attributes[i].name.size());
        PMIX_LOAD_KEY(copies[i].string, attributes[i].key.c_str());
        copies[i].type = attributes[i].type;
    }
}
void InfoList::add_rank(const char *key, pmix_rank_t rank) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_PROC_RANK;
    info.value.data.rank = rank;
}
void InfoList::add_process(const char *key, const pmix_proc_t &process) {
    pmix_info_t &info = append(key);
    auto *copy = static_cast<pmix_proc_t *>(std::malloc(sizeof(pmix_proc_t)));
    if (!copy)
        throw std::bad_alloc();
    std::memcpy(copy, &process, sizeof *copy);
    info.value.type = PMIX_PROC;
    info.value.data.proc = copy;
}
void InfoList::add_processes(const char *key, const std::vector<pmix_proc_t> &processes) {
    void *copy = empty_array(key, PMIX_PROC, processes.size(), sizeof(pmix_proc_t));
    if (!processes.empty())
        std::memcpy(copy, processes.data(), processes.size() * sizeof(pmix_proc_t));
}
void InfoList::add_strings(const char *key, const std::vector<std::string> &texts) {
    auto **copies = static_cast<char **>(empty_array(key, PMIX_STRING, texts.size(), sizeof(char *)));
    for (std::size_t i = 0; i < texts.size(); ++i)
        copies[i] = copied(texts[i].data(), texts[i].size());
}
void InfoList::add_bytes(const char *key, const std::string &bytes) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_BYTE_OBJECT;
    info.value.data.bo.bytes = copied(bytes.data(), bytes.size());
    info.value.data.bo.size = bytes.size();
}
void InfoList::add_status(const char *key, pmix_status_t status) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_STATUS;
    info.value.data.status = status;
}
void InfoList::add_time(const char *key, time_t time) {
    pmix_info_t &info = append(key);
    info.value.type = PMIX_TIME;
    info.value.data.time = time;
}
void InfoList::add_regex(const char *key, const char *regex) {
    pmix_info_t &info = append(key);
    PMIX_VALUE_LOAD(&info.value, regex, PMIX_REGEX);
}
void InfoList::add_array(const char *key, InfoList &&elements) {
    void *moved = empty_array(key, PMIX_INFO, elements.infos_.size(), sizeof(pmix_info_t));
    if (!elements.infos_.empty())
        std::memcpy(moved, elements.infos_.data(), elements.infos_.size() * sizeof(pmix_info_t));
    elements.infos_.clear();
}

} // namespace pmixhost
